"""A chunk of layers on one rank.

Ranks of a stage have equal graphs, unless routing to experts is skewed (`expert_rank`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from yantra.workloads.models.blocks import Block
from yantra.workloads.operators.adapters import targets_of
from yantra.workloads.operators.fusions import unfused_of
from yantra.workloads.operators.graph import Batch, Graph, Passes, Setting, Tensor
from yantra.workloads.operators.graph.again import Blocks
from yantra.workloads.operators.graph.formats import WIDTHS
from yantra.workloads.operators.graph.modules import USUAL, modules_of
from yantra.workloads.operators.graph.operators.border import (
    before_last,
    gathered,
    message,
    scattered,
)
from yantra.workloads.operators.graph.pipelined import pipelined
from yantra.workloads.operators.offloaded import offloaded_of
from yantra.workloads.operators.operations import Pass, StageWork
from yantra.workloads.training.repeated import BUILT, Pattern, longest_run, pattern_of

if TYPE_CHECKING:
    from yantra.workloads.plan.plan import Plan

_PATTERNS = 256
"""Patterns kept, as plans of one search share them."""
_NONE: Any = ()
Made = TypeVar("Made")


class Parts(Protocol):
    """What a model gives: blocks in front, in the middle and at the end."""

    @property
    def front(self) -> Block:
        """The block that makes the first tensor."""

    @property
    def layers(self) -> Sequence[Block]:
        """Blocks that a pipeline may cut between."""

    @property
    def tail(self) -> Block:
        """The block after the last layer."""


def setting_of(plan: Plan, sequence: int, expert_rank: int = 0) -> Setting:
    """How a plan splits and computes one micro-batch of sequences of this length."""
    return Setting(
        batch=Batch.of(plan.micro_batch, sequence),
        axes={axis: getattr(plan, axis) for axis in ("tp", "cp", "ep", "etp", "edp")},
        sequence_parallel=plan.sequence_parallel,
        cp_kind=plan.cp_kind,
        dtype=plan.dtype,
        scaling=plan.scaling,
        gradient_width=int(WIDTHS[plan.gradient_dtype]),
        recompute=plan.recompute,
        recompute_modules=modules_of(plan.recompute_modules),
        recompute_layers=plan.recompute_layers or 0,
        recompute_method=plan.recompute_method,
        offload_modules=offloaded_of(plan.offload_modules),
        flash_attention=plan.flash_attention,
        unfused_kernels=unfused_of(plan.unfused_kernels),
        dropout=plan.dropout,
        overlap_tensor=plan.overlap_tensor,
        overlap_products=plan.overlap_products,
        gather_again=plan.gather_again,
        messages=plan.messages,
        fused_loss=plan.fused_loss,
        capacity_factor=plan.capacity_factor,
        lora_rank=plan.lora_rank or 0,
        lora_targets=targets_of(plan.lora_targets) if plan.lora_rank else (),
        routing=plan.routing,
        expert_rank=expert_rank,
    )


class Chunk:
    """The graph of consecutive layers, with the model's ends where they belong."""

    def __init__(
        self,
        model: Parts,
        setting: Setting,
        layers: tuple[int, int],
        front: bool,
        tail: bool,
        blocks: Blocks | None = None,
    ) -> None:
        """Build layers `layers[0]` to `layers[1] - 1`; chunks of a setting may share `blocks`."""
        self.graph = g = Graph(setting)
        first, end = layers
        g.repeated_with = _repeated_together(setting, layers)
        self.source: Tensor | None = None
        x: Tensor | None = None
        if front:
            with g.unit("embedding"):
                x = model.front.build(g, None)
        else:
            block = model.layers[first] if first < end else model.tail
            self.source = g.tensor("input", block.input_sizes(g), message(g))
            is_alone = end - first == 1 and not tail
            x = gathered(g, self.source, for_last=is_alone)
        for number in range(first, end):
            is_last = number == end - 1 and not tail
            with (
                before_last(g, x) if is_last else nullcontext(x) as given,
                g.unit(f"layers.{number}"),
            ):
                layer = model.layers[number]
                x = layer.build(g, given) if blocks is None else blocks.build(g, layer, given)
        if tail:
            with g.unit("head"):
                model.tail.build(g, x)
        self.result = None if tail or x is None else scattered(g, x)

    def under(self, setting: Setting) -> Chunk:
        made = copy(self)
        made.graph = copy(self.graph)
        made.graph.setting = setting
        return made

    def work(self) -> StageWork:
        passes = Passes(self.graph, self.source, self.result)
        setting = self.graph.setting
        both = passes.forward(), passes.backward() if setting.training else Pass(())
        if setting.overlap_products:
            forward, backward = (pipelined(one, setting.ways("tp")) for one in both)
        else:
            forward, backward = both
        return StageWork(
            forward,
            backward,
            tuple(self.graph.weights),
            0 if self.source is None else self.graph.bytes(self.source),
            0 if self.result is None else self.graph.bytes(self.result),
            passes.waits(),
        )


def _repeated_together(setting: Setting, layers: tuple[int, int]) -> dict[str, str]:
    """Megatron-LM, `recompute_method`: so many layers at once, or only so many of a chunk."""
    first, end = layers
    count = setting.recompute_layers
    if not count:
        return {}
    if setting.recompute_method == "block":
        end = min(end, first + count)
        count = 1
    return {
        f"layers.{number}": f"layers.{number - (number - first) % count}"
        for number in range(first, end)
    }


class _AsksForRecomputationError(Exception):
    """A block asks what is recomputed."""


class _WithoutRecomputation(Setting):
    @property
    def recompute(self) -> Any:
        raise _AsksForRecomputationError


class Chunks:
    """Graphs of a model's chunks, shared by settings that differ in recomputation alone.

    Recomputation is decided where passes are made; a block that asks for it is built for each
    setting.
    """

    def __init__(self, model: Parts) -> None:
        self._model = model
        self._built: dict[tuple[Any, ...], Chunk | None] = {}

    def work(
        self, setting: Setting, layers: tuple[int, int], *, front: bool = False, tail: bool = False
    ) -> StageWork:
        """The work of layers `layers[0]` to `layers[1] - 1`, and of the model's ends."""
        axes = tuple(sorted(setting.axes.items()))
        key = (layers, front, tail, setting._replace(recompute="none", axes=_NONE), axes)
        if key not in self._built:
            unasked = _WithoutRecomputation(*setting)
            try:
                self._built[key] = Chunk(self._model, unasked, layers, front, tail)
            except _AsksForRecomputationError:
                self._built[key] = None
        built = self._built[key]
        if built is None:
            return Chunk(self._model, setting, layers, front, tail).work()
        return built.under(setting).work()


def stage_work(
    model: Parts,
    plan: Plan,
    *,
    layers: tuple[int, int],
    front: bool,
    tail: bool,
    sequence: int,
    expert_rank: int = 0,
) -> StageWork:
    """The work of one rank on layers `layers[0]` to `layers[1] - 1`."""
    setting = setting_of(plan, sequence, expert_rank)
    repeated = _repeated(model, setting, layers, front, tail, layers[0])
    return repeated or Chunk(model, setting, layers, front, tail).work()


def _repeated(
    model: Parts, setting: Setting, layers: tuple[int, int], front: bool, tail: bool, number: int
) -> StageWork | None:
    first, end = layers
    run = longest_run(model.layers[first:end])
    if run.length <= BUILT or setting.recompute_layers:
        return None
    behind = first + run.first + run.length
    kept = (*model.layers[first : first + run.first + BUILT], *model.layers[behind:end])
    some = _Some(model.front if front else None, kept, model.tail if tail else None)
    pattern = _shared(_pattern, (some, run.first), setting)
    return None if pattern is None else pattern.work(number, run.length)


class _AsksForReplicasError(Exception):
    """A block asks how many ranks hold the same experts."""


class _WithoutReplicas(dict[str, int]):
    def __missing__(self, axis: str) -> int:
        if axis == "edp":
            raise _AsksForReplicasError
        raise KeyError(axis)


def _shared(make: Callable[..., Made], of: tuple[Any, ...], setting: Setting) -> Made:
    fields = tuple(setting._replace(axes=_NONE))
    axes = tuple(sorted(setting.axes.items()))
    try:
        return make(*of, fields, tuple(axis for axis in axes if axis[0] != "edp"))
    except _AsksForReplicasError:
        return make(*of, fields, axes)


def _setting(fields: tuple[Any, ...], axes: tuple[tuple[str, int], ...]) -> Setting:
    known = dict(axes)
    return Setting(*fields)._replace(axes=known if "edp" in known else _WithoutReplicas(known))


class Placed(NamedTuple):
    """A work whose layers have numbers `layers` above those that it names."""

    work: StageWork
    layers: int


class StageWorks:
    """The works of one plan's stages; those of equal layers are made once."""

    def __init__(self, model: Parts, plan: Plan, sequence: int, expert_rank: int = 0) -> None:
        self._model = model
        self._setting = setting_of(plan, sequence, expert_rank)
        self._kinds = _kinds(model.layers)
        self._made: dict[tuple[Any, ...], tuple[StageWork, bool]] = {}

    def of(self, layers: tuple[int, int], *, front: bool, tail: bool) -> Placed:
        first, end = layers
        key = (front, tail, *self._kinds[first:end])
        if key not in self._made:
            work = self._work(layers, front, tail)
            self._made[key] = (work, _can_move(work))
        work, moves = self._made[key]
        if moves or not first:
            return Placed(work, first)
        return Placed(Chunk(self._model, self._setting, layers, front, tail).work(), 0)

    def _work(self, layers: tuple[int, int], front: bool, tail: bool) -> StageWork:
        repeated = _repeated(self._model, self._setting, layers, front, tail, 0)
        if repeated is not None:
            return repeated
        first, end = layers
        model = self._model
        some = _Some(
            model.front if front else None,
            tuple(model.layers[first:end]),
            model.tail if tail else None,
        )
        return _shared(_built, (some,), self._setting)


def _kinds(layers: Sequence[Block]) -> list[int]:
    numbers: dict[Block, int] = {}
    of_object: dict[int, int] = {}
    for layer in layers:
        if id(layer) not in of_object:
            of_object[id(layer)] = numbers.setdefault(layer, len(numbers))
    return [of_object[id(layer)] for layer in layers]


def _can_move(work: StageWork) -> bool:
    names = [op.name for one in (work.forward, work.backward) for op in one.operations]
    return all(name.find("layers.", 1) < 0 for name in names)


class _Some(NamedTuple):
    front: Any
    layers: tuple[Block, ...]
    tail: Any

    def work(self, setting: Setting, blocks: Blocks) -> StageWork:
        ends = self.front is not None, self.tail is not None
        return Chunk(self, setting, (0, len(self.layers)), *ends, blocks).work()


@lru_cache(maxsize=_PATTERNS)
def _built(some: _Some, fields: tuple[Any, ...], axes: tuple[tuple[str, int], ...]) -> StageWork:
    return some.work(_setting(fields, axes), _blocks(fields, axes))


@lru_cache(maxsize=_PATTERNS)
def _blocks(fields: tuple[Any, ...], axes: tuple[tuple[str, int], ...]) -> Blocks:
    return Blocks()


@lru_cache(maxsize=_PATTERNS)
def _pattern(
    some: _Some, first: int, fields: tuple[Any, ...], axes: tuple[tuple[str, int], ...]
) -> Pattern | None:
    setting, blocks = _setting(fields, axes), _blocks(fields, axes)
    longer = None
    if setting.recompute in ("operators", "full") or setting.recompute_modules != USUAL:
        layers = (*some.layers[:first], some.layers[first], *some.layers[first:])
        longer = some._replace(layers=layers).work(setting, blocks)
    return pattern_of(some.work(setting, blocks), first, longer)
