"""Lists of flows on networks that know none: as messages of a job."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError, DeadlockError
from yantra.cli import main
from yantra.fabric.graphs.as_dimensions import dimensions_of
from yantra.fabric.graphs.describe import shown
from yantra.network.model import Message, NetworkModel
from yantra.network.traffic.generator import Flows
from yantra.run.flows import Choice, simulate

RING = shown("ring", {"ranks": 6, "bandwidth": "10 GB/s", "latency": "300 ns"})
FABRICS = (
    RING,
    shown("switch", {"ranks": 6, "bandwidth": "10 GB/s", "latency": "300 ns"}),
    shown("R(3)_SW(2)", {"bandwidth": ["10 GB/s", "4 GB/s"], "latency": ["300 ns", "1 us"]}),
)
TWIN = (
    "from yantra.network.model import NetworkModel\n"
    "class Twin(NetworkModel):\n"
    "    def delay_ns(self, message):\n"
    "        return self.fabric.alone_ns(message)\n"
    "PLUGIN = Twin\n"
)


def flows_of(rows: list[tuple[int, int, int, int]]) -> Flows:
    return Flows(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("networks") / "twin.py"
    path.write_text(TWIN)
    return str(path)


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 5), st.integers(1, 5), st.integers(1, 10**6), st.integers(0, 10**5)
        ),
        min_size=1,
        max_size=12,
    ),
    fabric=st.sampled_from(FABRICS),
)
@settings(max_examples=25, deadline=None)
def test_a_network_in_python_ends_flows_as_the_level_that_it_copies(
    rows: list[tuple[int, int, int, int]], fabric: object, twin: str
) -> None:
    flows = flows_of([(a, (a + b) % 6, size, start) for a, b, size, start in rows])
    of = next(one for one in FABRICS if one is fabric)
    ours = simulate(of.graph, flows, Choice("shortest", network=twin), fabric=of)
    theirs = simulate(of.graph, flows, Choice("shortest", network="analytical"))
    assert ours.end_ns == pytest.approx(theirs.end_ns, abs=0.01)
    assert ours.alone_ns == pytest.approx(theirs.alone_ns)
    assert ours.slowdown == pytest.approx(np.ones(len(rows)), abs=1e-3)


def test_the_ideal_network_charges_no_latency() -> None:
    flows = flows_of([(0, 3, 10**6, 500), (1, 3, 10**6, 0)])
    found = simulate(RING.graph, flows, Choice(network="ideal"), fabric=RING)
    assert found.end_ns.tolist() == [100_500, 100_000]
    assert found.alone_ns.tolist() == [100_000, 100_000]


def test_no_flows_end_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none.csv").write_text("src,dst,bytes\n")
    line = ["network", "flows", str(tmp_path / "none.csv"), "--topology", "ring", "--json"]
    assert main([*line, "--network", "ideal"]) == 0
    assert json.loads(capsys.readouterr().out)["flows"] == 0


class Loses(NetworkModel):
    def send(self, message: Message) -> None:
        if message.source:
            self.arrive(message, message.sent_ns + 1)


def test_a_network_that_loses_a_flow_is_named(tmp_path: Path) -> None:
    source = tmp_path / "loses.py"
    source.write_text(
        "from tests.unit.test_flows_as_messages import Loses\nPLUGIN = Loses\n", encoding="utf-8"
    )
    flows = flows_of([(0, 1, 10, 0), (1, 0, 10, 0)])
    with pytest.raises(DeadlockError, match="1 message was given to the network loses and did not"):
        simulate(RING.graph, flows, Choice(network=str(source)), fabric=RING)


@pytest.mark.parametrize(
    ("name", "settings_", "dimensions"),
    [
        ("ring", {"ranks": 6}, [("ring", 6)]),
        ("fully_connected", {"ranks": 5}, [("fully_connected", 5)]),
        ("torus", {"sizes": [3, 4]}, [("ring", 3), ("ring", 4)]),
        ("R(4)_FC(3)_SW(2)", {}, [("ring", 4), ("fully_connected", 3), ("switch", 2)]),
        ("leaf_spine", {}, None),
        ("dgx1", {}, None),
    ],
)
def test_a_fabric_is_a_product_where_its_links_are(
    name: str, settings_: dict[str, object], dimensions: list[tuple[str, int]] | None
) -> None:
    found = dimensions_of(shown(name, settings_))
    assert (found and [of[:2] for of in found]) == dimensions


def test_a_network_over_dimensions_refuses_a_fabric_that_is_none(twin: str) -> None:
    fabric = shown("leaf_spine", {})
    flows = flows_of([(0, 1, 10, 0)])
    with pytest.raises(ConfigError, match=r"--network: .*twin.* runs over dimensions, and leaf_sp"):
        simulate(fabric.graph, flows, Choice(network=twin), fabric=fabric)
    with pytest.raises(ConfigError, match="external needs options"):
        from yantra.run.over_shown import scenario_over

        scenario_over(RING, "external", "ecmp")
