"""Which plans are best for one side: all plans of a trainer by its closed form, all widths of
replicas by the serving loop.

Trade-off: a trainer's plans have ZeRO-1, no virtual stages, and recomputation of all or nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import CapacityError, ConfigError, YantraError
from yantra.rl.algorithms import Alone, work_of
from yantra.rl.parts import generator_for, trained, trained_on, whole, with_logits
from yantra.rl.phases.around import held_by, moves_s, sizes_of
from yantra.rl.phases.memory import training_bytes
from yantra.rl.phases.passes import ALONE_TOO, Passes, length_of, over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.rl.lengths import Drawn
    from yantra.rl.phases.generation import Generator
    from yantra.rl.question import Question

_UNIT = 128
_WIDEST = 32
_KEPT = 8  # plans whose micro-batches are packed; others are too slow whatever the packing
_SPACE: dict[str, Any] = {
    "cp": (1,), "etp": (1,), "vpp": (1,), "zero": ALONE_TOO, "recompute": ("none", "full"),
    "gradient_dtype": ("bf16",), "overlap": (True,),
}  # fmt: skip


class Trainer(NamedTuple):
    """A plan, and seconds of a step's scoring and training."""

    plan: dict[str, Any]
    seconds: float


class Replicas(NamedTuple):
    """A generating plan, and its replicas."""

    plan: dict[str, Any]
    generator: Generator


def trainers(question: Question, drawn: Drawn, gpus: int) -> list[Trainer]:
    """Return the plans on so many GPUs that fit, fastest first, those known to be slow left out.

    Raises ConfigError where no plan is legal, CapacityError where none fits.
    """
    reward = question.reward._replace(gpus=0)
    asked = question._replace(generating=0, mode="sync-split", gpus=gpus, reward=reward)
    lengths = trained_on(question, whole(question, drawn))
    node = node_of(question)
    fields = {**_SPACE, "most_tp": node, "dtype": question.train.get("dtype", "bf16")}
    most = max(question.micro_tokens, question.score_tokens)
    usable = question.cluster.usable_bytes
    found, least = [], float("inf")
    for plan, passes in over(
        question.model, question.cluster, gpus, fields, _UNIT,
        length=length_of(lengths), most=most, stack=question.stack,
    ):  # fmt: skip
        need = training_bytes(asked._replace(train=plan), passes)
        least = min(least, need)
        if need <= usable:
            found.append((plan, with_logits(asked._replace(train=plan), passes)))
    if not found:
        raise CapacityError(
            "--gpus",
            f"no plan of {question.model.name} on {gpus} GPUs of {question.cluster.name} trains "
            f"micro-batches of {question.micro_tokens:,} tokens: {least / 2**30:.1f} GiB of "
            f"{usable / 2**30:.1f}; use more GPUs, or a smaller micro_tokens",
        )
    found.sort(key=lambda one: _bound(question, one[1], lengths.sum()))
    made = []
    for plan, passes in found[:_KEPT]:
        scoring, training = trained(asked._replace(train=plan), passes, lengths)
        algorithm = question.algorithm
        seconds = sum(work_of(algorithm, Alone(scoring, training)))
        if algorithm.reference:
            held = held_by(sizes_of(question.model), plan, gpus, 0.0)
            framework = question.framework
            seconds += moves_s(framework.reference, held, framework, question.cluster)
        made.append(Trainer(plan, seconds))
    return sorted(made, key=lambda one: one.seconds)


def _bound(question: Question, passes: Passes, tokens: int) -> float:
    """Seconds of a step's training with micro-batches that are as full as may be."""
    rate = passes.trained / passes.tokens
    steps = question.samples // question.train_batch
    return float(tokens / passes.replicas * rate.min() + steps * passes.filling[0])


def replicas(question: Question, drawn: Drawn) -> Iterator[Replicas]:
    """Yield the widths of a replica that hold the model and its KV.

    Those in a node, or the narrowest beyond. Raises CapacityError where none does.
    """
    node, found, refused = node_of(question), 0, None
    for wide in (1 << one for one in range(_WIDEST.bit_length())):
        if wide > node and found:
            return
        plan = {**question.generate, "tp": wide}
        try:
            generator = generator_for(question._replace(generate=plan, generating=wide), drawn)
        except YantraError as error:
            refused = error
            continue
        found += 1
        yield Replicas(plan, generator)
    if not found:
        raise refused or ConfigError("--gpus", "no replica fits")


def node_of(question: Question) -> int:
    """Devices that the innermost level of the network joins."""
    first = question.cluster.network[0]
    return 8 if first.members is None else min(int(first.members.value), 8)


def completed(question: Question, drawn: Drawn) -> Question:
    """Fill in the plans that are left out: the fastest ones for the GPUs of their side.

    Raises ConfigError and CapacityError where there is none.
    """
    if not question.train:
        question = question._replace(train=trainers(question, drawn, question.training)[0].plan)
    if "tp" in question.generate:
        return question
    times = {}
    for one in replicas(question, drawn):
        many, rest = divmod(question.generating, one.generator.devices)
        if not rest:
            placed = one.generator._replace(replicas=many)
            run = placed.run(drawn, question.generations, question.prompt_tokens)
            times[one.plan["tp"]] = run.seconds
    if not times:
        problem = f"no replica of at most a node fills the {question.generating} GPUs"
        raise ConfigError("--generate", f"{problem} that generate; give gpus, or tp")
    plan = {**question.generate, "tp": min(times, key=lambda wide: times[wide])}
    return question._replace(generate=plan)
