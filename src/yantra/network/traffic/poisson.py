"""Poisson arrivals: every host starts flows at random, of random sizes, to random others.

The load is a host's average sending over its rate. `incast_load` mixes in events at which many
hosts send to one at once. Source: Li et al., "HPCC: high precision congestion control", SIGCOMM
2019, section 5.1 (incast of 60 senders with 500 kB each at 2 % load); the authors' generator,
github.com/alibaba-edu/High-Precision-Congestion-Control, traffic_gen/traffic_gen.py.
"""

from __future__ import annotations

import numpy as np

from yantra.base.fields import Number, Quantity, Section, Text, Whole
from yantra.base.records import Record
from yantra.network.traffic.distribution import NAMES, Sizes, sizes_of
from yantra.network.traffic.generator import BANDWIDTH, SIZE, Flows, Traffic, others


class Options(Record):
    load: float
    bytes_per_ns: float
    duration_ns: float
    sizes: str = "websearch"
    incast_load: float = 0.0
    incast_senders: int = 60
    incast_bytes: int = 500_000


class Poisson(Traffic):
    """Each host has its own Poisson process; all flows start before the end."""

    options = Section(
        Options,
        {
            "load": (
                "load",
                Number(above=0, at_most=1),
                "what hosts send, as a share of their rate",
            ),
            "bandwidth": ("bytes_per_ns", BANDWIDTH, "rate of a host"),
            "duration": (
                "duration_ns",
                Quantity("time", "ns", above=0),
                "time in which flows start",
            ),
            "sizes": (
                "sizes",
                Text(),
                f"sizes of flows: {', '.join(NAMES)}, or a file of bytes,percent",
            ),
            "incast_load": (
                "incast_load",
                Number(at_least=0, at_most=1),
                "incast traffic as a share of the rate of all hosts, on top of `load`",
            ),
            "incast_senders": ("incast_senders", Whole(at_least=1), "hosts that send to one"),
            "incast_size": ("incast_bytes", SIZE, "what each of them sends"),
        },
    )

    def __init__(self, given: Options) -> None:
        super().__init__(given)
        self._sizes: Sizes = sizes_of(given.sizes, "sizes")

    def refuses(self, hosts: int) -> tuple[str, str] | None:
        senders = self.given.incast_senders
        if self.given.incast_load and senders >= hosts:
            return "incast_senders", f"expected fewer than the {hosts} hosts, got {senders}"
        return None

    def expected(self, hosts: int) -> float:
        singles = hosts * self._per_host
        return singles + self._events(hosts) * float(self.given.incast_senders)

    def flows(self, hosts: int, seed: int) -> Flows:
        generator = np.random.default_rng(seed)
        # Given their number, Poisson arrivals are uniform in time.
        number = generator.poisson(self._per_host, hosts)
        src = np.repeat(np.arange(hosts), number)
        count = len(src)
        single = Flows(
            src,
            others(generator, hosts, src),
            self._sizes.draw(generator, count),
            self._starts(generator, count),
        )
        return _joined(single, self._incast(generator, hosts))

    def _incast(self, generator: np.random.Generator, hosts: int) -> Flows:
        senders = self.given.incast_senders
        events = int(generator.poisson(self._events(hosts)))
        to = generator.integers(0, hosts, events)
        # The first `senders` of a shuffle of the others.
        ahead = [generator.permutation(hosts - 1)[:senders] + 1 for _ in range(events)]
        steps = np.concatenate([np.zeros(0, np.int64), *ahead])
        dst = np.repeat(to, senders if events else 0)
        starts = np.repeat(self._starts(generator, events), senders)
        size = np.full(len(dst), self.given.incast_bytes, np.int64)
        return Flows((dst + steps) % hosts, dst, size, starts)

    def _starts(self, generator: np.random.Generator, number: int) -> np.ndarray:
        return generator.uniform(0, self.given.duration_ns, number).astype(np.int64)

    @property
    def _per_host(self) -> float:
        given = self.given
        mean = given.load * given.bytes_per_ns * given.duration_ns / self._sizes.mean
        return float(mean)

    def _events(self, hosts: int) -> float:
        given = self.given
        sent = given.incast_load * given.bytes_per_ns * given.duration_ns * hosts
        return float(sent / (given.incast_senders * given.incast_bytes))


def _joined(one: Flows, other: Flows) -> Flows:
    return Flows(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))


PLUGIN = Poisson
