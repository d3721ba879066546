"""Generation: all samples of a step at once on replicas of an engine, by the loop of this package.

Replicas are given samples in turn, as synchronous frameworks deal them. A drafting engine makes as
many tokens as it makes in the mean in a turn, for the time of a token each.

Trade-off: mxfp8 has the speeds of fp8 and no room for its scales; KV counts in tokens, not blocks;
`tests/rl/test_generation.py` compares with the fleets of `yantra serve`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.rl.groups import Groups
from yantra.rl.job import Job
from yantra.rl.loop import run
from yantra.rl.schedule import REPLICA_CAUSES
from yantra.serving.pools import asked
from yantra.serving.requests.types import Requests
from yantra.serving.serve import Question, fleet_of
from yantra.workloads.operators.graph import Batch, Sequences
from yantra.workloads.serving.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.fabric.clusters.types import Cluster
    from yantra.rl.frameworks import Framework
    from yantra.rl.lengths import Drawn
    from yantra.serving.blocks import Room
    from yantra.serving.speeds import Measured
    from yantra.workloads.serving.plan import InferencePlan

_SEATS = 1024.0  # vLLM's own for offline use of large GPUs
_BUDGET = 16_384
_PS = 1e12


class Generated(NamedTuple):
    """`tail` and `tool` are shares of the replicas' time: the last one works, or tools alone do."""

    seconds: float
    finished_s: np.ndarray
    """When each sample has its last token."""
    tail: float
    tool: float
    tokens: int
    restarts: int


class Generator(NamedTuple):
    """Replicas of an engine, what their iterations take, and the room of one for KV."""

    cost: Measured
    room: Room
    replicas: int
    devices: int
    """Of a replica."""
    seats: int
    """Samples that a replica runs at once."""
    budget: int
    """Tokens of an iteration."""

    @property
    def interval(self) -> float:
        """Half-width of 90 % of iterations, as a logarithm."""
        return self.cost.interval

    def within(self, framework: Framework) -> Generator:
        """The same in the process of a framework, which makes texts between iterations."""
        of = self.cost.tables
        each = of.host_ns_per_sequence + framework.output.value
        changed = replace(of, host_ns_per_sequence=each)
        return self._replace(cost=self.cost._replace(tables=changed))

    def on(self) -> dict[str, Any]:
        """Fields of a job that runs on these replicas."""
        return {
            "iteration": self.cost, "replicas": self.replicas, "seats": self.seats,
            "kv_tokens": self.room.tokens, "iteration_tokens": max(self.budget, self.seats),
            "share_prompts": True,
        }  # fmt: skip

    def run(self, drawn: Drawn, each: int, prompt: int, factor: float = 1.0) -> Generated:
        """Generate the samples of groups of `each`, iterations `factor` times as long."""
        count = len(drawn.output) // each
        groups = Groups.columns(
            prompt=np.full(count, prompt) if drawn.prompt is None else drawn.prompt,
            sizes=np.full(count, each),
            output=drawn.output,
            turns=None if drawn.turns is None else drawn.turns.ticks(),
        )
        made = run(
            Job(
                groups=groups, groups_per_step=count, groups_per_minibatch=count,
                routing="round-robin", **self.on(),
            )
        )  # fmt: skip
        ticks = made.replica_ticks.sum(0)
        causes = ("generation", "tail", "tool")
        worked, tail, tool = (int(ticks[REPLICA_CAUSES.index(one)]) for one in causes)
        spent = max(worked + tail + tool, 1)
        finished = made.finished / _PS * factor
        return Generated(
            float(finished.max()), finished, tail / spent, tool / spent,
            int(drawn.output.sum()), int(made.preempted.sum()),
        )  # fmt: skip


def generator_of(
    model: Any,
    cluster: Cluster,
    gpus: int,
    plan: Mapping[str, Any],
    *,
    longest: tuple[int, int],
    framework: Framework,
    in_process: bool,
    stack: str | None = None,
) -> Generator:
    """Make the replicas that fill so many GPUs; `longest` are tokens of a prompt and an output.

    `plan` has fields of an inference plan and options of the engine. Raises ConfigError for GPUs
    that replicas do not fill, CapacityError where no KV fits.
    """
    from yantra.base.errors import ConfigError

    given = {"max_num_seqs": _SEATS} | dict(plan)
    if given.get("dtype") == "mxfp8":
        if "fp4" not in dict(cluster.peak):
            problem = f"devices of {cluster.name} have no mxfp8; give fp8 or fp8_block"
            raise ConfigError("--generate dtype", problem)
        given["dtype"] = "fp8"
    is_eager = bool(given.pop("enforce_eager", False))
    pool = asked(1, framework.engine, given, "--generate")
    devices = pool.plan.ranks
    if gpus % devices:
        problem = f"replicas of {devices} GPUs do not fill the {gpus} GPUs that generate"
        raise ConfigError("--generate", f"{problem}; give another tp")
    pool = pool._replace(replicas=gpus // devices)
    probe = Requests.of([0], [longest[0]], [longest[1]])
    question = Question(
        probe, (("both", pool),), model, cluster, stack=stack, routing="round_robin"
    )
    fleet, rooms = fleet_of(question)
    made, room = fleet.pools[0], rooms[0]
    assert room is not None
    cost: Measured = made.cost
    slower = dict(framework.experts).get(cluster.tables or "")
    if slower is not None:
        cost = cost.with_experts(slower.value)
    if is_eager:
        cost = launched(cost, model, pool.plan, framework.launch.value)
    drafts = int(made.options.get("num_speculative_tokens", 0))
    if drafts:
        cost = drafting(cost, drafts, pool.acceptance or 0.0)
    seats = int(made.options.get("max_num_seqs", _SEATS))
    budget = int(made.options.get("max_num_batched_tokens", _BUDGET))
    found = Generator(cost, room, gpus // devices, devices, seats, budget)
    return found.within(framework) if in_process else found


def launched(cost: Measured, model: Any, plan: InferencePlan, launch_ns: float) -> Measured:
    """The cost without CUDA graphs: no less than the launches of an iteration's operations."""
    batch = Batch((Sequences(1, 1),), all_logits=False, padding=plan.token_multiple - 1)
    stages = Stages(model, plan, "")
    count = sum(len(stages.of(stage, batch).forward.operations) for stage in range(plan.pp))
    of = cost.tables
    dense = np.maximum(of.dense_ns, count * launch_ns)
    return cost._replace(tables=replace(of, dense_ns=dense))


def drafting(cost: Measured, drafts: int, acceptance: float) -> Measured:
    """The cost of a token of each sample, where so many drafts are right by that chance each.

    An iteration works on a token and its drafts, and makes those up to the first wrong one.
    """
    made = sum(acceptance**number for number in range(drafts + 1))
    of = cost.tables
    changed: dict[str, Any] = {"prefill_ns_per_iteration": of.prefill_ns_per_iteration / made}
    columns = ("ns", "flops", "bytes", "parts")
    for name, knots, whats in (
        ("dense", "dense_tokens", (*columns, "ran")), ("emit", "emit_n", columns),
    ):  # fmt: skip
        fewer = np.maximum(getattr(of, knots) // (drafts + 1), 1)
        fewer, first = np.unique(fewer, return_index=True)
        changed[knots] = fewer
        for what in whats:
            values = np.asarray(getattr(of, f"{name}_{what}"))[..., first]
            changed[f"{name}_{what}"] = values / made
    for name in ("decode_ns", "prefill_ns", "decode_parts", "prefill_parts"):
        changed[name] = getattr(of, name) / made
    for name in ("iteration", "sequence", "token"):
        changed[f"host_ns_per_{name}"] = getattr(of, f"host_ns_per_{name}") / made
    return cost._replace(tables=replace(of, **changed))
