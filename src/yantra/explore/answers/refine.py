"""What plans gain by fields without a closed form: change one, simulate the step.

Schedules that hide messages or fill the bubble change which split is best. Each is tried on the
plans that would be fastest without what it may hide, while that beats the best. Then the best plans
climb: one field changes at a time, and a change that makes the step faster stays.

Trade-off: changes that help only together are missed, unless the closed form has one; schedules end
after some tries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.whole_numbers import is_whole
from yantra.explore.answers.causes import PARTS
from yantra.explore.closed_form.passes import CP_KINDS, RECOMPUTE
from yantra.workloads.plan.plan import Plan

if TYPE_CHECKING:
    from yantra.explore.answers.ranked import Ranked
    from yantra.explore.closed_form.closed_form import Judged
    from yantra.explore.closed_form.space import Columns, PlanSpace

REFINED = (
    "schedule",
    "order",
    "messages",
    "bucket_elements",
    "shard",
    "prefetch",
    "reshard_after_forward",
    "overlap_p2p",
    "overlap_tensor",
    "gather_again",
    "offload_optimizer",
    "offload_activations",
    "stage_layers",
)
"""Fields of a plan that a search changes by simulation alone."""
MOVED = (
    "vpp", "zero", "micro_batch", "recompute", "sequence_parallel", "cp_kind", "ep", "etp",
    "embedding_as_layer", "loss_as_layer",
)  # fmt: skip
"""Columns of a space that are changed with them, within what the space allows."""
WAITS = ("offload_activations", "offload_optimizer")
"""Fields that say what waits in the host's memory."""
_EVEN = "even"
_LEAST = 5e-4  # the least gain worth a field
_SHARE = 2e-3  # of the time: the least share of a change's cause
_SPLIT = ("tp", "cp", "ep", "pp")  # starting plans differ in one
_STARTS, _FAR = 3, 1.02  # starting plans, and how much slower than the best they may be
_NODE = 8  # devices of most nodes, where shards are quick
_STEPS = (2.5, 6.25, 0.4, 1.6, 0.625)  # factors between bucket sizes
_TRIES, _LOOKED = 4, 8  # plans that run per schedule; legal ones whose memory is checked
_KEEP = ("micro_batch", "recompute")  # what activations mostly depend on
_WANTED = 64  # legal plans, where a choice is forced
_PASSES = 1 << 13  # of all chunks of a pipeline; more are slow to simulate
_FIRST = 1000  # plans checked for legal ones
_LEFT = 0.3  # a schedule leaves this share, or the least seen, of what it may hide

_HIDES = {
    "dualpipev": (2, ("communication", "bubble")),
    "zb-v": (2, ("bubble",)),
    "zb-h1": (1, ("bubble",)),
    "zb-h2": (1, ("bubble",)),
    "dualpipe": (1, ("communication", "bubble")),
}
"""Chunks of a device that a schedule needs, and the causes whose time it may hide."""

Choices = Mapping[str, tuple[Any, ...]]
"""Values that fields may have; a field that is absent may have any."""
Attempt = Callable[["Ranked", Plan, str], "Ranked | None"]
"""Simulates a changed plan: None where it is not legal, does not fit or takes too long."""
FromRow = Callable[[int, Mapping[str, Any], str], "Ranked | None"]
"""Simulates a row of a space with some fields changed, which acts on a cause, likewise."""
IsLegal = Callable[[int, Mapping[str, Any]], bool]
"""Says whether it is legal."""


class Move(NamedTuple):
    """Fields to change, and the cause of time they act on."""

    cause: str
    changes: Mapping[str, Any]


def choices_of(space: PlanSpace, given: Mapping[str, Any]) -> Choices:
    """Return the values that fields may have: those given, else the space's.

    Raises ConfigError for a field that a search does not change and a value none may have.
    """
    for name, values in given.items():
        _check_field(name, name)
        if not isinstance(values, tuple) or not values:
            raise ConfigError(name, expected_got("a tuple of values", values))
        for value in values:
            _check_value(name, value)
    own = {name: value for name in MOVED if (value := getattr(space, name)) is not None}
    return own | dict(given)


def read_choice(name: str, text: str, where: str) -> tuple[Any, ...]:
    """Return the values of a field as a user types them. Raises ConfigError at `where`."""
    _check_field(name, where)
    own, words = getattr(Plan(), name), text.split(",")
    if isinstance(own, str):
        return tuple(words)
    known: dict[str, Any] = {"true": True, "false": False}
    if name == "stage_layers":
        known = {_EVEN: None}
    elif not isinstance(own, bool):
        known = {word: int(word) for word in words if is_whole(word)}
    if not all(word in known for word in words):
        is_number = not isinstance(own, bool) and name != "stage_layers"
        expected = "whole numbers such as 1,2,4" if is_number else ", ".join(known)
        raise ConfigError(f"{where} {name}", expected_got(expected, text))
    return tuple(known[word] for word in words)


def _check_field(name: str, where: str) -> None:
    if name not in REFINED:
        known = f"one of {', '.join(REFINED)}"
        raise ConfigError(where, expected_got(known, name) + did_you_mean(name, REFINED))


def _check_value(name: str, value: Any) -> None:
    if name == "schedule":
        from yantra.workloads.schedules import get

        get(value, "schedule")
    Plan(**{name: value})


def forced(choices: Choices) -> dict[str, Any]:
    own = Plan()
    return {
        name: choices[name][0]
        for name in REFINED
        if name in choices and name != "schedule" and getattr(own, name) not in choices[name]
    }


def is_allowed(plan: Plan, choices: Choices) -> bool:
    return all(
        name not in choices or getattr(plan, name) in choices[name] or _alone(plan, name)
        for name in REFINED
    )


def _alone(plan: Plan, name: str) -> bool:
    return name == "schedule" and plan.pp == 1


class Rows(NamedTuple):
    """The rows of a space: columns, closed form, which fit, and sequences a step."""

    columns: Columns
    judged: Judged
    fits: np.ndarray
    batch: int


def scheduled(
    rows: Rows, best_ns: float, simulate: FromRow, is_legal: IsLegal, choices: Choices
) -> list[Ranked]:
    """Return plans with schedules without a closed form, if near `best_ns` or faster."""
    found: list[Ranked] = []
    names = choices.get("schedule", tuple(_HIDES))
    for name in (one for one in names if one not in ("1f1b", "interleaved")):
        chunks, hides = _HIDES.get(name, (1, ("bubble",)))
        if "vpp" not in choices or chunks in choices["vpp"]:
            changes = {"vpp": chunks, "schedule": name}
            limit = np.inf if "schedule" in choices else best_ns * (1 - _LEAST)
            some = _on_rows(rows, changes, hides, limit, simulate, is_legal)
            found += some
            best_ns = min((best_ns, *(one.time_ns for one in some)))
    return found


def _on_rows(
    rows: Rows,
    changes: Mapping[str, Any],
    hides: tuple[str, ...],
    limit_ns: float,
    simulate: FromRow,
    is_legal: IsLegal,
) -> list[Ranked]:
    hidden = _hidden(rows.judged, hides)
    least = rows.judged.time_ns - hidden
    order = np.flatnonzero(_may_be_tried(rows, changes["vpp"]))
    order = order[np.argsort((least + _LEFT * hidden)[order], kind="stable")]
    found: list[Ranked] = []
    left, looked, seen = _LEFT, 0, set[tuple[int, ...]]()
    is_wanted, failed = np.isinf(limit_ns), set[tuple[int, ...]]()
    most = _WANTED if is_wanted else _LOOKED
    for row in map(int, order[:_FIRST]):
        kind = tuple(int(rows.columns[field][row]) for field in _SPLIT)
        promised = float(least[row] + left * hidden[row])
        keeps = (*kind, *(int(rows.columns[field][row]) for field in _KEEP))
        if promised >= limit_ns or kind in seen or (is_wanted and keeps in failed):
            continue
        if not is_legal(row, changes):
            continue
        looked += 1
        one = simulate(row, changes, "bubble")
        (failed if one is None else seen).add(keeps if one is None else kind)
        if one is not None and not one.not_simulated:
            share = (one.time_ns - float(least[row])) / max(float(hidden[row]), 1.0)
            left = max(min(left, share), 0.0)
            if one.time_ns < limit_ns * _FAR:
                found.append(one)
                limit_ns = limit_ns if np.isinf(limit_ns) else min(limit_ns, one.time_ns)
        if looked == most or len(seen) == _TRIES:
            break
    return found


def _hidden(judged: Judged, hides: tuple[str, ...]) -> np.ndarray:
    """Return the time that a schedule may hide; messages only behind kernels."""
    kernels, communication = judged.kernels_ns, judged.communication_ns
    hidden = np.zeros_like(judged.time_ns)
    if "bubble" in hides:
        hidden = hidden + judged.bubble_ns
    if "communication" in hides:
        hidden = hidden + np.minimum(communication, kernels)
    return hidden


def _may_be_tried(rows: Rows, chunks: int) -> np.ndarray:
    columns = rows.columns
    passes = rows.batch // (columns["micro_batch"] * columns["dp"]) * columns["pp"] * chunks
    may: np.ndarray = rows.fits & (columns["pp"] > 1) & (columns["vpp"] == 1)
    return may & (passes <= _PASSES)


def refine(starts: Sequence[Ranked], attempt: Attempt, choices: Choices) -> list[Ranked]:
    """Return improved plans, at most one of each start; `starts` are simulated, fastest first."""
    found: list[Ranked] = []
    tried: set[Plan] = {one.plan for one in starts}
    splits: set[tuple[int, ...]] = set()
    best = starts[0].time_ns if starts else 0.0
    for start in starts:
        split = tuple(getattr(start.plan, name) for name in _SPLIT)
        if start.time_ns > best * _FAR or len(splits) == _STARTS:
            break
        if split in splits:
            continue
        splits.add(split)
        end = _climbed(start, attempt, choices, tried)
        if end is not start:
            found.append(end)
            best = min(best, end.time_ns)
    return found


def _climbed(start: Ranked, attempt: Attempt, choices: Choices, tried: set[Plan]) -> Ranked:
    now, causes = start, set(PARTS)
    while causes:
        gained = set()
        for move in moves(now.plan, shares(now)):
            plan = changed(now.plan, move, choices) if move.cause in causes else None
            if plan is None or plan in tried:
                continue
            tried.add(plan)
            new = attempt(now, plan, move.cause)
            if new is not None and new.time_ns < now.time_ns * (1 - _LEAST):
                now = new
                gained.add(move.cause)
        causes = gained
    return now


def shares(one: Ranked) -> dict[str, float]:
    return {name: part / one.time_ns for name, part in zip(PARTS, one.parts_ns, strict=True)}


def changed(plan: Plan, move: Move, choices: Choices) -> Plan | None:
    for name, value in move.changes.items():
        if name in choices and value not in choices[name]:
            return None
    try:
        return plan.replace(**move.changes)
    except ConfigError:
        return None


def moves(plan: Plan, share: Mapping[str, float]) -> Iterator[Move]:
    """Yield the changes worth a try, the most promising first."""
    if plan.pp > 1 and share["bubble"] > _SHARE:
        yield from _pipelined(plan)
    if share["behind"] > _SHARE:
        yield from _gradients(plan)
    if share["communication"] > _SHARE:
        yield from _within_layers(plan)
    if plan.cp > 1:
        # Kinds differ in kernels too: a ring's are smaller, and it adds up their results.
        yield from (Move("kernels", {"cp_kind": kind}) for kind in CP_KINDS if kind != plan.cp_kind)
    if plan.zero == 3 and share["communication"] + share["behind"] > _SHARE:
        yield from _gathers(plan)
    if plan.pp == 1 and plan.offload_activations and plan.micro_batches > 1:
        # Offloaded activations return while further forward passes run.
        yield Move("kernels", {"schedule": "gpipe"})
    yield from _memory(plan)


def _pipelined(plan: Plan) -> Iterator[Move]:
    chunks = _HIDES.get(plan.schedule, (0,))[0]
    if not chunks:
        for vpp in sorted({1, plan.vpp // 2, plan.vpp * 2, plan.vpp + 1} - {0, plan.vpp}):
            yield Move("bubble", {"vpp": vpp})
    for name, (needed, _) in _HIDES.items():
        if chunks == needed and name != plan.schedule:
            yield Move("bubble", {"schedule": name})
    ends = ("embedding_as_layer", "loss_as_layer")
    for both in ((True, True), (False, False), (False, True)):
        if (plan.embedding_as_layer, plan.loss_as_layer) != both and plan.stage_layers is None:
            yield Move("bubble", dict(zip(ends, both, strict=True)))
    if plan.tp > 1 and not plan.sequence_parallel:
        yield from (Move("bubble", {"messages": way}) for way in ("sliced", "scattered"))
    yield Move("bubble", {"overlap_p2p": not plan.overlap_p2p})
    if plan.dp * plan.cp > 1:
        axes = plan.order.split("-")
        at, other = axes.index("pp"), axes.index("dp")
        axes[at], axes[other] = axes[other], axes[at]
        yield Move("bubble", {"order": "-".join(axes)})


def _gradients(plan: Plan) -> Iterator[Move]:
    for step in _STEPS:
        yield Move("behind", {"bucket_elements": max(int(plan.bucket_size * step), 1)})
    if plan.zero in (1, 2):
        yield from _shards(plan, "behind")


def _shards(plan: Plan, cause: str) -> Iterator[Move]:
    copies = plan.dp * plan.cp
    now = plan.shard or copies
    for shard in dict.fromkeys((now // 2, now // 4, _NODE, 2 * now)):
        if 1 < shard < copies and copies % shard == 0 and shard != now:
            yield Move(cause, {"shard": shard})


def _gathers(plan: Plan) -> Iterator[Move]:
    yield from _shards(plan, "communication")
    yield Move("communication", {"prefetch": 2 * plan.prefetch})
    yield Move("communication", {"reshard_after_forward": not plan.reshard_after_forward})


def _within_layers(plan: Plan) -> Iterator[Move]:
    if plan.ep > 1:
        yield Move("communication", {"etp": 2 * plan.etp})
        if plan.ep % 2 == 0:
            yield Move("communication", {"ep": plan.ep // 2, "etp": 2 * plan.etp})
    if plan.tp > 1:
        yield Move("communication", {"sequence_parallel": not plan.sequence_parallel})
        yield Move("communication", {"gather_again": not plan.gather_again})
        yield Move("communication", {"overlap_tensor": not plan.overlap_tensor})


def _memory(plan: Plan) -> Iterator[Move]:
    for name in WAITS:
        if getattr(plan, name):
            yield Move("behind", {name: False})
    at = RECOMPUTE.index(plan.recompute) if plan.recompute in RECOMPUTE else len(RECOMPUTE)
    for name in RECOMPUTE[:at][:1]:
        yield Move("kernels", {"recompute": name})
        yield from (Move("kernels", {"recompute": name, waits: True}) for waits in WAITS)
    each = plan.global_batch // plan.dp
    for size in (2 * plan.micro_batch, plan.micro_batch // 2):
        if size and each % size == 0:
            # Without a pipeline there is no order to name.
            is_alone = plan.pp == 1 and size == each and plan.schedule != "1f1b"
            usual = {"schedule": "1f1b"} if is_alone else {}
            yield Move("kernels", {"micro_batch": size, **usual})
    if plan.dp * plan.cp > 1:
        yield from (Move("behind", {"zero": zero}) for zero in (1, 2) if zero != plan.zero)


def parts_after(
    before: Sequence[float], time_ns: float, cause: str
) -> tuple[float, float, float, float]:
    """Return the parts of a time after a change of one cause, else all scaled."""
    parts = dict(zip(PARTS, before, strict=True))
    if cause:
        parts[cause] = max(parts[cause] + time_ns - sum(before), 0.0)
    scale = time_ns / sum(parts.values())
    kernels, communication, bubble, behind = (value * scale for value in parts.values())
    return kernels, communication, bubble, behind
