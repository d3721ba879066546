"""Pipeline schedules: which pass of which micro-batch a device works on next. No time in here."""

from __future__ import annotations

from yantra.registry import Registry
from yantra.workloads.schedules.schedule import Schedule

schedules: Registry[type[Schedule]] = Registry(
    "schedule", "yantra.workloads.schedules", "yantra.schedules"
)

_LIST_ENDINGS = (".yaml", ".yml", ".json")


def get(name: str, where: str | None = None) -> Schedule:
    """Return the schedule of a name such as `zb-h1`, or of a file that lists its operations.

    A file is recognised by its ending: .yaml, .yml or .json. `where` is the field that an unknown
    name is reported at.
    """
    if name.endswith(_LIST_ENDINGS):
        from yantra.workloads.schedules.listed import Listed

        return Listed.read(name)
    return schedules.get(name, where)(name)
