"""One pass alone, or two that overlap and take turns, cut where computing resumes after
communication.

Source: DeepSeek-V3 technical report (2024), section 3.2.1, figure 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yantra.workloads.training.step.draft import Item

Part = tuple[Item, ...]


def parts_of(items: Sequence[Item], *, overlaps: bool) -> tuple[Part, ...]:
    """A pass in parts: one, or those that take turns and then its end."""
    return tuple(_cut(items)) if overlaps else (tuple(items),)


def in_turns(passes: Sequence[Sequence[Part]]) -> Iterator[tuple[int, int]]:
    ends = [[_is_end(part) for part in parts] for parts in passes]
    bodies = [[at for at, is_end in enumerate(one) if not is_end] for one in ends]
    for turn in range(max(map(len, bodies), default=0)):
        for number, body in enumerate(bodies):
            if turn < len(body):
                yield number, body[turn]
    for number, one in enumerate(ends):
        yield from ((number, at) for at, is_end in enumerate(one) if is_end)


def _is_end(part: Part) -> bool:
    return bool(part) and all(item.at_end for item in part)


def _cut(items: Sequence[Item]) -> Iterator[Part]:
    part: list[Item] = []
    for item in items:
        ends = item.at_end and not (part and part[-1].at_end)
        resumes = bool(part) and item.computes and part[-1].operation.communicates
        if part and (ends or (resumes and any(earlier.computes for earlier in part))):
            yield tuple(part)
            part = []
        part.append(item)
    if part:
        yield tuple(part)
