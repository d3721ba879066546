"""Profiles of machines: kernels measured on the very machine, and what follows for others.

Machines of one name differ by up to a third: clocks, power, libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.compute.profiles.find import load, names
    from yantra.compute.profiles.types import Profile
else:
    __getattr__, __dir__ = late(__name__, {"find": "load names", "types": "Profile"})

__all__ = ["Profile", "load", "names"]
