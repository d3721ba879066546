"""Times and bytes of a model's parts under one split: front, kinds of layers, tail.

An entry is for a key (`KEY`), the gradients' width and the products' type; plans share it. A pass
runs its operations in the graph's order, as simulation does: kernels in one chain, each group's
collectives in another, each after its inputs. A layer's time is what a second one adds to a first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.explore.closed_form.amounts import Amounts, amounts_of
from yantra.explore.closed_form.cases import Cases, DifferError
from yantra.workloads.models.blocks.more_tokens import MoreTokens
from yantra.workloads.operators.graph import Batch
from yantra.workloads.plan.plan import CHOICES, Plan
from yantra.workloads.training.stage import Chunks, setting_of
from yantra.workloads.training.step.hiding import hideable, without_waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from yantra.workloads.operators.graph import Setting
    from yantra.workloads.operators.operations import Pass, StageWork
    from yantra.workloads.plan.plan import Dtype

RECOMPUTE = ("none", "selective", "full", "operators")
CP_KINDS = CHOICES["cp_kind"]

KEY = (
    "tp", "cp", "ep", "etp", "cp_kind", "micro_batch", "recompute", "sequence_parallel",
)  # fmt: skip
"""What of a plan the works of its parts depend on; their times on its gradients' type, too."""
_MANY = ("tp", "ep", "etp")


USUAL = Plan()


class Part(NamedTuple):
    """One part on one rank, numbers or columns: times in ns, elements, bytes.

    `saves` stays until the backward pass; `peak` is that pass's most on top; `border` crosses to
    the next stage. `kernels` is kernel time alone, both passes; `lead` the recomputation before the
    gradient is needed. `dense` and `expert` are trained; their `grain` is a bucket's excess over
    its least size. `tied` are elements of `dense` that a device with both ends holds once, `table`
    those updated by row or frozen, without gradients; of all, `narrow` ones
    are of products in few bits. `unused`: of gradients that products give out. `reads`: a backward
    pass has its weights. `drawn` is what kernels draw above a device's floor, in J. `hides` is the
    time of messages of both passes that other passes may hide.
    """

    forward: Any
    backward: Any
    dense: Any
    expert: Any
    saves: Any
    peak: Any
    border: Any
    kernels: Any
    lead: Any
    dense_grain: Any
    expert_grain: Any
    tied: Any
    reads: Any
    table: Any
    hides: Any
    narrow: Any
    narrow_expert: Any
    narrow_table: Any
    unused: Any
    drawn: Any


Key = tuple[int, ...]
"""The values of `KEY`."""


class Made(NamedTuple):
    """The works of front, each kind of layer, and tail, and their amounts by key.

    `untimed` are parts without times (parts, fields, keys).
    """

    keys: tuple[Key, ...]
    works: tuple[StageWork, ...]
    amounts: tuple[Amounts, ...]
    untimed: np.ndarray


_Part = tuple["StageWork", Amounts, np.ndarray]
"""The work of a part, with its amounts, and without times."""


class _AsksForExpertsError(Exception): ...


class _WithoutExperts(dict[str, Any]):
    """For parts that ignore the split of experts."""

    def __missing__(self, axis: str) -> Any:
        raise _AsksForExpertsError(axis)


class Works:
    """The works of a model's parts by key, shared by clusters and speeds."""

    def __init__(self, model: Any, sequence: int, held: Plan = USUAL) -> None:
        """Know no part yet; `held` has the fields that are no part of a key."""
        self._chunks, self._sequence = Chunks(model), sequence
        self.held = held
        self._made: dict[str, dict[Key, tuple[Made, int]]] = {}
        self._shared: dict[tuple[Any, ...], _Part | None] = {}
        numbers: dict[Any, int] = {}
        self.kinds = [numbers.setdefault(one, len(numbers)) for one in model.layers]
        """Of each layer of the model, which kind it is."""
        self._has_layers = isinstance(model.tail, MoreTokens)

    def of(self, keys: Iterable[Key], dtype: Dtype) -> list[tuple[Made, list[int]]]:
        known = self._made.setdefault(dtype, {})
        wanted = list(keys)
        alike: dict[tuple[object, ...], list[Key]] = {}
        for key in wanted:
            if key not in known:
                alike.setdefault(_likeness(key), []).append(key)
        for some in alike.values():
            for made in self._apart(some, dtype):
                known |= {key: (made, at) for at, key in enumerate(made.keys)}
        found: dict[int, tuple[Made, list[int]]] = {}
        for made, at in (known[key] for key in wanted):
            found.setdefault(id(made), (made, []))[1].append(at)
        return list(found.values())

    def _apart(self, keys: list[Key], dtype: Dtype) -> Iterator[Made]:
        try:
            yield self._together(keys, dtype)
        except DifferError as error:
            for holds in (True, False):
                some = [key for key, of in zip(keys, error.holds, strict=True) if of == holds]
                yield from self._apart(some, dtype)

    def _together(self, keys: list[Key], dtype: Dtype) -> Made:
        """Return the works of front, layers and tail, a number of each key."""
        parts = [self._part(number, keys, dtype) for number in range(max(self.kinds) + 3)]
        works, amounts, fields = zip(*parts, strict=True)
        return Made(tuple(keys), works, amounts, np.stack(fields))

    def _part(self, number: int, keys: list[Key], dtype: Dtype) -> _Part:
        is_end = number == 0 or (number == max(self.kinds) + 2 and not self._has_layers)
        alike = [_without_experts(key, is_end) for key in keys]
        place = {key: at for at, key in enumerate(dict.fromkeys(alike))}
        fewer, places = tuple(place), [place[key] for key in alike]
        shared = number, fewer, dtype
        if shared not in self._shared:
            try:
                self._shared[shared] = self._built(number, fewer, dtype, of_experts=False)
            except _AsksForExpertsError:
                self._shared[shared] = None
            except DifferError as error:
                raise DifferError(error.holds[places]) from error
        made = self._shared[shared]
        if made is None:
            return self._built(number, keys, dtype)
        work, amounts, fields = made
        return work, amounts.at(places), fields[:, places]

    def _built(
        self, number: int, keys: Sequence[Key], dtype: Dtype, *, of_experts: bool = True
    ) -> _Part:
        setting = self._setting(keys, dtype)
        if not of_experts:
            axes = {axis: setting.axes[axis] for axis in ("tp", "cp")}
            setting = setting._replace(axes=_WithoutExperts(axes))
        count, last = len(self.kinds), max(self.kinds) + 2
        if number in (0, last):
            at = count if number else 0
            ends = {"front": number == 0, "tail": number == last}
            work = self._chunks.work(setting, (at, at), **ends)
        else:
            at = self.kinds.index(number - 1)
            work = self._chunks.work(setting, (at, at + 1))
        amounts = amounts_of(work, len(keys))
        return work, amounts, untimed(work, amounts, len(keys))

    def _setting(self, keys: Sequence[Key], dtype: Dtype) -> Setting:
        columns = dict(zip(KEY, zip(*keys, strict=True), strict=True))
        tp, cp, ep, etp, micro_batch = (
            _number(columns[name]) for name in ("tp", "cp", "ep", "etp", "micro_batch")
        )
        one = plan_of(keys[0], dtype, self.held)
        return setting_of(one, self._sequence)._replace(
            batch=Batch.of(micro_batch, self._sequence),
            axes={"tp": tp, "cp": cp, "ep": ep, "etp": etp, "edp": tp * cp},
        )


def _number(values: tuple[int, ...]) -> Any:
    return values[0] if len(set(values)) == 1 else Cases.of(values)


def _without_experts(key: Key, is_end: bool) -> Key:
    left_out = {"ep": 1, "etp": 1} | ({"recompute": 0} if is_end else {})
    return tuple(left_out.get(name, value) for name, value in zip(KEY, key, strict=True))


def _likeness(key: Key) -> tuple[object, ...]:
    fields = dict(zip(KEY, key, strict=True))
    del fields["micro_batch"]
    return tuple(of > 1 if name in _MANY else of for name, of in fields.items())


def plan_of(key: Key, dtype: Dtype, held: Plan = USUAL) -> Plan:
    tp, cp, ep, etp, kind, micro_batch, again, parts = key
    names: Any = RECOMPUTE
    kinds: Any = CP_KINDS
    return held.replace(
        tp=tp, cp=cp, ep=ep, etp=etp, dp=ep * etp, micro_batch=micro_batch,
        recompute=names[again], cp_kind=kinds[kind],
        sequence_parallel=bool(parts) and tp > 1, dtype=dtype,
    )  # fmt: skip


def untimed(work: StageWork, amounts: Amounts, keys: int) -> np.ndarray:
    count = len(work.forward.operations)
    saves, frees, backward = amounts.saves, amounts.frees, work.backward.operations
    now = saves[count:].cumsum(axis=0)
    now[1:] -= frees[count:-1].cumsum(axis=0)
    trained = [weight for weight in work.weights if not weight.is_frozen]
    frozen = [weight.elements for weight in work.weights if weight.is_frozen]
    dense = [weight.elements for weight in trained if weight.domain == "dense"]
    experts = [weight.elements for weight in trained if weight.domain == "expert"]
    part = Part(
        forward=0.0,
        backward=0.0,
        dense=sum(dense),
        expert=sum(experts),
        saves=saves[:count].sum(axis=0),
        peak=now.max(axis=0, initial=0),
        border=amounts.border,
        kernels=0.0,
        lead=0.0,
        dense_grain=_grain(dense, keys),
        expert_grain=_grain(experts, keys),
        tied=sum(weight.elements for weight in trained if weight.is_tied),
        reads=any(one.phase != "wgrad" and not one.communicates for one in backward),
        table=sum(weight.elements for weight in trained if weight.domain == "table") + sum(frozen),
        hides=0.0,
        narrow=sum(one.elements for one in trained if one.packs and one.domain == "dense"),
        narrow_expert=sum(one.elements for one in trained if one.packs and one.domain == "expert"),
        narrow_table=sum(one.elements for one in work.weights if one.packs and one.is_frozen),
        unused=sum(weight.shape for weight in work.weights),
        drawn=0.0,
    )
    return np.stack([np.broadcast_to(np.asarray(one, float), keys) for one in part])


def timed(
    work: StageWork, times: list[np.ndarray], taken: float, *, hides: bool = False
) -> dict[str, np.ndarray]:
    """Return the times of a part by field; `times` are of its operations.

    `taken` is the share of a device that its collectives take from kernels beside them. `hides`:
    other passes hide messages to experts.
    """
    count, none = len(work.forward.operations), np.zeros(len(times[0]) if times else 1)
    there, back = times[:count], times[count:]
    pairs = (work.forward, there), (work.backward, back)
    forward, backward = (_steady(one, of, none, taken) for one, of in pairs)
    hidden = forward + backward
    if hides:
        hidden = sum((_steady(one, of, none, taken, hideable(one)) for one, of in pairs), none)
    return {
        "forward": forward,
        "backward": backward,
        "hides": np.maximum(forward + backward - hidden, 0.0),
        "kernels": none + _kernels(work.forward, there) + _kernels(work.backward, back),
        "lead": none + _lead(work.backward, back, none),
    }


def _kernels(one: Pass, times: list[np.ndarray]) -> Any:
    pairs = zip(one.operations, times, strict=True)
    return sum(time for operation, time in pairs if not operation.communicates)


def _lead(one: Pass, times: list[np.ndarray], none: np.ndarray) -> np.ndarray:
    count = min(one.entries, default=0)
    chains: dict[str, np.ndarray] = {}
    ends: list[np.ndarray] = []
    for operation, time in zip(one.operations[: count + 1], [*times[:count], none], strict=False):
        chain = operation.group if operation.communicates else ""
        start = chains.get(chain, none)
        for needed in operation.after:
            start = _later(start, ends[needed], none)
        chains[chain] = start + time
        ends.append(chains[chain])
    return ends[-1] if ends else none


def _grain(weights: list[Any], keys: int) -> np.ndarray:
    """Return the mean overshoot of sums of weights that stop past a limit."""
    if not weights:
        return np.zeros(keys)
    # Squares of the largest weights exceed 64 bits.
    rows = [np.broadcast_to(np.asarray(one).astype(object), keys) for one in weights]
    found: np.ndarray = sum(one * one for one in rows) / (2 * sum(rows))
    return found


def _steady(
    one: Pass,
    times: list[np.ndarray],
    none: np.ndarray,
    taken: float,
    hidden: tuple[int, ...] = (),
) -> np.ndarray:
    """Return what a second copy of a pass adds behind a first; `times` are of its operations."""
    one = one._replace(operations=without_waiting(one.operations, hidden))
    if not one.operations:
        return none
    chains: dict[str, np.ndarray] = {}
    exit_end = none
    spans = []
    entries = frozenset(one.entries)
    # Ranks of a group are alike, so a message arrives as the rank's own is sent.
    sent: dict[int, np.ndarray] = {}
    chain_of = [op.group if op.communicates else "" for op in one.operations]
    rows = [
        (op.after, op.kind, op.peer, op.tag, chain, time, at in entries)
        for at, (op, chain, time) in enumerate(zip(one.operations, chain_of, times, strict=True))
    ]
    for _ in range(2):
        ends: list[np.ndarray] = []
        for after, kind, peer, tag, chain, time, is_entry in rows:
            start = exit_end if is_entry else none
            for needed in after:
                start = _later(start, ends[needed], none)
            if peer:
                end = start + time
                if kind == "send":
                    sent[tag] = end
                else:
                    end = sent.get(tag, end)
            else:
                end = chains[chain] = _later(start, chains.get(chain, none), none) + time
            ends.append(end)
        exit_end = ends[one.exit] if one.exit is not None else ends[-1]
        spans.append(_later(exit_end, chains.get("", none), none))
        for at in hidden[-1:]:
            spans[-1] = _later(spans[-1], ends[at], none)
    steady: np.ndarray = spans[1] - spans[0]
    if not taken:
        return steady
    moves = (
        time
        for operation, time in zip(one.operations, times, strict=True)
        if operation.communicates and not operation.peer
    )
    beside = _kernels(one, times) + sum(moves, none) - steady
    longer: np.ndarray = steady + taken * np.maximum(beside, 0.0)
    return longer


def _later(one: np.ndarray, other: np.ndarray, none: np.ndarray) -> np.ndarray:
    if one is other or other is none:
        return one
    later: np.ndarray = other if one is none else np.maximum(one, other)
    return later
