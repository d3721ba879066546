"""A matrix product with a trained weight, split over tensor parallelism or not.

`out` splits the weight by columns: whole input, part of the output, so the input's gradient is a
partial sum. `in` splits by rows: part of the input, partial sums.

Costs: 2 m n k operations; w (mk + kn + mn) bytes; the weight's gradient has the gradients' width.
At most as many experts' weights are read as there are rows. Inputs and gradients of products in 8
and 4 bits are rounded, then gathered (NVIDIA/TransformerEngine, `pytorch/distributed.py`,
gather_along_first_dim).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from yantra.compute.products import RATE_TYPES
from yantra.workloads.operators.graph.formats import WIDTHS
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.operations import Domain, Operation
from yantra.workloads.operators.scalings import RECIPES

Split = Literal["out", "in"] | None


def linear(
    g: Graph,
    x: Tensor,
    name: str,
    outputs: Mapping[str, int],
    *,
    split: Split = None,
    axis: str = "tp",
    bias: bool = False,
    domain: Domain = "dense",
    copies: int = 1,
    weight: Literal["own", "tied", "none"] = "own",
    is_first: bool = False,
    precise: bool = False,
    sizes: tuple[tuple[str, int], ...] = (),
    product: str = "",
) -> tuple[Tensor, ...]:
    """Multiply the last dimension of `x` by a weight; return one tensor per entry of `outputs`.

    `outputs` maps last dimensions to sizes, all from one product. `copies` (experts) share the rows
    evenly. `is_first`: the input is data, without gradient. `precise`: never 8 bits or less.
    `sizes` are for models of compute, `product` for adapters if not `name`.
    """
    recipe = None if precise else RECIPES.get(g.setting.scaling)
    narrow = None if recipe is None else recipe.saved
    x = x._replace(gathered=narrow)
    feature, k = x.sizes[-1]
    needed = _needed(g, x, feature, split, axis)
    made = _outputs(g, x, name, outputs, needed, split, axis)
    if split == "in":
        made = [one._replace(gathered=narrow) for one in made]
    local_k = g.local_dimension(x, feature, needed)
    pairs = zip(made, outputs, strict=True)
    columns = [g.local_dimension(tensor, name, tensor.placement) for tensor, name in pairs]
    m = g.local(x, needed) // local_k
    ways = g.setting.ways(axis) if split else 1
    with g.scope(name):
        if weight != "none":
            count = copies * k * sum(outputs.values())
            seen = (axis,) if split is None and needed.dimension_of(axis) else ()
            g.weight(
                "weight", count, ways=ways, domain=domain, partial_over=seen,
                is_tied=weight == "tied", packs=not precise, copies=copies,
            )  # fmt: skip
        if bias:
            _add_bias(g, copies * sum(outputs.values()), split, ways, domain)
    dtype = g.setting.precise_dtype if precise else g.setting.dtype
    shape = m, sum(columns), local_k
    forward, dgrad, wgrad = _programs(g, shape, copies, bias, dtype, sizes, packs=not precise)
    wanted = g.partial(needed, axis) if split == "out" else needed
    of_all = tuple(range(len(made)))
    of_weight = Gradient((wgrad,), of_all, needs=(Use(x, needed),), kept_width=narrow)
    of_input = () if is_first else (Gradient((dgrad,), of_all, gives=((0, wanted),)),)
    gradients = (*of_input, of_weight)
    again = _again(g, made, copies)
    part = m, sum(columns[at] for at in again), local_k
    anew = _programs(g, part, copies, bias, dtype, sizes, packs=not precise)[:1] if again else ()
    uses = (Use(x, needed),)
    g.add(name, uses, tuple(made), (forward,), gradients, again=again, again_program=anew)
    return _adapted(g, x, made, (product or name, split, axis, domain, copies))


def _adapted(
    g: Graph, x: Tensor, made: list[Tensor], beside: tuple[Any, ...]
) -> tuple[Tensor, ...]:
    if not g.is_frozen:
        return tuple(made)
    from yantra.workloads.operators.graph.operators.adapter import Beside, adapted

    return adapted(g, x, tuple(made), Beside(*beside))


def _outputs(
    g: Graph,
    x: Tensor,
    name: str,
    outputs: Mapping[str, int],
    needed: Placement,
    split: Split,
    axis: str,
) -> list[Tensor]:
    feature = x.sizes[-1][0]
    base = Placement(tuple(pair for pair in needed.shards if pair[0] != feature))
    made = []
    for dimension, size in outputs.items():
        whole = {**dict(x.sizes[:-1]), dimension: size}
        if split == "out":
            placement = g.split(base, dimension, axis)
        else:
            placement = g.partial(base, axis) if split == "in" else base
        made.append(g.tensor(f"{name}.{dimension}", whole, placement, x.width))
    return made


def _again(g: Graph, made: list[Tensor], copies: int) -> tuple[int, ...]:
    # PyTorch's policy does not keep grouped products.
    return g.every_second(len(made)) if copies == 1 else tuple(range(len(made)))


def _needed(g: Graph, x: Tensor, feature: str, split: Split, axis: str) -> Placement:
    whole = Placement(tuple(pair for pair in x.placement.shards if pair[0] != feature))
    if split is None:
        return whole
    rest = whole.without(axis)
    return rest if split == "out" else g.split(rest, feature, axis)


def _add_bias(g: Graph, count: int, split: Split, ways: int, domain: Domain) -> None:
    # under sequence parallelism ranks see different tokens of an unsplit bias
    if split == "out":
        g.weight("bias", count, ways=ways, domain=domain)
        return
    parted = domain == "dense" and g.tokens().dimension_of("tp") is not None
    g.weight("bias", count, domain=domain, partial_over=("tp",) if parted else ())


def _programs(
    g: Graph,
    shape: tuple[int, int, int],
    copies: int,
    bias: bool,
    dtype: str,
    sizes: tuple[tuple[str, int], ...],
    *,
    packs: bool,
) -> tuple[Operation, Operation, Operation]:
    m, n, k = shape
    w, setting = g.setting.width, g.setting
    kind = "gemm" if copies == 1 else "grouped_gemm"
    weight = copies * k * n
    used = max(min(copies, m), 1)
    touched = used * k * n
    each = m // used
    front = () if copies == 1 else (used,)
    stored = setting.weight_bytes(touched, packs=packs)
    is_narrower = packs and stored < WIDTHS[RATE_TYPES.get(dtype, dtype)] * touched
    narrow = (("stored", stored),) if is_narrower else ()
    forward = Operation(
        "", kind, "forward", "",
        tensor_flops=2 * m * n * k, vector_flops=m * n if bias else 0,
        bytes_read=w * m * k + stored, bytes_written=w * m * n,
        shape=(*front, each, n, k), dtype=dtype, sizes=(*narrow, *sizes),
    )  # fmt: skip
    dgrad = Operation(
        "dgrad", kind, "dgrad", "",
        tensor_flops=2 * m * n * k,
        bytes_read=w * (m * n + touched), bytes_written=w * m * k,
        shape=(*front, each, k, n), dtype=dtype, sizes=sizes,
    )  # fmt: skip
    wgrad = Operation(
        "wgrad", kind, "wgrad", "",
        tensor_flops=2 * m * n * k, vector_flops=m * n if bias else 0,
        bytes_read=w * (m * n + m * k), bytes_written=setting.gradient_width * weight,
        shape=(*front, k, n, each), dtype=dtype,
        sizes=(("accumulated", setting.gradient_width * weight), *sizes),
    )  # fmt: skip
    return forward, dgrad, wgrad
