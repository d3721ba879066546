"""JSON of upstream's timeline visualizer.

With `milliseconds` it is upstream's byte for byte: ms, which viewers read as us.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from yantra.base.errors import ConfigError, expected_got
from yantra.tracing.inspect.timeline.node_log import Execution, lane_of

_FREQUENCY = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?)\s*([kMGT]?Hz)?\s*")
_MHZ = {"Hz": 1e-6, "kHz": 1e-3, "MHz": 1.0, "GHz": 1e3, "THz": 1e6}
_LOWEST_MHZ, _HIGHEST_MHZ = 1e-6, 1e9
_LOCAL, _REMOTE, _COMPUTE, _COMMUNICATION, _OTHER = 1, 2, 3, 4, 5
_TIDS = {"compute": _COMPUTE, "communication": _COMMUNICATION, "other": _OTHER}


def megahertz(text: str, where: str, *, unit: str | None = "MHz") -> float:
    """Read a frequency such as `1.5GHz`; `unit` is that of bare numbers, None: an error."""
    match = _FREQUENCY.fullmatch(text)
    used = (match[2] or unit) if match else None
    value = float(match[1]) * _MHZ[used] if match and used else 0.0
    if not _LOWEST_MHZ <= value <= _HIGHEST_MHZ:
        raise ConfigError(where, expected_got("a frequency such as 1.5GHz", text))
    return value


def upstream_json(
    executions: Iterable[Execution], npus: int, mhz: float, *, milliseconds: bool
) -> str:
    events = [_event(item, mhz, milliseconds) for item in executions if item.end is not None]
    form = {"meta_user": "aras", "traceEvents": events, "meta_cpu_count": npus}
    return json.dumps(form)


def _event(item: Execution, mhz: float, milliseconds: bool) -> dict[str, object]:
    end = item.start if item.end is None else item.end
    start_us, duration_us = item.start / mhz, (end - item.start) / mhz
    start, duration = start_us / 1000, duration_us / 1000
    return {
        "pid": item.rank,
        "tid": _tid(item, strict=milliseconds),
        "ts": start if milliseconds else start_us,
        "dur": duration if milliseconds else duration_us,
        "ph": "X",
        "name": item.name,
        "args": {"ms": duration},
    }


def _tid(item: Execution, *, strict: bool) -> int:
    lane = lane_of(item._replace(type=None) if strict else item)
    if lane == "memory":
        if "LOCAL_MEMORY" in item.name:
            return _LOCAL
        if "REMOTE_MEMORY" in item.name or not strict:
            return _REMOTE
        lane = "other"
    if lane == "other" and strict:
        raise ConfigError(
            f"log:{item.line}", f"the name {item.name!r} does not say the type of the node"
        )
    return _TIDS[lane]
