"""What a described device is made of, and the table that reads and checks its file.

Trade-off: one clock and one kind of core. Source: Zhang et al., "LLMCompass: Enabling Efficient
Hardware Design for Large Language Model Inference", ISCA 2024, section III.
"""

from __future__ import annotations

from typing import Literal

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice, Number, Quantity, Section, Text, Whole
from yantra.base.records import Record

Vendor = Literal["nvidia", "amd", "other"]
MemoryKind = Literal["hbm2e", "ddr5"]
LinkKind = Literal["nvlink3", "nvlink4", "infinity_fabric"]
HostKind = Literal["pcie4", "pcie5"]
Node = Literal["5nm", "6nm", "7nm"]


_WIDTHS = ("fp4", "fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64")


class Vector(Record):
    """A lane's vector unit: its width, and units by kind."""

    width: int
    fp32: int
    fp64: int = 0
    int32: int = 0


class ArrayOf(Record):
    """The systolic array of a lane."""

    rows: int
    columns: int


class GlobalBuffer(Record):
    """The last buffer before memory; `on_die_bytes` includes what is off."""

    size_bytes: int
    bytes_per_s: float
    on_die_bytes: int | None = None


class MemoryOf(Record):
    """The device's memory; `interfaces` on the die, of 1024 bits of HBM or 32 of DDR."""

    kind: MemoryKind
    size_bytes: int
    bytes_per_s: float
    interfaces: int


class Links(Record):
    """Links to other devices."""

    kind: LinkKind
    count: int


class Host(Record):
    """The link to the host."""

    kind: HostKind
    lanes: int


class Process(Record):
    """How the die is made, and what a wafer costs and loses."""

    node: Node
    million_transistors_per_mm2: float
    wafer_usd: float | None = None
    wafer_mm: float = 300.0
    defects_per_cm2: float = 0.1
    clustering: float = 3.0


class Rates(Record):
    """Products an array does for each of FP16; 0 for types that it lacks."""

    fp4: float = 0.0
    fp8: float = 0.0
    int8: float = 0.0
    tf32: float = 0.0
    fp32: float = 0.0
    fp64: float = 0.0


class Device(Record):
    """A device: working cores, cores on the die, and the rest."""

    name: str
    source: str
    clock_hz: float
    cores: int
    lanes: int
    array: ArrayOf
    vector: Vector
    registers_bytes: int
    local_buffer_bytes: int
    global_buffer: GlobalBuffer
    memory: MemoryOf
    process: Process
    rates: Rates = Rates()
    cores_on_die: int | None = None
    links: Links | None = None
    host: Host | None = None
    vendor: Vendor = "other"
    launch_ns: float = 4500.0

    @property
    def matrix_flops(self) -> float:
        """Operations per second of all arrays: two per element and cycle."""
        elements = self.array.rows * self.array.columns
        return 2.0 * self.cores * self.lanes * elements * self.clock_hz

    @property
    def vector_flops(self) -> float:
        """Operations per second of FP32 units: two a cycle."""
        return 2.0 * self.cores * self.lanes * self.vector.fp32 * self.clock_hz

    def matrix_rate(self, dtype: str) -> float:
        """A type they lack runs in the next wider one they have, wider than all on the vector
        units.
        """
        at = _WIDTHS.index(dtype) if dtype in _WIDTHS else _WIDTHS.index("fp16")
        for wider in _WIDTHS[at:]:
            rate = 1.0 if wider in ("fp16", "bf16") else float(getattr(self.rates, wider))
            if rate and (wider == dtype or not wider.startswith("int")):
                return rate
        units = self.vector.fp64 if dtype == "fp64" else self.vector.fp32
        if not units:
            raise ConfigError(self.name, f"has no units for {dtype}; give vector.{dtype} or rates")
        return units / (self.array.rows * self.array.columns)

    @property
    def all_cores(self) -> int:
        """Cores on the die, including those that are off."""
        return self.cores_on_die or self.cores


_COUNT = Whole(1, 10**6)
_SIZE = Quantity("size", "B", whole=True, at_least=1)
_RATE = Quantity("bandwidth", "B/s", above=0)
_POSITIVE = Number(above=0.0)

_ARRAY = Section(
    ArrayOf,
    {"rows": ("rows", _COUNT, "of elements"), "columns": ("columns", _COUNT, "of elements")},
)
_VECTOR = Section(
    Vector,
    {
        "width": ("width", _COUNT, "elements that one instruction works on"),
        "fp32": ("fp32", _COUNT, "units"),
        "fp64": ("fp64", Whole(0, 10**6), "units"),
        "int32": ("int32", Whole(0, 10**6), "units"),
    },
)
_BUFFER = Section(
    GlobalBuffer,
    {
        "size": ("size_bytes", _SIZE, "bytes that are on"),
        "bandwidth": ("bytes_per_s", _RATE, "to all cores together"),
        "on_die": ("on_die_bytes", _SIZE, "bytes on the die, those that are off included"),
    },
)
_MEMORY = Section(
    MemoryOf,
    {
        "kind": ("kind", Choice(MemoryKind), "of memory"),
        "size": ("size_bytes", _SIZE, "of the device"),
        "bandwidth": ("bytes_per_s", _RATE, "of the device"),
        "interfaces": ("interfaces", _COUNT, "on the die: 1024 bits of HBM, or 32 of DDR"),
    },
)
_LINKS = Section(
    Links,
    {"kind": ("kind", Choice(LinkKind), "of link"), "count": ("count", _COUNT, "of them")},
)
_RATES = Section(
    Rates,
    {
        name: (name, Number(at_least=0.0), "products in the time of one in FP16")
        for name in Rates.field_names
    },
)
_HOST = Section(
    Host,
    {"kind": ("kind", Choice(HostKind), "of link"), "lanes": ("lanes", _COUNT, "of it")},
)
_PROCESS = Section(
    Process,
    {
        "node": ("node", Choice(Node), "process node, by which SRAM cells are known"),
        "density": (
            "million_transistors_per_mm2",
            _POSITIVE,
            "of logic, in millions of transistors per mm2",
        ),
        "wafer_usd": ("wafer_usd", _POSITIVE, "price of a wafer in US dollars"),
        "wafer_mm": ("wafer_mm", _POSITIVE, "diameter of a wafer"),
        "defects_per_cm2": ("defects_per_cm2", Number(at_least=0.0), "defects that kill a die"),
        "clustering": ("clustering", _POSITIVE, "of defects: alpha of the yield"),
    },
)
FILE = Section(
    Device,
    {
        "name": ("name", Text(), "of the device"),
        "source": ("source", Text(), "of these numbers"),
        "clock": ("clock_hz", Quantity("frequency", "Hz", above=0), "of cores and buffers"),
        "cores": ("cores", _COUNT, "cores that are on"),
        "cores_on_die": ("cores_on_die", _COUNT, "cores on the die, those that are off included"),
        "lanes": ("lanes", _COUNT, "of a core"),
        "array": ("array", _ARRAY, "of a lane, in FP16 multipliers that add in FP32"),
        "rates": ("rates", _RATES, "of types other than FP16 and BF16"),
        "vector": ("vector", _VECTOR, "of a lane"),
        "registers": ("registers_bytes", _SIZE, "of a lane"),
        "local_buffer": ("local_buffer_bytes", _SIZE, "of a core"),
        "global_buffer": ("global_buffer", _BUFFER, "of all cores"),
        "memory": ("memory", _MEMORY, "of the device"),
        "links": ("links", _LINKS, "to other devices"),
        "host": ("host", _HOST, "link to the host"),
        "vendor": ("vendor", Choice(Vendor), "vendor whose control and crossbars the die has"),
        "launch": ("launch_ns", Quantity("time", "ns", at_least=0), "of a kernel"),
        "process": ("process", _PROCESS, "of the die"),
    },
)
"""The file of a device."""
