"""Boxes of graphs made by hand: found by ranks' own switches, said in each form, never in vain."""

from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

from tests.boxes import LISTED
from yantra import _core
from yantra.base.errors import ConfigError
from yantra.compile.fabric import native
from yantra.fabric.graphs.files import read
from yantra.fabric.graphs.files.housing import with_own_switches
from yantra.fabric.graphs.graph import NO_BOX, Graph

HOSTS, GPUS = 4, 8


def pod(*, box_column: bool = False, uplinks_in_boxes: bool = False) -> str:
    rows = ["from,to,bandwidth,latency" + (",box" if box_column else "")]
    for rank in range(HOSTS * GPUS):
        host = rank // GPUS
        inside = f",host {host}" if box_column else ""
        rows.append(f"{rank},nvswitch {host},450 GB/s,300 ns{inside}")
        rows.append(f"{rank},leaf {host},50 GB/s,500 ns{',' if box_column else ''}")
    rows += [
        f"leaf {host},spine,400 GB/s,500 ns{',' if box_column else ''}" for host in range(HOSTS)
    ]
    if uplinks_in_boxes:
        rows += [f"nvswitch {host},spine,400 GB/s,500 ns" for host in range(HOSTS)]
    return "\n".join(rows) + "\n"


def graph(folder: Path, text: str, name: str = "pod.csv") -> Graph:
    (folder / name).write_text(text)
    return read(folder / name)


def by_name(made: Graph) -> dict[str, int]:
    return {made.name_of(device): int(made.boxes[device]) for device in range(made.devices)}


@pytest.mark.parametrize("box_column", [False, True])
@pytest.mark.parametrize("routing", ["ecmp", "shortest", "spray", "adaptive", "d_mod_k", "up_down"])
def test_traffic_of_a_host_takes_the_switch_of_its_own(
    tmp_path: Path, box_column: bool, routing: str
) -> None:
    made = graph(tmp_path, pod(box_column=box_column))
    boxes = by_name(made)
    assert [boxes[f"nvswitch {host}"] for host in range(HOSTS)] == [
        boxes[str(GPUS * host)] for host in range(HOSTS)
    ]
    assert {boxes[f"leaf {host}"] for host in range(HOSTS)} == {NO_BOX} == {boxes["spine"]}
    router = _core.Router(native(made), routing)
    for source, destination in permutations(range(GPUS), 2):
        path = router.path(source, destination, number=source)
        assert [made.name_of(int(made.links.end[link])) for link in path] == [
            "nvswitch 0",
            made.name_of(destination),
        ]
    assert len(router.path(0, GPUS)) == 4, "other hosts are reached over leaves"


def test_a_switch_that_leads_elsewhere_makes_no_box(tmp_path: Path) -> None:
    made = graph(tmp_path, pod(uplinks_in_boxes=True))
    assert (made.boxes == NO_BOX).all()


SETS = {
    "nested": ([{0, 1}, {2, 3}, {0, 1, 2, 3}], 6, [{0, 1}, {2, 3}]),
    "of all": ([{0, 1, 2, 3}], 4, []),
    "twice": ([{0, 1}, {0, 1}], 4, [{0, 1}]),
    "rails across hosts": ([{0, 1}, {2, 3}, {0, 2}, {1, 3}], 6, []),
    "of one": ([{0}], 4, []),
}


@pytest.mark.parametrize("name", SETS)
def test_the_smallest_sets_of_ranks_with_a_switch_are_boxes(name: str) -> None:
    sets, ranks, expected = SETS[name]
    cables = [(rank, ranks + at) for at, members in enumerate(sets) for rank in sorted(members)]
    start, end = (np.array(column, np.uint32) for column in zip(*cables, strict=True))
    none = np.full(ranks + len(sets), NO_BOX, np.int32)
    boxes = with_own_switches(ranks, start, end, none)
    together = {(a, b) for a, b in combinations(range(ranks), 2) if boxes[a] == boxes[b] != NO_BOX}
    assert together == {pair for one in expected for pair in combinations(sorted(one), 2)}
    for at, members in enumerate(sets):
        of = {int(boxes[rank]) for rank in members}
        assert int(boxes[ranks + at]) == (of.pop() if members in expected else NO_BOX)


def test_a_box_of_ranks_takes_in_the_switch_of_its_own(tmp_path: Path) -> None:
    boxes = by_name(graph(tmp_path, LISTED, "pod.yaml"))
    assert boxes["a"] == boxes["b"] == boxes["inner"] == 0
    assert boxes["c"] == boxes["d"] == 1
    assert boxes["leaf"] == NO_BOX


REFUSED = {
    "nothing inside joins them": (
        LISTED.replace("{from: b, to: inner", "{from: b, to: other"),
        "pod.yaml",
        'box "left": no links inside join a and b, so it would hold no traffic; '
        "name the switches that are in it, too, or leave it out",
    ),
    "two boxes": (
        LISTED.replace("[c, d]", "[b, c, d]"),
        "pod.yaml",
        'boxes.right[0]: "b" is in box "left", so it cannot be in "right" too',
    ),
    "two boxes in CSV": (
        "from,to,bandwidth,latency,box\n0,1,1 GB/s,1 ns,x\n1,2,1 GB/s,1 ns,y\n",
        "pod.csv",
        'line 3, box: "1" is in box "x", so it cannot be in "y" too',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_boxes_that_mean_nothing_are_refused(tmp_path: Path, name: str) -> None:
    text, file, said = REFUSED[name]
    with pytest.raises(ConfigError) as error:
        graph(tmp_path, text, file)
    assert str(error.value).endswith(said)
