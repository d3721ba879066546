"""What frameworks add to products on a machine, by its balance of operations and bytes.

They add passes over memory: casts, copies, sums of gradients. Of a product's time these are as much
more as the device computes more operations in 16 bits while it moves a byte. `PRIOR` is what they
come to on A100, where most frameworks were measured. Products in 8 bits follow no such law: tables
of them are as far below peak as products with such passes.

That one constant holds where it was not seen, the TPUs say: see docs/reference/accuracy.md.
"""

from __future__ import annotations

from functools import cache

from yantra.fabric import clusters

PRIOR = 1.22
BALANCED = "dgx-a100-80gb"


@cache
def products_on(machine: str) -> float:
    """Return the factor of products in 16 bits on a named cluster; of any other that of A100."""
    if machine not in clusters.names():
        return PRIOR
    return 1.0 + (PRIOR - 1.0) * _balance(machine) / _balance(BALANCED)


def _balance(machine: str) -> float:
    device = clusters.load(machine)
    return dict(device.peak)["bf16"].value / device.memory_bandwidth.value
