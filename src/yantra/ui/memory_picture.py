"""What fills device memory: a bar per stage, against what a device has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from yantra.base.text import count, format_bytes
from yantra.export.report.bars import Piece, legend
from yantra.export.report.markup import Html, element, join
from yantra.scenario.types import Machine
from yantra.ui.rows import bar_row
from yantra.workloads.templates.room import communicators, in_communicators
from yantra.workloads.templates.workload import Workload, is_size

_MOST_ROWS = 16
_STYLES = {"weights": "s0", "gradients": "s1", "optimizer": "s2", "activations": "s4"}
_OTHERS = ("s5", "s6", "s8", "s9")


def memory(workload: Workload | None, machine: Machine) -> Html:
    peaks = {} if workload is None else workload.peaks()
    if workload is None or not peaks:
        return element("p", "The workload does not say what it needs.", class_="note")
    needs = {
        name: needs_of(workload, name, machine.communicator_bytes)
        for name in list(peaks)[:_MOST_ROWS]
    }
    reserve = machine.reserve_bytes or 0
    most = max(sum(parts.values()) for parts in needs.values()) + reserve
    capacity = machine.memory_bytes or most
    styles = _styles(needs.values())
    rows = [
        _memory_row(name, parts, styles, reserve, capacity, max(most, capacity))
        for name, parts in needs.items()
    ]
    key = [*styles.items(), *([("reserved", "reserve")] if reserve else [])]
    left = len(peaks) - len(rows)
    told = f"{count(left, 'more stage', 'more stages')} not drawn." if left > 0 else None
    note = element("p", told, class_="note") if told else None
    return join([legend(key), element("div", *rows, class_="bars"), note])


def needs_of(workload: Workload, name: str, each: int | None) -> dict[str, int]:
    stated = workload.memory[name].items()
    parts = {part: size for part, size in stated if part != "peak" and is_size(size) and size}
    if held := in_communicators(workload, name, each):
        parts[count(len(communicators(workload, name)), "communicator")] = held
    return parts


def _styles(every: Iterable[Mapping[str, int]]) -> dict[str, str]:
    names = dict.fromkeys(name for parts in every for name in parts)
    others = [name for name in names if name not in _STYLES]
    extra = {name: _OTHERS[at % len(_OTHERS)] for at, name in enumerate(others)}
    return {name: _STYLES.get(name) or extra[name] for name in names}


def _memory_row(
    name: str,
    parts: Mapping[str, int],
    styles: Mapping[str, str],
    reserve: int,
    capacity: int,
    whole: int,
) -> Html:
    needs = sum(parts.values())
    free = capacity - reserve - needs
    pieces = [Piece(part, styles[part], size) for part, size in parts.items()]
    boxes, at = [], 0.0
    for piece in pieces:
        boxes.append(_box(piece, at, whole))
        at += piece.amount
    begin = max(at, capacity - reserve)
    if reserve:
        boxes.append(_box(Piece("reserved", "reserve", reserve), begin, whole))
    edge = f"{100 * capacity / whole:.3f}%"
    boxes.append(element("line", x1=edge, x2=edge, y1="0", y2="100%", class_="limit"))
    sign = f"{format_bytes(free)} free" if free >= 0 else f"lacks {format_bytes(-free)}"
    told = f"{format_bytes(needs)} of {format_bytes(capacity)}, {sign}"
    shares = "; ".join(f"{one.name} {format_bytes(int(one.amount))}" for one in pieces)
    drawn = element("svg", *boxes, role="img", aria_label=f"{name}: {told}; {shares}", class_="bar")
    return bar_row(name, told, drawn)


def _box(piece: Piece, at: float, whole: float) -> Html:
    title = element("title", f"{piece.name}: {format_bytes(int(piece.amount))}")
    return element(
        "g",
        title,
        element(
            "rect",
            x=f"{100 * at / whole:.3f}%",
            width=f"{100 * piece.amount / whole:.3f}%",
            height="100%",
            class_=piece.style,
        ),
    )
