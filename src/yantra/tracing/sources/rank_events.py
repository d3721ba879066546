"""Collects a rank's events from rows of another profiler, in the form of a PyTorch trace.

A thread may serve several devices of its process: then a call is of the device that it names, else
of the one that the thread named last, and a range of every device that a call in it serves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable

from yantra.tracing.pytorch.events import Args, Event
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.sources import nccl
from yantra.tracing.sources.nccl import Members, NcclCall

_COPIED = ("collective", "in_nelems", "out_nelems", "dtype", "group_name", "group_size")


class RankEvents:
    """Events of process `pid` and `device`; `shared`: other devices of it are ranks, too."""

    def __init__(self, pid: int, device: int, *, shared: bool, first: bool) -> None:
        self.trace = KinetoTrace([], [], [], [], [], [])
        self.pid = pid
        self.device = device
        self.named: dict[int, int] = {}  # devices by correlation
        self._shared = shared
        self._first = first  # of its process's devices: has what names none
        self._turns: dict[int, tuple[list[int], list[int]]] = {}  # by thread: times, devices
        self._index = 0

    def event(self, cat: str, name: str, start: int, end: int, tid: int, args: Args) -> Event:
        """Make an event, in no list yet; `start` and `end` in ns."""
        self._index += 1
        return Event(
            "X", cat, name, self.pid, tid, args=args, start=start, end=end, index=self._index - 1
        )

    def work(
        self, cat: str, name: str, times: tuple[int, int], device: int, stream: int, number: int
    ) -> Args | None:
        """Add a kernel, copy or fill; None if it is another device's."""
        self.named[number] = device
        if device != self.device:
            return None
        args = Args(correlation=number, device=device, stream=stream)
        self.trace.device.append(self.event(cat, name, *times, 0, args))
        return args

    def calls(self, made: list[Event]) -> None:
        """Take the calls of the process, once all that names devices is known."""
        if self._shared:
            for call in sorted(made, key=lambda call: call.start):
                device = self.named.get(call.detail.correlation or 0)
                if device is not None:
                    times, devices = self._turns.setdefault(call.tid, ([], []))
                    times.append(call.start)
                    devices.append(device)
        self.trace.calls = [call for call in made if self._is_mine(call)]

    def range(self, made: Event) -> None:
        """Take a range if it is this rank's."""
        if self._is_mine(made):
            self.trace.cpu.append(made)

    def _is_mine(self, event: Event) -> bool:
        if not self._shared:
            return True
        times, devices = self._turns.get(event.tid, ([], []))
        if not times:
            return self._first
        first, last = bisect_left(times, event.start), bisect_right(times, event.end)
        if first < last:
            return self.device in devices[first:last]
        return devices[max(0, first - 1)] == self.device

    def collectives(
        self, around: Callable[[Event], list[NcclCall]], members: Members, starts: Iterable[str]
    ) -> None:
        """Tell kernels whose names begin like `starts` which calls they carry out."""
        prefixes = tuple(starts)
        launches = {call.detail.correlation: call for call in self.trace.calls}
        for kernel in self.trace.device:
            launch = launches.get(kernel.detail.correlation)
            if launch is None or not (kernel.name or "").startswith(prefixes):
                continue
            calls = around(launch)
            said = nccl.arguments(calls, members)
            if said is None or kernel.args is None:
                continue
            for name in _COPIED:
                setattr(kernel.args, name, getattr(said, name))
            kernel.args.group_ranks = said.group_ranks
            self._records(nccl.records(calls, launch, members), launch)

    def _records(self, records: list[Event], launch: Event) -> None:
        if records:  # the launch is inside the last of them, behind all messages
            records.append(nccl.range_event("ncclGroupEnd", launch.start, launch.end, launch))
        for record in records:
            record.index = self._index
            self._index += 1
        self.trace.cpu += records

    def count(self, impossible: int) -> KinetoTrace:
        """Sort the events, complete the balance and return the trace."""
        trace, balance = self.trace, self.trace.balance
        for events in (trace.cpu, trace.calls, trace.device, trace.syncs):
            events.sort(key=lambda event: (event.start, -event.end, event.index))
        counts = Counter(event.cat for event in trace.device)
        parts = {
            "kernels": counts["kernel"],
            "copies": counts["gpu_memcpy"],
            "fills": counts["gpu_memset"],
            "ranges": len(trace.cpu),
            "runtime calls": len(trace.calls),
            "synchronisations": len(trace.syncs),
            "synchronisations without their event": len(trace.unnamed),
        }
        for name, number in parts.items():
            balance.add(name, number)
        balance.leave_out("impossible", impossible)
        if impossible:
            trace.problems.append(f"{impossible} rows with impossible times left out")
        if trace.unnamed:
            trace.problems.append(
                f"{len(trace.unnamed)} waits do not name what was awaited: inferred from the "
                "order of calls and times"
            )
        balance.total = sum(balance.parts.values()) + sum(balance.left_out.values())
        return trace
