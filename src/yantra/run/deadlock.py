"""Why a run cannot finish, in words: a line per rank, causes first."""

from __future__ import annotations

from math import inf

from yantra import _core
from yantra.base.fields import kind_of
from yantra.base.text import count
from yantra.base.units import format_size, format_time
from yantra.compile import Model
from yantra.compile.what_fails import in_words
from yantra.network import describe, names
from yantra.run.waiting import collective, message, node_of
from yantra.scenario.quirks import Quirk

_LOST_SHOWN = 4
_TANGLED = "which all its ranks entered but whose chunks wait for each other"


def explain(model: Model, outcome: _core.Outcome) -> str:
    unfinished = model.ranks - len(outcome.finish_order)
    lines = [f"deadlock: {unfinished} of {model.ranks} ranks cannot finish"]
    lines += [*undelivered(model, outcome), *lost(model, outcome)]
    finished = set(outcome.finish_order)
    lines += [_line(model, entry, finished) for entry in outcome.waiting]
    if unfinished > len(outcome.waiting):
        lines.append(f"and {count(unfinished - len(outcome.waiting), 'more rank')}")
    if Quirk.PHASES_AS_READY in model.quirks and any(_TANGLED in line for line in lines):
        lines.append(f"ASTRA-sim hangs here, too, by its quirk {Quirk.PHASES_AS_READY.value}")
    return "\n".join(lines)


def undelivered(model: Model, outcome: _core.Outcome) -> list[str]:
    if not outcome.under_way:
        return []
    verb = "was" if outcome.under_way == 1 else "were"
    name = describe(model.scenario.network)
    given = f"{count(outcome.under_way, 'message')} {verb} given to the network {name}"
    is_own = kind_of(model.scenario.network) in names()
    checked = "" if is_own else "; yantra contract network checks it"
    return [f"{given} and did not arrive{checked}"]


def lost(model: Model, outcome: _core.Outcome) -> list[str]:
    if not outcome.disturbance.waited:
        return []
    of_links = [event for event in model.failures.events if event.part.links and not event.keeps]
    for_ever = [in_words(event) for event in of_links if event.until_ns == inf]
    lines = [
        f"{text}, for ever: messages without another way never arrive; say how long it lasts "
        "(for), or give the fabric another way"
        for text in for_ever[:_LOST_SHOWN]
    ]
    if len(for_ever) > _LOST_SHOWN:
        lines.append(f"and {count(len(for_ever) - _LOST_SHOWN, 'more failure')} for ever")
    if not lines and model.changed_at_ns:
        lines = [
            "messages wait for links that are down; does link_changes let each of them return?"
        ]
    return lines


def _line(model: Model, entry: _core.Waiting, finished: set[int]) -> str:
    since = format_time(entry.since / model.ticks_per_ns)
    node = node_of(model, entry.rank, entry.node)
    head = f"rank {entry.rank} waits since {since} in node {node} for"
    if entry.for_message:
        return f"{head} {_message(entry)}{_partner(model, entry)}"
    return f"{head} {_collective(model, entry, finished)}"


def _message(entry: _core.Waiting) -> str:
    return message(entry.peer, entry.tag, entry.bytes, sends=entry.sends)


def _partner(model: Model, entry: _core.Waiting) -> str:
    # Why the other rank of a message does not take part.
    verb = "receive" if entry.sends else "send"
    if entry.peer_node is not None:
        return f", which has not started its node {node_of(model, entry.peer, entry.peer_node)}"
    if entry.other_bytes is not None:
        return f", which {verb}s {format_size(entry.other_bytes)} with that tag"
    if entry.other_tag is not None:
        return f", which {verb}s one of that size with tag {entry.other_tag}"
    if entry.peer_finished:
        return f", which finished without {verb.removesuffix('e')}ing it"
    return f", which waits itself and has no such message left to {verb}"


def _collective(model: Model, entry: _core.Waiting, finished: set[int]) -> str:
    of = entry.communicator
    group = None if of is None or of.index == 0 else model.groups[of.index - 1][0]
    text = collective(_kind(entry.kind), entry.collective_bytes, group)
    if entry.other_rank is not None and entry.other_node is not None:
        node = node_of(model, entry.other_rank, entry.other_node)
        other = f"rank {entry.other_rank} entered {_other(entry)}, node {node}"
        return f"{text}, in whose place {other}"
    if entry.missing:
        verb = "never entered" if entry.is_cause else "has not entered yet"
        return f"{text}, which {_missing(entry, finished)} {verb}"
    if entry.inner_node is not None:
        inner = f"whose node {entry.inner_node} '{entry.inner_name}' waits for"
        return f"{text}, {inner} {_message(entry)}{_partner(model, entry)}"
    return f"{text}, {_TANGLED}"


def _other(entry: _core.Waiting) -> str:
    size = entry.other_bytes or 0
    if entry.other_kind == entry.kind and size == entry.collective_bytes:
        return "one over other dimensions or with another algorithm"
    return collective(_kind(entry.other_kind), size)


def _kind(kind: _core.CollectiveKind | None) -> str:
    return "collective" if kind is None else kind.name.lower()


def _missing(entry: _core.Waiting, finished: set[int]) -> str:
    shown = [f"{rank} (finished)" if rank in finished else str(rank) for rank in entry.missing]
    if entry.missing_count > len(shown):
        shown.append(f"{entry.missing_count - len(shown)} more")
    *most, last = shown
    return f"ranks {', '.join(most)} and {last}" if most else f"rank {last}"
