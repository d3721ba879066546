"""Collecting: records the traces of training steps as they run under PyTorch.

    with yantra.collect("traces/"):
        step()

    with yantra.collect("traces/", warmup=2, active=1) as c:
        for batch in loader:
            train(batch)
            c.step()

One rank writes `host.<rank>.json`, `device.<rank>.json` and `collect.<rank>.json`.
"""

from __future__ import annotations

import os

from yantra.tracing.collect.recorder import Collector, current

__all__ = ["Collector", "collect", "step"]


def collect(
    folder: str | os.PathLike[str] = "traces",
    *,
    warmup: int = 0,
    active: int = 1,
    record_shapes: bool = True,
    gzip: bool = False,
) -> Collector:
    """A context manager that records `active` steps after `warmup` others into `folder`.

    The `with` block is one step; each `step()` ends one and begins the next. `gzip` packs the two
    traces (`.json.gz`). Raises ConfigError where PyTorch is missing or too old, an option is out of
    range, another collection is open, or the block ends before a step was recorded.
    """
    return Collector(folder, warmup=warmup, active=active, record_shapes=record_shapes, gzip=gzip)


def step() -> None:
    """End a step of the open collection, if any."""
    collector = current()
    if collector is not None and not collector.driven:
        collector.step()
