"""The area of a die from what is on it: transistors over density, SRAM cells, and interfaces.

Trade-off: whole dies to about a tenth, parts rougher. Sources: LLMCompass (Zhang et al., ISCA 2024,
cost model at commit 2e015fd): transistors of units, control and controllers, areas of interfaces
and SRAM cells, efficiency of caches by size; register files by EMPIRE (Raghavan et al.,
Microprocessors and Microsystems 2009, at 90 nm), scaled by density.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from yantra.compute.devices.types import Device

_MM2_PER_BIT: Final = {"7nm": 1.70e-7, "6nm": 1.40e-7, "5nm": 1.25e-7}
_FP64_TRANSISTORS: Final = 685_300
_INT32_TRANSISTORS: Final = 177_690
_MANTISSA: Final = {64: 52, 32: 23, 16: 10}  # bits
_CONTROL_TRANSISTORS: Final = {"nvidia": 725_650, "amd": 1_534_500, "other": 996_200}
_CROSSBAR_TRANSISTORS: Final = {"nvidia": 55e6, "amd": 33.6e6, "other": 44.3e6}  # of a core
_PHY_MM2: Final = {
    "pcie5": 0.64,
    "pcie4": 0.48,
    "ddr5": 1.45,
    "hbm2e": 10.45,
    "nvlink3": 1.888,
    "nvlink4": 0.965,
    "infinity_fabric": 5.69,
}
_CONTROLLER_TRANSISTORS: Final = {
    "pcie5": 5.37e6,
    "pcie4": 3.96e6,
    "ddr5": 90.4e6,
    "hbm2e": 552.7e6,
    "nvlink3": 74.6e6,
    "nvlink4": 86.6e6,
    "infinity_fabric": 348.1e6,
}
_CACHE_BYTES: Final = tuple(4096 << power for power in range(9))
_CACHE_EFFICIENCY: Final = (0.076, 0.142, 0.247, 0.393, 0.559, 0.704, 0.526, 0.602, 0.561)
_REGISTER_PORTS: Final = 3  # two reads and a write
_REGISTER_DENSITY: Final = 1.45  # million transistors per mm2 at 90 nm
_WORD_BITS: Final = 32


def fpu_transistors(bits: int) -> float:
    """Transistors of a floating-point unit; they grow as the mantissa squared."""
    return _FP64_TRANSISTORS * (_MANTISSA[bits] / _MANTISSA[64]) ** 2


def sram_mm2(size_bytes: int, node: str) -> float:
    """The area of a buffer: its cells over the share of a cache that is cells."""
    place = max(bisect_right(_CACHE_BYTES, size_bytes) - 1, 0)
    return 8 * size_bytes * _MM2_PER_BIT[node] / _CACHE_EFFICIENCY[place]


def registers_mm2(size_bytes: int, width: int, density: float) -> float:
    """The area of a lane's register file of `width` words of 32 bits, by EMPIRE's fit."""
    wide, ports = width * _WORD_BITS, _REGISTER_PORTS
    deep = size_bytes * 8 / wide
    um2 = 3.29e4 - 1.09e3 * deep - 883 * wide - 5.55e3 * ports + 53.5 * deep * wide
    um2 += 0.015 * deep**2 + 0.0108 * wide**2 + 0.586 * ports**2
    um2 += 142 * deep * ports + 368 * wide * ports
    return max(um2, 0.0) * 1e-6 * _REGISTER_DENSITY / density


def parts_mm2(device: Device) -> dict[str, float]:
    """mm2 by kind of part; their sum is the die's."""
    density = device.process.million_transistors_per_mm2 * 1e6
    node, vector = device.process.node, device.vector
    lanes = device.all_cores * device.lanes
    elements = device.array.rows * device.array.columns
    units = vector.fp64 * fpu_transistors(64) + vector.fp32 * fpu_transistors(32)
    units += vector.int32 * _INT32_TRANSISTORS
    on_die = device.global_buffer.on_die_bytes or device.global_buffer.size_bytes
    interfaces: list[tuple[str, int]] = [(device.memory.kind, device.memory.interfaces)]
    interfaces += [(device.links.kind, device.links.count)] if device.links else []
    interfaces += [(device.host.kind, device.host.lanes)] if device.host else []
    return {
        "systolic arrays": lanes * elements * fpu_transistors(16) / density,
        "vector units": lanes * units / density,
        "control": lanes * vector.width * _CONTROL_TRANSISTORS[device.vendor] / density,
        "registers": lanes * registers_mm2(device.registers_bytes, vector.width, density / 1e6),
        "local buffers": device.all_cores * sram_mm2(device.local_buffer_bytes, node),
        "crossbars": device.all_cores * _CROSSBAR_TRANSISTORS[device.vendor] / density,
        "global buffer": sram_mm2(on_die, node),
        "controllers": sum(_CONTROLLER_TRANSISTORS[kind] * n for kind, n in interfaces) / density,
        "interfaces": sum(_PHY_MM2[kind] * n for kind, n in interfaces),
    }


def die_mm2(device: Device) -> float:
    """Return the area of the die in mm2."""
    return sum(parts_mm2(device).values())
