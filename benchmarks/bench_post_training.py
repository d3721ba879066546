"""Post-training: the loop of rollouts and training, and the messages of a refit.

Lengths are made: lognormal, cut at a cap. Goals: 0.2 s for a synchronous step of 512 samples of
5,700 tokens, 60 s for 1,000 asynchronous steps of 64 prompts x 32 samples, with a linear cost and
with measured tables; 5 s for the messages of DeepSeek-V3's weights between 256 and 256 GPUs.
Processor time, the least of some repetitions.

    python -m benchmarks.bench_post_training
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_serve import seconds, told
from yantra.rl.groups import Groups
from yantra.rl.job import Job
from yantra.rl.laws import Law
from yantra.rl.layouts import Generation, Training
from yantra.rl.loop import run
from yantra.rl.model_tensors import tensors_of_model
from yantra.rl.refit import Dtype, messages
from yantra.serving.fleet import Linear
from yantra.serving.iteration import Predictor
from yantra.serving.speeds import Measured
from yantra.workloads.models.catalogue import find
from yantra.workloads.serving.plan import InferencePlan

PS = 10**12
COST = Linear(8e-3, 30e-6, 2e-9)
TRAIN = Law(PS, 10**6, 1)
LOGP = Law(PS, 3 * 10**5)
STAGES = (3, *[4] * 14, 2)


def groups(prompts: int, samples: int, mean: float, cap: int) -> Groups:
    """Draw the lengths."""
    drawn = np.random.default_rng(1).lognormal(0.0, 0.6, prompts * samples)
    output = np.clip(drawn / drawn.mean() * mean, 1, cap).astype(np.int64)
    return Groups.columns(prompt=200, sizes=[samples] * prompts, output=output, reward=PS // 1000)


def job(made: Groups, cost: Any, **fields: Any) -> Job:
    """Return a job whose trainer takes about as long as generation."""
    phases: dict[str, Any] = {"logp": LOGP, "ref": LOGP, "train": TRAIN, "refit": PS}
    return Job(groups=made, iteration=cost, **phases, **fields)


def measured() -> Measured:
    """Tables of an 8B model on one GPU."""
    predictor = Predictor("llama3-8b", "hgx-h100", InferencePlan(), engine="vllm")
    return Measured(predictor.tables(65_536, 256, 16_384), 0.0, "measured")


def loops() -> Iterator[bool]:
    """Time a step and 1,000 of them, with both costs."""
    for what, cost in (("linear cost", COST), ("measured tables", measured())):
        one = job(
            groups(16, 32, 5700, 8192), cost, replicas=8, seats=64, groups_per_step=16,
            groups_per_minibatch=16,
        )  # fmt: skip
        yield told(f"a step of 512 x 5,700 tokens, {what}", seconds(lambda o=one: run(o)), 0.2, "s")  # type: ignore[misc]
        many = job(
            groups(64_200, 32, 1100, 4096), cost, loop="async", replicas=16, seats=128,
            steps=1000, groups_per_step=64, groups_per_minibatch=64, refit_rule="in-flight",
            staleness=2, max_concurrent=96, reward_servers=256,
        )  # fmt: skip
        took = seconds(lambda o=many: run(o), 1)  # type: ignore[misc]
        yield told(f"1,000 asynchronous steps, {what}", took, 60, "s")


def refits() -> Iterator[bool]:
    """Time the messages of a large model."""
    model = find("deepseek-v3")
    train = Training(pp=16, ep=16, dp=16, layers_per_stage=STAGES)
    for what, layout in (("", train), (", FSDP", train.replace(fsdp=True))):

        def made(layout: Training = layout) -> object:
            return messages(tensors_of_model(model), layout, Generation(tp=32, replicas=8), Dtype())

        yield told(f"messages of DeepSeek-V3{what}", seconds(made), 5, "s")


def report(folder: Path) -> bool:
    """Print every figure beside its goal; return whether all are met."""
    del folder
    return all([*loops(), *refits()])


if __name__ == "__main__":
    raise SystemExit(0 if report(Path()) else 1)
