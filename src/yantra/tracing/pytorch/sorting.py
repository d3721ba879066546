"""Sorts a device trace's events by kind, each counted once.

Device work without a Kineto category is known by a flow or a correlation number.

Source: Chrome's "Trace Event Format" (Google); flows `async_npu` of Ascend's PyTorch profiler.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from yantra import _core
from yantra.tracing.pytorch import categories as cats
from yantra.tracing.pytorch.balance import Sum
from yantra.tracing.pytorch.events import Args, Event

_FIRST_NUMBER = -2  # of launches known by flow; -1 is "no number"
_TEXTS_FROM = 1 << 40  # numbers of threads and streams that are texts
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


class Sorted(Struct):
    cpu: list[Event] = field(default_factory=list)
    calls: list[Event] = field(default_factory=list)
    device: list[Event] = field(default_factory=list)
    syncs: list[Event] = field(default_factory=list)
    forward: list[Event] = field(default_factory=list)
    backward: list[Event] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    uncategorised: Counter[str] = field(default_factory=Counter)
    pairs: set[int] = field(default_factory=set)

    def lists(self) -> tuple[list[Event], ...]:
        return self.cpu, self.calls, self.device, self.syncs, self.forward, self.backward


def by_kind(events: list[Event | None], balance: Sum) -> Sorted:
    """Events by kind; `balance` counts what is left out, not what is read."""
    balance.total = len(events)
    return _Sorter(balance).run(events)


class _Sorter:
    def __init__(self, balance: Sum) -> None:
        self.balance = balance
        self.found = found = Sorted()
        self.homes = dict.fromkeys(cats.CPU_CATS, found.cpu)
        self.homes |= dict.fromkeys(cats.DEVICE_CATS, found.device)
        self.homes |= dict.fromkeys(cats.SYNC_CATS, found.syncs)
        self.flow_ends: list[Event] = []
        self.flow_starts: list[Event] = []
        self.open: list[Event] = []  # begins and ends
        self.rest: list[Event] = []  # spans of unknown categories
        self.names: dict[Any, str] = {}  # of processes
        self.texts: dict[str, int] = {}
        self.flow_launches = 0

    def run(self, events: list[Event | None]) -> Sorted:
        phases: Counter[str] = Counter()
        aside: Counter[str] = Counter()
        plain = {cat: home for cat, home in self.homes.items() if home is not self.found.device}
        for index, event in enumerate(events):
            if event is None:
                continue
            event.index = index
            if type(event.tid) is str:
                event.tid = self.number(event.tid)
            ph = event.ph
            if ph == "X":
                home = plain.get(event.cat or "")
                if home is not None:
                    home.append(event)
                elif event.cat in cats.ASIDE:
                    aside[event.cat or ""] += 1
                else:
                    self._span(event)
            elif ph in cats.FLOW_PHASES:
                self._flow(event)
            elif ph in ("B", "E"):
                self.open.append(event)
            else:
                phases[ph] += 1
                if ph == "M" and event.name == "process_name":
                    self.names[_key(event.pid)] = str(event.detail.name or "")
        for category, number in aside.items():
            self.balance.leave_out(cats.ASIDE[category], number)
        self._pairs()
        self._other_devices()
        _count_phases(phases, self.found, self.balance)
        return self.found

    def number(self, text: str) -> int:
        if text.isascii() and text.isdecimal() and len(text) < 19:  # threads were texts in 2021
            return int(text)
        return self.texts.setdefault(text, _TEXTS_FROM + len(self.texts))

    def _span(self, event: Event) -> None:
        cat = event.cat or ""
        if _UNREADABLE in cat:  # bytes that were no text: the rest may be a category
            event.cat = cat = cat.replace(_UNREADABLE, "")
        home = self.homes.get(cat)
        if home is None and cat in cats.NAMES_OF_2021:
            event.cat = cat = cats.NAMES_OF_2021[cat]
            home = self.homes.get(cat)
        if home is None and cats.is_call(cat):
            home = self.homes[cat] = self.found.calls
        if home is not None:
            if home is self.found.device:
                self._stream(event)
            home.append(event)
        elif cat in cats.ASIDE:
            self.balance.leave_out(cats.ASIDE[cat], 2 if event.index in self.found.pairs else 1)
        else:
            self.rest.append(event)

    def _stream(self, event: Event) -> None:
        # Text streams get numbers of their own.
        args = event.args
        if args is not None and type(args.stream) is str and event.cat in cats.DEVICE_CATS:
            args.stream = self.number(args.stream)

    def _flow(self, event: Event) -> None:
        if event.cat != cats.DRAWN:
            (self.flow_ends if event.ph == "f" else self.flow_starts).append(event)
        elif event.ph == "s":
            self.found.forward.append(event)
        elif event.ph == "f":
            self.found.backward.append(event)
        else:
            self.balance.leave_out(cats.FLOW_RULE, 1)

    def _pairs(self) -> None:
        threads: defaultdict[Any, list[Event]] = defaultdict(list)
        for event in self.open:
            if isinstance(event.ts, int | float):
                threads[_key(event.pid), _key(event.tid)].append(event)
            else:
                self.balance.leave_out(cats.IMPOSSIBLE, 1)
        for made in threads.values():
            made.sort(key=_time)
            stack: list[Event] = []
            for event in made:
                if event.ph == "B":
                    stack.append(event)
                elif stack:
                    self._pair(stack.pop(), event)
                else:
                    self.balance.leave_out(cats.UNBEGUN, 1)
            self.balance.leave_out(cats.UNENDED, len(stack))

    def _pair(self, begin: Event, end: Event) -> None:
        begin.ph = "X"
        begin.dur = (end.ts or 0) - (begin.ts or 0)
        if begin.args is None:
            begin.args = end.args
        self.found.pairs.add(begin.index)
        self._span(begin)

    def _other_devices(self) -> None:
        used = self._work_by_flow() if self.rest else set()
        flows = len(self.flow_starts) + len(self.flow_ends)
        self.balance.add(cats.FLOWS, len(used))
        self.balance.leave_out(cats.FLOW_RULE, flows - len(used))
        for event in self.rest:
            number = 2 if event.index in self.found.pairs else 1
            if event.cat:
                self.found.unread[event.cat] += number
            else:
                name = self.names.get(_key(event.pid)) or f"process {event.pid}"
                self.found.uncategorised[name] += number
        for category, number in self.found.unread.items():
            self.balance.leave_out(f"of the category '{category}', which is not read", number)
        for name, number in self.found.uncategorised.items():
            self.balance.leave_out(f"without a category on '{name}'", number)

    def _work_by_flow(self) -> set[int]:
        found = self.found
        hosts = {_key(event.pid) for event in (*found.cpu, *found.calls)}
        threads = {(_key(event.pid), _key(event.tid)) for event in (*found.cpu, *found.calls)}
        starts: dict[Any, list[Event]] = defaultdict(list)
        for start in self.flow_starts:
            if (_key(start.pid), _key(start.tid)) in threads:
                starts[start.cat, _key(start.id)].append(start)
        ends = _bound(
            [end for end in self.flow_ends if (end.cat, _key(end.id)) in starts], self.rest
        )
        numbers = {call.detail.correlation for call in found.calls} - {None}
        used: set[int] = set()
        devices: set[Any] = set()
        left: list[Event] = []
        loose = {  # categories with an event tied to no call: stay out
            event.cat
            for event in self.rest
            if _key(event.pid) in hosts
            or not (event.detail.correlation in numbers or event.index in ends)
        } - {None, ""}
        for event in self.rest:
            flow = ends.get(event.index)
            if _key(event.pid) in hosts or event.cat in loose:
                left.append(event)
            elif event.detail.correlation in numbers:
                devices.add(_key(event.pid))
                self._work(event)
            elif flow is not None:
                start = starts[flow.cat, _key(flow.id)][-1]
                used |= {flow.index, start.index}
                devices.add(_key(event.pid))
                self._launched(event, start)
            else:
                left.append(event)
        self.rest = []
        for event in left:
            if not event.cat and _key(event.pid) in devices:
                self._work(event)
            else:
                self.rest.append(event)
        return used

    def _work(self, event: Event) -> None:
        said = f"{event.cat or ''} {event.name or ''}".lower()
        copies = next((cat for cat in ("memcpy", "memset") if cat in said), None)
        event.cat = "kernel" if copies is None else f"gpu_{copies}"
        self._stream(event)
        self.found.device.append(event)

    def _launched(self, event: Event, start: Event) -> None:
        number = _FIRST_NUMBER - self.flow_launches
        self.flow_launches += 1
        args = event.args = event.args or Args()
        args.correlation = number
        self._work(event)
        self.found.calls.append(
            Event(
                ph="X",
                cat=cats.FLOW,
                name=f"{start.cat} (Launch)",
                pid=start.pid,
                tid=start.tid,
                ts=start.ts,
                dur=0,
                args=Args(correlation=number),
                index=start.index,
            )
        )


def count_unsorted(file: _core.KinetoFile, found: Sorted, balance: Sum) -> None:
    """Count what the core left out of usual files."""
    balance.leave_out(cats.FLOW_RULE, file.steps_of_flows)
    for category, number in file.aside():
        balance.leave_out(cats.ASIDE[category.decode()], number)
    balance.leave_out(cats.FLOW_RULE, file.flow_ends)
    phases = {msgspec.json.decode(b'"' + ph + b'"'): number for ph, number in file.phases()}
    _count_phases(phases, found, balance)


def _count_phases(phases: Mapping[str, int], found: Sorted, balance: Sum) -> None:
    for phase, number in phases.items():
        if phase == "M":
            balance.add(cats.NAMES, number)
        elif phase in cats.SPANS or phase not in cats.PHASES:
            name = cats.PHASES.get(phase) or f"phase '{phase}'"
            found.unread[name] += number
            balance.leave_out(name, number)
        else:
            balance.leave_out(cats.PHASES[phase], number)


def _bound(ends: list[Event], spans: list[Event]) -> dict[int, Event]:
    """An end belongs to the span around it on its thread (`bp` "e"), else to the next."""
    threads: defaultdict[Any, list[Event]] = defaultdict(list)
    for span in spans:
        if isinstance(span.ts, int | float):
            threads[_key(span.pid), _key(span.tid)].append(span)
    for made in threads.values():
        made.sort(key=_time)
    found: dict[int, Event] = {}
    for end in ends:
        made = threads.get((_key(end.pid), _key(end.tid)), [])
        if not made or not isinstance(end.ts, int | float):
            continue
        at = bisect_right(made, end.ts, key=_time) - 1
        if at < 0 or end.ts > _end(made[at]):
            at += 1
        if at < len(made):
            found.setdefault(made[at].index, end)
    return found


def _end(span: Event) -> Any:
    return (span.ts or 0) + (span.dur if isinstance(span.dur, int | float) else 0)


def _key(value: Any) -> Any:
    return value if isinstance(value, int | str | float) else repr(value)


def _time(event: Event) -> Any:
    return event.ts
