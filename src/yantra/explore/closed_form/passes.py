"""Times and bytes of the parts of a model under one split: front, kinds of layers, tail.

One entry is for a key (tp, cp, ep, micro-batch, recompute, sequence parallelism), and for the type
of products, of which a search has one: plans that differ in the rest share it.
A pass is walked operation by operation in the order of its graph, as the simulation runs it:
kernels in one chain, the collectives of a group in another, each after what it needs. A layer takes
what a second one behind a first of its kind adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.workloads.training.stage import Chunks, setting_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yantra.workloads.operators.operations import Operation, Pass, StageWork
    from yantra.workloads.plan.plan import Plan

KEY = ("tp", "cp", "ep", "micro_batch", "recompute", "sequence_parallel")


class Adapters(NamedTuple):
    """The rank and the targets of the adapters that alone are trained; rank 0 trains all."""

    rank: int
    targets: tuple[str, ...]


NO_ADAPTERS = Adapters(0, ())


class Part(NamedTuple):
    """One part on one rank: times in ns, elements of weights, bytes of a micro-batch.

    `saves` stays from the forward to the backward pass; `peak` is the most that the backward pass
    has beyond what was saved before it; `border` crosses to the next stage. `kernels` is the
    time of kernels alone, of both passes; `lead` that of the kernels with which the backward pass
    begins before it needs its gradient, to compute activations again. `dense` and `expert` are
    trained, `dense_grain` and
    `expert_grain` are by how many elements a bucket of such weights exceeds its least size. `tied`
    are elements of `dense` that a device which has both ends of the model holds once, `table` those
    that are updated row by row, or frozen, and have no gradients.
    """

    forward: float
    backward: float
    dense: float
    expert: float
    saves: float
    peak: float
    border: float
    kernels: float
    lead: float
    dense_grain: float
    expert_grain: float
    tied: float
    table: float


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


def parts_of(
    works: Works, plan: Plan, duration: Callable[[Operation], float], known: dict[int, Part]
) -> list[Part]:
    """Return the parts of a model under a plan: front, each kind of layer, tail.

    `known` are those of works that were met before at the same durations; it grows.
    """
    found = works.of(plan)
    for work in found:
        if id(work) not in known:  # works are kept, so that a number means one
            known[id(work)] = _part(work, duration)
    return [known[id(work)] for work in found]


def _part(work: StageWork, duration: Callable[[Operation], float]) -> Part:
    passes = work.forward, work.backward
    times = [[duration(operation) for operation in one.operations] for one in passes]
    forward, backward = map(_steady, passes, times)
    saves = sum(operation.saves for operation in work.forward.operations)
    now = peak = 0
    for operation in work.backward.operations:
        now += operation.saves
        peak = max(peak, now)
        now -= operation.frees
    trained = [weight for weight in work.weights if not weight.is_frozen]
    frozen = [weight.elements for weight in work.weights if weight.is_frozen]
    dense = [weight.elements for weight in trained if weight.domain == "dense"]
    experts = [weight.elements for weight in trained if weight.domain == "expert"]
    return Part(
        forward,
        backward,
        sum(dense),
        sum(experts),
        saves,
        peak,
        work.output_bytes or work.input_bytes,
        sum(_kernels(work.forward, times[0])) + sum(_kernels(work.backward, times[1])),
        sum(_kernels(work.backward, times[1], min(work.backward.entries, default=0))),
        _grain(dense),
        _grain(experts),
        sum(weight.elements for weight in trained if weight.is_tied),
        sum(weight.elements for weight in trained if weight.domain == "table") + sum(frozen),
    )


def _kernels(one: Pass, times: list[float], count: int | None = None) -> Iterator[float]:
    """Yield the times of the kernels of a pass, of the first `count` operations or all."""
    for operation, time in zip(one.operations[:count], times, strict=False):
        if not operation.communicates:
            yield time


def _grain(weights: list[int]) -> float:
    """Return the mean overshoot of sums of weights that end with the one that passes a limit."""
    return sum(one * one for one in weights) / (2 * sum(weights)) if weights else 0.0


def _steady(one: Pass, times: list[float]) -> float:
    """Return what a second copy of a pass adds behind a first; `times` are of its operations."""
    if not one.operations:
        return 0.0
    chains: dict[str, float] = {}
    exit_end = 0.0
    spans = []
    entries = frozenset(one.entries)
    # Ranks of a group do alike, so a message comes as the rank's own goes.
    sent: dict[int, float] = {}
    chain_of = [op.group if op.communicates else "" for op in one.operations]
    rows = [
        (op.after, op.kind, op.peer, op.tag, chain, time, at in entries)
        for at, (op, chain, time) in enumerate(zip(one.operations, chain_of, times, strict=True))
    ]
    for _ in range(2):
        ends: list[float] = []
        for after, kind, peer, tag, chain, time, is_entry in rows:
            start = exit_end if is_entry else 0.0
            for needed in after:
                if ends[needed] > start:
                    start = ends[needed]
            if peer:
                end = start + time
                if kind == "send":
                    sent[tag] = end
                else:
                    end = sent.get(tag, end)
            else:
                end = chains[chain] = max(start, chains.get(chain, 0.0)) + time
            ends.append(end)
        exit_end = ends[one.exit] if one.exit is not None else ends[-1]
        spans.append(max(exit_end, chains.get("", 0.0)))
    return spans[1] - spans[0]
