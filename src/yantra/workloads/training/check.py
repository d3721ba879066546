"""Checks that a training step runs to its end on any simulator, before it is written.

Per pipeline device: operations wait only for earlier ones of their pass, messages within a stage
match, sends between stages match receives in tag and size, and devices that work strictly in order
reach the end, with collectives between stages in one order. Real executions have fewer
dependencies, so they end too, with one communication slot or many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from yantra.base.errors import InternalError
from yantra.workloads.operators.operations import Operation
from yantra.workloads.templates.grid import Grid, parse_peer
from yantra.workloads.training.step.device import Encodings
from yantra.workloads.training.step.draft import Item
from yantra.workloads.training.step.passes import Drafted, PassKey
from yantra.workloads.training.step.pipeline import Job
from yantra.workloads.training.step.shared import Shared
from yantra.workloads.training.step.turns import in_turns, parts_of

_ACROSS = ("world", "embedding", "mirror")


class Event(NamedTuple):
    """A communication between devices of the pipeline: a send, a receive or a collective.

    `peer` is a message's distance along pp, `group` a collective's communicator, `name` its
    subject.
    """

    kind: str
    size_bytes: int
    tag: int = 0
    peer: int = 0
    group: str = ""
    name: str = ""


def check_pass(drafted: Drafted, where: str, encodings: Encodings | None = None) -> None:
    """Raise InternalError if a pass waits for itself or for messages that nobody sends."""
    total = (encodings or Encodings()).totals.of(drafted)
    if total.too_early is not None:
        name = drafted.items[total.too_early].operation.name
        raise InternalError(f"{where}: '{name}' waits for an operation not before it")
    messages = drafted.operations_at(total.messages)
    if any(not _along_pp(one.peer) for one in messages):
        items = drafted.items
        place = {item.key: number for number, item in enumerate(items)}
        _check_inner_messages(items, place, where)


def _check_inner_messages(items: Sequence[Item], place: Mapping[int, int], where: str) -> None:
    sends: dict[tuple[str, int, int], list[int]] = {}
    receives: dict[tuple[str, int, int], list[int]] = {}
    for number, item in enumerate(items):
        peer = item.operation.peer
        if not peer or _along_pp(peer):
            continue
        is_send = item.operation.kind == "send"
        route = peer if is_send else _opposite(peer)
        found = (route, item.operation.tag, item.operation.size_bytes)
        (sends if is_send else receives).setdefault(found, []).append(number)
    if {key: len(at) for key, at in sends.items()} != {k: len(at) for k, at in receives.items()}:
        raise InternalError(f"{where}: messages within the stage do not match")
    _check_circle(items, place, sends, receives, where)


def _check_circle(
    items: Sequence[Item],
    place: Mapping[int, int],
    sends: Mapping[tuple[str, int, int], Sequence[int]],
    receives: Mapping[tuple[str, int, int], Sequence[int]],
    where: str,
) -> None:
    """Raise if receives wait for sends that wait for them; ranks of a stage are equal."""
    if not sends:
        return
    parents: list[list[int]] = [
        [place[key] for key, _, source in item.waits if not source] for item in items
    ]
    computed: int | None = None
    for number, item in enumerate(items):
        if item.computes:
            if computed is not None:
                parents[number].append(computed)
            computed = number
    for route, numbers in receives.items():
        for receive, send in zip(numbers, sends[route], strict=True):
            parents[receive].append(send)
    children: dict[int, list[int]] = {}
    for number, needed in enumerate(parents):
        for parent in needed:
            children.setdefault(parent, []).append(number)
    left = [len(needed) for needed in parents]
    free = [number for number, count in enumerate(left) if not count]
    done = 0
    while free:
        done += 1
        for child in children.get(free.pop(), ()):
            left[child] -= 1
            if not left[child]:
                free.append(child)
    if done < len(items):
        raise InternalError(f"{where}: messages within the stage wait for each other")


def check_job(
    job: Job,
    grid: Grid,
    passes: Sequence[Mapping[PassKey, Drafted]],
    ends: Sequence[Drafted],
    encodings: Encodings | None = None,
) -> None:
    """Raise InternalError if a device cannot reach its end, or messages do not match."""
    known = encodings or Encodings()
    checked: set[int] = set()
    for device, drafts in enumerate(passes):
        for key, drafted in drafts.items():
            if id(drafted.like) not in checked:
                checked.add(id(drafted.like))
                where = f"device {device}, {key.kind} of chunk {key.chunk}"
                check_pass(drafted.like, where, known)
        check_pass(ends[device], f"device {device}, end of the step", known)
    found = Shared(lambda one: tuple(_events_of(_communicating(one, known))))
    lists = [
        _list_of(job, device, passes[device], ends[device], found, known)
        for device in range(job.stages.devices)
    ]
    _check_messages(lists)
    groups = {name: tuple(_devices(grid, job, name)) for name in _ACROSS if name in job.groups}
    _play(lists, groups)


class EventList(NamedTuple):
    """A device's communications, in order.

    `messages` has each event's message number, from `_number`; -1 for a collective.
    """

    events: list[Event]
    messages: list[int]


def _list_of(
    job: Job,
    device: int,
    passes: Mapping[PassKey, Drafted],
    finish: Drafted,
    found: Shared[tuple[Event, ...]],
    known: Encodings,
) -> EventList:
    devices, program = job.stages.devices, known.program(job.programs[device])
    by_microbatch = job.tags_per_microbatch * devices * devices
    of_action = {
        name: [
            (number, event, _number(event, tag, device, devices))
            for number, event, tag in _in_turns([passes[play.key] for play in action], found)
        ]
        for name, action in program.first.items()
    }
    played = [
        (event, message + action[number].microbatch * by_microbatch if message >= 0 else message)
        for name, action in zip(program.names, program.actions, strict=True)
        for number, event, message in of_action[name]
    ]
    events = [event for event, _ in played]
    messages = [message for _, message in played]
    for event in _events_of(item.operation for item in finish.items):
        events.append(event)
        messages.append(_number(event, event.tag, device, devices))
    return EventList(events, messages)


def _number(event: Event, tag: int, device: int, devices: int) -> int:
    if event.group:
        return -1
    other = (device + event.peer) % devices
    source, target = (device, other) if event.kind == "send" else (other, device)
    return (tag * devices + source) * devices + target


def _tag_and_ends(message: int, devices: int) -> tuple[int, int, int]:
    rest, target = divmod(message, devices)
    return *divmod(rest, devices), target


def _in_turns(
    played: Sequence[Drafted], found: Shared[tuple[Event, ...]]
) -> Iterator[tuple[int, Event, int]]:
    if len(played) == 1:
        (one,) = played
        for event in found.of(one):
            tag = event.tag if one.moved is None or event.group else one.moved.tag(event.tag)
            yield 0, event, tag
        return
    parts = [parts_of(one.items, overlaps=True) for one in played]
    for number, at in in_turns(parts):
        for event in _events_of(item.operation for item in parts[number][at]):
            yield number, event, event.tag


def _communicating(one: Drafted, known: Encodings) -> Sequence[Operation]:
    # includes all that communicate with other devices
    total = known.totals.of(one)
    if any(group in _ACROSS for group in total.groups):
        return [item.operation for item in one.items]
    return one.operations_at(total.messages)


def _events_of(operations: Iterable[Operation]) -> Iterator[Event]:
    for operation in operations:
        if operation.group in _ACROSS:
            yield Event(
                operation.kind, operation.size_bytes, group=operation.group, name=operation.name
            )
        elif operation.peer and _along_pp(operation.peer):
            (step,) = parse_peer(operation.peer).steps
            distance = step.amount if step.how == "+" else -step.amount
            yield Event(operation.kind, operation.size_bytes, operation.tag, distance)


def _along_pp(peer: str) -> bool:
    return peer.startswith("pp")


def _opposite(peer: str) -> str:
    return peer.translate(str.maketrans("+-", "-+"))


def _check_messages(lists: Sequence[EventList]) -> None:
    sends: dict[int, int] = {}
    receives: dict[int, int] = {}
    ends = 0
    for own in lists:
        for event, message in zip(own.events, own.messages, strict=True):
            if message >= 0:
                ends += 1
                (sends if event.kind == "send" else receives)[message] = event.size_bytes
    if sends == receives and ends == 2 * len(sends):
        return
    counts: dict[bool, Counter[tuple[int, int]]] = {True: Counter(), False: Counter()}
    for own in lists:
        for event, message in zip(own.events, own.messages, strict=True):
            if message >= 0:
                counts[event.kind == "send"][message, event.size_bytes] += 1
    if counts[True] != counts[False]:
        wrong = (counts[True] - counts[False]) or (counts[False] - counts[True])
        message, size = next(iter(wrong))
        tag, src, dst = _tag_and_ends(message, len(lists))
        raise InternalError(
            f"a message of {size} bytes with tag {tag} from device {src} to device {dst} has only "
            "one end"
        )
    message = next(message for (message, _), times in counts[True].items() if times > 1)
    tag, src, _ = _tag_and_ends(message, len(lists))
    raise InternalError(f"tag {tag} stands for several messages of device {src}")


def _devices(grid: Grid, job: Job, name: str) -> Iterator[tuple[int, ...]]:
    cuts = dict(job.groups[name].where).get("pp", (tuple(range(grid.axes("dense")["pp"])),))
    return iter(cuts)


def _play(lists: Sequence[EventList], groups: Mapping[str, Sequence[tuple[int, ...]]]) -> None:
    sent: set[int] = set()
    done = [0] * len(lists)
    moved = True
    while moved:
        moved = False
        for device, (events, messages) in enumerate(lists):
            at = done[device]
            while at < len(events):
                event, message = events[at], messages[at]
                if message < 0:
                    done[device] = at
                    if not _meet(device, event, lists, done, groups[event.group]):
                        break
                elif event.kind == "send":
                    sent.add(message)
                elif message not in sent:
                    break
                at += 1
                moved = True
            done[device] = at
    for device, (events, messages) in enumerate(lists):
        if done[device] < len(events):
            event, message = events[done[device]], messages[done[device]]
            what = event.group or f"tag {_tag_and_ends(message, len(lists))[0]}"
            raise InternalError(f"device {device} never gets past its {event.kind} ({what})")


def _meet(
    device: int,
    event: Event,
    lists: Sequence[EventList],
    done: list[int],
    groups: Sequence[tuple[int, ...]],
) -> bool:
    members = next(group for group in groups if device in group)
    for member in members:
        at = done[member]
        events = lists[member].events
        if at == len(events) or events[at] != event:
            return False
    for member in members:
        done[member] += member != device
    return True
