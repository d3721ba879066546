"""Pipeline schedules: which pass of which micro-batch a device works on next. No time in here."""

from __future__ import annotations

from yantra.base.plugin_files import Named
from yantra.base.registry import Registry
from yantra.workloads.schedules.schedule import Schedule

schedules: Registry[type[Schedule]] = Registry(
    "schedule", "yantra.workloads.schedules", "yantra.schedules", base=Schedule
)

_LIST_ENDINGS = (".yaml", ".yml", ".json")


def get(name: Named, where: str | None = None) -> Schedule:
    """Return the schedule of a name such as `zb-h1`, of a Python file or of a list of operations.

    A file is recognised by its ending: .py, or .yaml, .yml or .json for a list. A class may be
    given in place of a name. `where` is the field that an unknown name is reported at.
    """
    if isinstance(name, str) and name.endswith(_LIST_ENDINGS):
        from yantra.workloads.schedules.listed import Listed

        return Listed.read(name)
    return schedules.get(name, where)(schedules.shown(name))
