"""A described device: kernels by tiles on what a file says a device is made of.

Peak and bandwidth follow from the file, not the scenario. Bounds: without launches; compute and
traffic in sequence. Trade-off: no habits of a library. Source: Zhang et al., "LLMCompass", ISCA
2024; see `yantra.compute.devices.tiles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from os import path as paths
from typing import TYPE_CHECKING, Any, ClassVar

from yantra.base.fields import Section, Text
from yantra.base.records import Record
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels

if TYPE_CHECKING:
    from yantra.compute.devices import Device as Description


class Options(Record):
    """A built-in device's name, or the path of a file."""

    device: str


class _Device(Text):
    expected = "the name of a described device, or the path of a .yaml file"

    def read(self, tree: Any, where: str, folder: str) -> str:
        from yantra.compute.devices import load, names

        text: str = super().read(tree, where, folder)
        if text not in names() and folder:
            text = paths.normpath(paths.join(folder, text))
        load(text, where)
        return text

    def files(self, value: str) -> tuple[str, ...]:
        from yantra.compute.devices import names

        return () if value in names() else (value,)

    def write(self, value: str, folder: str) -> str:
        from yantra.compute.devices import names

        is_path = value not in names() and folder and not paths.isabs(value)
        return paths.relpath(value, folder) if is_path else value


class Described(ComputeModel):
    """Kernels by tiles on a device that a file describes."""

    options = Section(Options, {"device": ("device", _Device(), "its name or file")})
    needs = ("flops", "bytes")
    may_beat_the_roofline = True
    example: ClassVar[Mapping[str, Any]] = {"device": "a100"}

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        from yantra.compute.devices import load

        self._device = load(self.given.device, "cluster.device.compute.options.device")

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """The best tiles after a launch; see the base."""
        from yantra.compute.devices.tiles import seconds

        described = self._without_what_is_free(device)
        busy = seconds(described, kernels) * 1e9
        moved = kernels.bytes / described.memory.bytes_per_s * 1e9
        middle = busy + described.launch_ns
        return Estimates(busy, middle, middle + moved)

    def _without_what_is_free(self, device: Device) -> Description:
        described = self._device
        if device.peak_flops == inf:
            buffer = described.global_buffer.replace(bytes_per_s=inf)
            described = described.replace(clock_hz=inf, global_buffer=buffer)
        if device.memory_bytes_per_s == inf:
            described = described.replace(memory=described.memory.replace(bytes_per_s=inf))
        return described


PLUGIN = Described
