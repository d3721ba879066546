"""A training step from a model and a plan: `train(model, plan)`.

One template is encoded per class of equal ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from yantra.base.errors import ConfigError
from yantra.chakra.passes import PassTotals
from yantra.workloads import schedules
from yantra.workloads.models.experts import experts_a_token
from yantra.workloads.operators.cuda_graphs import launched, scopes_of
from yantra.workloads.operators.names import NONE
from yantra.workloads.operators.offloaded import offload_module, offloaded_of
from yantra.workloads.operators.operations import StageWork
from yantra.workloads.operators.products import Products
from yantra.workloads.plan.check import check as check_plan
from yantra.workloads.plan.plan import Plan, skew_of
from yantra.workloads.plan.split import Unfit, shares
from yantra.workloads.plan.words import called
from yantra.workloads.schedules.schedule import one_more_ahead
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.parts import Layout
from yantra.workloads.training.adapters import check_adapters
from yantra.workloads.training.check import check_job
from yantra.workloads.training.memory import StageMemory, memory_of
from yantra.workloads.training.stage import Parts, StageWorks, stage_work
from yantra.workloads.training.step.device import Encodings
from yantra.workloads.training.step.layers import layer_ranges
from yantra.workloads.training.step.passes import Drafted, PassKey
from yantra.workloads.training.step.pipeline import Job, job_of
from yantra.workloads.training.step.shared import Shared

if TYPE_CHECKING:
    from yantra.workloads.schedules.schedule import Action, Orders
    from yantra.workloads.schedules.stages import Stages

_MOST_NODES = 1 << 25


class TrainedModel(Parts, Protocol):
    @property
    def name(self) -> str:
        """How the model is called."""

    @property
    def sequence(self) -> int:
        """Its usual tokens per sequence."""


class Step(NamedTuple):
    """A training step before encoding; drafts by pipeline device."""

    job: Job
    passes: tuple[dict[PassKey, Drafted], ...]
    ends: tuple[Drafted, ...]
    times: tuple[Counter[PassKey], ...]
    """How often each device plays each pass."""

    @property
    def memory(self) -> tuple[StageMemory, ...]:
        return self.memory_with(Encodings())

    def memory_with(self, encodings: Encodings) -> tuple[StageMemory, ...]:
        return tuple(
            memory_of(self.job, device, passes, self.ends[device], encodings)
            for device, passes in enumerate(self.passes)
        )


def train(
    model: TrainedModel | str,
    plan: Plan,
    sequence: int | None = None,
    *,
    memory_bytes: int | None = None,
    reserve_bytes: int = 0,
    framework: str | None = None,
) -> Workload:
    """Make the workload of one training step.

    `model` may be a catalogue name or a file. `sequence` is in tokens, None for the usual. Raises
    ConfigError for a plan impossible for the model, and CapacityError where a device needs more
    than `memory_bytes` less `reserve_bytes`. The workload remembers `framework`.
    """
    if isinstance(model, str):
        from yantra.workloads.models.catalogue import find

        model = find(model)
    tokens = model.sequence if sequence is None else sequence
    workload = _train(model, plan, tokens, memory_bytes, reserve_bytes)
    if framework:
        workload.about["framework"] = framework
    return workload


def _train(
    model: TrainedModel, plan: Plan, tokens: int, memory_bytes: int | None, reserve_bytes: int
) -> Workload:
    check_adapters(plan, model)
    check_plan(plan, model, tokens)
    encodings = Encodings()
    steps = steps_of(model, plan, tokens, encodings)
    _check_modules(model, steps[0].job)
    _check_sizes(model, steps, plan, encodings)
    memory = steps[0].memory_with(encodings)
    if memory_bytes is not None:
        from yantra.workloads.training.fit import check_fit

        check_fit(model, plan, tokens, memory, memory_bytes, reserve_bytes)
    grid = plan.grid()
    for step in steps:
        check_job(step.job, grid, step.passes, step.ends, encodings)
    classes, templates = _templates(steps, encodings)
    job, experts = steps[0].job, _sent_once(model, plan)
    used = {group for one in _drafts(steps) for group in encodings.totals.of(one).groups}
    work = _work(steps, plan.steps, Layout([grid], {}, classes), encodings)
    return Workload(
        grids=[grid],
        groups={name: group for name, group in job.groups.items() if name in used},
        classes=classes,
        templates=templates,
        sections={
            "about": {"kind": "training", "model": model.name, "sequence": tokens}
            | {"plan": dict(vars(plan))}
            | ({"experts_per_token": experts} if experts else {})
            | ({"launched": _launched(job)} if plan.cuda_graphs != NONE else {})
            | work._asdict(),
            "memory": {f"stage{n}": stage.as_dict() for n, stage in enumerate(memory)},
        },
        later={"schedule": drawn_later(job, steps[0].passes, encodings)},
    )


def _sent_once(model: TrainedModel, plan: Plan) -> int | None:
    """How many experts of a token one message to a node may serve."""
    experts = experts_a_token(model)
    return 1 if experts and plan.dispatch == "each" else experts


def _launched(job: Job) -> float:
    """The share of kernels that no CUDA graph launches."""
    scopes = scopes_of(job.plan.cuda_graphs)
    works = [chunk.work for chunks in job.chunks for chunk in chunks]
    passes = [one.operations for work in works for one in (work.forward, work.backward)]
    every, alone = map(sum, zip(*(launched(one, scopes) for one in passes), strict=True))
    return alone / max(every, 1)


def _check_modules(model: TrainedModel, job: Job) -> None:
    asked = offloaded_of(job.plan.offload_modules)
    if not asked:
        return
    works = [chunk.work.forward for chunks in job.chunks for chunk in chunks]
    there = {
        offload_module(one.unit, name)
        for work in works
        for one in work.operations
        for name in (one.name, one.name.rpartition(".")[0])
    }
    for module in asked:
        if module not in there:
            where = job.plan.spelling.get("offload_modules", "offload_modules")
            raise ConfigError(where, f"{model.name} has no {module}; leave it out")


def _check_sizes(
    model: TrainedModel, steps: Sequence[Step], plan: Plan, encodings: Encodings
) -> None:
    nodes = 0
    for step in steps:
        for times, passes in zip(step.times, step.passes, strict=True):
            nodes += sum([count * passes[key].size for key, count in times.items()])
    nodes *= plan.steps
    if nodes > _MOST_NODES:
        each = f"{plan.micro_batches} micro-batches"
        made = f"{each} make" if plan.steps == 1 else f"{plan.steps} steps of {each} make"
        made += f" templates of {nodes} nodes"
        where = called(plan, "global_batch" if plan.steps == 1 else "steps")
        raise ConfigError(where, f"{made}; at most {_MOST_NODES} can be written")
    for drafted in _drafts(steps):
        try:
            encodings.totals.of(drafted)
        except OverflowError:
            from yantra.workloads.models.too_large import too_large

            raise too_large(model, "sequence", _too_large(drafted)) from None


def _too_large(drafted: Drafted) -> str:
    for operation in (item.operation for item in drafted.like.items):
        flops = operation.tensor_flops + operation.vector_flops
        moved = operation.bytes_read + operation.bytes_written
        most = max(flops, moved, operation.size_bytes, operation.saves)
        if most >> 63:
            name = drafted.moved.text(operation.name) if drafted.moved else operation.name
            problem = f"'{name}' of one micro-batch has {most} operations or bytes"
            return f"{problem}, which 63 bits do not hold"
    return "the activations of one micro-batch have more bytes than 63 bits hold"


def steps_of(
    model: TrainedModel, plan: Plan, sequence: int, encodings: Encodings | None = None
) -> tuple[Step, ...]:
    """The training step of a model, under skewed routing one for each expert-parallel rank.

    The plan must be possible. `sequence` is in tokens. `encodings` are those used for writing.
    """
    schedule = schedules.get(plan.schedule)
    orders = schedule.orders(plan.pp, plan.micro_batches, plan.vpp)
    if plan.overlap_experts != "none":
        orders = tuple(map(one_more_ahead, orders))
    stages = schedule.stages(plan.pp, plan.vpp)
    skewed = plan.ep > 1 and skew_of(plan.routing) > 0
    return tuple(
        _step(model, plan, sequence, orders, stages, rank, encodings)
        for rank in range(plan.ep if skewed else 1)
    )


def _step(
    model: TrainedModel,
    plan: Plan,
    sequence: int,
    orders: Orders,
    stages: Stages,
    expert_rank: int,
    encodings: Encodings | None,
) -> Step:
    works = StageWorks(model, plan, sequence, expert_rank)
    last = stages.count - 1
    placed = [
        works.of(layers, front=stage == 0, tail=stage == last)
        for stage, layers in enumerate(_ranges(model, plan, _devices(stages)))
    ]
    layers = [one.layers for one in placed]
    return step_of([one.work for one in placed], plan, orders, stages, layers, encodings)


def _devices(stages: Stages) -> list[int]:
    return [device for device, _ in stages.routes[0]]


def _ranges(model: Parts, plan: Plan, devices: Sequence[int]) -> tuple[tuple[int, int], ...]:
    layers = len(model.layers)
    given = shares(plan, layers, devices)
    if isinstance(given, Unfit):
        raise ConfigError(called(plan, given.field), given.reason)
    ends = {"front": plan.embedding_as_layer, "tail": plan.loss_as_layer}
    return layer_ranges(layers, len(devices), **ends, shares=given)


def works_of(
    model: Parts, plan: Plan, sequence: int, stages: int, expert_rank: int = 0
) -> list[StageWork]:
    """Stage s is on device s modulo pp."""
    devices = [stage % plan.pp for stage in range(stages)]
    return [
        stage_work(
            model,
            plan,
            layers=layers,
            front=stage == 0,
            tail=stage == stages - 1,
            sequence=sequence,
            expert_rank=expert_rank,
        )
        for stage, layers in enumerate(_ranges(model, plan, devices))
    ]


def step_of(
    works: Sequence[StageWork],
    plan: Plan,
    orders: Orders,
    stages: Stages,
    layers: Sequence[int] | None = None,
    encodings: Encodings | None = None,
) -> Step:
    """The training step of given works, by stage; `layers` as in `job_of`."""
    known = encodings or Encodings()
    job = job_of(works, plan, orders, stages, layers)
    devices = range(stages.devices)
    drafts = job.drafts()
    times = tuple(known.program(actions).times() for actions in job.programs)
    passes = tuple(job.passes(device, drafts, times[device]) for device in devices)
    return Step(job, passes, tuple(map(job.finish, devices)), times)


def drawn_later(
    job: Job, passes: Sequence[dict[PassKey, Drafted]], encodings: Encodings
) -> Callable[[], str]:
    operations, orders, stages = _Operations(passes, encodings), job.orders, job.stages

    def drawn() -> str:
        from yantra.workloads.schedules.drawing import draw
        from yantra.workloads.schedules.execution import execute

        return draw(execute(orders, stages, operations), unit="TFLOP")

    return drawn


class _Operations:
    latency = 0.0

    def __init__(self, passes: Sequence[dict[PassKey, Drafted]], encodings: Encodings) -> None:
        totals = encodings.totals
        self._flops = [
            {(key.kind, key.chunk): totals.of(drafted).all_flops for key, drafted in by_key.items()}
            for by_key in passes
        ]

    def duration(self, device: int, action: Action) -> float:
        flops = self._flops[device]
        return sum(flops[step.kind, step.chunk] for step in action.steps) / 1e12


def _drafts(steps: Sequence[Step]) -> Iterator[Drafted]:
    for step in steps:
        alike: dict[int, Drafted] = {}
        for drafted in (one for passes in step.passes for one in passes.values()):
            alike.setdefault(id(drafted.like), drafted)
        yield from alike.values()
        yield from step.ends


def _work(steps: Sequence[Step], times: int, layout: Layout, encodings: Encodings) -> Products:
    found: dict[str, Products] = {}
    products = Shared(lambda one: _products(encodings.totals.of(one)))
    for rank, step in enumerate(steps):
        for device, plays in enumerate(step.times):
            total = products.of(step.ends[device])
            for key, count in plays.items():
                total = total.plus(products.of(step.passes[device][key]), count)
            found[_template(device, rank)] = total
    whole = Products()
    for one, count in zip(layout.classes, layout.ranks_of_class, strict=True):
        whole = whole.plus(found[one.template], count * times)
    return whole


def _products(total: PassTotals) -> Products:
    return Products(total.model_flops, total.hardware_flops)


def _template(device: int, expert_rank: int) -> str:
    return f"stage{device}-ep{expert_rank}" if expert_rank else f"stage{device}"


def _templates(
    steps: Sequence[Step], encodings: Encodings
) -> tuple[list[RankClass], dict[str, Any]]:
    special: list[RankClass] = []
    general: list[RankClass] = []
    templates = {}
    base = steps[0].job
    for device in range(base.stages.devices):
        for rank, step in enumerate(steps):
            name = _template(device, rank)
            if rank == 0:
                general.append(RankClass("train", {"pp": device}, name))
            elif step.job.chunks[device] == base.chunks[device]:
                continue
            else:
                special.append(RankClass("train", {"pp": device, "ep": rank}, name))
            passes, end = step.passes[device], step.ends[device]
            templates[name] = step.job.template(device, passes, end, encodings)
    return special + general, templates
