#!/usr/bin/env python3
"""The reference of the protocol for network programs: whole messages, a queue for each link.

A message crosses the links of its route one after the other, whole, and waits at each for those
that came before it. So it gives the times of Yantra's own `store_and_forward`, to the picosecond.
Trade-off: written to be read, so some ten thousand messages a second. The standard library is all
that it needs. Source: docs/reference/external-networks.md, which defines every line.
"""

import heapq
import sys
from collections import deque
from math import floor


class Network:
    def __init__(self):
        self.links = {}  # number -> (bytes per ns, latency in ns)
        self.waiting = {}  # number of a busy link -> the messages that wait for it
        self.events = []
        self.made = 0
        self.clock = 0
        self.told = []  # lines of the answer

    def link(self, number, _start, _end, bytes_per_ns, latency_ns):
        self.links[number] = float(bytes_per_ns), float(latency_ns)

    def send(self, at, message, _source, _destination, size, *route):
        self.schedule(int(at), self.offer, (message, int(size), route, 0))

    def schedule(self, at, what, *of):
        self.made += 1
        heapq.heappush(self.events, (at, self.made, what, of))

    def offer(self, transit):
        """Let a message cross the next link of its route, or wait; behind the last it arrives."""
        message, _size, route, hop = transit
        if hop == len(route):
            self.told.append(f"arrived {message} {self.clock}")
        elif route[hop] in self.waiting:
            self.waiting[route[hop]].append(transit)
        else:
            self.waiting[route[hop]] = deque()
            self.cross(transit)

    def cross(self, transit):
        message, size, route, hop = transit
        bytes_per_ns, latency_ns = self.links[route[hop]]
        free = self.clock + picoseconds(size / bytes_per_ns)
        there = self.clock + picoseconds(latency_ns + size / bytes_per_ns)
        if hop == 0:
            self.schedule(free, self.leave, message)
        self.schedule(there, self.offer, (message, size, route, hop + 1))
        self.schedule(free, self.free, route[hop])

    def leave(self, message):
        self.told.append(f"left {message} {self.clock}")

    def free(self, link):
        if self.waiting[link]:
            self.cross(self.waiting[link].popleft())
        else:
            del self.waiting[link]

    def advance(self, until):
        limit = float("inf") if until == "never" else int(until)
        while self.events and self.events[0][0] <= limit and not self.told:
            self.clock = self.events[0][0]
            while self.events and self.events[0][0] == self.clock:
                _at, _number, what, of = heapq.heappop(self.events)
                what(*of)
        if not self.told and until != "never":
            self.clock = limit
        following = self.events[0][0] if self.events else "never"
        lines, self.told = self.told, []
        return [*lines, f"done {self.clock} {following}"]


def picoseconds(ns):
    return floor(ns * 1000 + 0.5)


def main():
    network = Network()
    for line in sys.stdin:
        word, *words = line.split()
        if word == "yantra-network" and words != ["1"]:
            print(f"error this program speaks version 1, not {words[0]}", flush=True)
        elif word == "link":
            network.link(*words)
        elif word == "routes" and words != ["given"]:
            print("error it knows no routes of its own; set routes: given", flush=True)
        elif word == "begin":
            print("ready 1", flush=True)
        elif word == "send":
            network.send(*words)
        elif word == "advance":
            print("\n".join(network.advance(*words)), flush=True)
        elif word == "end":
            return


if __name__ == "__main__":
    main()
