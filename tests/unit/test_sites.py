"""Sites: files of fabrics, clusters at them, and what collectives between their nodes take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.nccl_logs import log
from yantra.accuracy.user_collectives import collectives_text
from yantra.base.errors import ConfigError
from yantra.collectives import sites
from yantra.collectives.selection import FIELD, selection_of
from yantra.collectives.selection.measured import fits
from yantra.collectives.selection.over_nodes import fabric_of, terms_of
from yantra.collectives.selection.selection import Group, Timed
from yantra.fabric import clusters
from yantra.scenario import cluster_parts
from yantra.scenario.named import expanded

OVER = Group(16, (("switch", 8), ("switch", 2)), (0, 1), 0, 8)
SITE = """title: mine
machine: hgx-h100
fabric: Own Ethernet
adapters: 4
rate: 400 Gb/s
latency: 2 us
like: [a100-ndv4, a100-p4de, mi300x, mi355x]
reached: 0.8
source: "a data sheet"
"""


def over(site: str, kind: str = "all_reduce", group: Group = OVER, **given: Any) -> list[Any]:
    options = {"system": "h100", **({"nodes": site} if site else {}), **given}
    selection = selection_of(FIELD.read({"kind": "measured", "options": options}, "", ""))
    return list(selection.choices(kind, group))


@pytest.mark.parametrize("name", sites.names())
def test_a_site_names_a_cluster_of_its_nodes_and_measured_sites(name: str) -> None:
    site = sites.load(name)
    machine = clusters.load(name)
    assert machine.site == name and machine.name == site.machine
    assert site.rests_on and all((one, "all_reduce", "nodes") in fits() for one in site.rests_on)
    rate = machine.network[-1].device_bytes_per_s("nominal")
    assert rate == pytest.approx(site.node_rate * 1e9 / site.devices)
    assert machine.network[-1].device_bytes_per_s() <= rate


@pytest.mark.parametrize("name", sites.names())
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
def test_no_adapter_carries_more_than_its_rate(name: str, kind: str) -> None:
    site = sites.load(name)
    for nodes in (2, 4, 16):
        group = Group(8 * nodes, (("switch", 8), ("switch", nodes)), (0, 1), 0, 8)
        timed = over(name, kind, group)[0].algorithms
        assert isinstance(timed, Timed)
        size, ns = timed.points[-1]
        whole = size * (8 * nodes if kind == "all_gather" else 1)
        # What leaves a node at least: all of it once, of an all-to-all all but a node's share.
        leaves = (
            8 * size * (nodes - 1) / nodes if kind == "all_to_all" else whole * (nodes - 1) / nodes
        )
        leaves *= 2 if kind == "all_reduce" else 1
        assert leaves / ns <= site.node_rate * 1.001


def test_a_site_is_chosen_by_name_beside_a_cluster_or_in_a_scenario(tmp_path: Path) -> None:
    one, other = clusters.load("aws-p5"), clusters.load("hgx-h100@aws-p5")
    assert one == other and one.network[-1].name == "EFA"
    tree = {"cluster": {"name": "hgx-h100", "ranks": 16, "site": "aws-p5"}}
    found, levels, machine = expanded(tree, "")
    assert machine == one and levels == ("NVLink", "EFA")
    assert found["collectives"]["selection"]["options"]["nodes"] == "aws-p5"
    path = tmp_path / "mine.yaml"
    path.write_text(SITE)
    machine = clusters.at_site(clusters.load("hgx-h100"), path, "cluster.site")
    assert machine.network[-1].name == "Own Ethernet"
    assert cluster_parts(machine, 16).get("topology") is not None


@pytest.mark.parametrize(
    ("like", "problem"),
    [
        ("like: [a100-ndv5]\n", "like: expected one of .*, got .a100-ndv5.; did you mean"),
        ("measured: nowhere\n", "measured: expected one of .*, got .nowhere."),
        ("", "like: missing; expected some of .*a100-ndv4"),
    ],
)
def test_a_site_like_none_measured_is_refused(like: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "title: mine\nmachine: hgx-h100\nfabric: RoCE\nadapters: 4\nrate: 50 GB/s\n"
        f"latency: 5 us\nsource: ours\n{like}"
    )
    with pytest.raises(ConfigError, match=problem):
        sites.load(file)


def test_a_site_does_not_fit_other_nodes() -> None:
    with pytest.raises(ConfigError, match="have 8 devices"):
        clusters.load("gb200-nvl72@aws-p5")
    with pytest.raises(ConfigError, match="no site is named 'aws-p9'"):
        clusters.load("hgx-h100@aws-p9")


def test_what_a_fabric_takes_is_that_of_what_it_is_like() -> None:
    small = {name: dict(over(name)[0].algorithms.points)[1024] for name in sites.names()}
    assert small["aws-p5"] > 2 * small["azure-ndv5"]
    assert small["azure-ndv5"] < small["gcp-a3-mega"] < small["aws-p5"]


def test_a_measured_site_has_its_own_terms_and_narrow_intervals() -> None:
    inner = fits()["mi300x", "all_reduce", "node"]
    own = terms_of(fabric_of("roce-mi300x", 50.0), "all_reduce", 16, 8, inner)
    assert own == fits()["mi300x", "all_reduce", "nodes"].terms
    measured = over("roce-mi300x", system="mi300x")
    others = over("aws-p5")
    assert max(one.algorithms.interval for one in measured) < 0.25
    assert others[0].algorithms.interval > 1.0 > others[-1].algorithms.interval


def test_protocols_that_a_fabric_has_not_do_not_run() -> None:
    names = {one.protocol for one in terms_of(
        fabric_of("gcp-a3-high", 0.0), "all_reduce", 16, 8, fits()["h100", "all_reduce", "node"]
    )}  # fmt: skip
    assert names == {"Simple"}


def test_fewer_members_of_a_fully_connected_node_have_fewer_links() -> None:
    def times(ranks: int) -> float:
        group = Group(ranks, (("fully_connected", 8),), None, 0, ranks)
        return float(over("", "all_reduce", group, system="mi300x")[0].algorithms.points[-1][1])

    assert times(2) > times(4) > times(8)
    assert times(2) / times(8) == pytest.approx(7 * (1 + 0.25) / (7 / 4 + 1 / 16), rel=0.01)


def test_own_times_at_a_site_are_near_with_eight_of_them(tmp_path: Path) -> None:
    # nccl-tests of two p4de.24xlarge: aws-samples/awsome-distributed-training (MIT-0).
    given = [
        (1024, 165.0), (8192, 175.9), (65536, 227.4), (524288, 260.3), (4194304, 533.9),
        (33554432, 1540.2), (268435456, 7201.7), (2147483648, 51406.0),
    ]  # fmt: skip
    other = [(16384, 193.4), (131072, 229.7), (1048576, 309.4), (134217728, 3912.9)]
    path = tmp_path / "nccl.log"
    path.write_text(log("all_reduce", given, ranks=16, nodes=2))
    made = collectives_text(path, "aws-p4de")
    assert made.is_cluster
    own = tmp_path / "own.yaml"
    own.write_text(made.text)
    machine = clusters.load(own)
    assert machine.site == "aws-p4de" and machine.network[-1].name == "EFA"
    timed = over("", group=OVER, file=str(own), system="a100")[0].algorithms
    for size, us in other:
        at, ns = zip(*timed.points, strict=True)
        assert float(np.interp(size, at, ns)) == pytest.approx(us * 1e3, rel=0.12)
