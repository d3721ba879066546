"""Mainline ns-3 through its adapter: TCP over point-to-point links."""

from __future__ import annotations

import numpy as np
import pytest

from tests.programs import adapter
from yantra.base.errors import UnsupportedError
from yantra.fabric.graphs.describe import shown
from yantra.fabric.graphs.graph import Graph
from yantra.kinds.external_laws import known, violations
from yantra.network.external import Options
from yantra.network.traffic.generator import Flows
from yantra.run.flows import Choice, simulate


@pytest.fixture(scope="module")
def ns3(tmp_path_factory: pytest.TempPathFactory) -> str:
    return adapter("ns3", "ns3/internet-module.h", tmp_path_factory.mktemp("ns3"), "c++17")


def pair() -> Graph:
    sizes = {"leaves": 1, "ranks_per_leaf": 3, "spines": 1}
    return shown("leaf_spine", sizes | {"bandwidth": "10 Gb/s", "latency": "5 us"}).graph


def ends_ns(program: str, *rows: tuple[int, int, int, int], routes: str = "own") -> list[float]:
    flows = Flows(*(np.array(column) for column in zip(*rows, strict=True)))
    options = Options(command=(program,), routes=routes)
    return list(simulate(pair(), flows, Choice(network="external", program=options)).end_ns)


def test_it_keeps_every_law(ns3: str) -> None:
    assert list(violations(known(ns3))) == []


def test_a_byte_takes_a_handshake_and_its_way(ns3: str) -> None:
    # SYN, SYN-ACK and the byte: three trips over two links of 5 us and under 100 B at 1.25 B/ns.
    (end,) = ends_ns(ns3, (0, 1, 1, 0))
    assert 30_000 < end < 30_000 + 6 * 80


def test_a_long_flow_goes_at_the_rate_of_its_links_less_headers(ns3: str) -> None:
    (end,) = ends_ns(ns3, (0, 1, 20_000_000, 0))
    goodput = 20_000_000 / end / 1.25  # of 1448 B in packets of 1502 B
    assert 0.9 < goodput < 1448 / 1502


def test_two_senders_share_a_receiver(ns3: str) -> None:
    alone = ends_ns(ns3, (0, 2, 10_000_000, 0))[0]
    together = ends_ns(ns3, (0, 2, 10_000_000, 0), (1, 2, 10_000_000, 0))
    assert max(together) == pytest.approx(2 * alone, rel=0.1)


def test_routes_that_are_given_are_refused(ns3: str) -> None:
    with pytest.raises(UnsupportedError, match="ns-3 routes by itself here; set routes: own"):
        ends_ns(ns3, (0, 1, 1, 0), routes="given")
