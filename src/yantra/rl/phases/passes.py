"""What packed micro-batches take to train, or to get log-probabilities of, on a plan.

From the closed form of a training step, asked for 1, 2, 4 ... samples of a length in a micro-batch:
products go by the sum of tokens, attention by the sum of squares, so the length is that of the
samples' squares over their sum. Between these a micro-batch's time is linear in its tokens.

Trade-off: micro-batches of unlike samples have the attention of the mean; a replica's pipeline is
filled by its longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster
    from yantra.rl.phases.packing import Packed

_ROUND = 64
_MANY = 64  # micro-batches, so that what fills the pipeline is told from what each takes
_TUPLES = ("tp", "cp", "ep", "etp", "pp", "vpp", "zero", "recompute", "gradient_dtype")
_HELD = ("dtype", "recompute_modules", "cuda_graphs", "exposed_gradients")
_OTHERS = ("sequence_parallel", "overlap")
FIELDS = (*_TUPLES, *_HELD, *_OTHERS)
"""Fields of a plan that a trainer may have."""
SHOWN = ("tp", "cp", "pp", "ep", "recompute")
"""Fields that tell plans of a search apart."""
ALONE_TOO = (0, 1)
"""ZeRO-1, and what replicas of one are without it."""
USUAL: Mapping[str, Any] = {
    "tp": 1, "cp": 1, "ep": 1, "etp": 1, "pp": 1, "vpp": 1, "zero": 1, "recompute": "none",
    "gradient_dtype": "bf16", "dtype": "bf16", "sequence_parallel": None, "overlap": True,
}  # fmt: skip


class Passes(NamedTuple):
    """By knots of tokens, in s: a micro-batch trained, its forward pass alone, and what fills the
    pipeline for both; `closing` follows the passes of an optimizer step. `memory` is in bytes.
    """

    tokens: np.ndarray
    trained: np.ndarray
    filling: np.ndarray
    scored: np.ndarray
    scored_filling: np.ndarray
    closing: float
    memory: np.ndarray
    replicas: int
    stages: int

    def with_logits(self, bytes_per_token: tuple[float, float], bytes_per_s: float) -> Passes:
        """The same where the loss, or log-probabilities, also move so much of memory a token."""
        more = [self.tokens * one / bytes_per_s for one in bytes_per_token]
        return self._replace(trained=self.trained + more[0], scored=self.scored + more[1])

    def train_s(self, packed: Packed, *, pads: bool = False) -> float:
        """An optimizer step over the micro-batches."""
        return self._of(packed, self.trained, self.filling, pads) + self.closing

    def score_s(self, packed: Packed, *, pads: bool = False) -> float:
        """Log-probabilities of the micro-batches: forward passes alone."""
        return self._of(packed, self.scored, self.scored_filling, pads)

    def memory_bytes(self, tokens: int) -> float:
        """What training takes of a device with micro-batches of so many tokens."""
        return float(line(np.array([tokens]), self.tokens, self.memory)[0])

    @property
    def state_bytes(self) -> float:
        """What a trained model takes of a device without any micro-batch."""
        more = (self.memory[1] - self.memory[0]) / (self.tokens[1] - self.tokens[0])
        return float(max(self.memory[0] - more * self.tokens[0], 0.0))

    def _of(self, packed: Packed, each: np.ndarray, filling: np.ndarray, pads: bool) -> float:
        longest = packed.tokens.max()
        if pads and self.stages > 1:
            whole = line(np.array([longest]), self.tokens, each)[0] * packed.micro_batches
        else:
            whole = line(packed.tokens, self.tokens, each).sum(axis=1).max()
        return float(whole + line(np.array([longest]), self.tokens, filling)[0])


def line(at: np.ndarray, knots: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Linear between knots and beyond them, never below 0; nothing takes nothing."""
    if len(knots) == 1:
        return np.asarray(values[0] * at / knots[0])
    left = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, len(knots) - 2)
    share = (at - knots[left]) / (knots[left + 1] - knots[left])
    found = values[left] + (values[left + 1] - values[left]) * share
    return np.where(at > 0, np.maximum(found, 0.0), 0.0)


def length_of(lengths: np.ndarray) -> float:
    """The length at which as many tokens have the same squares."""
    return float((lengths.astype(float) ** 2).sum() / lengths.sum())


def passes_of(
    model: Any,
    cluster: Cluster,
    gpus: int,
    plan: Mapping[str, Any],
    *,
    length: float,
    most: int,
    stack: str,
) -> Passes:
    """Return what micro-batches of up to `most` tokens take on a plan, its samples of a `length`.

    Raises ConfigError for a plan that model or cluster cannot have.
    """
    given = {**USUAL, **plan}
    ranks = given["tp"] * given["cp"] * given["pp"]
    if gpus % ranks:
        problem = f"tp x cp x pp = {ranks} does not divide the {gpus} GPUs that train"
        raise ConfigError("--train", f"{problem}; give other ones")
    if gpus == ranks and "zero" not in plan:
        given["zero"] = 0
    fixed: dict[str, Any] = {name: (given[name],) for name in _TUPLES}
    fixed |= {name: given[name] for name in _HELD if name in given}
    split = given["sequence_parallel"]
    fixed["sequence_parallel"] = (given["tp"] > 1 if split is None else split,)
    fixed["overlap"] = (given["overlap"],)
    unit = lcm(_ROUND, 2 * given["cp"] * given["tp"])
    found = list(over(model, cluster, gpus, fixed, unit, length=length, most=most, stack=stack))
    if len(found) != 1:
        raise ConfigError("--train", "this is not one plan; give tp, pp, cp, ep and recompute")
    return found[0][1]


def over(
    model: Any,
    cluster: Cluster,
    gpus: int,
    fields: Mapping[str, Any],
    unit: int,
    *,
    length: float,
    most: int,
    stack: str,
) -> Iterator[tuple[dict[str, Any], Passes]]:
    """Yield each plan of a space, and what micro-batches take on it.

    `fields` are those of a `PlanSpace`; samples are filled up to `unit` tokens. Raises ConfigError
    where no plan is legal.
    """
    sequence = max(round(length / unit), 1) * unit
    count = max(-(-most // sequence), 2)
    batches = np.array([1 << one for one in range((count - 1).bit_length() + 1)])
    space = PlanSpace(
        ranks=gpus, global_batch=gpus * int(batches[-1]) * _MANY, sequence=sequence,
        micro_batch=(1,), embedding_as_layer=(False,), loss_as_layer=(False,), **fields,
    )  # fmt: skip
    plans = space.columns(model)
    if space.zero == ALONE_TOO:
        keep = (plans["zero"] > 0) | (plans["dp"] == 1)
        plans = {name: column[keep] for name, column in plans.items()}
    many, knots = len(plans["tp"]), len(batches)
    if not many:
        problem = f"no plan of {model.name} is legal on {gpus} GPUs"
        raise ConfigError("--train", f"{problem}; take another number, or other fields")
    columns = {name: np.repeat(column, knots) for name, column in plans.items()}
    columns["micro_batch"] = np.tile(batches, many)
    machine = Machine(cluster, gpus, dtype=space.dtype, stack=stack)
    form = ClosedForm(model, machine, sequence, Works(model, sequence, space.held))
    judged = form.judge(columns, space.global_batch)
    whole, scored = form.forward(columns, space.global_batch)
    micro_batches = space.global_batch // (columns["micro_batch"] * columns["dp"])
    trained = (judged.kernels_ns + judged.communication_ns) / micro_batches / 1e9
    filling = (whole - micro_batches * scored) / 1e9
    for at in range(many):
        rows = slice(at * knots, (at + 1) * knots)
        plan = space.plan(plans, at)
        yield (
            {name: getattr(plan, name) for name in SHOWN},
            Passes(
                batches * sequence, trained[rows], judged.bubble_ns[rows] / 1e9,
                scored[rows] / 1e9, filling[rows], float(judged.behind_ns[rows][0]) / 1e9,
                judged.memory_bytes[rows], int(plans["dp"][at]), int(plans["pp"][at]),
            ),
        )  # fmt: skip
