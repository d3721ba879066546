"""Cross entropy over a vocabulary split over tensor parallelism, with three all-reduces of one fp32
number per token. A logit takes 4 bytes fused, else 2 + 4 + 4 as in PyTorch.

Source: Shoeybi et al., Megatron-LM, 2019, section 3.
"""

from __future__ import annotations

from yantra.chakra import CollectiveType
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Tensor
from yantra.workloads.operators.operations import Operation

_FP32 = 4


def cross_entropy(g: Graph, logits: Tensor, name: str = "loss") -> None:
    where = logits.placement.dual()
    vocabulary = logits.sizes[-1][0]
    elements = g.local(logits, where)
    rows = elements // g.local_dimension(logits, vocabulary, where)
    split = where.dimension_of("tp") == vocabulary
    largest = Operation(
        "max", "loss", "forward", "", vector_flops=elements,
        bytes_read=g.bytes(logits, where), bytes_written=_FP32 * rows,
    )  # fmt: skip
    exponentials = Operation(
        "exp", "loss", "forward", "", vector_flops=4 * elements,
        bytes_read=g.bytes(logits, where), bytes_written=_FP32 * elements,
    )  # fmt: skip
    program = [largest]
    if split:
        program.append(_sum("max", 0, rows))
        program.append(exponentials._replace(after=(1,)))
        program.append(_sum("label", 2, rows))
        program.append(_sum("sum", 3, rows))
    else:
        program.append(exponentials._replace(after=(0,)))
    last = (len(program) - 1,)
    program.append(
        Operation(
            "mean", "loss", "forward", "", last, vector_flops=2 * rows, bytes_read=2 * _FP32 * rows
        )
    )
    backward = Operation(
        "dgrad", "loss", "dgrad", "", vector_flops=2 * elements,
        bytes_read=_FP32 * elements, bytes_written=g.bytes(logits, where),
    )  # fmt: skip
    gradient = Gradient((backward,), (), (), ((0, where),))
    kept = _FP32 * elements
    if not g.setting.fused_loss:
        kept += _FP32 * elements + g.bytes(logits, where)
    g.add(name, (Use(logits, where),), (), tuple(program), (gradient,), keeps=kept)


def _sum(name: str, after: int, rows: int) -> Operation:
    return Operation(
        f"{name}.all_reduce", "all_reduce", "forward", "", (after,),
        collective=CollectiveType.ALL_REDUCE, group="tp", size_bytes=_FP32 * rows,
    )  # fmt: skip
