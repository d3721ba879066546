"""Operators on single elements or rows: activations, norms, residuals.

Operations per element, by the plain formula: RMS norm 4, layer norm 7, GELU 8 (tanh form), SiLU
times gate 5, rotary embedding 3, addition 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yantra.workloads.operators.fusions import Kernel, Step, chain_of
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.operations import Operation

_BY_ROWS = ("norm", "softmax")
_NORM_FLOPS = {"rms": 4, "layer": 7, "layer_gain": 7, "plain": 7}


def elementwise(
    g: Graph,
    name: str,
    inputs: Sequence[Tensor],
    *,
    flops: int,
    kind: str = "elementwise",
    sizes: Mapping[str, int] | None = None,
    placement: Placement | None = None,
    saves: Sequence[int] = (),
    saves_output: bool = False,
    keeps_per_element: int = 0,
    backward_flops: int | None = None,
    costless_gradient: Sequence[int] = (),
    region: str = "",
    weights: Mapping[str, int] | None = None,
    state_bytes: int = 0,
    biased: bool = False,
) -> Tensor:
    """Add an operator over `inputs`, whole where `placement` (the first's) says so.

    `flops` are per output element. The gradient reads the inputs `saves` (`saves_output`: the
    output) and `keeps_per_element` bytes (a mask); for `costless_gradient` inputs it is the
    output's. `weights` are trained vectors, whole on every rank. `state_bytes` are read and written
    too. `biased`: the inputs lack a bias, which a fused kernel adds.
    """
    first = inputs[0]
    where = first.placement.dual() if placement is None else placement
    out = g.tensor(name, sizes or dict(first.sizes), where, first.width)
    uses = tuple(Use(tensor, _within(where, tensor, out)) for tensor in inputs)
    count = g.local(out)
    _add_weights(g, name, weights or {}, where)
    read = sum(g.bytes(use.tensor, use.placement) for use in uses)
    keeps = count * keeps_per_element if g.setting.training else 0
    rows = count // g.local_dimension(out, out.sizes[-1][0], where) if kind in _BY_ROWS else 0
    program = Operation(
        "", kind, "forward", "",
        vector_flops=flops * count, bytes_read=read + state_bytes,
        bytes_written=g.bytes(out) + keeps + state_bytes, sizes=(("m", rows),),
    )  # fmt: skip
    taken = [at for at in range(len(uses)) if at not in costless_gradient]
    again = tuple(uses[at] for at in saves) + ((Use(out, where),) if saves_output else ())
    mask, width = keeps / max(g.bytes(out), 1), 4 // first.width
    kernel = Kernel(kind, name, flops, len(inputs), width, biased, mask)
    chain = chain_of(kernel, g.setting.unfused_kernels)
    unit, gradients = _unit(g, kind, uses, out), []
    if taken:
        cost = Operation(
            "dgrad", kind, "dgrad", "",
            vector_flops=(2 * flops if backward_flops is None else backward_flops) * count,
            bytes_read=g.bytes(out) + keeps + sum(g.bytes(*use) for use in again),
            bytes_written=sum(g.bytes(*uses[at]) for at in taken), sizes=(("m", rows),),
        )  # fmt: skip
        back = _apart(cost, chain.backward, unit)
        gradients.append(Gradient(back, (0,), again, _gives(uses, taken)))
    if costless_gradient:
        gradients.append(Gradient((), (0,), (), _gives(uses, costless_gradient)))
    forward, kept = _apart(program, chain.forward, unit), keeps + round(chain.keeps * unit[0])
    g.add(name, uses, (out,), forward, tuple(gradients), keeps=kept, region=region)
    return out


def _gives(uses: Sequence[Use], which: Sequence[int]) -> tuple[tuple[int, Placement], ...]:
    return tuple((at, uses[at].placement) for at in which)


def _add_weights(g: Graph, name: str, weights: Mapping[str, int], where: Placement) -> None:
    for weight, elements in weights.items():
        seen = ("tp",) if any(axis == "tp" for _, axis in where.shards) else ()
        with g.scope(name):
            g.weight(weight, elements, partial_over=seen)


def _unit(g: Graph, kind: str, uses: tuple[Use, ...], out: Tensor) -> tuple[int, int]:
    given, made = g.bytes(*uses[0]), g.bytes(out)
    is_of_input = kind == "routing" or (kind == "permute" and len(uses) > 1)
    return (given, made) if is_of_input else (made, given)


def _apart(
    fused: Operation, steps: tuple[Step, ...], sizes: tuple[int, int]
) -> tuple[Operation, ...]:
    if not steps:
        return (fused,)
    unit, other = sizes
    first, more = divmod(fused.vector_flops, len(steps))
    return tuple(
        Operation(
            f"{fused.name}.{step.name}" if fused.name else step.name, "elementwise", fused.phase,
            "", (at - 1,) if at else (),
            vector_flops=first + (more if not at else 0), bytes_read=round(step.reads * unit),
            bytes_written=round(step.writes * unit + step.other * other), sizes=(("m", 0),),
        )
        for at, step in enumerate(steps)
    )  # fmt: skip


def _within(where: Placement, tensor: Tensor, out: Tensor) -> Placement:
    if {name for name, _ in out.sizes} <= {name for name, _ in tensor.sizes}:
        return where
    return tensor.placement.dual()


def norm(g: Graph, x: Tensor, name: str, kind: str, *, bias: bool | None = None) -> Tensor:
    """Normalise over the last dimension: `rms` has a gain, `layer` a gain and a bias.

    `layer_gain` is `layer` without the bias, `plain` without either.
    """
    feature, size = x.sizes[-1]
    where = Placement(tuple(pair for pair in x.placement.shards if pair[0] != feature))
    weights = {} if kind == "plain" else {"weight": size}
    if kind == "layer" if bias is None else bias:
        weights["bias"] = size
    return elementwise(
        g, name, [x], flops=_NORM_FLOPS[kind], kind="norm", placement=where, saves=(0,),
        weights=weights,
    )  # fmt: skip


def residual(g: Graph, name: str, branch: Tensor, skip: Tensor, *, biased: bool = False) -> Tensor:
    """Add a branch to its stream, after dropout where the setting has it."""
    dropout = g.setting.dropout and g.setting.training
    return elementwise(
        g, name, [branch, skip], flops=3 if dropout else 1, kind="residual",
        placement=skip.placement, keeps_per_element=1 if dropout else 0,
        backward_flops=1, costless_gradient=(1,) if dropout else (0, 1), biased=biased,
    )  # fmt: skip


def view(
    g: Graph, inputs: Sequence[Tensor], name: str, sizes: Mapping[str, int], where: Placement
) -> Tensor:
    """Only for graphs without training, as it has no gradient."""
    out = g.tensor(name, sizes, where, inputs[0].width)
    g.add(name, tuple(Use(tensor, tensor.placement) for tensor in inputs), (out,), ())
    return out


def settle(g: Graph, x: Tensor, name: str, placement: Placement) -> Tensor:
    if x.placement == placement:
        return x
    out = g.tensor(name, dict(x.sizes), placement, x.width)
    gradient = Gradient((), (0,), (), ((0, placement),))
    g.add(name, (Use(x, placement),), (out,), (), (gradient,))
    return out
