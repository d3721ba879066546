"""Times and bytes of the parts of a model under one split: front, kinds of layers, tail.

One entry is for a key (`KEY`), for the width of gradients, and for the type of products, of which a
search has one: plans that differ in the rest share it. All micro-batches of
a split are walked at once (`micro_batches.py`): times and amounts are columns over them.
A pass is walked operation by operation in the order of its graph, as the simulation runs it:
kernels in one chain, the collectives of a group in another, each after what it needs. A layer takes
what a second one behind a first of its kind adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.workloads.training.stage import Chunks, setting_of

if TYPE_CHECKING:
    from yantra.explore.closed_form.micro_batches import Amounts
    from yantra.workloads.operators.operations import Pass, StageWork
    from yantra.workloads.plan.plan import Plan

KEY = (
    "tp", "cp", "ep", "etp", "cp_kind", "micro_batch", "recompute", "sequence_parallel",
)  # fmt: skip
"""What of a plan the works of its parts depend on; their times on its gradients' type, too."""


class Adapters(NamedTuple):
    """The rank and the targets of the adapters that alone are trained; rank 0 trains all."""

    rank: int
    targets: tuple[str, ...]


NO_ADAPTERS = Adapters(0, ())


class Part(NamedTuple):
    """One part on one rank, numbers or columns: times in ns, elements of weights, bytes.

    `saves` stays from the forward to the backward pass; `peak` is the most that the backward pass
    has beyond what was saved before it; `border` crosses to the next stage. `kernels` is the
    time of kernels alone, of both passes; `lead` that of the kernels with which the backward pass
    begins before it needs its gradient, to compute activations again. `dense` and `expert` are
    trained, `dense_grain` and
    `expert_grain` are by how many elements a bucket of such weights exceeds its least size. `tied`
    are elements of `dense` that a device which has both ends of the model holds once, `table` those
    that are updated row by row, or frozen, and have no gradients.
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
    table: Any


class Works:
    """The works of a model's parts by plan, without times, so clusters and speeds share them."""

    def __init__(self, model: Any, sequence: int, adapters: Adapters = NO_ADAPTERS) -> None:
        self._chunks, self._sequence = Chunks(model), sequence
        self._adapters = adapters
        self._made: dict[tuple[int | str, ...], list[StageWork]] = {}
        self._ends: dict[tuple[int | str, ...], tuple[StageWork, StageWork]] = {}
        numbers: dict[Any, int] = {}
        self.kinds = [numbers.setdefault(one, len(numbers)) for one in model.layers]
        """Of each layer of the model, which kind it is."""

    def of(self, plan: Plan) -> list[StageWork]:
        """Return the works of front, each kind of layer, tail; made once for plans of a key."""
        key = tuple(getattr(plan, name) for name in (*KEY, "dtype"))
        if key not in self._made:
            self._made[key] = self._make(plan)
        return self._made[key]

    def _make(self, plan: Plan) -> list[StageWork]:
        rank, targets = self._adapters
        setting, work = setting_of(plan, self._sequence), self._chunks.work
        setting = setting._replace(lora_rank=rank, lora_targets=targets)
        places = [self.kinds.index(kind) for kind in range(max(self.kinds) + 1)]
        layers = [work(setting, (at, at + 1)) for at in places]
        # The ends of a model are never computed again, so plans that differ in that share them.
        ends = tuple(getattr(plan, name) for name in (*KEY, "dtype") if name != "recompute")
        if ends not in self._ends:
            count = len(self.kinds)
            front = work(setting, (0, 0), front=True)
            self._ends[ends] = front, work(setting, (count, count), tail=True)
        front, tail = self._ends[ends]
        return [front, *layers, tail]


def part_of(work: StageWork, amounts: Amounts, times: list[np.ndarray] | None = None) -> Part:
    """Return a part for all micro-batches of its amounts; `times` are of its operations.

    Without them no pass takes any time.
    """
    count = len(work.forward.operations)
    saves, frees = amounts.saves, amounts.frees
    now = saves[count:].cumsum(axis=0)
    now[1:] -= frees[count:-1].cumsum(axis=0)
    trained = [weight for weight in work.weights if not weight.is_frozen]
    frozen = [weight.elements for weight in work.weights if weight.is_frozen]
    dense = [weight.elements for weight in trained if weight.domain == "dense"]
    experts = [weight.elements for weight in trained if weight.domain == "expert"]
    none = np.zeros(saves.shape[1])
    lead = min(work.backward.entries, default=0)
    forward = backward = kernels = leading = none
    if times is not None:
        there, back = times[:count], times[count:]
        forward = _steady(work.forward, there, none)
        backward = _steady(work.backward, back, none)
        kernels = none + _kernels(work.forward, there) + _kernels(work.backward, back)
        leading = none + _kernels(work.backward, back, lead)
    return Part(
        forward,
        backward,
        sum(dense),
        sum(experts),
        saves[:count].sum(axis=0),
        now.max(axis=0, initial=0),
        amounts.border,
        kernels,
        leading,
        _grain(dense),
        _grain(experts),
        sum(weight.elements for weight in trained if weight.is_tied),
        sum(weight.elements for weight in trained if weight.domain == "table") + sum(frozen),
    )


def _kernels(one: Pass, times: list[np.ndarray], count: int | None = None) -> Any:
    """Return the times of the kernels of a pass together, of its first operations or all."""
    pairs = zip(one.operations[:count], times, strict=False)
    return sum(time for operation, time in pairs if not operation.communicates)


def _grain(weights: list[int]) -> float:
    """Return the mean overshoot of sums of weights that end with the one that passes a limit."""
    return sum(one * one for one in weights) / (2 * sum(weights)) if weights else 0.0


def _steady(one: Pass, times: list[np.ndarray], none: np.ndarray) -> np.ndarray:
    """Return what a second copy of a pass adds behind a first; `times` are of its operations."""
    if not one.operations:
        return none
    chains: dict[str, np.ndarray] = {}
    exit_end = none
    spans = []
    entries = frozenset(one.entries)
    # Ranks of a group do alike, so a message comes as the rank's own goes.
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
    steady: np.ndarray = spans[1] - spans[0]
    return steady


def _later(one: np.ndarray, other: np.ndarray, none: np.ndarray) -> np.ndarray:
    """Return the later of two times in each row; most often one is the other, or no time."""
    if one is other or other is none:
        return one
    later: np.ndarray = other if one is none else np.maximum(one, other)
    return later
