"""Which call a `gloo:*` operator is the work of: an earlier one of its host thread, by tensor, else
by nesting, else by kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from yantra.tracing.pytorch.calls import Calls, plain, sort_of
from yantra.tracing.pytorch.linked import Operator
from yantra.tracing.pytorch.tensors import decoded

# gloo makes reduce-scatters of all-reduces and monitored barriers of messages.
_ALSO = {"reducescatter": ("allreduce",), "monitoredbarrier": ("send", "recv")}

Tensors = set[tuple[int, ...]]


class _Ready(NamedTuple):
    call: Operator
    tensors: Tensors


def pair(
    operators: Iterable[Operator], labels: Iterable[Operator], calls: Calls
) -> dict[int, list[Operator]]:
    """The work of each call, by issuing operator; both have times.

    Work without a call is left out.
    """
    found: defaultdict[int, list[Operator]] = defaultdict(list)
    works: defaultdict[Any, list[Operator]] = defaultdict(list)  # by host thread
    issuers: defaultdict[Any, list[Operator]] = defaultdict(list)
    for label in labels:
        works[label.attr("tid")].append(label)
    for operator in operators:
        if sort_of(operator.name) == "api" and operator.start_ns is not None:
            issuers[operator.attr("tid")].append(operator)
    for tid, work in works.items():
        _give(sorted(work, key=_start), sorted(issuers[tid], key=_start), calls, found)
    return dict(found)


def _give(
    labels: list[Operator],
    issuers: list[Operator],
    calls: Calls,
    found: defaultdict[int, list[Operator]],
) -> None:
    ready: list[_Ready] = []
    upcoming = 0
    for label in labels:
        while upcoming < len(issuers) and _start(issuers[upcoming]) <= _start(label):
            ready.append(_Ready(issuers[upcoming], _tensors(issuers[upcoming])))
            upcoming += 1
        around = calls.around(label.id)
        below = around.get("api") or around.get("note")
        latest = issuers[upcoming - 1] if upcoming else None
        own = _tensors(label)
        may = [entry for entry in ready if _may_run(entry.call.name, label.name)]
        chosen = next((entry.call for entry in may if own & entry.tensors), None)
        if chosen is None and own and below is not None and _may_run(below.name, label.name):
            chosen = below
        if chosen is None and may:
            chosen = may[0].call
        if chosen is None:
            others = (other for other in (below, latest) if other is not None)
            chosen = next((op for op in others if _may_run(op.name, label.name)), None)
        if chosen is not None and chosen.start_ns is not None:
            found[chosen.id].append(label)
            ready = [entry for entry in ready if entry.call is not chosen]


def _start(operator: Operator) -> int:
    return operator.start_ns or 0


def _may_run(api: str, label: str) -> bool:
    if sort_of(api) == "note":
        return True
    call, work = plain(api.removeprefix("c10d::")), plain(label.split(":", 1)[1].split(" ")[0])
    return call.startswith(work) or any(
        call.startswith(name) and work in works for name, works in _ALSO.items()
    )


def _tensors(operator: Operator) -> Tensors:
    found: Tensors = set()
    pending: list[Any] = list(decoded(operator.inputs).values)
    while pending:
        item = pending.pop()
        if not isinstance(item, list):
            continue
        if len(item) >= 5 and all(type(field) is int for field in item[:5]):
            found.add(tuple(item[:5]))
        else:
            pending += item
    return found
