"""Described devices: a file says what a device is made of, built or not."""

from __future__ import annotations

from yantra.compute.devices.find import load, names
from yantra.compute.devices.types import Device

__all__ = ["Device", "load", "names"]
