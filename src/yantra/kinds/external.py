"""Network programs: simulators of their own, whatever they are written in."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''#!/usr/bin/env python3
"""my_plugin: a message takes the latency of its links and its bytes over the narrowest.

Trade-off: no message waits for another.
Source: name the paper or the simulator that this network is from.
"""

import heapq
import sys


class MyPlugin:
    def __init__(self):
        self.links = {}  # number -> (bytes per ns, latency in ns)
        self.arrivals = []  # (time in ps, message), the earliest first
        self.clock = 0

    def link(self, number, start, end, bytes_per_ns, latency_ns):
        self.links[number] = float(bytes_per_ns), float(latency_ns)

    def send(self, at, message, source, destination, size, *route):
        # All that your simulator models goes here. Times are whole picoseconds.
        narrowest = min(self.links[link][0] for link in route)
        latency_ns = sum(self.links[link][1] for link in route)
        arrives = int(at) + round(1000 * (latency_ns + int(size) / narrowest))
        heapq.heappush(self.arrivals, (arrives, int(message)))

    def advance(self, until):
        # As far as `until`, but not past the first arrival: the run may send more when it comes.
        following = self.arrivals[0][0] if self.arrivals else None
        if following is not None and (until == "never" or following <= int(until)):
            self.clock = following
        elif until != "never":
            self.clock = int(until)
        while self.arrivals and self.arrivals[0][0] == self.clock:
            print(f"arrived {heapq.heappop(self.arrivals)[1]} {self.clock}")
        print(f"done {self.clock} {self.arrivals[0][0] if self.arrivals else 'never'}")


network = MyPlugin()
for line in sys.stdin:
    word, *words = line.split()
    if word == "link":
        network.link(*words)
    elif word == "begin":
        print("ready 1", flush=True)
    elif word == "send":
        network.send(*words)
    elif word == "advance":
        network.advance(*words)
        sys.stdout.flush()
    elif word == "end":
        break
'''


class Programs(Kind):
    """A program that keeps docs/reference/external-networks.md."""

    skeleton = SKELETON
    is_program = True

    def registry(self) -> Registry[Any]:
        from yantra.network import networks

        return networks

    def contract(self) -> Contract:
        from yantra.kinds.external_laws import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        command = f"--set network.kind=external --set network.options.command={file}"
        return Use(f"yantra run --workload step.yw --cluster hgx-h100 {command}")

    def taken_by(self, name: str) -> str:
        return ""  # a program's name is its path


PLUGIN = Programs
