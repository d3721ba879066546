"""What Yantra predicts for a measured step, by the same calls as the command line.

Steps are run as they are, also those of 16,384 ranks: one rank of each class stands for the others,
so nothing is cut or extrapolated.

A step's time is a sum T = p P + a A + r R of times that grow with the factors of products, of
attention and of the rest, while its critical path stays the same: every duration on it is
multiplied by one of the three. P, A and R are found by running the step once more with each factor
a little larger. Where the path changes the sum is a lower bound, as the longest of many paths is
convex in the factors; the tests compare it with full runs. Beside a profile of the machine, where
kernels and communication have factors of their own, what R has of the second is found likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from yantra.accuracy.fit import Parts
from yantra.accuracy.rows import Row
from yantra.base.errors import YantraError
from yantra.base.fields.plugin import Plugin
from yantra.compile import Model as Compiled
from yantra.compile import compile, compile_like
from yantra.fabric.clusters.types import Speeds
from yantra.run.simulate import run
from yantra.scenario import Collectives, Scenario, Stack, Templates, cluster_parts
from yantra.workloads.training.train import train

STEP = 0.02
EAGER_NS = 65e3
"""The least time of a kernel of ours where the host of an eager framework launches several for it:
of 0 to 100 us the one with the least error over the steps of Megatron-DeepSpeed."""

LAUNCHED = {"megatron-deepspeed-2023": ("dense",), "megatron-bridge-2026": ("moe",)}
"""The kinds of models whose kernels a stack's host launches one by one. Megatron-Bridge has CUDA
graphs, but how many rows an expert gets differs each time, which a graph does not allow; its steps
of experts are not fitted to, they have the number of the other stack."""

GRAPHED = ("gb200-nvl72",)
"""Machines whose recipes for experts have CUDA graphs of what remains fixed, against slower hosts
(NVIDIA's guide to mixtures of experts by machine, nemo-mbridge-perf-moe-hardware-configs)."""

COPIES = {"megatron-bridge-2026": 8}
"""Experts of a token of the stacks whose all-to-alls send it to a node once (DeepEP, HybridEP, as
the framework's recipes choose); the models it was measured with all have 8."""

OLD_ATTENTION = {
    ("fsdp-eager-2023", "dgx-a100-80gb"): 1.8,
    ("fsdp-eager-2023", "hgx-h100"): 3.0,
}
"""How much longer attention took with the kernels of a stack's year than with those of the tables.

LLM Foundry of 2023 ran FlashAttention in Triton. FlashAttention-2, which A100s still run, is 1.3 to
2.5 times as fast (Dao, 2023, arXiv 2307.08691, section 4.1): 1.8, the geometric mean. H100s now run
kernels like FlashAttention-3, another 1.5 to 2 times forward and 1.5 to 1.75 backward (Shah et al.,
2024, arXiv 2407.08608, section 4.1): 1.65. Nothing of it is fitted.
"""

STRAGGLING = 0.008
"""Share by which each doubling of the nodes beyond 64 makes a step longer: MLPerf's Llama 3.1 405B
on 512 to 8,192 H100s loses 3 points in 16 times the nodes, InternEvo as much."""


class Refused(NamedTuple):
    """A row that the planner or the model refuses, and why."""

    row: Row
    why: str


def launch_ns(stack: str, kind: str, cluster: str) -> float:
    """Return the least time of a kernel; 0 where a stack's kernels wait for no host."""
    graphed = kind == "moe" and cluster in GRAPHED
    return EAGER_NS if kind in LAUNCHED.get(stack, ()) and not graphed else 0.0


def scenario_of(row: Row, speeds: Speeds) -> Scenario:
    """Return the scenario of a measured step. Raises ConfigError where the plan is refused."""
    workload = Templates(workload=train(row.made_model(), row.made_plan()))
    profile = (row.profile or None) if speeds == "measured" else None
    parts = cluster_parts(row.cluster, row.ranks, row.dtype, speeds=speeds, profile=profile)
    if speeds == "measured" and row.kind == "moe" and row.stack in COPIES:
        parts["collectives"] = _sent_once(parts["collectives"], COPIES[row.stack])
    return Scenario(workload=workload, **parts)


def _sent_once(collectives: Collectives, copies: int) -> Collectives:
    """Return collectives whose all-to-alls over nodes are those of experts."""
    selection = collectives.selection
    assert isinstance(selection, Plugin)
    options = (*selection.options, ("copies", copies))
    return collectives.replace(selection=selection.replace(options=options))


def seconds(model: Compiled) -> float:
    """Return the seconds of a compiled step."""
    return float(run(model).finish_ns.max()) / 1e9


def with_tables_attention(one: Parts) -> Parts:
    """Return the parts of a row as with the attention of the tables, which a stack's file is of."""
    factor = OLD_ATTENTION.get((one.row.stack, one.row.cluster), 1.0)
    return one._replace(attention=one.attention / factor)


def parts_of(model: Compiled, communication: bool = False) -> tuple[float, ...]:
    """Return the seconds of products, of attention and of the rest on a step's critical path.

    And, if asked for, those of communication in the rest.
    """
    scenario = model.scenario
    stack = scenario.stack or Stack()

    def longer(**factors: float) -> float:
        changed = scenario.replace(stack=stack.replace(**factors))
        return seconds(compile_like(model, changed))

    whole = seconds(model)
    products = (longer(products=stack.products * (1.0 + STEP)) - whole) / STEP
    attention = (longer(attention=stack.attention * (1.0 + STEP)) - whole) / STEP
    products, attention = max(products, 0.0), max(attention, 0.0)
    rest = max(whole - products - attention, 0.0)
    if not communication:
        return products, attention, rest
    sent = (longer(communication=stack.communication * (1.0 + STEP)) - whole) / STEP
    return products, attention, rest, min(max(sent, 0.0), rest)


def predicted(
    rows: Iterable[Row],
    speeds: Speeds,
    told: Callable[[int], None] = lambda _: None,
) -> Iterator[Parts | Refused]:
    """Yield our time for each row: by parts where `measured`, as one sum for other speeds.

    Rows of one model, plan and machine are run once. `told` hears how many are done.
    """
    known: dict[tuple[object, ...], tuple[float, ...] | str] = {}
    for done, row in enumerate(rows):
        old = OLD_ATTENTION.get((row.stack, row.cluster))
        machine = row.cluster, row.profile, row.dtype, row.ranks
        launch = launch_ns(row.stack, row.kind, row.cluster)
        key = (*machine, row.model, row.plan, launch, old)
        if key not in known:
            known[key] = _predicted(row, speeds)
        found = known[key]
        told(done + 1)
        yield Refused(row, found) if isinstance(found, str) else Parts(row, *found)


def _predicted(row: Row, speeds: Speeds) -> tuple[float, ...] | str:
    try:
        scenario = scenario_of(row, speeds)
        if speeds != "measured":
            return seconds(compile(scenario)), 0.0, 0.0
        stack = Stack(
            attention=OLD_ATTENTION.get((row.stack, row.cluster), 1.0),
            launch_ns=launch_ns(row.stack, row.kind, row.cluster),
            straggling=STRAGGLING,
        )
        return parts_of(compile(scenario.replace(stack=stack)), communication=bool(row.profile))
    except YantraError as error:
        return str(error)
