"""Families of kernels: one file each says how long the kernels of some operator classes take."""

from __future__ import annotations

from functools import cache

from yantra.base.registry import Registry
from yantra.compute.families.family import Family

families: Registry[type[Family]] = Registry(
    "family of kernels", "yantra.compute.families", "yantra.kernel_families", base=Family
)

DEFAULT = "memory_bound"
"""For classes that no other claims."""


@cache
def family_of() -> dict[str, str]:
    """The family's name of each claimed operator class."""
    return {
        op_class: name for name in families.names() for op_class in families.get(name).op_classes
    }
