"""Schedulers: which of a rank's ready nodes starts first, one file each."""

from __future__ import annotations

from yantra.base.fields import PluginChoice, PluginField, kind_of, made
from yantra.base.registry import Registry
from yantra.schedulers.scheduler import Scheduler

schedulers: Registry[type[Scheduler]] = Registry(
    "scheduler", "yantra.schedulers", "yantra.schedulers", base=Scheduler
)

FIELD = PluginField(schedulers)
"""The field `scheduler` of a scenario."""


def scheduler_of(choice: PluginChoice) -> Scheduler:
    return made(schedulers, choice, "scheduler")


def class_of(choice: PluginChoice) -> type[Scheduler]:
    return schedulers.get(kind_of(choice), "scheduler")
