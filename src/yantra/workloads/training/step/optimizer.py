"""What the optimizer computes and moves, per updated element.

| optimizer | operations | reads | writes |
|---|---|---|---|
| Adam with weight decay | moments 3 + 4, denominator 3, update 3, decay 1: 14 | gradient, fp32 weight, two moments | fp32 weight, two moments, 16-bit weight |
| SGD with momentum and weight decay | 2 + 2 + 2: 6 | gradient, fp32 weight, momentum | fp32 weight, momentum, 16-bit weight |

With fp32 weights there is no second copy of them. The norm of the gradients takes 2 operations per
element and reads them once.

Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2;
mixed precision as in Rajbhandari et al., "ZeRO", SC 2020, section 3.1.
"""  # noqa: E501

from __future__ import annotations

from yantra.workloads.operators.operations import Operation
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.sharding import Sharding

_FLOPS = {"adam": 14, "sgd": 6}


def update_operation(elements: int, name: str, plan: Plan, sharding: Sharding) -> Operation:
    """The kernel that updates `elements` of this rank."""
    copy = 0 if sharding.weight_bytes == 4 else sharding.weight_bytes
    state = sharding.state_bytes + (4 if sharding.weight_bytes == 4 else 0)  # fp32 weight, moments
    return Operation(
        f"update {name}",
        "optimizer",
        "optimizer",
        "",
        vector_flops=_FLOPS[plan.optimizer] * elements,
        bytes_read=(sharding.gradient_bytes + state) * elements,
        bytes_written=(state + copy) * elements,
        dtype="fp32",
    )


def norm_operation(elements: int, sharding: Sharding) -> Operation:
    return Operation(
        "gradient norm",
        "reduction",
        "optimizer",
        "",
        vector_flops=2 * elements,
        bytes_read=sharding.gradient_bytes * elements,
        bytes_written=4,
        dtype="fp32",
    )
