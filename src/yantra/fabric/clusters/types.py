"""What a named cluster is: numbers with sources, levels of a network, and the parts they make.

Trade-off: one rate per dtype and one bandwidth per link, so that a machine is a page of published
numbers; what software reaches stands beside the nominal rate where someone published that, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from yantra.base.records import Record
from yantra.fabric.stacks.choice import Speeds as Speeds

if TYPE_CHECKING:
    from collections.abc import Iterator

Basis = Literal["published", "derived", "estimate", "yours"]
"""Whether a source states the number, it follows from stated ones, it is an informed guess, or
it is the user's own."""

DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")


class Number(Record):
    """A number of a cluster: its value in `unit`, as it is written, and its source."""

    value: float
    """The number in `unit`."""
    unit: Literal["B", "B/s", "FLOP/s", "ns", "W", "USD/h", "USD", "USD/kWh", "g/kWh", "s", ""]
    """The unit of `value`; empty for a count or a share."""
    written: str
    """The number as the file writes it, with its unit."""
    source: str
    """Where it is from: a key of the cluster's sources, or a text."""
    basis: Basis = "published"
    """Whether it is published, derived, an estimate or yours."""


class Shapes(Record):
    """Which shapes a slice of a torus may take.

    Below one block only those listed in `small`, which are meshes: their ends are not joined. From
    one block on, whole blocks in each dimension, at most `most` devices in all.
    """

    small: tuple[tuple[int, ...], ...]
    """The slices below one block, as sizes of their dimensions."""
    block: tuple[int, ...]
    """The sizes of a block."""
    most: Number
    """The most devices of a slice."""
    source: str
    """Where the shapes are published."""


class Level(Record):
    """One level of the network: how the devices, or the domains of the level before, are linked.

    `kind` is a topology, or `torus`, which becomes one ring per dimension of a slice. `links` of
    `bandwidth` leave each device: all to a switch; one to each other member of a fully connected
    domain; two per dimension of a torus. `members` is the most that one domain holds; a job over
    several domains takes the same multiple of `granule` from each, whole domains without it.
    `algorithms` names, per collective, algorithms in order of preference.
    """

    name: str
    """What the level is called, such as NVLink."""
    kind: str
    """A topology, or `torus`."""
    links: Number
    """Links that leave each device."""
    bandwidth: Number
    """Of one link and direction at the data sheet's rate, in B/s."""
    latency: Number
    """Of one hop, in ns."""
    algorithms: tuple[tuple[str, tuple[str, ...]], ...]
    """By collective, algorithms in order of preference."""
    members: Number | None = None
    """The most members of one domain; None without a limit."""
    granule: Number | None = None
    """A job takes a multiple of it from each domain; None for whole domains."""
    achievable: Number | None = None
    """Of one link and direction as software reaches it, in B/s; None if unknown."""
    shapes: Shapes | None = None
    """The shapes of slices of a torus; None for other kinds."""
    power: Number | None = None
    """A device's share of what its switches draw, in W; None if not stated."""

    def device_bytes_per_s(self, speeds: Speeds = "achievable") -> float:
        """Return the bandwidth of all links of a device, per direction, in B/s."""
        return self.links.value * self.link(speeds).value

    def link(self, speeds: Speeds = "achievable") -> Number:
        """Return the bandwidth of one link and direction, in B/s."""
        achievable = None if speeds == "nominal" else self.achievable
        return achievable or self.bandwidth


class Cluster(Record):
    """A machine of any size: a device, its host link, and its network, innermost level first.

    `achievable` has the rates, per dtype, that the best of large matrix products reach. `compute`
    has, for compute models by name, the counts that the device gives their options. `reserve` is
    what the driver's context, buffers of communicators and gaps of the allocator take of the
    memory; what fits is judged by the rest, `usable_bytes`. `power` is what
    a device draws, `idle_power` what it draws without work, `price` what an hour of it costs,
    `capital` what it costs to buy with its share of all around it, and `mtbf` the mean time after
    which one interrupts a job, in s, where the file states them. `ownership` has what else a bought
    machine costs: see `ownership.py`. `tables` names the measured kernels of the device, None if
    there are none, `measured` the collectives of nodes like these, `site` the fabric between them,
    and `fits` is the path of the file if it has collectives of the very machine.
    """

    name: str
    """The name by which it is asked for."""
    title: str
    """What it is, in words."""
    sources: tuple[tuple[str, str], ...]
    """Sources by their keys."""
    device: str
    """The name of the device."""
    dtype: str
    """The data type that is usual for training on it."""
    peak: tuple[tuple[str, Number], ...]
    """The dense peak by dtype, in FLOP/s."""
    memory: Number
    """Of a device, in bytes."""
    memory_bandwidth: Number
    """Of a device's memory, in B/s."""
    host_bandwidth: Number
    """Between a device and its host, in B/s per direction."""
    host_latency: Number
    """Of an access of the host's memory, in ns."""
    network: tuple[Level, ...]
    """The levels, innermost first."""
    chunks: int | None = None
    """Into how many chunks a collective is divided; None leaves it to the planner."""
    inter_dimension: str = "ascending"
    """The order in which chunks go through the dimensions."""
    achievable: tuple[tuple[str, Number], ...] = ()
    """The rate of large matrix products by dtype, in FLOP/s."""
    compute: tuple[tuple[str, tuple[tuple[str, Number], ...]], ...] = ()
    """By compute model, counts of the device for its options."""
    reserve: Number | None = None
    """What of a device's memory no job gets, in bytes."""
    context: Number | None = None
    """What of it is there before communicators and an allocator, in bytes."""
    any_layout: bool = False
    """Whether products in 8 bits read operands as they are, without transposed copies."""
    power: Number | None = None
    """What a device draws, in W."""
    price: Number | None = None
    """Of an hour of a device, in USD/h."""
    idle_power: Number | None = None
    """What a device draws without work, in W."""
    power_cap: Number | None = None
    """The most it may draw, in W; None for its power."""
    host_power: Number | None = None
    """A device's share of what its host draws, in W."""
    capital: Number | None = None
    """What a device and its share of all around it cost, in USD."""
    mtbf: Number | None = None
    """The mean time between interruptions of a job by one device, in s."""
    ownership: tuple[tuple[str, Number], ...] = ()
    """What else a bought machine costs."""
    tables: str | None = None
    """The name of its measured kernels."""
    like: str | None = None
    """Of a device without any, a GPU of its generation that has them."""
    measured: str | None = None
    """The name of measured collectives in nodes like these."""
    site: str | None = None
    """The name of the fabric between its nodes, or the path of its file."""
    fits: str | None = None
    """The path of the file, if it has collectives of this very machine."""

    def __repr__(self) -> str:
        return f"<Cluster {self.name}: {self.title}>"

    @property
    def memory_bytes(self) -> int:
        """The memory of one device, in bytes."""
        return int(self.memory.value)

    @property
    def reserve_bytes(self) -> int:
        """What of the memory of one device no job gets, in bytes."""
        return int(self.reserve.value) if self.reserve else 0

    @property
    def usable_bytes(self) -> int:
        """The memory that one device leaves to a job, in bytes."""
        return self.memory_bytes - self.reserve_bytes

    def peak_flops(self, dtype: str | None = None, where: str = "dtype") -> float:
        """Return the dense peak rate of a dtype in FLOP/s; ConfigError if it has none."""
        from yantra.fabric.clusters.parts import peak_of

        return peak_of(self, dtype or self.dtype, where).value

    def scenario_parts(
        self,
        ranks: int,
        dtype: str | None = None,
        *,
        speeds: Speeds = "achievable",
        semantics: str = "yantra",
        where: str = "",
    ) -> dict[str, Any]:
        """Return the parts of a scenario of this many ranks, as a scenario file holds them.

        The keys are `topology`, `device`, `memory`, `machine` and `collectives`.
        `yantra.scenario.cluster_parts` makes the fields of a `Scenario` of them. The roofline takes
        the rate of `dtype`, by default the usual one of the machine. The memory beyond the device
        is that of the host. Algorithms are named as `semantics` spells them.

        Raises ConfigError at `<where>ranks` or `<where>dtype` if the machine has no such number of
        ranks, with the nearest that fit, or no rate for the dtype.
        """
        from yantra.fabric.clusters.parts import parts_of

        return parts_of(self, ranks, dtype or self.dtype, speeds, semantics, where)

    def levels(self, ranks: int) -> tuple[str, ...]:
        """Return the name of the level that each dimension of `scenario_parts` is of."""
        from yantra.fabric.clusters.parts import levels_of

        return levels_of(self, ranks)

    def device_parts(
        self, dtype: str | None = None, *, speeds: Speeds = "achievable", where: str = ""
    ) -> dict[str, Any]:
        """Return the parts that are the same for any ranks: `device`, `memory` and `machine`."""
        from yantra.fabric.clusters.parts import device_parts

        return device_parts(self, dtype or self.dtype, speeds, where)

    def compute_options(self, model: str) -> dict[str, Any]:
        """Return what the device gives the options of a compute model; often nothing."""
        if model == "retargeted":
            from yantra.fabric.clusters.parts import retargeted

            return retargeted(self)
        return {name: int(number.value) for name, number in dict(self.compute).get(model, ())}

    def numbers(self) -> Iterator[tuple[str, Number]]:
        """Yield every number with its key in the file."""
        yield "device.memory", self.memory
        if self.reserve is not None:
            yield "device.reserve", self.reserve
        yield "device.memory_bandwidth", self.memory_bandwidth
        for dtype, peak in self.peak:
            yield f"device.peak.{dtype}", peak
        for dtype, rate in self.achievable:
            yield f"device.achievable.{dtype}", rate
        for model, options in self.compute:
            for name, number in options:
                yield f"device.compute.{model}.{name}", number
        for key in ("context", "power", "idle_power", "power_cap", "price", "capital", "mtbf"):
            if (stated := getattr(self, key)) is not None:
                yield f"device.{key}", stated
        for name, number in self.ownership:
            yield f"ownership.{name}", number
        yield "host.bandwidth", self.host_bandwidth
        yield "host.latency", self.host_latency
        if self.host_power is not None:
            yield "host.power", self.host_power
        for at, level in enumerate(self.network):
            for key in (
                "members",
                "granule",
                "links",
                "bandwidth",
                "achievable",
                "latency",
                "power",
            ):
                number = getattr(level, key)
                if number is not None:
                    yield f"network[{at}].{key}", number
            if level.shapes is not None:
                yield f"network[{at}].shapes.most", level.shapes.most
