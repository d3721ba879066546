"""Checks a training step before it is written: it must run to its end on any simulator.

It looks at classes of ranks, one per device of the pipeline, not at ranks: every operation waits
for earlier ones of its pass only; messages within a stage (context parallelism) meet each other;
every send between stages has its receive, of the same tag and size; and if every device worked
through its list strictly in order, all of them would reach the end, with collectives between
stages entered by all members in one order. Any execution that respects the dependencies then ends
too, with one slot for communication per rank and the collectives in file order as with many: the
dependencies are fewer than those of that strict order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from yantra.base.errors import InternalError
from yantra.workloads.templates.grid import Grid, parse_peer
from yantra.workloads.training.step.device import Encodings
from yantra.workloads.training.step.draft import Item
from yantra.workloads.training.step.passes import Drafted, PassKey
from yantra.workloads.training.step.pipeline import Job
from yantra.workloads.training.step.program import name_of
from yantra.workloads.training.step.shared import Shared
from yantra.workloads.training.step.turns import in_turns, parts_of

_ACROSS = ("world", "embedding", "mirror")


class Event(NamedTuple):
    """A communication between devices of the pipeline: a send, a receive, or a collective.

    `peer` is the distance along pp of a message, `group` the communicator of a collective, `name`
    says what the collective is about.
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
    items = drafted.items if total.messages else ()
    if any(not _along_pp(items[at].operation.peer) for at in total.messages):
        place = {item.key: number for number, item in enumerate(items)}
        _check_inner_messages(items, place, where)


def _check_inner_messages(items: Sequence[Item], place: Mapping[int, int], where: str) -> None:
    """Messages between ranks of one stage: who sends to axis+k also receives from axis-k."""
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
    """Raise if receives wait for sends that wait for them; all ranks of the stage do the same."""
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
    """Raise InternalError if the devices cannot all reach their ends, or messages do not match."""
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
    events = [
        list(_events(job, device, passes[device], ends[device], found))
        for device in range(job.stages.devices)
    ]
    _check_messages(events)
    groups = {name: tuple(_devices(grid, job, name)) for name in _ACROSS if name in job.groups}
    _play(events, groups)


def _events(
    job: Job,
    device: int,
    passes: Mapping[PassKey, Drafted],
    finish: Drafted,
    found: Shared[tuple[Event, ...]],
) -> Iterator[Placed]:
    """Yield what a device communicates with others; `found` are the events of passes as drafted."""
    cache: dict[object, list[tuple[int, Event]]] = {}
    devices, tags = job.stages.devices, job.tags_per_microbatch
    for action in job.programs[device]:
        name = name_of(action)
        of_action = cache.get(name)
        if of_action is None:
            played = [passes[play.key] for play in action]
            of_action = cache[name] = list(_in_turns(played, found))
        for number, event in of_action:
            more = 0 if event.group else action[number].microbatch * tags
            yield _placed(event, device, devices, more)
    for event in _events_of(finish.items):
        yield _placed(event, device, devices, 0)


class Placed(NamedTuple):
    """An event of a device: a message from one device to another, with its tag, or a collective."""

    event: Event
    source: int
    target: int
    tag: int


def _placed(event: Event, device: int, devices: int, more_tag: int) -> Placed:
    other = (device + event.peer) % devices
    ends = (device, other) if event.kind == "send" else (other, device)
    return _make(Placed, (event, *ends, event.tag + more_tag))


_make = tuple.__new__


def _in_turns(
    played: Sequence[Drafted], found: Shared[tuple[Event, ...]]
) -> Iterator[tuple[int, Event]]:
    """Yield the events of passes that are played at once, each with the place of its pass."""
    if len(played) == 1:
        (one,) = played
        for event in found.of(one):
            tag = event.tag if one.moved is None or event.group else one.moved.tag(event.tag)
            yield 0, event._replace(tag=tag)
        return
    parts = [parts_of(one.items, overlaps=True) for one in played]
    for number, at in in_turns(parts):
        for event in _events_of(parts[number][at]):
            yield number, event


def _communicating(one: Drafted, known: Encodings) -> Sequence[Item]:
    """Return the items of a pass among which those are that communicate with other devices."""
    total = known.totals.of(one)
    if any(group in _ACROSS for group in total.groups):
        return one.items
    return [one.items[at] for at in total.messages]


def _events_of(items: Sequence[Item]) -> Iterator[Event]:
    for item in items:
        operation = item.operation
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


def _check_messages(events: Sequence[Sequence[Placed]]) -> None:
    ends: dict[bool, list[tuple[int, int, int, int]]] = {True: [], False: []}
    for own in events:
        for event, source, target, tag in own:
            if not event.group:
                ends[event.kind == "send"].append((source, target, tag, event.size_bytes))
    sends, receives = ends[True], ends[False]
    if len(sends) == len(receives) == len(set(sends)) and set(sends) == set(receives):
        return
    counts = {is_send: Counter(of) for is_send, of in ends.items()}
    if counts[True] != counts[False]:
        wrong = (counts[True] - counts[False]) or (counts[False] - counts[True])
        src, dst, tag, size = next(iter(wrong))
        raise InternalError(
            f"a message of {size} bytes with tag {tag} from device {src} to device {dst} has only "
            "one end"
        )
    src, _, tag, _ = next(message for message, times in counts[True].items() if times > 1)
    raise InternalError(f"tag {tag} stands for several messages of device {src}")


def _devices(grid: Grid, job: Job, name: str) -> Iterator[tuple[int, ...]]:
    """Yield the devices that meet in each group of a name, whatever their other coordinates."""
    cuts = dict(job.groups[name].where).get("pp", (tuple(range(grid.axes("dense")["pp"])),))
    return iter(cuts)


def _play(
    events: Sequence[Sequence[Placed]], groups: Mapping[str, Sequence[tuple[int, ...]]]
) -> None:
    """Work through all lists strictly in order: sends go out, all else waits for its partners."""
    sent: set[tuple[int, int, int]] = set()
    done = [0] * len(events)
    moved = True
    while moved:
        moved = False
        for device, own in enumerate(events):
            at = done[device]
            while at < len(own):
                event, source, target, tag = own[at]
                if event.group:
                    done[device] = at
                    if not _meet(device, event, events, done, groups[event.group]):
                        break
                elif event.kind == "send":
                    sent.add((source, target, tag))
                elif (source, target, tag) not in sent:
                    break
                at += 1
                moved = True
            done[device] = at
    for device, own in enumerate(events):
        if done[device] < len(own):
            event, _, _, tag = own[done[device]]
            what = event.group or f"tag {tag}"
            raise InternalError(f"device {device} never gets past its {event.kind} ({what})")


def _meet(
    device: int,
    event: Event,
    events: Sequence[Sequence[Placed]],
    done: list[int],
    groups: Sequence[tuple[int, ...]],
) -> bool:
    """Let the other members of a group pass their next collective; False if one is not there."""
    members = next(group for group in groups if device in group)
    for member in members:
        at = done[member]
        if at == len(events[member]) or events[member][at].event != event:
            return False
    for member in members:
        done[member] += member != device
    return True
