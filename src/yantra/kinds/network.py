"""Networks: how long messages take, and how they share what they meet on."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: every rank sends one message at a time; no other messages wait.

Trade-off: what waits is the sender alone. Messages to one rank do not wait for each other.
Source: name the paper that this network is from.
"""

from yantra.plugin.network import NetworkModel


class MyPlugin(NetworkModel):
    def __init__(self, fabric, options):
        super().__init__(fabric, options)
        self.free_ns = [0.0] * fabric.ranks

    def send(self, message):
        # A network is made anew for each run, so it may remember. `alone_ns` is the latency of all
        # hops and the bytes over the narrowest link. A network in which no message waits for
        # another needs no more than `delay_ns(self, message)`.
        start = max(message.sent_ns, self.free_ns[message.source])
        done = start + self.fabric.alone_ns(message)
        self.free_ns[message.source] = done
        # Now or later, when woken: `wake_at(at_ns, token)` has `woken(token)` called.
        self.arrive(message, done)


PLUGIN = MyPlugin
'''


class Networks(Kind):
    """A class derived from `yantra.plugin.network.NetworkModel`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.network import networks

        return networks

    def contract(self) -> Contract:
        from yantra.kinds.network_laws import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(f"yantra run --workload step.yw --cluster hgx-h100 --network {file}")


PLUGIN = Networks
