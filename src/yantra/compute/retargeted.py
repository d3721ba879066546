"""Retargeted: a recorded kernel on another GPU, by its own time and what it does.

To the GPU that it was recorded on bits are equal. Trade-off: one law a class of kernels; libraries
of the two GPUs differ by shape, which its intervals hold. Sources: `retarget`.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Any, ClassVar

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice, Quantity, Section, Text
from yantra.base.records import Record
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels
from yantra.compute.roofline import RATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.compute.retarget.gpus import Gpu


class Options(Record):
    """Where kernels were recorded, where they go, and which estimate is simulated."""

    source: str | None = None
    target: str | None = None
    estimate: str = "middle"
    peak: float | None = None
    reached: float | None = None
    memory: float | None = None


class Retargeted(ComputeModel):
    """Recorded kernels carried to another GPU."""

    options = Section(
        Options,
        {
            "from": ("source", Text(), "GPU that the kernels were recorded on"),
            "to": ("target", Text(), "GPU that they go to; a named cluster gives its own"),
            "estimate": (
                "estimate",
                Choice(("low", "middle", "high")),
                "which end of the kernels' 90 % intervals is simulated",
            ),
            "peak": (
                "peak",
                RATE,
                "peak of the second GPU by its data sheet; another is a what-if",
            ),
            "reached": ("reached", RATE, "what its large products reach, the device's usual peak"),
            "memory": (
                "memory",
                Quantity("bandwidth", "B/s", above=0),
                "its bandwidth; another is a what-if",
            ),
        },
    )
    needs = ()
    may_beat_the_roofline = True
    from_recorded = True
    example: ClassVar[Mapping[str, Any]] = {"source": "h100-sxm", "target": "mi300x"}

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        from yantra.compute.retarget.carry import carried

        source, target = self.gpus(device)
        _check_recorded(kernels)
        made = carried(kernels, source, target)
        chosen = getattr(made, self.given.estimate)
        return made._replace(middle=chosen)

    def gpus(self, device: Device | None = None) -> tuple[Gpu, Gpu]:
        """The two GPUs; a what-if on the device's rates changes the second."""
        from yantra.compute.retarget.gpus import gpu_named

        given: Options = self.given or Options()
        if given.source is None:
            raise ConfigError("from", "which GPU the kernels were recorded on is missing")
        if given.target is None:
            raise ConfigError("to", "which GPU they go to is missing; a named cluster gives it")
        source, target = gpu_named(given.source, "from"), gpu_named(given.target, "to")
        return source, target if device is None else _at_rates(target, device, given)

    def basis(self, kernels: Kernels, device: Device) -> str:
        """Both GPUs."""
        source, target = self.gpus(device)
        if source == target:
            return f"kernels recorded on {source.title}"
        return f"kernels recorded on {source.title}, carried by laws of it and {target.title}"


def _at_rates(gpu: Gpu, device: Device, given: Options) -> Gpu:
    """The GPU at a what-if's rates: those of the device over the stated ones."""
    peaks: dict[str, float] | None
    if isinf(device.peak_flops):
        peaks = dict.fromkeys(gpu.peaks, device.peak_flops)
    else:
        usual = given.peak if device.peak_flops == given.peak else given.reached
        times = device.peak_flops / usual if usual else 1.0
        peaks = {name: rate * times for name, rate in gpu.peaks.items()} if times != 1.0 else None
    memory = gpu.memory_bytes_per_s
    if given.memory and device.memory_bytes_per_s != given.memory:
        memory = memory * (device.memory_bytes_per_s / given.memory)
    if peaks is None and memory == gpu.memory_bytes_per_s:
        return gpu
    return gpu._replace(peaks=peaks or gpu.peaks, memory_bytes_per_s=memory)


def _check_recorded(kernels: Kernels) -> None:
    if len(kernels) and not kernels.recorded_ns.any():
        raise ConfigError("from", "no kernel has a recorded time; it takes a recorded job")
    if len(kernels) and not any(kernels.op_classes):
        raise ConfigError(
            "from", "no kernel says its class; convert the recording again (`chakra convert`)"
        )


PLUGIN = Retargeted
