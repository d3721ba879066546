"""Runs a replay: prepares every call once, then repeats whole passes, which keep caches closer to
the recorded run's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter_ns
from typing import Any

from yantra.base.errors import ConfigError, UnsupportedError, expected_got
from yantra.base.memory import free_bytes
from yantra.base.pytorch import torch_for
from yantra.tracing.replay.calls import Call, named, read, topmost
from yantra.tracing.replay.operators import Prepared
from yantra.tracing.replay.report import Replayed, Report
from yantra.tracing.replay.tensors import CannotReplayError, Pool

WHERE = "yantra.tracing.replay"
_OPERATOR = re.compile(r"\w+::\w+")
_WARM_UP = 1  # uncounted passes
_LONGEST_REASON = 200
_FULL = 0.6  # share of free memory for tensors; results need room


def replay(
    path: str | os.PathLike[str],
    *,
    iterations: int = 3,
    device: str = "cpu",
    device_trace: str | os.PathLike[str] | None = None,
    also: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Replay the operators of a host, linked or Chakra trace on `device`.

    `device_trace` adds a host trace's times. As a trace may name any operator, only those that
    compute (`computing.py`) and those of `also`, such as "torchvision::nms", are called. `progress`
    gets calls made and to make. Raises TraceError for the files, ConfigError for PyTorch and the
    options, UnsupportedError where the tensors do not fit into memory.
    """
    if iterations < 1:
        raise ConfigError("iterations", expected_got("an integer >= 1", iterations))
    where = os.fspath(path)
    calls = topmost(named(read(where, None if device_trace is None else os.fspath(device_trace))))
    torch = torch_for(WHERE)
    _check_device(torch, device)
    compute = [call for call in calls if not call.is_communication]
    runner = _Runner(torch, device, _names(also))
    with torch.no_grad():
        found = runner.run(compute, iterations, progress or (lambda done, total: None))
    return Report(
        trace=where,
        device=device,
        iterations=iterations,
        storage_bytes=runner.pool.bytes,
        communication=len(calls) - len(compute),
        operators=found,
    )


def _names(also: Sequence[str]) -> Sequence[str]:
    for name in also:
        if not _OPERATOR.fullmatch(name):
            expected = "the name of an operator, such as torchvision::nms"
            raise ConfigError("operator", expected_got(expected, name))
    return also


class _Runner:
    def __init__(self, torch: Any, device: str, also: Sequence[str]) -> None:
        self._also = also
        self.pool = Pool(torch, device)
        self._torch, self._device = torch, device
        self._timed = _timed_on_gpu(torch) if device.startswith("cuda") else _timed
        self._reasons: dict[int, str] = {}
        self._different: dict[int, str] = {}

    def run(
        self, calls: list[Call], iterations: int, progress: Callable[[int, int], None]
    ) -> list[Replayed]:
        ready = self._prepared(calls)
        _check_memory(self._torch, self._device, self.pool.bytes)
        times: dict[int, list[int]] = {call.id: [] for call in calls}
        done, total = 0, len(ready) * (iterations + _WARM_UP)
        for turn in range(iterations + _WARM_UP):
            for prepared in ready:
                done += 1
                progress(done, total)
                if prepared.call.id not in self._reasons:
                    taken = self._once(prepared, turn == 0)
                    if turn >= _WARM_UP:
                        times[prepared.call.id].append(taken)
        return [self._replayed(call, times[call.id]) for call in calls]

    def _prepared(self, calls: list[Call]) -> list[Prepared]:
        ready = []
        for call in calls:
            try:
                prepared = Prepared(self._torch, call, self._device, self._also)
            except CannotReplayError as error:
                self._reasons[call.id] = str(error)
                continue
            self.pool.reserve(prepared.tensors)
            ready.append(prepared)
        return ready

    def _once(self, prepared: Prepared, look: bool) -> int:
        try:
            taken, result = self._timed(prepared.bound(self.pool))
            if look and (different := prepared.shapes_differ(result)):
                self._different[prepared.call.id] = different
        except Exception as error:  # a finding, not a fault
            text = str(error).split("\n", 1)[0][:_LONGEST_REASON]
            self._reasons[prepared.call.id] = f"failed: {type(error).__name__}: {text}"
            return 0
        return taken

    def _replayed(self, call: Call, times: list[int]) -> Replayed:
        reason = self._reasons.get(call.id, "")
        return Replayed(
            id=call.id,
            name=call.name,
            recorded_ns=call.recorded_ns,
            measured_ns=0 if reason else round(median(times)),
            skipped=reason,
            different=self._different.get(call.id, ""),
        )


def _timed(call: Callable[[], Any]) -> tuple[int, Any]:
    begin = perf_counter_ns()
    result = call()
    return perf_counter_ns() - begin, result


def _timed_on_gpu(torch: Any) -> Callable[[Callable[[], Any]], tuple[int, Any]]:
    def timed(call: Callable[[], Any]) -> tuple[int, Any]:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        result = call()
        end.record()
        end.synchronize()
        return round(begin.elapsed_time(end) * 1e6), result

    return timed


def _check_memory(torch: Any, device: str, needed: int) -> None:
    free = torch.cuda.mem_get_info(device)[0] if device.startswith("cuda") else free_bytes()
    if needed > _FULL * free:
        raise UnsupportedError(
            f"{WHERE}: the tensors of this trace take {needed / 1e9:.1f} GB, and {device} has "
            f"{free / 1e9:.1f} GB free; replay fewer steps, or on a larger machine"
        )


def _check_device(torch: Any, device: str) -> None:
    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda"):
        raise ConfigError("device", expected_got("cpu or cuda", device))
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device", f"PyTorch {torch.__version__} finds no GPU here; take cpu")
