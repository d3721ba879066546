"""Described devices: a file says what a device is made of, built or not.

From it follow time by tiles (`tiles`), area, power and what a die costs. The compute model
`described` uses them; `yantra device show` shows one.
"""

from __future__ import annotations

from yantra.compute.devices.find import load, names
from yantra.compute.devices.types import Device

__all__ = ["Device", "load", "names"]
