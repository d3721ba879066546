"""Measured: kernels take as long as ones like them took on a real GPU.

Published measurements, smoothed by formulas (`families`). A GPU without tables takes the nearest
one's, scaled by its rates, with wider intervals. Each operation's type decides its rate.

Trade-off: one lab's machines and libraries (2025); others of the same name differ by a few per cent
up to a third. Sources: NOTICE, and each family.
"""

from __future__ import annotations

from functools import cache
from math import isinf
from typing import TYPE_CHECKING

from yantra.base.fields import Flag, Number, Quantity, Section, Text
from yantra.base.fields.named_file import PROFILE, NamedFile
from yantra.base.records import Record
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels
from yantra.compute.products import retyped
from yantra.compute.roofline import RATE, RATES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from yantra.compute.families.machine import Machine
    from yantra.compute.profiles.correct import Correction

    Reals = NDArray[np.float64]


class Options(Record):
    """Whose tables are taken, and what else the device's data sheet states."""

    gpu: str | None = None
    dtype: str = "bf16"
    products: str | None = None
    quantise: bool = True
    alone: bool = False
    profile: str | None = None
    framework: str | None = None
    attention: str | None = None
    memory: float | None = None
    power: float | None = None
    like: str | None = None
    achieved: float | None = None
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
            "gpu": (
                "gpu",
                Text(),
                "GPU whose tables are taken; by default the one with the nearest rates",
            ),
            "dtype": ("dtype", Text(), "type that the device's peak is of"),
            "products": (
                "products",
                Text(),
                "a narrow type for products that a trace has in 16 bits, or a wider one for those "
                "that it has in fewer; by default their own",
            ),
            "quantise": (
                "quantise",
                Flag(),
                "count the kernels that make operands of products in 8 or 4 bits",
            ),
            "alone": ("alone", Flag(), "each kernel is launched alone, as in the measurements"),
            "profile": (
                "profile",
                NamedFile("yantra.compute.profiles", PROFILE),
                "kernels of that machine, which correct the tables: a name, or a .yaml file",
            ),
            "framework": (
                "framework",
                Text(),
                "framework whose kernels of attention and experts are taken where they were "
                "measured (trtllm, sglang, vllm), with experts that tokens choose at random; by "
                "default the fastest, and experts that tokens choose evenly",
            ),
            "attention": (
                "attention",
                Text(),
                "library of the attention kernels of training and prefill (flash-1, flash-2, sdpa, "
                "flash-3, cudnn); by default the fastest of 2025",
            ),
            "memory": (
                "memory",
                Quantity("bandwidth", "B/s", above=0),
                "bandwidth of the memory of the machine that is meant; a device with another, or "
                "with another peak than that stated of its dtype, is a what-if on that machine",
            ),
            "power": (
                "power",
                Quantity("power", "W", above=0),
                "power of that machine, which bounds what a higher peak gains over GPUs like it",
            ),
            "like": (
                "like",
                Text(),
                "GPU with tables of the generation of a device without, or none if there is none; "
                "by default judged by the rates",
            ),
            "achieved": (
                "achieved",
                Number(above=0.0, at_most=1.0),
                "share of its peaks that the best large products of such a device reach",
            ),
        }
        | {name: (name, RATE, f"peak of {name}, by default scaled") for name in RATES},
    )
    may_beat_the_roofline = True
    splits_by_rates = True

    def estimate(self, kernels: Kernels, device: Device) -> Estimates:
        kernels = retyped(kernels, self.given.products)
        made = by_tables(kernels, self._machine(device))
        found = self._correction(device)
        return made if found is None else found.of(kernels, made)

    def title(self, device: Device) -> str:
        """Whose tables a device has, and how they were carried to it."""
        return self._machine(device).title

    def basis(self, kernels: Kernels, device: Device) -> str:
        """Whose tables the families of these kernels have."""
        import numpy as np

        from yantra.compute.families import DEFAULT, families, family_of

        machine = self._machine(device)
        known = family_of()
        names = {
            known.get(kernels.op_classes[code], DEFAULT) for code in np.unique(kernels.op_class)
        }
        subjects = sorted(families.get(name).subject for name in names)
        tables = f"measured {' and '.join(subjects)} tables of {machine.title}"
        tables += _nearest(kernels, machine)
        if outside := _beyond(kernels, machine):
            tables += f", {outside} of kernels beyond their sizes"
        if self.given.profile is None:
            return tables
        from yantra.compute import profiles
        from yantra.compute.profiles.correct import UNLIKE

        profile = profiles.load(self.given.profile)
        count = len(profile.rows.kernels)
        made = self._correction(device)
        assert made is not None
        unlike = not 1 / UNLIKE < made.slower < UNLIKE
        told = f" ({made.slower:.2g} times as slow as the tables)" if unlike else ""
        return f"{count} kernels measured on {profile.device}{told}, between them {tables}"

    def _correction(self, device: Device) -> Correction | None:
        given: Options = self.given
        if given.profile is None:
            return None
        machine = self._machine(device)
        peak = getattr(given, given.dtype, None) or device.peak_flops
        bandwidth = given.memory or device.memory_bytes_per_s
        if isinf(peak):
            peak = machine.gpu.peaks.get(given.dtype, machine.gpu.peaks["bf16"])
        bandwidth = machine.gpu.memory_bytes_per_s if isinf(bandwidth) else bandwidth
        return _corrections(given.replace(products=None), Device(peak, bandwidth))

    def _machine(self, device: Device) -> Machine:
        from yantra.compute.families.attention_libraries import library_named
        from yantra.compute.families.frameworks import framework_named
        from yantra.compute.families.machine import machine_of

        given: Options = self.given
        stated = {name: rate for name in RATES if (rate := getattr(given, name)) is not None}
        return machine_of(
            device.peak_flops, device.memory_bytes_per_s, given.gpu, given.dtype, stated,
            quantise=given.quantise, alone=given.alone, stated_memory=given.memory,
            framework=framework_named(given.framework, "framework"),
            power_w=given.power, like=given.like, achieved=given.achieved,
            attention=library_named(given.attention, "attention"),
        )  # fmt: skip


def by_tables(kernels: Kernels, machine: Machine) -> Estimates:
    """The estimates of each kernel's family."""
    import numpy as np

    from yantra.compute.families import DEFAULT, families, family_of

    known = family_of()
    names = np.array([known.get(name, DEFAULT) for name in kernels.op_classes])
    of_row = names[kernels.op_class]
    columns = [np.empty(len(kernels)) for _ in Estimates._fields]
    for name in np.unique(of_row):
        rows = of_row == name
        made = families.get(str(name))().estimate(kernels.take(rows), machine)
        for column, part in zip(columns, made, strict=True):
            column[rows] = part
    return Estimates(*columns)


def octaves(kernels: Kernels, machine: Machine) -> Reals:
    """Octaves from each kernel to the nearest measured one, of sizes and of the device."""
    import numpy as np

    from yantra.compute.families import families
    from yantra.compute.profiles.correct import families_of

    of_row = families_of(kernels)
    made = np.zeros(len(kernels))
    for name in np.unique(of_row):
        rows = of_row == name
        made[rows] = families.get(str(name))().octaves(kernels.take(rows), machine)
    return made


def _nearest(kernels: Kernels, machine: Machine) -> str:
    import numpy as np

    apart = octaves(kernels, machine)
    if not len(apart) or apart.max() < _NEAR:
        return ""
    mean = float(np.average(apart, weights=np.maximum(kernels.count, 1)))
    return f", {mean:.1f} octaves from the nearest (at most {apart.max():.1f})"


_NEAR = 0.1


def _beyond(kernels: Kernels, machine: Machine) -> str:
    from yantra.compute.families import families
    from yantra.compute.profiles.correct import families_of

    of_row = families_of(kernels)
    outside = whole = 0
    for name in sorted(set(of_row.tolist())):
        some = kernels.take(of_row == name)
        outside += int(some.count[families.get(name)().beyond(some, machine) > 0].sum())
        whole += int(some.count.sum())
    return f"{max(outside / whole, 0.01):.0%}" if outside else ""


@cache
def _corrections(given: Options, device: Device) -> Correction:
    from yantra.compute import profiles
    from yantra.compute.profiles.correct import correction_of

    assert given.profile is not None
    model = Measured(given)
    profile = profiles.load(given.profile)
    machine = model._machine(device)
    return correction_of(profile, lambda rows: by_tables(rows, machine), str(given.profile))


PLUGIN = Measured
