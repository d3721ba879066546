"""Families of kernels: one file each says how long the kernels of some operator classes take.

The model `measured` hands each kernel to the family of its class. A family knows the tables that it
reads and the formula between their rows; a new one is a file here, or an entry point of the group
`yantra.kernel_families`.
"""

from __future__ import annotations

from functools import cache

from yantra.base.registry import Registry
from yantra.compute.families.family import Family

families: Registry[type[Family]] = Registry(
    "family of kernels", "yantra.compute.families", "yantra.kernel_families", base=Family
)

DEFAULT = "memory_bound"
"""The family of every class that no other claims."""


@cache
def family_of() -> dict[str, str]:
    """Return the name of the family of each operator class that one claims."""
    return {
        op_class: name for name in families.names() for op_class in families.get(name).op_classes
    }
