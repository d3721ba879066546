"""Files of clusters: a user's own, and the errors of mistakes in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.fabric import clusters
from yantra.fabric.clusters.describe import report

GOOD = """
title: Two boards of four
sources: {sheet: "The board's data sheet, 2025"}
device:
  name: Board
  dtype: bf16
  peak: {bf16: {value: 100 TFLOP/s, source: "[sheet] page 1"}}
  memory: {value: 24 GiB, source: "[sheet] page 1"}
  memory_bandwidth: {value: 1 TB/s, source: "[sheet] page 1"}
host:
  bandwidth: {value: 32 GB/s, source: "[sheet] page 2"}
  latency: {value: 1 us, basis: estimate, source: "a guess"}
network:
- name: links
  kind: ring
  members: {value: 4, source: "[sheet] page 3"}
  granule: {value: 2, source: "[sheet] page 3"}
  links: {value: 2, source: "[sheet] page 3"}
  bandwidth: {value: 25 GB/s, source: "[sheet] page 3"}
  latency: {value: 0.5 us, source: "[sheet] page 3"}
  algorithms: {all_reduce: ring, reduce_scatter: ring, all_gather: ring, all_to_all: [direct4]}
- name: cable
  kind: switch
  members: {value: 2, source: "[sheet] page 4"}
  links: {value: 1, source: "[sheet] page 4"}
  bandwidth: {value: 100 Gb/s, source: "[sheet] page 4"}
  latency: {value: 2 us, source: "[sheet] page 4"}
  algorithms: {all_reduce: ring, reduce_scatter: ring, all_gather: ring, all_to_all: ring}
"""

TORUS = """
- name: torus
  kind: torus
  shapes:
    small: [2x2]
    block: 4x4
    most: {value: 64, source: "[sheet] page 5"}
    source: "[sheet] page 5"
  links: {value: 4, source: "[sheet] page 5"}
  bandwidth: {value: 10 GB/s, source: "[sheet] page 5"}
  latency: {value: 1 us, source: "[sheet] page 5"}
  algorithms: {all_reduce: ring, reduce_scatter: ring, all_gather: ring, all_to_all: ring}
"""
GOOD_TORUS = GOOD[: GOOD.index("- name: links")].rstrip() + TORUS


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own_is_a_cluster(tmp_path: Path) -> None:
    machine = clusters.load(write(tmp_path, GOOD))
    assert (machine.name, machine.title) == ("mine", "Two boards of four")
    assert machine.memory_bytes == 24 * 2**30
    assert machine.network[0].device_bytes_per_s() == 50e9
    parts = machine.scenario_parts(8)
    assert [(d["kind"], d["size"]) for d in parts["topology"]] == [("ring", 4), ("switch", 2)]
    assert machine == clusters.load("mine.yaml", folder=tmp_path)


def test_a_bounded_cluster_says_where_it_ends(tmp_path: Path) -> None:
    machine = clusters.load(write(tmp_path, GOOD))
    for asked, nearest in ((9, "8"), (10**30, "8"), (5, "4 and 8"), (7, "4 and 8")):
        with pytest.raises(ConfigError, match=f"nearest possible: {nearest}$"):
            machine.scenario_parts(asked)


def test_a_torus_of_two_dimensions(tmp_path: Path) -> None:
    machine = clusters.load(write(tmp_path, GOOD_TORUS))
    topology = machine.scenario_parts(32)["topology"]
    assert [(d["kind"], d["size"], d["bandwidth"]) for d in topology] == [
        ("ring", 4, "20 GB/s"),
        ("ring", 8, "20 GB/s"),
    ]


CASES: list[tuple[str, str, str]] = [
    # what is there, what replaces it, the error
    ("title: Two", "titel: Two", "mine.yaml: titel: unknown key; did you mean 'title'?"),
    ("title: Two boards of four", "", "mine.yaml: title: missing"),
    ("value: 24 GiB", "value: 24", 'a number needs its unit; expected a size such as "80 GiB"'),
    ("1 TB/s", "1 TB", "'TB' is a unit of size, not of bandwidth"),
    ("100 TFLOP/s", "0 TFLOP/s", "device.peak.bf16.value: must be above 0 FLOP/s; got 0 TFLOP/s"),
    (
        "  memory: {",
        '  achievable: {bf16: {value: 101 TFLOP/s, source: "[sheet] page 1"}}\n  memory: {',
        "device.achievable.bf16.value: must not be above the peak of 100 TFLOP/s",
    ),
    (
        "  memory: {",
        '  achievable: {fp8: {value: 1 TFLOP/s, source: "[sheet] page 1"}}\n  memory: {',
        "device.achievable.fp8: unknown key; expected one of bf16",
    ),
    ("dtype: bf16", "dtype: fp8", 'device.dtype: expected one of bf16, got "fp8"'),
    ("peak: {bf16:", "peak: {bf61:", "device.peak.bf61: unknown key; did you mean 'bf16'?"),
    ("{value: 24 GiB, source: ", "{value: 24 GiB, from: ", "device.memory.from: unknown key"),
    (', source: "[sheet] page 2"', "", "host.bandwidth.source: missing"),
    ('"a guess"', '""', 'host.latency.source: expected a text, got ""'),
    (
        '"[sheet] page 2"',
        '"[shet] page 2"',
        "host.bandwidth.source: [shet] is not in sources; did you mean 'sheet'?",
    ),
    (
        "basis: estimate",
        "basis: guess",
        'host.latency.basis: expected one of published, derived, estimate, yours, got "guess"',
    ),
    ("1 us,", "0.1 ns,", 'host.latency.value: expected a whole number of ns, got "0.1 ns"'),
    ("kind: ring", "kind: rong", "network[0].kind: no topology is named 'rong'"),
    ("value: 4,", "value: 4.5,", "network[0].members.value: expected a whole number of at least 1"),
    ("value: 4,", "value: 1,", "network[0].members.value: must be at least 2; got 1"),
    (
        'granule: {value: 2, source: "[sheet] page 3"}',
        'granule: {value: 3, source: "[sheet] page 3"}',
        "network[0].granule.value: expected a divisor of 4, got 3",
    ),
    (
        '  members: {value: 4, source: "[sheet] page 3"}\n',
        "",
        "network[0].granule.value: expected a level with members, got 2",
    ),
    ("{all_reduce: ring, ", "{all_reduce: rong, ", "no collective algorithm is named 'rong'"),
    ("all_to_all: [direct4]", "all_to_all: []", "expected a list with at least one item, got []"),
    (", all_to_all: [direct4]", "", "network[0].algorithms.all_to_all: missing"),
    (
        "host:",
        "collectives: {chunks: 0}\nhost:",
        "collectives.chunks: expected a whole number of at least 1, got 0",
    ),
    (
        "host:",
        "collectives: {inter_dimension: up}\nhost:",
        "collectives.inter_dimension: expected one of ascending, round_robin, themis, got",
    ),
    ("kind: ring", "kind: torus", "network[0].members: unknown key"),
]


@pytest.mark.parametrize(("old", "new", "said"), CASES)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as raised:
        clusters.load(write(tmp_path, GOOD.replace(old, new, 1)))
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"{tmp_path}/mine.yaml: ")


def test_only_the_last_level_is_without_a_limit(tmp_path: Path) -> None:
    unlimited = GOOD.replace('  members: {value: 4, source: "[sheet] page 3"}\n', "")
    unlimited = unlimited.replace('  granule: {value: 2, source: "[sheet] page 3"}\n', "")
    with pytest.raises(ConfigError) as raised:
        clusters.load(write(tmp_path, unlimited))
    assert "network[0].members: missing; only the last level is without" in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("4x4", "4xx4", 'network[0].shapes.block: expected a shape such as "4x4x4", got "4xx4"'),
        ("[2x2]", "[2x2x2]", "network[0].shapes.small[0]: expected 2 sides, got 2x2x2"),
        ("    block: 4x4\n", "", "network[0].shapes.block: missing"),
        ("kind: torus", "kind: ring", "network[0].shapes: unknown key"),
    ],
)
def test_a_mistake_in_shapes_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD_TORUS
    with pytest.raises(ConfigError) as raised:
        clusters.load(write(tmp_path, GOOD_TORUS.replace(old, new, 1)))
    assert said in str(raised.value)


@pytest.mark.parametrize("text", ["", "- 1", "title: []", "network: 3", "a: b: c"])
def test_what_is_no_cluster_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.yaml"):
        clusters.load(write(tmp_path, text))


def test_an_unknown_name_is_refused_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        clusters.load("hgx-h10")
    known = ", ".join(clusters.names())
    assert str(raised.value) == (
        "cluster: no cluster is named 'hgx-h10'; did you mean 'hgx-h100'? "
        f"Known: {known}, or the path of a YAML file"
    )
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        clusters.load(tmp_path / "none.yaml")


def test_a_machine_that_nobody_measured_says_so() -> None:
    for name in ("trainium2", "gaudi3", "tpu7x"):
        assert "data sheets; no kernel" in report(clusters.load(name))
    for name, said in (("hgx-h100", "kernels and collectives"), ("hgx-b300", "collectives")):
        assert f"rests on: {said} measured" in report(clusters.load(name))
