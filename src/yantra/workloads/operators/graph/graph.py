"""The operator graph of one chunk of layers, for one micro-batch on one rank.

Blocks add operators; each operator says which placement it needs of every input, which it gives its
outputs, what it costs on one rank, and what its gradient consists of. Where what a tensor has and
what is needed differ, the passes `forward.py` and `backward.py` insert the collectives of
`reshard.py`: parallelism is a property of placements, not of blocks.

Trade-off: costs are worked out when an operator is added, for the given setting; another setting
is another graph. A graph of one layer takes well under a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from math import ceil
from typing import Literal, NamedTuple

from yantra.workloads.operators.graph.batch import Batch
from yantra.workloads.operators.graph.formats import WIDTHS, stored_bytes
from yantra.workloads.operators.graph.reshard import Move, moves
from yantra.workloads.operators.graph.tensor import REPLICATED, Placement, Tensor, local_size
from yantra.workloads.operators.operations import Domain, Operation, Weight

Recompute = Literal["none", "selective", "operators", "full"]


class Setting(NamedTuple):
    """How one replica's micro-batch is split and computed; made from a plan by `stage.py`."""

    batch: Batch
    axes: Mapping[str, int] = {}
    """Ranks of the axes tp, cp, ep, etp and edp; those left out have one."""
    sequence_parallel: bool = False
    cp_kind: Literal["p2p", "all_gather", "a2a"] = "p2p"
    dtype: str = "bf16"
    gradient_width: int = 4
    cache_dtype: str = "bf16"
    weight_dtype: str | None = None
    """How weights are stored for inference, None for the computing type."""
    low_latency: bool = False
    """Whether experts exchange rows by kernels for few tokens (see `blocks/moe.py`)."""
    training: bool = True
    recompute: Recompute = "none"
    flash_attention: bool = True
    fused_loss: bool = True
    dropout: bool = False
    overlap_tensor: bool = True
    """Whether weight gradients are computed while those of inputs are summed over tp."""
    gather_again: bool = True
    """Whether the backward pass gathers again what the forward pass gathered."""
    messages: Literal["whole", "sliced", "scattered"] = "whole"
    """How a tensor crosses to the next stage; see `operators/border.py`."""
    capacity_factor: float | None = None
    routing: str = "uniform"
    """How tokens choose experts: `uniform`, or `zipf:<exponent>`."""
    lora_rank: int = 0
    """Rank of the adapters that alone are trained; 0 trains every weight."""
    lora_targets: tuple[str, ...] = ()
    """Which products have adapters; see `operators/adapter.py`."""
    expert_rank: int = 0
    """Which share of the experts this rank holds; it matters where routing is skewed."""

    @property
    def width(self) -> int:
        """Bytes of an activation or weight in the computing type."""
        return 4 if self.dtype in ("fp32", "tf32") else 2

    @property
    def precise_dtype(self) -> str:
        """The type of what is not computed in 8 bits or less: attention, router and head.

        As in Transformer Engine and DeepSeek-V3 (2024), section 3.3.1.
        """
        return self.dtype if self.dtype in ("fp32", "tf32", "fp16") else "bf16"

    def weight_bytes(self, elements: int, *, packs: bool = False) -> int:
        """Return the bytes of stored weights; `packs` where formats with scales have them so."""
        if self.weight_dtype is None:
            return elements * self.width
        return stored_bytes(elements, self.weight_dtype, packs=packs)

    def cache_bytes(self, elements: int) -> int:
        """Return the bytes of stored keys and values."""
        return ceil(elements * WIDTHS[self.cache_dtype])

    def ways(self, axis: str) -> int:
        """Return the number of ranks of an axis."""
        try:
            return self.axes[axis]
        except KeyError:
            return 1


class Use(NamedTuple):
    """A tensor as an operator needs it."""

    tensor: Tensor
    placement: Placement


class Gradient(NamedTuple):
    """One step of an operator's backward: `program` computes it.

    It needs the gradients of the outputs `of`, in the placements dual to theirs, and the tensors
    `needs`, and makes gradients of inputs: `gives` are (input, placement) pairs. Without a program
    the gradient of the one output is that of the inputs. What it needs is kept in `kept_width`
    bytes an element, a copy of its own; None: as it is.
    """

    program: tuple[Operation, ...]
    of: tuple[int, ...]
    needs: tuple[Use, ...] = ()
    gives: tuple[tuple[int, Placement], ...] = ()
    kept_width: float | None = None


class Operator(NamedTuple):
    """One operator. `program` is what one rank does for it: usually one operation, whose `after`
    are positions in the program; those after nothing wait for the inputs, receives for nothing.

    `keeps` are bytes it saves for its gradient beside tensors (masks, statistics). `region` names
    the part that selective recomputation repeats. Of a product `again` are the outputs that
    recomputation by operators makes again, and `again_program` does that.
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


def _is_of_weights(gradient: Gradient) -> bool:
    """Return whether a step of a backward gives nothing but gradients of weights."""
    return not gradient.gives and any(one.phase == "wgrad" for one in gradient.program)


class _Scope(AbstractContextManager[None]):
    """A name in front of others while it is entered; faster than a generator."""

    def __init__(self, graph: Graph, name: str) -> None:
        self._graph = graph
        self._name = name

    def __enter__(self) -> None:
        self._graph.enter(self._name)

    def __exit__(self, *_: object) -> None:
        self._graph.leave()


class Graph:
    """Collects operators in the order in which a rank runs them."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.operators: list[Operator] = []
        self.weights: list[Weight] = []
        self._tensors = 0
        self._unit = ""
        self._scope: list[str] = []
        self._prefix = ""
        self._outside: list[str] = []
        self._products: dict[str, int] = {}
        self.in_adapter = False

    # Names

    @contextmanager
    def unit(self, name: str) -> Iterator[None]:
        """Let operators and weights added inside belong to the unit `name` (`layers.3`)."""
        before = self._unit, self._prefix
        self._unit = name
        self._prefix = "".join([f"{part}." for part in (name, *self._scope) if part])
        try:
            yield
        finally:
            self._unit, self._prefix = before

    def scope(self, name: str) -> AbstractContextManager[None]:
        """Put `name` in front of the names of what is added inside."""
        return _Scope(self, name)

    def enter(self, name: str) -> None:
        """Begin a scope."""
        self._scope.append(name)
        self._outside.append(self._prefix)
        self._prefix += f"{name}." if name else ""

    def leave(self) -> None:
        """End the scope that began last."""
        self._scope.pop()
        self._prefix = self._outside.pop()

    @property
    def current_unit(self) -> str:
        """The unit of what is added now."""
        return self._unit

    def path(self, name: str) -> str:
        """Return the full name of `name` here: unit, scopes, name."""
        return f"{self._prefix}{name}" if name else self._prefix.removesuffix(".")

    # Placements and sizes

    def tokens(self) -> Placement:
        """Return where activations lie between blocks: tokens over cp, and tp with SP."""
        shards = [("tokens", "cp")] if self.setting.ways("cp") > 1 else []
        if self.setting.sequence_parallel and self.setting.ways("tp") > 1:
            shards.append(("tokens", "tp"))
        return Placement(tuple(shards))

    def split(self, placement: Placement, dimension: str, axis: str) -> Placement:
        """Return `placement` with `axis` sharding `dimension`, if it has more than one rank."""
        if self.setting.ways(axis) == 1:
            return placement
        return placement.sharding(dimension, axis)

    def partial(self, placement: Placement, *axes: str) -> Placement:
        """Return `placement` with partial sums over those of `axes` with more than one rank."""
        return placement.adding({axis for axis in axes if self.setting.ways(axis) > 1})

    def local(self, tensor: Tensor, placement: Placement | None = None) -> int:
        """Return one rank's number of elements of a tensor, as it is or in another placement."""
        ways = 1
        for _, axis in (tensor.placement if placement is None else placement).shards:
            ways *= self.setting.ways(axis)
        return local_size(tensor.elements(), ways, tensor.name)

    def local_dimension(self, tensor: Tensor, dimension: str, placement: Placement) -> int:
        """Return one rank's size of a dimension in a placement."""
        ways = 1
        for sharded, axis in placement.shards:
            if sharded == dimension:
                ways *= self.setting.ways(axis)
        return local_size(tensor.size(dimension), ways, f"{tensor.name}.{dimension}")

    def bytes(self, tensor: Tensor, placement: Placement | None = None) -> int:
        """Return one rank's bytes of a tensor."""
        return self.local(tensor, placement) * tensor.width

    # Building

    def tensor(
        self,
        name: str,
        sizes: Mapping[str, int],
        placement: Placement = REPLICATED,
        width: int | None = None,
    ) -> Tensor:
        """Make a tensor; an operator's output, or the input of the whole graph."""
        self._tensors += 1
        chosen = self.setting.width if width is None else width
        return Tensor(self._tensors, self.path(name), tuple(sizes.items()), placement, chosen)

    @property
    def is_frozen(self) -> bool:
        """Whether weights added now are not trained: those beside adapters."""
        return self.setting.lora_rank > 0 and not self.in_adapter

    def take_numbers(self, count: int) -> int:
        """Take numbers for tensors; return the last one that was taken before."""
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
    ) -> None:
        """Add a tensor of `elements`, split evenly over `ways` ranks; trained unless frozen."""
        path = self.path(name)
        local = local_size(elements, ways, path)
        told = (path, self._unit, local, domain, partial_over, is_tied, self.is_frozen, packs)
        self.weights.append(Weight(*told))

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
        """Add an operator; programs may leave name and unit of their operations empty."""
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
        """Return which of some products, as they follow those of the unit so far, are second ones.

        Recomputation by operators makes these again and keeps the others.
        """
        before = self._products.get(self._unit, 0)
        self._products[self._unit] = before + products
        return tuple(at for at in range(products) if (before + at) % 2)

    def _named(self, program: tuple[Operation, ...], path: str) -> tuple[Operation, ...]:
        return tuple(
            [one.called(f"{path}.{one.name}" if one.name else path, self._unit) for one in program]
        )

    def moves_of(self, tensor: Tensor, source: Placement, target: Placement) -> tuple[Move, ...]:
        """Return the collectives that bring a tensor from one placement to another."""
        if source == target:
            return ()
        total = tensor.elements() * tensor.width
        return moves(source, target, total, self.setting.axes)
