"""The operator graph of one chunk of layers, for one micro-batch on one rank.

Parallelism is a property of placements, not of blocks: where they differ, `passes.py` inserts the
collectives of `reshard.py`. Trade-off: costs hold for one setting; another is another graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from math import ceil
from typing import Literal, NamedTuple

from yantra.chakra import CollectiveType
from yantra.workloads.operators.graph.batch import Batch
from yantra.workloads.operators.graph.formats import WIDTHS, stored_bytes
from yantra.workloads.operators.graph.reshard import Move, moves
from yantra.workloads.operators.graph.tensor import REPLICATED, Placement, Tensor, local_size
from yantra.workloads.operators.operations import Domain, Operation, Weight

Recompute = Literal["none", "selective", "operators", "full"]


class Setting(NamedTuple):
    """How one replica's micro-batch is split and computed; `stage.py` makes it from a plan."""

    batch: Batch
    axes: Mapping[str, int] = {}
    """Ranks of tp, cp, ep, etp and edp; 1 if left out."""
    sequence_parallel: bool = False
    cp_kind: Literal["p2p", "all_gather", "a2a"] = "p2p"
    dtype: str = "bf16"
    scaling: str = "none"
    """How products in few bits are scaled; see `operators/scalings.py`."""
    gradient_width: int = 4
    cache_dtype: str = "bf16"
    weight_dtype: str | None = None
    """Type of stored weights in inference, None for the computing type."""
    low_latency: bool = False
    """Experts exchange rows by kernels for few tokens (see `blocks/moe.py`)."""
    training: bool = True
    recompute: Recompute = "none"
    recompute_modules: tuple[str, ...] = ("core_attn",)
    """What selective recomputation repeats; see `modules.py`."""
    recompute_layers: int = 0
    """Of full recomputation: layers repeated together, or how many alone; 0: each alone."""
    recompute_method: Literal["uniform", "block"] = "uniform"
    offload_modules: tuple[str, ...] = ()
    """Whose saved tensors may wait in the host's memory; see `operators/offloaded.py`."""
    flash_attention: bool = True
    fused_loss: bool = True
    unfused_kernels: tuple[str, ...] = ()
    """Kernels that run as several; see `operators/fusions.py`."""
    dropout: bool = False
    overlap_tensor: bool = True
    """Weight gradients are computed while input gradients are summed over tp."""
    overlap_products: bool = False
    """Products begin with parts of what is gathered over tp; see `pipelined.py`."""
    gather_again: bool = True
    """The backward pass repeats the forward pass's gathers."""
    messages: Literal["whole", "sliced", "scattered"] = "whole"
    """How tensors cross to the next stage; see `operators/border.py`."""
    capacity_factor: float | None = None
    routing: str = "uniform"
    """How tokens choose experts: `uniform`, or `zipf:<exponent>`."""
    lora_rank: int = 0
    """Rank of adapters, which alone are trained; 0 trains every weight."""
    lora_targets: tuple[str, ...] = ()
    """Products with adapters; see `operators/adapter.py`."""
    expert_rank: int = 0
    """This rank's share of the experts, which matters with skewed routing."""

    @property
    def width(self) -> int:
        return 4 if self.dtype in ("fp32", "tf32") else 2

    @property
    def precise_dtype(self) -> str:
        """The type of attention, router and head, never 8 bits or less."""
        return self.dtype if self.dtype in ("fp32", "tf32", "fp16") else "bf16"

    def weight_bytes(self, elements: int, *, packs: bool = False) -> int:
        """Bytes of stored weights; `packs` where formats with scales pack them."""
        if self.weight_dtype is None:
            return elements * self.width
        return stored_bytes(elements, self.weight_dtype, packs=packs)

    def cache_bytes(self, elements: int) -> int:
        return ceil(elements * WIDTHS[self.cache_dtype])

    def ways(self, axis: str) -> int:
        try:
            return self.axes[axis]
        except KeyError:
            return 1


class Use(NamedTuple):
    """A tensor as an operator needs it."""

    tensor: Tensor
    placement: Placement


class Gradient(NamedTuple):
    """One step of an operator's backward, computed by `program`.

    A gradient needs the gradients of the outputs `of`, in the dual placements, and the tensors
    `needs`, kept as copies of `kept_width` bytes an element (None: as they are); `gives` are
    (input, placement) pairs. Without a program the output's gradient is the inputs'.
    """

    program: tuple[Operation, ...]
    of: tuple[int, ...]
    needs: tuple[Use, ...] = ()
    gives: tuple[tuple[int, Placement], ...] = ()
    kept_width: float | None = None


class Operator(NamedTuple):
    """One operator, whose `program` is what one rank does.

    `after` are positions in the program; operations after nothing wait for the inputs, receives for
    nothing. `keeps` are bytes saved for its gradient (masks, statistics).
    """

    name: str
    unit: str
    inputs: tuple[Use, ...]
    outputs: tuple[Tensor, ...]
    program: tuple[Operation, ...]
    gradients: tuple[Gradient, ...] = ()
    keeps: int = 0
    region: str = ""
    again: tuple[int, ...] | None = None
    again_program: tuple[Operation, ...] = ()


def _narrowed(one: Move, share: float) -> Move:
    if one.axis != "tp" or one.type is not CollectiveType.ALL_GATHER:
        return one
    return one._replace(size_bytes=ceil(one.size_bytes * share))


def _is_of_weights(gradient: Gradient) -> bool:
    return not gradient.gives and any(one.phase == "wgrad" for one in gradient.program)


class _Scope(AbstractContextManager[None]):
    def __init__(self, graph: Graph, name: str) -> None:
        self._graph = graph
        self._name = name

    def __enter__(self) -> None:
        self._graph.enter(self._name)

    def __exit__(self, *_: object) -> None:
        self._graph.leave()


class Graph:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.operators: list[Operator] = []
        self.weights: list[Weight] = []
        self._tensors = 0
        self._unit = ""
        self._scope: list[str] = []
        self._prefix = ""
        self._outside: list[str] = []
        self.repeated_with: dict[str, str] = {}
        """The part with which each unit is repeated, where layers are not repeated alone."""
        self._products: dict[str, int] = {}
        self.in_adapter = False

    @contextmanager
    def unit(self, name: str) -> Iterator[None]:
        before = self._unit, self._prefix
        self._unit = name
        self._prefix = "".join([f"{part}." for part in (name, *self._scope) if part])
        try:
            yield
        finally:
            self._unit, self._prefix = before

    def scope(self, name: str) -> AbstractContextManager[None]:
        return _Scope(self, name)

    def enter(self, name: str) -> None:
        self._scope.append(name)
        self._outside.append(self._prefix)
        self._prefix += f"{name}." if name else ""

    def leave(self) -> None:
        self._scope.pop()
        self._prefix = self._outside.pop()

    @property
    def current_unit(self) -> str:
        """The current unit."""
        return self._unit

    def path(self, name: str) -> str:
        """The full name here: unit, scopes, name."""
        return f"{self._prefix}{name}" if name else self._prefix.removesuffix(".")

    def tokens(self) -> Placement:
        shards = [("tokens", "cp")] if self.setting.ways("cp") > 1 else []
        if self.setting.sequence_parallel and self.setting.ways("tp") > 1:
            shards.append(("tokens", "tp"))
        return Placement(tuple(shards))

    def split(self, placement: Placement, dimension: str, axis: str) -> Placement:
        if self.setting.ways(axis) == 1:
            return placement
        return placement.sharding(dimension, axis)

    def partial(self, placement: Placement, *axes: str) -> Placement:
        return placement.adding({axis for axis in axes if self.setting.ways(axis) > 1})

    def local(self, tensor: Tensor, placement: Placement | None = None) -> int:
        ways = 1
        for _, axis in (tensor.placement if placement is None else placement).shards:
            ways *= self.setting.ways(axis)
        return local_size(tensor.elements(), ways, tensor.name)

    def local_dimension(self, tensor: Tensor, dimension: str, placement: Placement) -> int:
        ways = 1
        for sharded, axis in placement.shards:
            if sharded == dimension:
                ways *= self.setting.ways(axis)
        return local_size(tensor.size(dimension), ways, f"{tensor.name}.{dimension}")

    def bytes(self, tensor: Tensor, placement: Placement | None = None) -> int:
        """One rank's bytes of a tensor."""
        return self.local(tensor, placement) * tensor.width

    def tensor(
        self,
        name: str,
        sizes: Mapping[str, int],
        placement: Placement = REPLICATED,
        width: int | None = None,
    ) -> Tensor:
        self._tensors += 1
        chosen = self.setting.width if width is None else width
        return Tensor(self._tensors, self.path(name), tuple(sizes.items()), placement, chosen)

    @property
    def is_frozen(self) -> bool:
        return self.setting.lora_rank > 0 and not self.in_adapter

    def take_numbers(self, count: int) -> int:
        before = self._tensors
        self._tensors += count
        return before

    def weight(
        self,
        name: str,
        elements: int,
        *,
        ways: int = 1,
        domain: Domain = "dense",
        partial_over: tuple[str, ...] = (),
        is_tied: bool = False,
        packs: bool = False,
        copies: int = 0,
    ) -> None:
        """Add a weight of `elements`, split evenly over `ways` ranks; trained unless frozen."""
        path = self.path(name)
        local = local_size(elements, ways, path)
        shape = local // copies if copies and not self.is_frozen else 0
        kind = (domain, partial_over, is_tied, self.is_frozen, packs)
        self.weights.append(Weight(path, self._unit, local, *kind, shape))

    def add(
        self,
        name: str,
        inputs: tuple[Use, ...],
        outputs: tuple[Tensor, ...],
        program: tuple[Operation, ...],
        gradients: tuple[Gradient, ...] = (),
        *,
        keeps: int = 0,
        region: str = "",
        again: tuple[int, ...] | None = None,
        again_program: tuple[Operation, ...] = (),
    ) -> None:
        path = self.path(name)
        again_program = self._named(again_program, path)
        if self.is_frozen:
            gradients = tuple([one for one in gradients if not _is_of_weights(one)])
        named = self._named(program, path)
        backward = tuple(
            [
                Gradient(self._named(gradient.program, path), *gradient[1:])
                for gradient in (gradients if self.setting.training else ())
            ]
        )
        shown = (path, self._unit, inputs, outputs, named, backward, keeps, region)
        self.operators.append(Operator(*shown, again, again_program))

    def every_second(self, products: int) -> tuple[int, ...]:
        """Every second of a unit's products, continuing those so far."""
        before = self._products.get(self._unit, 0)
        self._products[self._unit] = before + products
        return tuple(at for at in range(products) if (before + at) % 2)

    def _named(self, program: tuple[Operation, ...], path: str) -> tuple[Operation, ...]:
        return tuple(
            [one.called(f"{path}.{one.name}" if one.name else path, self._unit) for one in program]
        )

    def moves_of(self, tensor: Tensor, source: Placement, target: Placement) -> tuple[Move, ...]:
        if source == target:
            return ()
        total = tensor.elements() * tensor.width
        found = moves(source, target, total, self.setting.axes)
        if tensor.gathered is None:
            return found
        return tuple([_narrowed(one, tensor.gathered / tensor.width) for one in found])
