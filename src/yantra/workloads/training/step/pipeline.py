"""A whole training step, before encoding.

Ranks with the same pipeline coordinate do the same, so a device is a class of ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.chakra.playing import Moved
from yantra.chakra.stamping import Copies
from yantra.workloads.operators.operations import StageWork
from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.schedule import Orders
from yantra.workloads.schedules.stages import Place, Stages
from yantra.workloads.templates.grid import Group
from yantra.workloads.training.step.buckets import Bucket, buckets_of, with_layers
from yantra.workloads.training.step.device import Encodings, Neighbours, Player
from yantra.workloads.training.step.finish import draft_finish
from yantra.workloads.training.step.passes import Chunk, Drafted, Ends, Message, PassKey, draft_pass
from yantra.workloads.training.step.program import Action, Programs
from yantra.workloads.training.step.sharding import Sharding, sharding_of

_TAGS = 500_000_000  # ASTRA-sim takes tags modulo this


class Job(NamedTuple):
    """One training step; `programs`, `chunks` and derived fields are by device."""

    plan: Plan
    orders: Orders
    stages: Stages
    chunks: tuple[tuple[Chunk, ...], ...]
    programs: tuple[tuple[Action, ...], ...]
    sharding: Sharding
    groups: Mapping[str, Group]
    tags_per_microbatch: int

    def passes(
        self, device: int, drafts: Drafts, keys: Iterable[PassKey]
    ) -> dict[PassKey, Drafted]:
        """The drafts of a device's passes, by their `keys`.

        `drafts` has those of other devices, reused where only layers differ.
        """
        chunks = self.chunks[device]
        return {key: drafts.of(chunks[key.chunk], key) for key in keys}

    def drafts(self) -> Drafts:
        return Drafts(self.plan, self.sharding, 2 * self.stages.chunks)

    def finish(self, device: int) -> Drafted:
        groups = frozenset(self.groups)
        return draft_finish(self.chunks[device], self.plan, self.sharding, groups)

    def neighbours(self, device: int) -> tuple[Neighbours, ...]:
        return tuple(
            Neighbours(
                _own(device, self.stages.before(device, chunk.number)),
                _own(device, self.stages.after(device, chunk.number)),
            )
            for chunk in self.chunks[device]
        )

    def template(
        self,
        device: int,
        passes: Mapping[PassKey, Drafted],
        finish: Drafted,
        encodings: Encodings | None = None,
    ) -> Copies:
        """Encode what a device does; devices of a step share `encodings`."""
        neighbours = self.neighbours(device)
        player = Player(passes, neighbours, self.tags_per_microbatch, encodings)
        for step in range(self.plan.steps):
            player.play(self.programs[device], step * self.plan.micro_batches)
            player.finish(finish)
        return player.template()


class Drafts:
    """Drafted passes, for chunks that differ only in layer numbers.

    `first_inner` is the first tag of messages within a pass.
    """

    def __init__(self, plan: Plan, sharding: Sharding, first_inner: int) -> None:
        self._plan, self._sharding = plan, sharding
        self._first_inner = first_inner
        self._like: dict[tuple[Any, ...], Chunk] = {}
        self._like_of: dict[int, tuple[Chunk, Chunk, Moved | None]] = {}
        self._made: dict[tuple[int, PassKey], Drafted] = {}

    def of(self, chunk: Chunk, key: PassKey) -> Drafted:
        """The pass of a chunk: drafted, or an equal chunk's with other numbers."""
        like, moved = self._like_this(chunk)
        same_number = chunk.number == like.number
        variant = (id(like), key if same_number else key._replace(chunk=like.number))
        drafted = self._made.get(variant)
        if drafted is None:
            unplaced = like._replace(buckets=with_layers(like.buckets, -like.layers))
            drafted = draft_pass(unplaced, variant[1], self._plan, self._sharding)
            self._made[variant] = drafted
        return drafted if moved is None else drafted.at(moved)

    def _like_this(self, chunk: Chunk) -> tuple[Chunk, Moved | None]:
        found = self._like_of.get(id(chunk))
        if found is None:  # a kept chunk keeps its id
            like = self._like.setdefault(_form(chunk), chunk)
            found = self._like_of[id(chunk)] = (chunk, like, self._moved(chunk, like))
        return found[1:]

    def _moved(self, chunk: Chunk, like: Chunk) -> Moved | None:
        further = chunk.number - like.number
        if not chunk.layers and not further:
            return None
        inner = 2 * chunk.tags * further
        return Moved(chunk.layers, chunk.number, 2 * further, inner, self._first_inner)


def _form(chunk: Chunk) -> tuple[Any, ...]:
    ends = (*chunk.forward, *chunk.backward)
    own = 2 * chunk.number
    relative = (
        one._replace(tag=one.tag - own) if isinstance(one, Message) else one for one in ends
    )
    work = chunk.work
    parts = (id(work.forward), id(work.backward), id(work.weights))  # the chunk keeps these
    return (*parts, chunk.stage == 0, *relative)


def job_of(
    works: Sequence[StageWork],
    plan: Plan,
    orders: Orders,
    stages: Stages,
    layers: Sequence[int] | None = None,
) -> Job:
    """The training step of stages with these works, by stage.

    `layers` are how far each stage's layer numbers are above those of its work, 0 by default;
    stages of equal layers may share one work, the same object.
    """
    if len(works) != stages.count:
        raise ValueError(f"expected {stages.count} works, got {len(works)}")
    different = {id(work): work for work in works}.values()
    weights = [weight for work in different for weight in work.weights]
    sharding = sharding_of(
        plan,
        has_experts=any(weight.domain == "expert" for weight in weights),
        mirrored=len(stages.routes) > 1,
    )
    inner = _tags_of_a_pass(different)
    tags = 2 * stages.chunks * (1 + inner)
    microbatches = plan.micro_batches * plan.steps
    if tags * max(microbatches, 1) > _TAGS:
        problem = f"{microbatches} micro-batches with {tags} tags each"
        raise UnsupportedError(f"global_batch: {problem} are more than {_TAGS} tags")
    buckets = _Buckets(plan)
    chunks = tuple(
        tuple(
            _chunk(works, plan, stages, (device, number), inner, layers, buckets)
            for number in range(stages.chunks)
        )
        for device in range(stages.devices)
    )
    programs = tuple(map(Programs(plan, stages.chunks).of, orders))
    groups = groups_of(plan, stages, is_tied=any(weight.is_tied for weight in weights))
    return Job(plan, orders, stages, chunks, programs, sharding, groups, tags)


class _Buckets:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made: dict[tuple[int, bool], tuple[StageWork, tuple[Bucket, ...]]] = {}

    def of(self, work: StageWork, *, is_first: bool) -> tuple[Bucket, ...]:
        # the work is kept, so no other gets its id
        found = self._made.get((id(work), is_first))
        if found is None:
            made = buckets_of(work.weights, self._plan, is_first=is_first)
            found = self._made[id(work), is_first] = (work, made)
        return found[1]


def groups_of(plan: Plan, stages: Stages, *, is_tied: bool) -> dict[str, Group]:
    dense = {
        "tp": ("tp",),
        "cp": ("cp",),
        "dp": ("dp",),
        "dp_cp": ("dp", "cp"),
        "tp_cp": ("tp", "cp"),
    }
    groups = {name: Group("dense", axes) for name, axes in dense.items()}
    groups |= {axis: Group("expert", (axis,)) for axis in ("ep", "etp", "edp")}
    if plan.ep * plan.etp == 1:
        groups["edp"] = Group("dense", ("tp", "cp", "dp"))
    sizes = {"tp": plan.tp, "cp": plan.cp, "dp": plan.dp, "ep": plan.ep, "etp": plan.etp}
    sizes |= {"edp": plan.edp, "dp_cp": plan.dp * plan.cp, "tp_cp": plan.tp * plan.cp}
    if plan.shard is not None:
        groups |= {axis: Group("sharded", (axis,)) for axis in ("fsdp", "replica")}
        sizes |= {"fsdp": plan.shard, "replica": plan.replicas}
    groups["world"] = Group("dense", ("tp", "cp", "dp", "pp"))
    sizes["world"] = plan.ranks
    if len(stages.routes) > 1:
        pairs = {tuple(sorted(devices)) for devices in _copies(stages)}
        groups["mirror"] = Group("dense", ("pp",), {"pp": sorted(pairs)})
        sizes["mirror"] = min(map(len, pairs))
    elif is_tied:
        ends = stages.place(0)[0], stages.place(stages.count - 1)[0]
        groups["embedding"] = Group("dense", ("pp",), {"pp": ends})
        sizes["embedding"] = len(set(ends))
    return {name: group for name, group in groups.items() if sizes[name] > 1}


def _copies(stages: Stages) -> Iterator[tuple[int, ...]]:
    for number in range(stages.count):
        devices = [stages.place(number, route)[0] for route in range(len(stages.routes))]
        if len(set(devices)) < len(devices):
            raise UnsupportedError(
                f"schedule: device {devices[0]} holds two copies of stage {number}; its routes "
                "must lead through it on different devices"
            )
        yield tuple(devices)


def _chunk(
    works: Sequence[StageWork],
    plan: Plan,
    stages: Stages,
    place: Place,
    inner: int,
    layers: Sequence[int] | None,
    buckets: _Buckets,
) -> Chunk:
    device, number = place
    stage = stages.stage(device, number)
    work = works[stage]
    before, after = stages.before(*place), stages.after(*place)
    embedding = stages.place(0, stages.route(*place))
    if stage and stage == stages.count - 1 and embedding[0] == device and plan.zero < 3:
        # The head uses this device's embedding tensor; shards would be two.
        work = work._replace(weights=tuple(w for w in work.weights if not w.is_tied))
    made = works[stage - 1].forward.exit if before else None
    gradient = works[stage + 1].backward.exit if after else None
    own = 2 * number
    theirs = 2 * before[1] if before else 0
    p = stages.devices
    further = 0 if layers is None else layers[stage]
    forward = Ends(
        _end(device, before, made, theirs, work.input_bytes, p),
        _end(device, after, 0, own, work.output_bytes, p),
    )
    backward = Ends(
        _end(device, after, gradient, own + 1, work.output_bytes, p),
        _end(device, before, 0, theirs + 1, work.input_bytes, p),
    )
    return Chunk(
        number,
        stage,
        work,
        with_layers(buckets.of(work, is_first=stage == 0), further),
        forward,
        backward,
        2 * stages.chunks + 2 * number * inner,
        inner,
        further,
    )


def _end(
    device: int, other: Place | None, key: int | None, tag: int, size_bytes: int, p: int
) -> Message | int | None:
    if other is None:
        return None
    if other[0] == device:
        return key
    ahead = (other[0] - device) % p
    peer = f"pp+{ahead}" if 2 * ahead <= p else f"pp-{p - ahead}"
    return Message(peer, tag, size_bytes)


def _own(device: int, place: Place | None) -> int | None:
    return place[1] if place is not None and place[0] == device else None


def _tags_of_a_pass(works: Iterable[StageWork]) -> int:
    tags = (
        operation.tag
        for work in works
        for one in (work.forward, work.backward)
        for operation in one.operations
        if operation.peer
    )
    return 1 + max(tags, default=-1)
