"""Named clusters in scenario files, and the commands that show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yantra import scenario as scenarios
from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.fabric.clusters import names
from yantra.scenario import Scenario

WORKLOAD = 'workload: {traces: "step.{rank}.et"}\n'


def read(cluster: str, *lines: str) -> Scenario:
    return scenarios.loads("\n".join([WORKLOAD + f"cluster: {cluster}", *lines]))


def parts(scenario: Scenario) -> dict[str, Any]:
    names = ("topology", "device", "memory", "machine", "collectives", "stack")
    return {name: getattr(scenario, name) for name in names}


def test_a_name_stands_for_the_parts_of_the_cluster() -> None:
    scenario = read("{name: hgx-h100, ranks: 64}", "stack: roofline")
    expected = scenarios.cluster_parts("hgx-h100", 64, "bf16", stack="roofline")
    assert parts(scenario) == expected
    assert scenario.topology.ranks == 64


@pytest.mark.parametrize("cluster", ["hgx-h100", "{name: hgx-h100}"])
def test_without_a_number_there_are_as_many_ranks_as_traces(tmp_path: Path, cluster: str) -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    for rank in range(16):
        trace.build().write(tmp_path / f"step.{rank}.et")
    path = tmp_path / "step.yaml"
    path.write_text(WORKLOAD + f"cluster: {cluster}\n")
    assert scenarios.load(path).topology.ranks == 16
    assert main(["run", str(path)]) == 0


def test_what_the_file_says_goes_before_what_the_cluster_says() -> None:
    scenario = read(
        "{name: hgx-h100, ranks: 16, dtype: fp8, device: {peak: 1 PFLOP/s}, "
        "memory: {kind: pool, latency: 7 ns}}",
        "collectives: {chunks: 2, all_gather: [ring, ring]}",
        "stack: nominal",
    )
    assert scenario.device.peak_flops == 1e15
    assert scenario.device.memory_bytes_per_s == 3.35e12
    assert (scenario.memory.kind, scenario.memory.latency_ns) == ("pool", 7)
    assert scenario.memory.bytes_per_ns == 64
    assert scenario.topology.dimensions[0].bytes_per_ns == 450
    assert scenario.collectives.chunks == 2
    assert scenario.collectives.all_gather == ("ring", "ring")
    assert scenario.collectives.all_reduce == ("ring", "halving_doubling")


def test_another_network_brings_its_own_collectives() -> None:
    scenario = read(
        "{name: mi300x, topology: [{kind: ring, size: 4, bandwidth: 1 GB/s, latency: 1 us}]}",
        "collectives: {all_reduce: [ring]}",
    )
    assert scenario.topology.ranks == 4
    assert scenario.device == scenarios.cluster_parts("mi300x", 8)["device"]
    assert scenario.collectives.all_to_all is None


def test_algorithms_have_the_names_of_the_semantics() -> None:
    scenario = read("{name: hgx-h100, ranks: 32}", "semantics: astra-sim")
    assert scenario.collectives.all_reduce == ("ring", "halvingDoubling")


def test_a_path_starts_from_the_folder_of_the_scenario(tmp_path: Path) -> None:
    from yantra.fabric import clusters

    text = Path(clusters.path_of("tpu-v4")).read_text(encoding="utf-8")
    (tmp_path / "ours.yaml").write_text(text, encoding="utf-8")
    chosen = "cluster: {name: ours.yaml, ranks: 64}\nstack: roofline\n"
    (tmp_path / "s.yaml").write_text(WORKLOAD + chosen)
    expected = scenarios.cluster_parts("tpu-v4", 64, "bf16", stack="roofline")
    expected["machine"] = expected["machine"].replace(name="ours")
    assert parts(scenarios.load(tmp_path / "s.yaml")) == expected


@pytest.mark.parametrize("name", ["gb200-nvl72", "mi300x", "tpu-v5p"])
@pytest.mark.parametrize("ranks", [8, 128])
def test_what_is_written_reads_back_as_the_same(name: str, ranks: int) -> None:
    scenario = read(f"{{name: {name}, ranks: {ranks}}}")
    assert scenarios.loads(scenarios.to_yaml(scenario)) == scenario


CASES = [
    (
        "hgx-h10",
        "cluster: no cluster is named 'hgx-h10'; did you mean 'hgx-h100'? Known: "
        f"{', '.join(names())}, or the path of a YAML file",
    ),
    ("{name: 3}", "cluster.name: expected a text, got 3"),
    (
        "{name: hgx-h100, rank: 8}",
        "cluster.rank: unknown key; did you mean 'ranks'?",
    ),
    ("{name: hgx-h100, ranks: 8.0}", "cluster.ranks: expected a whole number, got 8.0"),
    (
        "{name: hgx-h100, ranks: 12}",
        "cluster.ranks: 12 ranks cannot be had on hgx-h100 (NVLink: 2 to 8 in one domain, or "
        "equal domains of 8); nearest possible: 8 and 16",
    ),
    (
        "hgx-h100",
        "cluster.ranks: missing, and there is no step.0.et to count; expected a whole number",
    ),
    (
        "{name: hgx-h100, ranks: 8, dtype: fp4}",
        "cluster.dtype: expected a dtype with a peak rate on hgx-h100 (fp64, fp32, tf32, bf16, "
        "fp16, fp8, int8), got \"fp4\"; did you mean 'fp64'?",
    ),
    (
        "{name: hgx-h100, ranks: 8, speeds: achievable}",
        "cluster.speeds: is part of the stack now; expected stack: roofline at the top of the file",
    ),
    (
        "{name: hgx-h100, ranks: 8, topology: []}",
        "cluster.ranks: only without topology, which has its own number",
    ),
    (
        "{name: hgx-h100, ranks: 8, device: {peek: 1}}",
        "cluster.device.peek: unknown key; did you mean 'peak'?",
    ),
    ("{name: hgx-h100, ranks: 8, device: 3}", "cluster.device: expected a mapping, got 3"),
    ("3", "cluster: expected the name of a cluster (yantra cluster show), or a mapping, got 3"),
]


@pytest.mark.parametrize(("cluster", "said"), CASES)
def test_a_mistake_is_named_with_its_place(cluster: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(cluster)
    assert str(raised.value) == said


def test_a_mistake_elsewhere_is_reported_as_ever() -> None:
    with pytest.raises(ConfigError) as raised:
        read("{name: hgx-h100, ranks: 8}", "collectives: [ring]")
    assert str(raised.value) == 'collectives: expected a mapping, got ["ring"]'
    with pytest.raises(
        ConfigError, match=r"^workload: expected a mapping such as {templates: step.yw}, got 3$"
    ):
        scenarios.loads("cluster: hgx-h100\nworkload: 3\n")


def test_the_schema_knows_names() -> None:
    cluster = scenarios.json_schema()["properties"]["cluster"]  # type: ignore[index]
    whole, named, text = cluster["anyOf"]
    assert whole["required"] == ["topology"]
    assert named["required"] == ["name"]
    assert set(named["properties"]) >= {"ranks", "dtype", "device"}
    assert text["type"] == "string"


def test_list_shows_every_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "list"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "devices", "peak", "memory", "scale-up", "scale-out"]
    assert [row.split()[0] for row in rows] == sorted(row.split()[0] for row in rows)
    assert "gb200-nvl72    72" in "\n".join(rows)
    assert main(["cluster", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == [row.split()[0] for row in rows]
    memory = {one["name"]: one["memory_bytes"] for one in listed}
    assert memory["gb200-nvl72"] == 186 * 2**30


def test_show_gives_every_number_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    from yantra.fabric import clusters

    machine = clusters.load("mi300x")
    assert main(["cluster", "show", "mi300x"]) == 0
    text = capsys.readouterr().out
    for key, number in machine.numbers():
        (line,) = [line for line in text.splitlines() if line.split()[:1] == [key]]
        assert number.written in line and number.basis in line and number.source in line
    assert main(["cluster", "show", "mi300x", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(one["key"], one["source"]) for one in shown["numbers"]] == [
        (key, number.source) for key, number in machine.numbers()
    ]
    assert shown["numbers"][0] | {"source": ""} == {
        "key": "device.memory",
        "value": 192 * 2**30,
        "unit": "B",
        "written": "192 GiB",
        "source": "",
        "basis": "published",
    }


def test_show_with_ranks_ends_with_a_part_of_a_scenario_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--ranks", "64", "--dtype", "fp8", "--stack", "nominal"]
    assert main(["cluster", "show", "hgx-h200", *options]) == 0
    part = capsys.readouterr().out.partition("# 64 ranks, as a part of a scenario file\n")[2]
    expected = scenarios.cluster_parts("hgx-h200", 64, "fp8", stack="nominal")
    assert parts(scenarios.loads(WORKLOAD + part)) == expected
    assert main(["cluster", "show", "hgx-h200", *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"] == parse_yaml(part, "part")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "hgx"], "error: cluster: no cluster is named 'hgx'"),
        (["show", "hgx-h100", "--ranks", "9"], "error: --ranks: 9 ranks cannot be had"),
        (["show", "hgx-h100", "--dtype", "fp4"], "error: --dtype: expected a dtype with a peak"),
        (["sho"], "error: yantra cluster: no command is named 'sho'; did you mean 'show'?"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_message(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", *arguments]) == 2
    assert capsys.readouterr().err.startswith(said)


def test_a_wrong_key_of_the_workload_is_told_before_ranks_that_it_would_have_given() -> None:
    with pytest.raises(ConfigError, match=r"^workload\.modle: unknown key; did you mean 'model'"):
        scenarios.loads("cluster: hgx-h100\nworkload: {modle: llama3-8b}\n")


def test_a_mistake_found_by_compiling_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(
        "workload: {model: llama3-8b, plan: {tp: 8, dp: 2}}\ncluster: {name: hgx-h100, ranks: 8}\n"
    )
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {path}: workload.plan: has 16 ranks")
