"""Pipeline schedules: which pass of which micro-batch a device works on next."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: all forward passes, then all backward passes, the last one first.

Trade-off: as simple as GPipe, with its bubble and its memory; the activations that were made last
are used first.
Source: name the paper that this schedule is from.
"""

from yantra.plugin.schedule import Schedule, Step


class MyPlugin(Schedule):
    # The numbers of chunks of layers per device that may be asked for; None for any from 2.
    vpp = (1,)

    def limits(self, p, m, v):
        # None, or what is needed, what came, and the nearest that will do:
        # f"needs at least {p} micro-batches, got {m}; the nearest is {p}"
        return None

    def order(self, device, p, m, v):
        # What one of p devices does with m micro-batches: F is a forward pass, B a whole backward
        # pass; b and W are its two parts, the gradients of the input and of the weights.
        forward = [Step("F", j) for j in range(m)]
        backward = [Step("B", j) for j in reversed(range(m))]
        return forward + backward


PLUGIN = MyPlugin
'''


class Schedules(Kind):
    """A class derived from `yantra.plugin.schedule.Schedule`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.workloads.schedules import schedules

        return schedules

    def contract(self) -> Contract:
        from yantra.workloads.schedules.contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(
            "yantra workload train --model llama3-8b --pp 4 --global-batch 8 "
            f"--schedule {file} -o step.yw"
        )


PLUGIN = Schedules
