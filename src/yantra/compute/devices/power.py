"""What a device draws when all of it works: energy per operation and byte, times the rates.

Dynamic power alone, without leakage, clock trees, links and supply losses, so real devices draw
more. Source: Jouppi et al., "Ten Lessons From Three Generations Shaped Google's TPUv4i", ISCA 2021,
table 2 (7 nm): multiplication and addition in FP16 and FP32, SRAM of 32 KiB and 1 MiB, HBM2 and
DDR4 (for HBM2e and DDR5) per 64 bits.
"""

from __future__ import annotations

from typing import Final

from yantra.compute.devices.types import Device

_PJ_MULTIPLY: Final = {16: 0.34, 32: 1.31}
_PJ_ADD: Final = {32: 0.38}
_BYTES_OF_WORD: Final = 8
_PJ_LOCAL: Final = 8.5  # per 64 bits
_PJ_GLOBAL: Final = 14.0
_PJ_MEMORY: Final = {"hbm2e": 350.0, "ddr5": 1300.0}  # 250 to 450 for HBM2
_BYTES_FP16: Final = 2


def parts_w(device: Device) -> dict[str, float]:
    """W of dynamic power by kind of part, at full rate."""
    lanes = device.cores * device.lanes
    array, clock = device.array, device.clock_hz
    products = device.matrix_flops / 2
    units = device.vector_flops / 2
    fed = lanes * (array.rows + array.columns) * _BYTES_FP16 * clock  # bytes into all arrays
    pico = {
        "systolic arrays": products * (_PJ_MULTIPLY[16] + _PJ_ADD[32]),
        "vector units": units * (_PJ_MULTIPLY[32] + _PJ_ADD[32]),
        "local buffers": fed * _PJ_LOCAL / _BYTES_OF_WORD,
        "global buffer": device.global_buffer.bytes_per_s * _PJ_GLOBAL / _BYTES_OF_WORD,
        "memory": device.memory.bytes_per_s * _PJ_MEMORY[device.memory.kind] / _BYTES_OF_WORD,
    }
    return {part: energy * 1e-12 for part, energy in pico.items()}
