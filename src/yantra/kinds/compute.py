"""Compute models: how long kernels take on a device."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: a roofline of which kernels reach a part, after a launch.

Trade-off: one efficiency for all kernels, so that one number can be fitted to a measured step.
Source: name the paper or the measurements that this model is from.
"""

from yantra.plugin.compute import ComputeModel, Estimates, Roofline
from yantra.plugin.options import Number, Quantity, Record, Section


class Options(Record):
    efficiency: float = 0.7
    launch_ns: float = 3000.0


class MyPlugin(ComputeModel):
    # What `options:` of a scenario may set; what it sets is in self.given.
    options = Section(
        Options,
        {
            "efficiency": ("efficiency", Number(above=0, at_most=1), "of the roofline"),
            "launch": ("launch_ns", Quantity("time", "ns", at_least=0), "of each kernel"),
        },
    )

    def estimate(self, kernels, device):
        # Columns of numpy, a row for each kernel that differs: kernels.flops, bytes, m, n, k,
        # and kernels.op_classes[code] for each code of kernels.op_class. Nanoseconds come back.
        bound = Roofline().estimate(kernels, device).middle
        middle = bound / self.given.efficiency + self.given.launch_ns
        return Estimates(low=bound, middle=middle, high=middle * 1.5)


PLUGIN = MyPlugin
'''


class ComputeModels(Kind):
    """A class derived from `yantra.plugin.compute.ComputeModel`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.compute import models

        return models

    def contract(self) -> Contract:
        from yantra.compute.contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use("yantra run step.yaml", f"in cluster.device of step.yaml: compute: {file}")


PLUGIN = ComputeModels
