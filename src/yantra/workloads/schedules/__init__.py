"""Pipeline schedules: which pass of which micro-batch a device works on next, without times."""

from __future__ import annotations

from yantra.base.plugin_files import Named
from yantra.base.registry import Registry
from yantra.workloads.schedules.schedule import Schedule

schedules: Registry[type[Schedule]] = Registry(
    "schedule", "yantra.workloads.schedules", "yantra.schedules", base=Schedule
)

_LIST_ENDINGS = (".yaml", ".yml", ".json")


def get(name: Named, where: str | None = None) -> Schedule:
    """`where` is the field for errors."""
    if isinstance(name, str) and name.endswith(_LIST_ENDINGS):
        from yantra.workloads.schedules.listed import Listed

        return Listed.read(name)
    return schedules.get(name, where)(schedules.shown(name))
