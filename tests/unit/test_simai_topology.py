"""Topology files of SimAI as fabrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.fabric.graphs import files
from yantra.fabric.graphs.graph import Graph

LINES = (
    "6 2 1 1 6 H100",
    "4 5",
    "0 4 2880Gbps 0.000025ms 0",
    "1 4 2880Gbps 0.000025ms 0",
    "0 5 400Gbps 0.0005ms 0",
    "1 5 400Gbps 0.0005ms 0",
    "2 5 400Gbps 0.0005ms 0",
    "3 5 400Gbps 0.0005ms 0",
)


def read(folder: Path, *lines: str) -> Graph:
    path = folder / "topology.txt"
    path.write_text("\n".join(lines) + "\n")
    return files.read(path)


def generated(servers: int, each: int, rails: int) -> list[str]:
    gpus = servers * each
    cables = [
        f"{server * each + at} {gpus + server} 2880Gbps 0.000025ms 0"
        for server in range(servers)
        for at in range(each)
    ]
    cables += [
        f"{gpu} {gpus + servers + gpu % each % rails} 400Gbps 0.0005ms 0" for gpu in range(gpus)
    ]
    spine = gpus + servers + rails
    cables += [f"{spine - 1 - at} {spine} 1600Gbps 0.0005ms 0" for at in range(rails)]
    switches = " ".join(map(str, range(gpus, spine + 1)))
    head = f"{spine + 1} {each} {servers} {rails + 1} {len(cables)} H100"
    return [head, switches, *cables]


def test_the_ranks_are_joined_as_the_file_says(tmp_path: Path) -> None:
    graph = read(tmp_path, *LINES)
    assert graph.ranks == 4
    rates = {
        graph.labels[label]: rate
        for label, rate in zip(graph.links.label, graph.links.bytes_per_ns, strict=True)
    }
    assert rates == {"NVLink": 360, "rank to switch": 50, "switch to rank": 50}
    latencies = dict(zip(graph.links.label, graph.links.latency_ns, strict=True))
    assert sorted(latencies.values()) == [25, 500, 500]
    assert len(graph.links.label) == 12


@pytest.mark.parametrize(("servers", "each", "rails"), [(2, 4, 4), (3, 8, 8), (4, 2, 1)])
def test_a_server_is_a_box_with_its_nvswitch(
    tmp_path: Path, servers: int, each: int, rails: int
) -> None:
    graph = read(tmp_path, *generated(servers, each, rails))
    boxes = list(graph.boxes)
    assert boxes[: servers * each] == [rank // each for rank in range(servers * each)]
    assert sorted(boxes[servers * each :])[-servers:] == list(range(servers))
    assert sum(box < 0 for box in boxes) == rails + 1


def test_an_order_of_lines_changes_nothing(tmp_path: Path) -> None:
    one = read(tmp_path, *LINES)
    head, switches, *cables = LINES
    other = read(tmp_path, head, switches, *reversed(cables))
    assert list(one.boxes[:4]) == list(other.boxes[:4])
    assert sorted(one.links.bytes_per_ns) == sorted(other.links.bytes_per_ns)


@pytest.mark.parametrize(
    ("at", "line", "problem"),
    [
        (0, "6 2 1 1 6", "six words of SimAI"),
        (0, "6 3 1 1 6 H100", "GPUs of a server: expected a divisor of the 4 GPUs, got 3"),
        (0, "6 2 1 9 6 H100", "switches: expected a whole number from 0 to 5"),
        (0, "6 2 1 1 7 H100", "the file ends"),
        (1, "4 4", "node 4 is there twice"),
        (2, "0 4 2880Gbps 0.000025ms 0.1", "no network here loses packets"),
        (7, "2 5 400Gbps 0.0005ms 0", "host 3 has no link"),
    ],
)
def test_a_wrong_line_is_told_with_its_place(
    tmp_path: Path, at: int, line: str, problem: str
) -> None:
    lines = list(LINES)
    lines[at] = line
    with pytest.raises(ConfigError, match=problem):
        read(tmp_path, *lines)
