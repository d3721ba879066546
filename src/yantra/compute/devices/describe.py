"""A described device in words and as plain values."""

from __future__ import annotations

from typing import Any, Final

from yantra.base.text import table
from yantra.compute.devices.area import parts_mm2
from yantra.compute.devices.cost import cost_of
from yantra.compute.devices.power import parts_w
from yantra.compute.devices.tiles import seconds
from yantra.compute.devices.types import Device
from yantra.compute.model import kernels

_PRODUCTS: Final = ((8192, 8192, 8192), (2048, 2048, 2048), (16, 12288, 12288))
_BYTES_BF16: Final = 2


def as_dict(device: Device) -> dict[str, Any]:
    """All that a description implies, in SI units, mm2 and US dollars."""
    area, power = parts_mm2(device), parts_w(device)
    cost = cost_of(device, sum(area.values()))
    return {
        "name": device.name,
        "source": device.source,
        "matrix_flops": device.matrix_flops,
        "vector_flops": device.vector_flops,
        "memory_bytes": device.memory.size_bytes,
        "memory_bytes_per_s": device.memory.bytes_per_s,
        "area_mm2": area | {"die": sum(area.values())},
        "power_w": power | {"device": sum(power.values())},
        "cost": cost._asdict(),
        "products": [
            {"m": m, "n": n, "k": k, "seconds": taken, "flops": 2 * m * n * k / taken}
            for m, n, k, taken in _products(device)
        ],
    }


def report(device: Device) -> str:
    told = as_dict(device)
    cost = told["cost"]
    price = "" if cost["die_usd"] is None else f", {cost['die_usd']:.0f} USD each"
    lines = [
        device.name,
        f"  arrays {device.matrix_flops / 1e12:.1f} TFLOP/s, vector units "
        f"{device.vector_flops / 1e12:.1f} TFLOP/s, memory "
        f"{device.memory.bytes_per_s / 1e9:.0f} GB/s",
        f"  die {told['area_mm2']['die']:.0f} mm2 at "
        f"{device.process.million_transistors_per_mm2:g} million transistors per mm2; "
        f"{cost['dies_per_wafer']:.1f} to a wafer, {100 * cost['yield_part']:.0f} % of them work"
        f"{price}; memory {cost['memory_usd']:.0f} USD",
        f"  {told['power_w']['device']:.0f} W dynamic power if all of it works at once",
        "",
        *_parts(told),
        "",
        *_times(told),
        "",
        f"source: {device.source}",
    ]
    return "\n".join(lines) + "\n"


def _parts(told: dict[str, Any]) -> list[str]:
    area, power = told["area_mm2"], told["power_w"]
    names = dict.fromkeys((*area, *power))
    rows = [
        (
            name,
            f"{area[name]:.1f}" if name in area else "",
            f"{power[name]:.0f}" if name in power else "",
        )
        for name in names
        if name not in ("die", "device")
    ]
    return table(("  part", "mm2", "W"), [("  " + name, mm2, watt) for name, mm2, watt in rows])


def _times(told: dict[str, Any]) -> list[str]:
    rows = [
        (
            f"  {one['m']} x {one['n']} x {one['k']}",
            f"{one['seconds'] * 1e6:.1f}",
            f"{one['flops'] / 1e12:.1f}",
        )
        for one in told["products"]
    ]
    return table(("  bf16 product", "us", "TFLOP/s"), rows)


def _products(device: Device) -> list[tuple[int, int, int, float]]:
    m, n, k = (list(side) for side in zip(*_PRODUCTS, strict=True))
    flops = [2 * a * b * c for a, b, c in _PRODUCTS]
    moved = [_BYTES_BF16 * (a * c + c * b + a * b) for a, b, c in _PRODUCTS]
    taken = seconds(device, kernels(flops, moved, "gemm", "bf16", m=m, n=n, k=k))
    launch = device.launch_ns * 1e-9
    return [(*size, float(one) + launch) for size, one in zip(_PRODUCTS, taken, strict=True)]
