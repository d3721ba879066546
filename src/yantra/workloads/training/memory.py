"""Memory of each pipeline stage over a step, without an operation's own inputs and outputs and the
allocator's waste.

Sources: Korthikanti et al., MLSys 2023; Rajbhandari et al., ZeRO, SC 2020, section 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from yantra.chakra.passes import PassTotals
from yantra.workloads.training.step.device import Encodings
from yantra.workloads.training.step.draft import LOAD, STORE, Item
from yantra.workloads.training.step.passes import Chunk, Drafted, PassKey
from yantra.workloads.training.step.pipeline import Job
from yantra.workloads.training.step.program import Action, Name
from yantra.workloads.training.step.turns import in_turns, parts_of


class Moment(NamedTuple):
    """Bytes so far: activations, and buffers such as gathered weights."""

    activations: int = 0
    buffers: int = 0


class StageMemory(NamedTuple):
    """Bytes on one device of the pipeline.

    `activations` and `buffers` are at the `peak`; `timeline` has the largest sum of both during
    each action, then the optimizer's.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: int
    buffers: int
    timeline: tuple[int, ...]
    offloaded_optimizer: int = 0
    offloaded_activations: int = 0

    @property
    def fixed(self) -> int:
        """Persistent bytes."""
        return self.weights + self.gradients + self.optimizer

    @property
    def peak(self) -> int:
        """The most bytes at once."""
        return self.fixed + self.activations + self.buffers

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a manifest, in bytes; offloaded ones only where there are some."""
        told = {**self._asdict(), "timeline": list(self.timeline), "peak": self.peak}
        offloaded = {part: told.pop(f"offloaded_{part}") for part in ("optimizer", "activations")}
        kept = {part: size for part, size in offloaded.items() if size}
        return told | ({"offloaded": kept} if kept else {})


def memory_of(
    job: Job,
    device: int,
    passes: Mapping[PassKey, Drafted],
    finish: Drafted,
    encodings: Encodings | None = None,
) -> StageMemory:
    """The memory of one device; devices of a step share `encodings`."""
    weights, gradients, optimizer = _fixed(job, job.chunks[device])
    plan = job.plan
    beyond = round(optimizer * plan.offload_fraction) if plan.offload_optimizer else 0
    program = job.programs[device]
    known = encodings or Encodings()
    peak, timeline = _dynamic(program, passes, finish, known)
    unused = unused_gradients(job, job.chunks[device])
    peak = peak._replace(buffers=peak.buffers + unused)
    timeline = tuple(size + unused for size in timeline)
    offloaded = _offloaded(program, passes, known)
    here = optimizer - beyond
    return StageMemory(weights, gradients, here, *peak, timeline, beyond, offloaded)


def unused_gradients(job: Job, chunks: Sequence[Chunk]) -> int:
    """Bytes of the gradients that products give out beside those that they add up: each size once.

    They are persistent (`get_dummy_wgrad` of NVIDIA/TransformerEngine at d0067d0,
    `pytorch/module/base.py`; the head likewise in NVIDIA/Megatron-LM at d98e8a6,
    `core/tensor_parallel/layers.py`). Layers are taken to have those of the largest.
    """
    if job.plan.zero == 3:
        return 0
    layers = ends = 0
    for chunk in chunks:
        units: Counter[str] = Counter()
        for weight in chunk.work.weights:
            # The head's, which has none of its own, gives one out of a tied embedding.
            is_head = weight.is_tied and not weight.is_frozen and chunk.forward.target is None
            units[weight.unit] += weight.elements if is_head else weight.shape
        for unit, size in units.items():
            if unit.startswith("layers."):
                layers = max(layers, size)
            else:
                ends += size
    return (layers + ends) * job.sharding.weight_bytes


def _fixed(job: Job, chunks: Sequence[Chunk]) -> tuple[int, int, int]:
    sharding = job.sharding
    buckets = [bucket for chunk in chunks for bucket in chunk.buckets]
    weights = sum(sharding.kept_bytes(b.gathered, b.narrow, b.domain) for b in buckets)
    gradients = sum(sharding.gradients(b.elements, b.domain) for b in buckets)
    updated = sum(sharding.updated(b.elements, b.domain) for b in buckets)
    state = updated * sharding.state_bytes
    beside = [w for c in chunks for w in c.work.weights if w.domain == "table" or w.is_frozen]
    if job.plan.zero == 3:  # buckets hold frozen ones too
        beside = [weight for weight in beside if weight.domain == "table"]
    whole = sharding._replace(zero=0)
    weights += sum(whole.kept_bytes(w.elements, w.packs * w.elements, w.domain) for w in beside)
    return weights, gradients * sharding.gradient_bytes, state


def _dynamic(
    program: Sequence[Action], passes: Mapping[PassKey, Drafted], finish: Drafted, known: Encodings
) -> tuple[Moment, tuple[int, ...]]:
    _, names, first = known.program(program)
    totals = {name: _total(action, passes, known) for name, action in first.items()}
    stays = {name: total.saved + total.held for name, total in totals.items()}
    most = {name: total.most_saved + total.most_held for name, total in totals.items()}
    before = accumulate([stays[name] for name in names], initial=0)
    timeline = [there + most[name] for there, name in zip(before, names, strict=False)]
    highest = max(timeline, default=0)
    peak = (0, 0)
    if highest > 0:
        at = timeline.index(highest)
        saved, held = _stay(names[:at], totals)
        peak = saved + totals[names[at]].most_saved, held + totals[names[at]].most_held
    saved, held = _stay(names, totals)
    end = known.totals.of(finish)
    last = saved + end.most_saved, held + end.most_held
    timeline.append(sum(last))
    return Moment(*(last if sum(last) > max(highest, 0) else peak)), tuple(timeline)


def _total(action: Action, passes: Mapping[PassKey, Drafted], known: Encodings) -> PassTotals:
    played = [passes[play.key] for play in action]
    if len(played) == 1:
        return known.totals.of(played[0])
    return known.total(tuple(_in_order(played)))


def _stay(names: Sequence[Name], totals: Mapping[Name, PassTotals]) -> tuple[int, int]:
    times = [(totals[name], count) for name, count in Counter(names).items()]
    return (
        sum(total.saved * count for total, count in times),
        sum(total.held * count for total, count in times),
    )


def _offloaded(
    program: Sequence[Action], passes: Mapping[PassKey, Drafted], known: Encodings
) -> int:
    now = most = 0
    if not any(known.totals.of(one).stores for one in passes.values()):
        return 0
    for action in program:
        for play in action:
            for item in passes[play.key].like.items:
                if item.operation.kind == STORE:
                    now += item.operation.size_bytes
                elif item.operation.kind == LOAD:
                    now -= item.operation.size_bytes
                most = max(most, now)
    return most


def _in_order(passes: Sequence[Drafted]) -> Iterable[Item]:
    parts = [parts_of(one.items, overlaps=len(passes) > 1) for one in passes]
    for number, at in in_turns(parts):
        yield from parts[number][at]
