"""Iterations of a serving engine from a model and a plan: `infer(model, plan)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from yantra.base.errors import ConfigError, expected_got
from yantra.workloads.models.experts import experts_a_token
from yantra.workloads.serving.classes import Half, workload_of
from yantra.workloads.serving.engine import Engine, Links
from yantra.workloads.serving.lanes import plays_of, steady_plays
from yantra.workloads.serving.legality import check_plan
from yantra.workloads.serving.memory import Room, check_fit, memory_of, room_of
from yantra.workloads.serving.plan import InferencePlan
from yantra.workloads.serving.requests import Job, Phase
from yantra.workloads.serving.rounds import rounds_of, totals_of
from yantra.workloads.serving.stages import Stages
from yantra.workloads.serving.timeline import Timeline
from yantra.workloads.serving.transfer import Arriving, Leaving, Place, Transfer
from yantra.workloads.templates import Workload
from yantra.workloads.training.stage import Parts


class ServedModel(Parts, Protocol):
    @property
    def name(self) -> str:
        """How the model is called."""

    @property
    def sequence(self) -> int:
        """Its usual tokens per sequence."""


def infer(
    model: ServedModel | str,
    plan: InferencePlan | None = None,
    *,
    phase: Phase = "prefill",
    batch: int | None = None,
    prompt: int | None = None,
    context: int | None = None,
    prompts: int | None = None,
    iterations: int | None = None,
    max_num_batched_tokens: int | None = None,
    decode_plan: InferencePlan | None = None,
    transfer: Literal["layer", "end"] = "layer",
    memory_bytes: int | None = None,
    reserve_bytes: int = 0,
) -> Workload:
    """Make the workload of some iterations of inference.

    `model` may be a catalogue name or a file. `batch` and `prompts` are sequences over all replicas
    (one each by default), `prompt` and `context` tokens; by default sequences end with the model's
    usual length, in a mixed phase they start with half. `max_num_batched_tokens` bounds a replica's
    iteration: longer prompts come in chunks. `iterations` end by default with the prompts, or after
    one.

    Raises ConfigError for a plan impossible for the model or a batch that replicas cannot share;
    CapacityError for more than its share of `memory_bytes` per device, or than `reserve_bytes`
    leave; UnsupportedError for a model without causal attention.
    """
    if isinstance(model, str):
        from yantra.workloads.models.catalogue import find

        model = find(model)
    plan = plan or InferencePlan()
    usual = _usual(model.sequence, phase, iterations)
    job = Job(
        phase=phase,
        batch=plan.dp if batch is None else batch,
        prompt=usual["prompt"] if prompt is None else prompt,
        context=usual["context"] if context is None else context,
        prompts=(plan.dp if phase == "mixed" else 0) if prompts is None else prompts,
        iterations=iterations,
        max_num_batched_tokens=max_num_batched_tokens,
    )
    if phase != "disaggregated" and decode_plan is not None:
        raise ConfigError("decode_plan", f"only the phase disaggregated has one; got {phase}")
    room = None if memory_bytes is None else Room(memory_bytes, reserve_bytes)
    try:
        if phase == "disaggregated":
            return _disaggregated(model, job, plan, decode_plan, transfer, room)
        return _single(model, job, plan, room)
    except OverflowError:
        from yantra.workloads.models.too_large import too_large

        most = "tokens of an iteration whose operations and bytes 63 bits hold"
        got = f"{job.batch} sequences of {job.prompt or job.context} tokens"
        raise too_large(model, "batch", f"expected {most}, got {got}; take fewer") from None


def _usual(sequence: int, phase: str, iterations: int | None) -> dict[str, int]:
    before = max(sequence - (iterations or 1), 1)
    if phase == "prefill":
        return {"prompt": sequence, "context": 0}
    if phase == "disaggregated":
        return {"prompt": before, "context": 0}
    half = max(sequence // 2, 1)
    return {"prompt": half, "context": before if phase == "decode" else half}


def _single(model: ServedModel, job: Job, plan: InferencePlan, capacity: Room | None) -> Workload:
    count = job.iterations or (1 if job.phase == "decode" else None)
    half = _half(model, plan, job, count, generates=job.phase != "prefill")
    room = _room(half, job.batch, capacity)
    timelines = {Place(stage): half.engine.timelines(stage)[0] for stage in range(plan.pp)}
    about = {"plan": dict(vars(plan)), **_about(model, job)}
    about |= totals_of(rounds_of(half.engine)) | half.engine.products()._asdict() | room
    steady = _steady(half) if plan.pp > 1 and job.phase in ("decode", "mixed") else None
    return workload_of({"": half}, {"": timelines}, {}, about, steady)


def _steady(half: Half) -> tuple[int, dict[Place, Timeline]]:
    engine = half.engine
    count, plays = steady_plays(engine.plays, engine.lanes)
    other = Engine(engine.stages, plays, engine.lanes)
    stages = range(engine.stages.plan.pp)
    return count, {Place(stage): other.timelines(stage)[0] for stage in stages}


def _disaggregated(
    model: ServedModel,
    job: Job,
    plan: InferencePlan,
    decode_plan: InferencePlan | None,
    how: str,
    capacity: Room | None,
) -> Workload:
    if how not in ("layer", "end"):
        raise ConfigError("transfer", expected_got('"layer" or "end"', how))
    if decode_plan is None:
        raise ConfigError("decode_plan", "disaggregated: expected the plan of the decode grid")
    steps = job.iterations or 1
    after = job.replace(phase="decode", context=job.prompt)
    first = _half(model, plan, job, None, generates=False, name="prefill")
    second = _half(
        model, decode_plan, after, steps, generates=True, name="decode", first_rank=plan.ranks
    )
    rooms = [_room(half, job.batch, capacity, f" of {half.grid.name}") for half in (first, second)]
    link = Transfer(first.engine, second.engine, job.batch, layerwise=how == "layer")
    timelines = {
        "prefill": _linked(link, first.engine, Leaving),
        "decode": _linked(link, second.engine, Arriving),
    }
    about = {
        "prefill_plan": dict(vars(plan)), "decode_plan": dict(vars(decode_plan)),
        **_about(model, job), "transfer": how, "transfer_bytes": link.cache_bytes,
        "prefill": totals_of(rounds_of(first.engine)) | rooms[0],
        "decode": totals_of(rounds_of(second.engine)) | rooms[1],
        **first.engine.products().plus(second.engine.products())._asdict(),
    }  # fmt: skip
    axes = {"tp": link.by_tp, "dp": link.by_dp}
    return workload_of({"prefill": first, "decode": second}, timelines, axes, about)


def _room(half: Half, batch: int, capacity: Room | None, name: str = "") -> dict[str, int]:
    if capacity is None:
        return {}
    check_fit(half.memory, half.engine, batch, capacity, name)
    return room_of(half.memory, half.engine, batch, capacity)


def _linked(
    link: Transfer, engine: Engine, kind: Callable[[Transfer, Place], Links]
) -> dict[Place, Timeline]:
    made: dict[Place, Timeline] = {}
    for stage in range(engine.stages.plan.pp):
        places = link.places(engine, stage)
        classes = [kind(link, place) for place in places]
        made |= zip(places, engine.timelines(stage, classes), strict=True)
    return made


def _half(
    model: ServedModel,
    plan: InferencePlan,
    job: Job,
    count: int | None,
    *,
    generates: bool,
    name: str = "",
    first_rank: int = 0,
) -> Half:
    where = f"{name}: " if name else ""
    requests = job.requests(plan.dp, where)
    lanes = min(plan.micro_batches, len(requests))
    stages = Stages(model, plan, f"{name}." if name else "")
    plays = plays_of(
        requests, lanes, budget=job.max_num_batched_tokens, count=count, generates=generates
    )
    lengths = [0] * len(requests)
    for play in plays:
        for share in play.iteration:
            lengths[share.sequence] = share.past + share.new
    check_plan(plan, model, max(lengths), where)
    engine = Engine(stages, plays, lanes)
    grid = plan.grid(name or "infer", first_rank)
    return Half(grid, engine, memory_of(engine, lengths, lengths[0]))


def _about(model: ServedModel, job: Job) -> dict[str, Any]:
    without = ("iterations", "prompt") if job.phase == "decode" else ("iterations",)
    given = {name: value for name, value in vars(job).items() if value and name not in without}
    experts = experts_a_token(model)
    told = {"experts_per_token": experts} if experts else {}
    return {"kind": "inference", "model": model.name, **given, **told}
