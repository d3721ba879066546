"""Does every send meet a receive of the same ends, tag and size?

k-th sends meet k-th receives, as in simulators.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from yantra.base.units import format_size
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.validate.loaded import LoadedJob, Member

_SECTION = "messages"


class Key(NamedTuple):
    """What a message's ends must agree on."""

    source: int
    destination: int
    tag: int | None
    size: int | None


Ends = dict[Key, list[int]]


class Messages(NamedTuple):
    """Each end's nodes by key, in issue order."""

    sends: Ends
    receives: Ends


def find_messages(job: LoadedJob) -> Messages:
    messages = Messages(defaultdict(list), defaultdict(list))
    for member in job.members.values():
        for node, key, is_send in _ends(member):
            other = key.destination if is_send else key.source
            if other in job.members:
                (messages.sends if is_send else messages.receives)[key].append(node)
    return messages


def check_messages(job: LoadedJob, messages: Messages) -> None:
    for member in job.members.values():
        _check_peers(job, member)
    sends, receives = (_left_over(*messages), _left_over(*messages[::-1]))
    if not sends and not receives:
        _check_size_order(job, messages)
    _report_pairs(job, sends, receives, "size")
    _report_pairs(job, sends, receives, "tag")
    for key, nodes in sends.items():
        for node in nodes:
            text = f"sends {_message(key)} to rank {key.destination}, which never receives it"
            job.add_finding("error", "send-without-receive", _SECTION, key.source, node, text)
    for key, nodes in receives.items():
        for node in nodes:
            text = f"waits for {_message(key)} from rank {key.source}, which never sends it"
            job.add_finding("error", "receive-without-send", _SECTION, key.destination, node, text)


def _ends(member: Member) -> Iterator[tuple[int, Key, bool]]:
    columns = member.columns
    if not {NodeType.COMM_SEND, NodeType.COMM_RECV} & set(columns.type):
        return
    for node in member.order.sequence:
        if columns.type[node] == NodeType.COMM_COLL:
            continue
        is_send = columns.type[node] == NodeType.COMM_SEND
        peer = (columns.target if is_send else columns.source)[node]
        if peer is None or peer == member.rank:
            continue
        ends = (member.rank, peer) if is_send else (peer, member.rank)
        yield node, Key(*ends, columns.tag(node), columns.comm_size[node]), is_send


def _check_peers(job: LoadedJob, member: Member) -> None:
    columns, rank = member.columns, member.rank
    ends = columns.source, columns.target
    for node in member.order.sequence:
        if columns.type[node] == NodeType.COMM_COLL:
            continue
        is_send = columns.type[node] == NodeType.COMM_SEND
        own, peer = (side[node] for side in (ends if is_send else ends[::-1]))
        verb, named = ("sends to", "comm_src") if is_send else ("receives from", "comm_dst")
        if own is not None and own != rank:
            text = f"{named} is {own}, but the trace is rank {rank}'s"
            job.add_finding("error", "wrong-own-rank", _SECTION, rank, node, text)
        if peer == rank:
            text = f"{verb} its own rank"
            job.add_finding("error", "self-message", _SECTION, rank, node, text)
        elif peer is not None and (peer < 0 or (job.world is not None and peer >= job.world)):
            known = "" if job.world is None else f"; the ranks are 0 to {job.world - 1}"
            text = f"{verb} rank {peer}, which does not exist{known}"
            job.add_finding("error", "peer-out-of-range", _SECTION, rank, node, text)


def _left_over(these: Ends, others: Ends) -> Ends:
    rest = {key: nodes[len(others.get(key, ())) :] for key, nodes in these.items()}
    return {key: nodes for key, nodes in rest.items() if nodes}


def _report_pairs(job: LoadedJob, sends: Ends, receives: Ends, what: str) -> None:
    by_rest: dict[Key, list[Key]] = defaultdict(list)
    for key in receives:
        by_rest[key._replace(**{what: 0})].append(key)
    for key in list(sends):
        for partner in by_rest[key._replace(**{what: 0})]:
            while sends[key] and receives[partner]:
                node, other = sends[key].pop(0), receives[partner].pop(0)
                text = (
                    f"sends {_message(key)} to rank {key.destination}, which receives "
                    f"{_message(partner)} with {job.label(key.destination, other)}"
                )
                code = f"message-{what}-mismatch"
                job.add_finding("error", code, _SECTION, key.source, node, text)
    for ends in (sends, receives):
        for key in [key for key, nodes in ends.items() if not nodes]:
            del ends[key]


def _check_size_order(job: LoadedJob, messages: Messages) -> None:
    orders: list[dict[Key, list[tuple[int, int | None]]]] = []
    for ends in messages:
        merged: dict[Key, list[tuple[int, int | None]]] = defaultdict(list)
        for key, nodes in ends.items():
            merged[key._replace(size=0)] += [(node, key.size) for node in nodes]
        orders.append({key: sorted(entries, key=lambda e: e[0]) for key, entries in merged.items()})
    for key, entries in orders[0].items():
        for (node, size), (other, wanted) in zip(entries, orders[1][key], strict=True):
            if size != wanted:
                text = (
                    f"sends {_message(key._replace(size=size))} where rank {key.destination} "
                    f"receives {_size(wanted)} first, with {job.label(key.destination, other)}"
                )
                job.add_finding("warning", "message-size-order", _SECTION, key.source, node, text)
                break


def _message(key: Key) -> str:
    return f"{_size(key.size)} (tag {'unknown' if key.tag is None else key.tag})"


def _size(size: int | None) -> str:
    return "a message of unknown size" if size is None else format_size(size)
