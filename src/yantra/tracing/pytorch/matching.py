"""Makes ranks' communications agree, so that a simulated job cannot hang.

What lacks a counterpart becomes a computation of its recorded duration.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from msgspec import Struct, field

from yantra.base.text import count as counted
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch.communication import Communication
from yantra.tracing.pytorch.communicators import Communicators

_TAG_BITS = 20  # up to 2 ** 20 messages from rank to rank in a communicator
_LARGEST_TAG = (1 << 31) - 1

Items = Mapping[int, list[Communication]]  # by rank, in issue order
Lane = tuple[int, int, int, int]  # source, destination, communicator, user's tag


class Matches(Struct):
    split: bool = False
    splittable: int = 0
    problems: list[str] = field(default_factory=list)
    messages_of: dict[int, list[Communication]] = field(default_factory=dict)
    resized: int = 0
    unmatched_collectives: int = 0
    unmatched_messages: int = 0


def match(items: Items, communicators: Communicators, *, split: bool = False) -> Matches:
    """Align collectives and pair messages; `split` uneven all-to-alls.

    Sets kinds, sizes and tags in place; what is left out gets type COMP.
    """
    found = Matches(split=split)
    _collectives(items, communicators, found)
    for made in items.values():
        made[:] = [part for item in made for part in found.messages_of.pop(id(item), [item])]
    _messages(items, communicators, found)
    uneven = sum(item.uneven for made in items.values() for item in made)
    if uneven and len(items) == 1:
        found.problems.append(
            f"{counted(uneven, 'collective')} with different amounts for different ranks; convert "
            "all ranks in one call, so that their sizes agree"
        )
    return found


def _collectives(items: Items, communicators: Communicators, found: Matches) -> None:
    groups: defaultdict[int, dict[int, list[Communication]]] = defaultdict(dict)
    for rank, made in items.items():
        for item in made:
            if item.type is NodeType.COMM_COLL:
                groups[communicators.id(item)].setdefault(rank, []).append(item)
    for id, by_rank in sorted(groups.items()):
        members = communicators.members.get(id, communicators.world)
        for rank in items:
            if rank in members:
                by_rank.setdefault(rank, [])
        _align(id, by_rank, found)


def _align(id: int, by_rank: dict[int, list[Communication]], found: Matches) -> None:
    numbered = {rank: _numbers(made) for rank, made in by_rank.items()}
    use_numbers = all(numbers is not None for numbers in numbered.values())
    meetings: defaultdict[tuple[int, int], dict[int, Communication]] = defaultdict(dict)
    for rank, made in by_rank.items():
        numbers = numbered[rank] if use_numbers else None
        times: Counter[int] = Counter()
        for place, item in enumerate(made):
            number = place if numbers is None else numbers[place]
            meetings[number, times[number]][rank] = item
            times[number] += 1
    lonely = 0
    for _, meeting in sorted(meetings.items()):
        if not _settle(meeting, set(by_rank), found):
            _leave_out(meeting.values())
            lonely += 1
    found.unmatched_collectives += lonely
    if lonely:
        group = f"communicator {id}" if id else "all ranks"
        found.problems.append(
            f"{counted(lonely, 'collective')} of {group} not the same on every rank, or of unknown "
            "kind or size; kept as computations of the recorded duration"
        )


def _numbers(made: list[Communication]) -> list[int] | None:
    known = [item.sequence for item in made]
    if not known:
        return []
    first = next((place for place, number in enumerate(known) if number is not None), None)
    if first is None:
        return None
    numbers: list[int] = []
    for place, number in enumerate(known):
        if number is not None:
            numbers.append(number)
        elif place < first:
            numbers.append((known[first] or 0) - (first - place))
        else:
            numbers.append(numbers[-1] + 1)
    return numbers if all(a <= b for a, b in pairwise(numbers)) else None


def _settle(meeting: dict[int, Communication], ranks: set[int], found: Matches) -> bool:
    kinds = {item.collective for item in meeting.values() if item.collective is not None}
    sizes = {item.bytes for item in meeting.values() if item.bytes is not None}
    if set(meeting) != ranks or len(kinds) != 1 or not sizes:
        return False
    (kind,) = kinds
    if kind is CollectiveType.ALL_TO_ALL:
        made = _exchanged(meeting)
        if made is not None and found.split:
            found.messages_of |= made
            return True
        found.splittable += made is not None
        sizes |= {item.received for item in meeting.values() if item.received is not None}
    found.resized += len(sizes) > 1
    for item in meeting.values():
        item.collective = kind
        item.bytes = max(sizes)
    return True


def _exchanged(meeting: dict[int, Communication]) -> dict[int, list[Communication]] | None:
    """Return None where all send equally, a member's sends are unknown or contradicted, or a member
    has no message at all: a kernel must become some node.
    """
    members = next(iter(meeting.values())).ranks or tuple(sorted(meeting))
    if sorted(members) != sorted(meeting) or not any(item.uneven for item in meeting.values()):
        return None
    sent = [meeting[rank].sends for rank in members]
    if any(len(row) != len(members) for row in sent):
        return None
    got = [tuple(column) for column in zip(*sent, strict=True)]
    if any(meeting[rank].gets not in ((), got[at]) for at, rank in enumerate(members)):
        return None
    made = {}
    for at, rank in enumerate(members):
        item = meeting[rank]
        turned = [(at + by) % len(members) for by in range(1, len(members))]
        messages = [
            _message(item, type, members[other], row[other])
            for type, row in ((NodeType.COMM_SEND, sent[at]), (NodeType.COMM_RECV, got[at]))
            for other in turned
            if row[other]
        ]
        if not messages:
            return None
        made[id(item)] = messages
    return made


def _message(item: Communication, type: NodeType, peer: int, size: int) -> Communication:
    return Communication(
        op=item.op,
        type=type,
        collective=None,
        name=item.name,
        group=item.group,
        ranks=item.ranks,
        bytes=size,
        peer=peer,
        key=item.key,
    )


def _messages(items: Items, communicators: Communicators, found: Matches) -> None:
    sends: defaultdict[Lane, list[Communication]] = defaultdict(list)
    receives: defaultdict[Lane, list[Communication]] = defaultdict(list)
    lost = 0
    for rank, made in items.items():
        for item in made:
            if item.type is NodeType.COMM_COLL or item.type is NodeType.COMP:
                continue
            if item.peer is None or item.peer == rank:
                _leave_out([item])
                lost += 1
            elif item.type is NodeType.COMM_SEND:
                sends[rank, item.peer, communicators.id(item), item.tag].append(item)
            else:
                receives[item.peer, rank, communicators.id(item), item.tag].append(item)
    if lost:
        found.problems.append(
            f"{counted(lost, 'message')} without the rank at the other end; kept as computations "
            "of the recorded duration"
        )
    found.unmatched_messages += lost
    pairs = _pairs(sends, receives, set(items), found)
    _tag(pairs, items, communicators)


def _pairs(
    sends: Mapping[Lane, list[Communication]],
    receives: Mapping[Lane, list[Communication]],
    ranks: set[int],
    found: Matches,
) -> list[tuple[int, int, list[Communication]]]:
    pairs = []
    unmatched: Counter[tuple[int, int]] = Counter()
    for lane in sorted({*sends, *receives}):
        source, target = lane[0], lane[1]
        out, into = sends.get(lane, []), receives.get(lane, [])
        if {source, target} <= ranks:
            met = min(len(out), len(into))
            alone = [*out[met:], *into[met:]]
            _leave_out(alone)
            unmatched[source, target] += len(alone)
            for send, receive in zip(out[:met], into[:met], strict=True):
                receive.bytes = send.bytes = _larger(send.bytes, receive.bytes)
                pairs.append((source, target, [send, receive]))
        else:
            pairs += [(source, target, [item]) for item in (*out, *into)]
    for (source, target), count in sorted(unmatched.items()):
        if count:
            found.unmatched_messages += count
            found.problems.append(
                f"{counted(count, 'message')} from rank {source} to rank {target} without a "
                "counterpart; kept as computations of the recorded duration"
            )
    return pairs


def _tag(
    pairs: Iterable[tuple[int, int, list[Communication]]],
    items: Items,
    communicators: Communicators,
) -> None:
    order = {id(item): place for made in items.values() for place, item in enumerate(made)}
    counts: Counter[tuple[int, int, int]] = Counter()
    for source, target, ends in sorted(pairs, key=lambda pair: order[id(pair[2][0])]):
        if ends[0].bytes is None:
            _leave_out(ends)
            continue
        group = communicators.id(ends[0])
        number = counts[source, target, group]
        counts[source, target, group] += 1
        for item in ends:
            item.tag = ((group << _TAG_BITS) + number) & _LARGEST_TAG


def _leave_out(items: Iterable[Communication]) -> None:
    for item in items:
        item.type = NodeType.COMP


def _larger(a: int | None, b: int | None) -> int | None:
    return max((size for size in (a, b) if size is not None), default=None)
