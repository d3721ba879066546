"""The layout of a named `cluster` and what differs from it, replaced by `named.py`."""

from __future__ import annotations

from yantra.base.fields import Changes, Many, Schema, Section, Text, Whole
from yantra.base.fields.plugin import Plugin, PluginChoice
from yantra.base.records import Record
from yantra.scenario import types
from yantra.scenario.disturbances import Failure
from yantra.scenario.fields import Dimensions
from yantra.scenario.layout import DEVICE, DEVICE_OF, DIMENSION, FABRIC, MACHINE, MEMORY


class NamedCluster(Record):
    """The mapping `cluster` with a `name`."""

    name: str
    ranks: int | None = None
    dtype: str | None = None
    site: str | None = None
    topology: types.Topology | None = None
    device: types.Device = types.Device()
    devices: tuple[types.DeviceOf, ...] = ()
    memory: types.RemoteMemory = types.RemoteMemory()
    machine: types.Machine = types.Machine()
    fabric: Plugin | None = None
    routing: PluginChoice | None = None
    placement: types.Placement = types.Placement()
    link_changes: str | None = None
    failures: tuple[Failure, ...] = ()
    reroute_delay_ns: float = 0.0


class LevelChanges(Dimensions):
    """A named cluster's dimensions, or changed keys by level."""

    expected = "a list with one mapping per dimension, or {NVLink: {bandwidth: x2}}"

    def __init__(self, item: Section) -> None:
        super().__init__(item)
        self.changes = Changes(item)

    def schema(self) -> Schema:
        by_name = {"type": "object", "additionalProperties": self.changes.schema()}
        return {"anyOf": [super().schema(), by_name]}


LEVELS = LevelChanges(DIMENSION)
NAMED = Section(
    NamedCluster,
    {
        "name": ("name", Text(), "a named cluster, or the path of its file"),
        "ranks": ("ranks", Whole(), "how many ranks; else as many as there are traces"),
        "dtype": (
            "dtype",
            Text(),
            "type of products; by default the workload's own, else the machine's usual one",
        ),
        "site": ("site", Text(), "the fabric between its nodes, such as aws-p5, or its file"),
        "topology": (
            "topology",
            LEVELS,
            "another network, then without ranks; or what differs, by the name of the level",
        ),
        "device": ("device", Changes(DEVICE), "keys that differ"),
        "devices": ("devices", Many(DEVICE_OF), "what computes on some ranks instead"),
        "memory": ("memory", Changes(MEMORY), "keys that differ"),
        "machine": ("machine", Changes(MACHINE), "keys that differ"),
        **FABRIC,
    },
)
