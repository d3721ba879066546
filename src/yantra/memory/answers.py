"""What a memory model answers, checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, get_args

import numpy as np

from yantra.base.columns import not_a_duration
from yantra.base.errors import ConfigError, YantraError
from yantra.base.plugin_files import what_was_raised
from yantra.memory.model import Accesses, MemoryModel, Pipeline, Sharing, Speeds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from yantra.memory.migration import Touch


def ask(
    model: MemoryModel, accesses: Accesses, speeds: Speeds, name: str, where: str = "memory model"
) -> NDArray[np.float64]:
    """Nanoseconds of accesses by a model, as a column of float64.

    Raises ConfigError at `where` with the model's `name` and the row.
    """
    with _told(name, where), np.errstate(all="ignore"):
        ns = np.ascontiguousarray(model.access(accesses, speeds), np.float64)
    if ns.shape != (len(accesses),):
        problem = f"{name}: expected {len(accesses)} durations, one a row, got {ns.shape}"
        raise ConfigError(where, problem)
    wrong = not_a_duration(ns)
    if wrong:
        raise ConfigError(where, f"{name}: {accesses.describe(wrong.row)}: {wrong.problem}")
    return ns


def ask_in_order(
    model: MemoryModel,
    touches: Sequence[Touch],
    names: Sequence[str],
    speeds: Speeds,
    name: str,
    where: str = "memory model",
) -> NDArray[np.float64]:
    """Nanoseconds of a rank's accesses by a model that remembers.

    Raises ConfigError at `where` with the model's `name`.
    """
    with _told(name, where):
        ns = np.array(model.in_order(touches, names, speeds), np.float64)
    if ns.shape != (len(touches),):
        problem = f"{name}: expected {len(touches)} durations, one an access, got {ns.shape}"
        raise ConfigError(where, problem)
    wrong = not_a_duration(ns)
    if wrong:
        raise ConfigError(where, f"{name}: access {wrong.row}: {wrong.problem}")
    return ns


def hops_of(
    model: MemoryModel, speeds: Speeds, name: str, where: str = "memory model"
) -> Pipeline | None:
    """Raises ConfigError at `where` with the model's `name` for invalid ones."""
    with _told(name, where):
        pipeline = model.pipeline(speeds)
    if pipeline is None:
        return None
    if not pipeline.hops or not 0.0 < pipeline.chunk_bytes < float("inf"):
        got = f"{len(pipeline.hops)} hops and chunks of {pipeline.chunk_bytes} bytes"
        raise ConfigError(
            where, f"{name}: expected at least one hop and chunks of bytes, got {got}"
        )
    for hop in pipeline.hops:
        if not hop.bytes_per_ns > 0.0 or hop.sharing not in get_args(Sharing):
            raise ConfigError(where, f"{name}: expected a bandwidth and who shares it, got {hop}")
    if pipeline.ranks_per_node < 1:
        problem = f"{name}: expected at least one rank per node, got {pipeline.ranks_per_node}"
        raise ConfigError(where, problem)
    return pipeline


@contextmanager
def _told(name: str, where: str) -> Iterator[None]:
    try:
        yield
    except YantraError:
        raise
    except Exception as error:
        raise ConfigError(where, f"{name} failed: {what_was_raised(error)}") from error
