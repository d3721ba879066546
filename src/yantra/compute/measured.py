"""Measured: kernels take as long as ones like them took on a real GPU.

Products of matrices, attention and kernels bound by memory have tables of published measurements,
made smooth by a formula of tiles, waves and bytes; see `families`. A GPU without tables takes those
of the nearest one, scaled by its rates, and intervals say so. The type of each operation decides
its rate, not that of the scenario.

Trade-off: tables are of one lab's machines and libraries (2025); another machine of the same name
differs, by a few per cent up to a third. Nothing here overlaps anything.
Sources: NOTICE names the measurements; each family its formula.
"""

from __future__ import annotations

from yantra.base.fields import Flag, Quantity, Section, Text
from yantra.base.records import Record
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels

_RATE = Quantity("flops", "FLOP/s", above=0)
_RATES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")


class Options(Record):
    """Whose tables are taken, and what else the data sheet of the device states."""

    gpu: str | None = None
    dtype: str = "bf16"
    products: str | None = None
    quantise: bool = True
    alone: bool = False
    fp64: float | None = None
    fp32: float | None = None
    tf32: float | None = None
    bf16: float | None = None
    fp16: float | None = None
    fp8: float | None = None
    int8: float | None = None
    fp4: float | None = None


class Measured(ComputeModel):
    """Tables of measured kernels, a family for each class of operators."""

    options = Section(
        Options,
        {
            "gpu": ("gpu", Text(), "whose tables are taken; by default the nearest by its rates"),
            "dtype": ("dtype", Text(), "of the device's peak"),
            "products": (
                "products",
                Text(),
                "the type of products that a trace has in 16 bits; by default 16 bits",
            ),
            "quantise": ("quantise", Flag(), "operands of products in 8 or 4 bits are made first"),
            "alone": ("alone", Flag(), "each kernel is launched alone, as where it is measured"),
        }
        | {name: (name, _RATE, f"peak of {name}, by default scaled") for name in _RATES},
    )
    may_beat_the_roofline = True

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        """Return what each kernel's family says; see the base."""
        import numpy as np

        from yantra.compute.families import DEFAULT, families, family_of

        machine = self._machine(device)
        kernels = self._retyped(kernels)
        known = family_of()
        names = np.array([known.get(name, DEFAULT) for name in kernels.op_classes])
        of_row = names[kernels.op_class]
        columns = [np.empty(len(kernels)) for _ in Estimates._fields]
        for name in np.unique(of_row):
            rows = of_row == name
            family = families.get(str(name))()
            made = family.estimate(kernels.take(rows), machine)
            for column, part in zip(columns, made, strict=True):
                column[rows] = part
        return Estimates(*columns)

    def basis(self, kernels: Kernels, device: Device) -> str:
        """Return whose tables the families of these kernels have."""
        import numpy as np

        from yantra.compute.families import DEFAULT, families, family_of

        machine = self._machine(device)
        known = family_of()
        names = {
            known.get(kernels.op_classes[code], DEFAULT) for code in np.unique(kernels.op_class)
        }
        subjects = sorted(families.get(name).subject for name in names)
        return f"measured {' and '.join(subjects)} tables of {machine.title}"

    def _machine(self, device: Device):  # type: ignore[no-untyped-def]
        from yantra.compute.families.machine import machine_of

        given: Options = self.given
        stated = {name: rate for name in _RATES if (rate := getattr(given, name)) is not None}
        return machine_of(
            device.peak_flops, device.memory_bytes_per_s, given.gpu, given.dtype, stated,
            quantise=given.quantise, alone=given.alone,
        )  # fmt: skip

    def _retyped(self, kernels: Kernels) -> Kernels:
        """Let products that a trace has in 16 bits be of the type that is asked for."""
        wanted = self.given.products
        if wanted is None or wanted in ("bf16", "fp16"):
            return kernels
        import numpy as np

        are_products = np.array([name in ("gemm", "grouped_gemm") for name in kernels.op_classes])
        in_16_bits = np.array([name in ("", "bf16", "fp16") for name in kernels.dtypes])
        chosen = are_products[kernels.op_class] & in_16_bits[kernels.dtype]
        if not np.array_equal(chosen, are_products[kernels.op_class]):
            return kernels  # the trace chose a type for each product itself
        code = np.uint32(len(kernels.dtypes))
        return kernels.replace(
            dtype=np.where(chosen, code, kernels.dtype), dtypes=(*kernels.dtypes, wanted)
        )


PLUGIN = Measured
