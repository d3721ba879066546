"""Memory models: how long accesses beyond the device take, and which ranks share a memory."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: memory behind a link that is slower one way.

Trade-off: loads and stores do not share a path, so both directions are always free.
Source: name the paper or the data sheet that this model is from.
"""

from yantra.plugin.memory import MemoryModel
from yantra.plugin.options import Number, Record, Section


class Options(Record):
    store_factor: float = 1.5


class MyPlugin(MemoryModel):
    # Who shares the memory: "rank", "node" or "pool". A shared one serves one access at a time.
    sharing = "rank"
    # What `options:` of a scenario may set; what it sets is in self.given.
    options = Section(
        Options, {"store_factor": ("store_factor", Number(at_least=1), "a store by a load")}
    )

    def access(self, accesses, speeds):
        # Columns of numpy, a row for each access that differs: accesses.bytes, is_store, count.
        # speeds has latency_ns and bytes_per_ns of the scenario. Nanoseconds come back.
        factor = 1.0 + accesses.is_store * (self.given.store_factor - 1.0)
        return speeds.latency_ns + factor * accesses.bytes / speeds.bytes_per_ns


PLUGIN = MyPlugin
'''


class MemoryModels(Kind):
    """A class derived from `yantra.plugin.memory.MemoryModel`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.memory import models

        return models

    def contract(self) -> Contract:
        from yantra.memory.contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use("yantra run step.yaml", f"in cluster.memory of step.yaml: kind: {file}")


PLUGIN = MemoryModels
