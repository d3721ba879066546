"""The parts of a step, each alone: what generation and the trainer take, with their intervals."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError
from yantra.explore.closed_form.on_stack import parts_for
from yantra.fabric.stacks import load as load_stack
from yantra.fabric.stacks.choice import CHOICES
from yantra.fabric.stacks.types import MOE
from yantra.rl.algorithms import Alone, work_of
from yantra.rl.phases.around import (
    NARROW,
    Held,
    Sizes,
    checkpoint_s,
    converted_s,
    held_by,
    moves_s,
    sizes_of,
    whole_refit_s,
)
from yantra.rl.phases.direct import direct_refit_s
from yantra.rl.phases.generation import Generator, generator_of
from yantra.rl.phases.memory import check
from yantra.rl.phases.packing import pack
from yantra.rl.phases.passes import Passes, length_of, passes_of
from yantra.workloads.models.experts import experts_of

if TYPE_CHECKING:
    from yantra.rl.lengths import Drawn
    from yantra.rl.question import Question

_MULTIPLE = 64  # tokens to which samples are filled up before they are packed


class Machines(NamedTuple):
    """What takes time in a question: replicas that generate, passes that train, moves."""

    generator: Generator
    passes: Passes
    sizes: Sizes
    held: Held
    refit: float
    """Seconds until all replicas have new weights."""


class Parts(NamedTuple):
    """Seconds of a step's parts, of one draw of lengths."""

    generation: float
    reward: float
    """What is left of rewards when the last sample has ended."""
    policy: float
    reference: float
    critic: float
    training: float
    refit: float
    to_training: float
    to_generation: float
    reference_moves: float
    controller: float
    validation: float
    checkpoint: float
    tail: float
    """Share of generation in which replicas wait for the last one."""
    tool: float
    """The same for tools alone."""
    generated: int
    """Tokens, with those of samples that are thrown away."""
    restarts: int
    rounds: float
    """Of sampling, in the mean."""

    @property
    def scoring(self) -> float:
        """Log-probabilities, with the copies for the reference."""
        return self.policy + self.reference + self.critic + self.reference_moves

    @property
    def switch(self) -> float:
        """Both ways."""
        return self.to_training + self.to_generation


class Widths(NamedTuple):
    """Half-widths of 90 % of the times, as logarithms."""

    generation: float
    trainer: float
    around: float


def machines_of(question: Question, drawn: Drawn) -> Machines:
    """Make what the question's plans take on its cluster. Raises ConfigError, CapacityError."""
    passes = passes_of(
        question.model, question.cluster, question.training, question.train,
        length=length_of(trained_on(question, whole(question, drawn))), stack=question.stack,
        most=max(question.micro_tokens, question.score_tokens),
    )  # fmt: skip
    generator = generator_for(question, drawn)
    passes, sizes = with_logits(question, passes), sizes_of(question.model)
    held = held_by(sizes, question.train, question.training, generator.room.weights)
    refit = _refit_s(question, generator, sizes, held)
    check(question, passes)
    return Machines(generator, passes, sizes, held, refit)


def written_s(question: Question, sizes: Sizes, rate: float) -> float:
    """A checkpoint at so many bytes a second."""
    return checkpoint_s(sizes, 1 + question.algorithm.critic, rate)


def _checkpoint_s(question: Question, sizes: Sizes) -> float:
    """What trainers wait for, of a mean step."""
    of, rate = question.beside, question.beside.storage
    if not of.checkpoint_every:
        return 0.0
    if of.checkpoint == "async":
        rate = question.cluster.host_bandwidth.value * question.training
    return written_s(question, sizes, rate) / of.checkpoint_every


def _validation_s(question: Question, generator: Generator, drawn: Drawn, again: float) -> float:
    """Batches one after the other, each with its rewards, of a mean step."""
    of = question.beside
    if not of.validate_every:
        return 0.0
    many, rest = divmod(of.validate_samples, of.validate_batch or of.validate_samples)
    seconds = again
    for samples, times in ((of.validate_batch or of.validate_samples, many), (rest, 1)):
        if samples:
            some = drawn.resized(samples, 1)
            made = generator.run(some, 1, question.prompt_tokens)
            ends = made.finished_s
            seconds += times * question.reward.ends_s(ends, some.own + question.prompt_tokens)
    return seconds / of.validate_every


def _refit_s(question: Question, generator: Generator, sizes: Sizes, held: Held) -> float:
    """With conversion, on the devices that have what is converted."""
    dtype = str(question.generate.get("dtype", "bf16"))
    if question.beside.convert == "before":
        return _sent_s(question, generator, sizes, dtype) + converted_s(
            held.weights / 2, dtype, question.cluster
        )
    if dtype not in NARROW:
        problem = f"generation has the weights in {dtype}, as they come; leave it out"
        raise ConfigError("--set convert", problem)
    each = sizes.parameters / generator.devices
    return _sent_s(question, generator, sizes, "bf16") + converted_s(each, dtype, question.cluster)


def _sent_s(question: Question, generator: Generator, sizes: Sizes, dtype: str) -> float:
    cluster, framework = question.cluster, question.framework
    if question.refit == "direct":
        return direct_refit_s(
            question.model, cluster, question.train, question.training,
            {**question.generate, "dtype": dtype}, generator.replicas,
            colocated=question.is_colocated,
        )  # fmt: skip
    return whole_refit_s(sizes, framework, cluster, question.gpus, dtype)


def generator_for(question: Question, drawn: Drawn) -> Generator:
    """Make the replicas of a question. Raises ConfigError, CapacityError."""
    prompt = question.prompt_tokens if drawn.prompt is None else int(drawn.prompt.max())
    return generator_of(
        question.model, question.cluster, question.generating, question.generate,
        longest=(prompt, int(drawn.own.max())), framework=question.framework,
        in_process=question.waits and not question.beside.async_engine,
    )  # fmt: skip


def with_logits(question: Question, passes: Passes) -> Passes:
    """Add what a framework's loss moves."""
    plan = question.train
    share = sizes_of(question.model).vocabulary / (plan.get("tp", 1) * plan.get("cp", 1))
    loss, score = (share * one for one in question.framework.logit_bytes)
    return passes.with_logits((loss, score), question.cluster.memory_bandwidth.value)


def whole(question: Question, drawn: Drawn) -> np.ndarray:
    """Tokens of samples with their prompts, and what tools say."""
    if drawn.prompt is None:
        return drawn.own + question.prompt_tokens
    return np.asarray(drawn.own + np.repeat(drawn.prompt, question.generations))


def parts_of(question: Question, machines: Machines, drawn: Drawn) -> Parts:
    """Compute the parts of a step that trains these samples. Raises CapacityError."""
    every, rounds = sampled(question, drawn)
    generated = machines.generator.run(every, question.generations, question.prompt_tokens)
    rewarded = question.reward.ends_s(generated.finished_s, whole(question, every))
    scoring, training = trained(question, machines.passes, whole(question, drawn))
    algorithm, framework, cluster = question.algorithm, question.framework, question.cluster
    rest: dict[str, float] = dict.fromkeys(("to_training", "to_generation", "reference_moves"), 0.0)
    again = 0.0
    if question.is_colocated:
        held = machines.held.with_models(1 + algorithm.critic, algorithm.reward_model)
        rest["to_training"] = moves_s(framework.to_training, held, framework, cluster)
        rest["to_generation"] = moves_s(framework.to_generation, held, framework, cluster)
        again = moves_s(framework.again, held, framework, cluster)
        rest["to_generation"] += (rounds - 1) * again
    if algorithm.reference:
        rest["reference_moves"] = moves_s(framework.reference, machines.held, framework, cluster)
    work = work_of(algorithm, Alone(scoring, training))
    return Parts(
        generation=rounds * generated.seconds,
        reward=rounds * max(rewarded - generated.seconds, 0.0),
        policy=work.policy,
        reference=work.reference,
        critic=work.critic,
        training=work.training,
        refit=machines.refit,
        controller=framework.step.value / 1e9,
        validation=_validation_s(question, machines.generator, drawn, again),
        checkpoint=_checkpoint_s(question, machines.sizes),
        tail=generated.tail,
        tool=generated.tool,
        generated=round(rounds * generated.tokens),
        restarts=round(rounds * generated.restarts),
        rounds=rounds,
        **rest,
    )


def sampled(question: Question, drawn: Drawn) -> tuple[Drawn, float]:
    """The samples of a round with those of groups that are thrown away, and how many rounds."""
    prompts, thrown = question.prompts, question.filtered
    if question.waits:
        groups, rounds = question.rounds.groups(prompts), question.rounds.expected(prompts, thrown)
    else:
        groups, rounds = round(prompts / (1 - thrown)), 1.0
    same = groups == prompts
    return (drawn if same else drawn.resized(groups, question.generations)), rounds


def trained_on(question: Question, lengths: np.ndarray) -> np.ndarray:
    """Tokens of samples as the trainer has them: all as the longest, where it packs none."""
    return lengths if question.beside.packing else np.full_like(lengths, lengths.max())


def trained(question: Question, passes: Passes, lengths: np.ndarray) -> tuple[float, float]:
    """Seconds of log-probabilities of one model, and of all optimizer steps."""
    lengths = trained_on(question, lengths)
    pads, replicas = question.framework.pads, passes.replicas
    scoring = passes.score_s(pack(lengths, question.score_tokens, replicas, _MULTIPLE), pads=pads)
    batches = lengths.reshape(-1, question.train_batch)
    packed = [pack(one, question.micro_tokens, replicas, _MULTIPLE) for one in batches]
    return scoring, sum(passes.train_s(one, pads=pads) for one in packed)


def widths_of(question: Question, machines: Machines) -> Widths:
    """How sure the parts are."""
    around = question.framework.interval.value
    return Widths(machines.generator.interval, _trainer_width(question), around)


def _trainer_width(question: Question) -> float:
    """That of the stack; of models of another kind than it was measured with, at least `any`'s."""
    plan, name = question.train, question.stack
    stack = parts_for(question.cluster, question.training, plan.get("dtype", "bf16"), name).get(
        "stack"
    )
    if stack is None:
        return 0.0
    own = float(stack.interval_of(plan.get("tp", 1), None))
    if name in CHOICES:
        return own
    file = load_stack(name, where="--set stack")
    is_moe = experts_of(question.model) is not None
    if is_moe == (file.kind == MOE):
        return own
    return max(own, float(file.terms()[1].interval.value))


def bounds(terms: list[tuple[float, float]]) -> tuple[float, float]:
    """The 90 % interval of a sum of (seconds, half-width) that err apart from each other."""
    total = sum(seconds for seconds, _ in terms)
    if not total:
        return 0.0, 0.0
    width = sum((seconds * width) ** 2 for seconds, width in terms) ** 0.5 / total
    return total * exp(-width), total * exp(width)
