"""`--set` equals editing the file; x1 changes nothing; a wrong path is refused in a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import scenario as scenarios
from yantra.base.errors import ConfigError
from yantra.scenario.settings import grid, parsed

PLAIN = """workload: {traces: "step.{rank}.et"}
cluster:
  topology:
  - {kind: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}
  - {kind: switch, size: 2, bandwidth: 25 GB/s, latency: 1 us}
collectives: {all_reduce: [ring, ring], chunks: 4}
"""
NAMED = """workload: {traces: "step.{rank}.et"}
cluster: {name: hgx-h100, ranks: 16}
"""
MODEL = """workload: {model: llama3-8b, plan: {tp: 8, dp: 2}}
cluster: hgx-h100
"""


def load(folder: Path, text: str, *settings: str) -> scenarios.Scenario:
    (folder / "step.yaml").write_text(text)
    return scenarios.load(folder / "step.yaml", settings=parsed(settings))


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "setting", "old", "new"),
    [
        (PLAIN, "network=ideal", "collectives:", "network: ideal\ncollectives:"),
        (PLAIN, "cluster.topology[0].bandwidth=100 GB/s", "50 GB/s", "100 GB/s"),
        (PLAIN, "cluster.topology[0].bandwidth=x2", "50 GB/s", "100 GB/s"),
        (PLAIN, "cluster.topology[1].bandwidth=-20%", "25 GB/s", "20 GB/s"),
        (PLAIN, "collectives.chunks=8", "chunks: 4", "chunks: 8"),
        (PLAIN, "collectives.chunks=x0.5", "chunks: 4", "chunks: 2"),
        (PLAIN, "collectives.all_reduce[1]=direct", "[ring, ring]", "[ring, direct]"),
        (PLAIN, "collectives.all_reduce={custom: 'a.{position}.et'}", "[ring, ring]",
         "{custom: 'a.{position}.et'}"),
        (PLAIN, "collectives.endpoint_delay=x3", "chunks: 4", "chunks: 4, endpoint_delay: 30 ns"),
        (PLAIN, "network.options.speedup=2", "collectives:",
         "network: {kind: ideal, options: {speedup: 2}}\ncollectives:"),
        (PLAIN, "workload.traces='other.{rank}.et'", "step.{rank}", "other.{rank}"),
        (PLAIN, "workload.groups={1: [0, 1]}", '.et"}', '.et", groups: {1: [0, 1]}}'),
        (NAMED, "cluster.ranks=x2", "ranks: 16", "ranks: 32"),
        (NAMED, "cluster.name=hgx-h200", "hgx-h100", "hgx-h200"),
        (NAMED, "cluster.device.peak=x2", "16}", "16, device: {peak: x2}}"),
        (NAMED, "cluster.topology.NVLink.bandwidth=x2", "16}",
         "16, topology: {NVLink: {bandwidth: x2}}}"),
        (NAMED, "cluster.topology[0].latency=x2", "16}", "16, topology: {NVLink: {latency: x2}}}"),
        (NAMED, "cluster.memory.latency=7 ns", "16}", "16, memory: {latency: 7 ns}}"),
        (NAMED, "collectives.chunks=8", "16}\n", "16}\ncollectives: {chunks: 8}\n"),
        (MODEL, "workload.plan.tp=4", "tp: 8", "tp: 4"),
        (MODEL, "workload.plan.tensor-model-parallel-size=4", "tp: 8", "tp: 4"),
        (MODEL, "workload.plan.dp=x2", "dp: 2", "dp: 4"),
        (MODEL, "workload.plan.micro_batch=x2", "dp: 2", "dp: 2, micro_batch: 2"),
        (MODEL, "workload.sequence=1024", "dp: 2}", "dp: 2}, sequence: 1024"),
        (MODEL, "workload.model=llama3-70b", "llama3-8b", "llama3-70b"),
        (MODEL, "workload.model.num_layers=4", "llama3-8b", "{name: llama3-8b, num_layers: 4}"),
        (MODEL, "cluster.ranks=16", "hgx-h100", "{name: hgx-h100, ranks: 16}"),
    ],
)  # fmt: skip
def test_a_setting_equals_editing_the_file(
    tmp_path: Path, text: str, setting: str, old: str, new: str
) -> None:
    before = PLAIN.replace("collectives:", "network: ideal\ncollectives:")
    text = before if setting.startswith("network.options") else text
    edited = changed(PLAIN if text is before else text, old, new)
    if "tensor-model" in setting:
        ours, theirs = (load(tmp_path, *one) for one in ((text, setting), (edited,)))
        plans = [dict(one.workload.plan) for one in (ours, theirs)]  # type: ignore[union-attr]
        assert plans == [{"dp": 2, "tensor_model_parallel_size": 4}, {"tp": 4, "dp": 2}]
        return
    assert load(tmp_path, text, setting) == load(tmp_path, edited)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (PLAIN, "cluster.topology[0].bandwidth"),
        (PLAIN, "cluster.topology[1].latency"),
        (PLAIN, "collectives.chunks"),
        (PLAIN, "collectives.endpoint_delay"),
        (NAMED, "cluster.topology.NVLink.bandwidth"),
        (NAMED, "cluster.topology.InfiniBand.latency"),
        (NAMED, "cluster.device.peak"),
        (MODEL, "workload.plan.pp"),
    ],
)
def test_times_one_changes_nothing(tmp_path: Path, text: str, path: str) -> None:
    plain = load(tmp_path, text)
    for same in ("x1", "+0%", "-0%"):
        now = load(tmp_path, text, f"{path}={same}")
        assert now.topology == plain.topology and now.device == plain.device
        assert now.collectives == plain.collectives
        assert scenarios.types.TrainingStep is not type(now.workload) or now.topology.ranks == 16


@given(st.floats(1e-6, 1e12))
def test_a_relative_value_is_the_nearest_float(gb_per_s: float) -> None:
    text = changed(PLAIN, "50 GB/s", f"{gb_per_s!r} GB/s")
    plain = scenarios.loads(text)
    from yantra.base.documents import parse_yaml
    from yantra.scenario.layout import DOCUMENT, scenario_of
    from yantra.scenario.settings import with_settings

    def bandwidth(setting: str) -> float:
        path = "cluster.topology[0].bandwidth"
        tree = with_settings(parse_yaml(text, ""), {path: setting}, "")
        return scenario_of(DOCUMENT.read(tree, "", "")).topology.dimensions[0].bytes_per_ns

    now = plain.topology.dimensions[0].bytes_per_ns
    assert (bandwidth("x1"), bandwidth("x2"), bandwidth("-50%")) == (now, now * 2, now / 2)


WRONG: list[tuple[str, str, str]] = [
    (PLAIN, "netwrk=ideal", "netwrk: unknown key; did you mean 'network'?"),
    (PLAIN, "cluster.topology[0].bandwith=x2",
     "cluster.topology[0].bandwith: unknown key; did you mean 'bandwidth'?"),
    (PLAIN, "cluster.topology[2].bandwidth=x2",
     "cluster.topology[2]: no such item; expected a number from 0 to 1"),
    (PLAIN, "cluster.topology.NVLink.bandwidth=x2",
     "cluster.topology[NVLink]: no such item; expected a number from 0 to 1"),
    (NAMED, "cluster.topology.NVlink.bandwidth=x2",
     "cluster.topology.NVlink: no level of this network; did you mean 'NVLink'?"),
    (PLAIN, "cluster.topology[0].bandwidth=x0",
     "cluster.topology[0].bandwidth: must be above 0 GB/s; got 0 GB/s"),
    (PLAIN, "cluster.topology[0].bandwidth=100",
     "cluster.topology[0].bandwidth: a number needs its unit; expected a bandwidth such as "
     '"400 Gb/s", got 100'),
    (PLAIN, "collectives.chunks=x1.1", "collectives.chunks: expected a whole number, got 4.4"),
    (PLAIN, "resources.cpu_slots=x2",
     "resources.cpu_slots: has no value that x2 could change; give a whole one"),
    (PLAIN, "collectives.chunks.more=1",
     "collectives.chunks.more: unknown key; collectives.chunks has no parts"),
    (PLAIN, "network.options.speedup=2",
     "network.options.speedup: unknown key; analytical has no options"),
    (PLAIN, "workload.plan.tpp=4",
     "workload.plan.tpp: a plan has no field of this name; did you mean 'tp'?"),
    (PLAIN, "workload.model=llama3-8b",
     "workload.traces: not together with model, which says what runs"),
    (PLAIN, "fold=of", "fold: expected one of auto, off, require, got \"of\"; did you mean 'off'?"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "setting", "problem"), WRONG)
def test_a_wrong_setting_is_told_at_its_place(
    tmp_path: Path, text: str, setting: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, setting)
    told = str(caught.value)
    assert told == f"{tmp_path / 'step.yaml'}: {problem}"


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("chunks", 'expected PATH=VALUE, such as collectives.chunks=4, got "chunks"'),
        ("=4", 'expected PATH=VALUE, such as collectives.chunks=4, got "=4"'),
        ("a..b=1", 'the path of a field, such as cluster.topology[0].bandwidth, got "a..b"'),
        ("a[=1", 'the path of a field, such as cluster.topology[0].bandwidth, got "a["'),
        ("[0].=1", 'the path of a field, such as cluster.topology[0].bandwidth, got "[0]."'),
    ],
)
def test_a_hostile_path_is_told_in_one_line(tmp_path: Path, setting: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, PLAIN, setting)
    assert str(caught.value).startswith("--set: ") and problem in str(caught.value)


WORDS = (
    *("cluster", "topology", "0", "NVLink", "bandwidth", "collectives", "chunks", "workload"),
    *("plan", "options", "kind", "network", "device", "memory", "groups", "model", "name"),
)
keys = st.sampled_from(WORDS)
paths = st.lists(keys | st.text(min_size=1, max_size=4), min_size=1, max_size=5)
values = st.sampled_from(["x2", "+10%", "x1e9", "1", "[1]", "{a: 1}", "", "{", "ring", "'"])


@given(st.sampled_from([PLAIN, NAMED, MODEL]), paths, values | st.text(max_size=5))
def test_any_setting_gives_a_scenario_or_a_config_error(
    text: str, path: list[str], value: str
) -> None:
    from yantra.base.documents import parse_yaml
    from yantra.scenario.layout import DOCUMENT, scenario_of
    from yantra.scenario.settings import with_settings

    try:
        settings = parsed([f"{'.'.join(path)}={value}"])
        tree: Any = with_settings(parse_yaml(text, ""), settings, "")
        scenario_of(DOCUMENT.read(tree, "", ""))
    except ConfigError as error:
        assert "\n" not in str(error)


def test_a_grid_has_every_combination_in_order() -> None:
    assert grid(["a=1,2", "b=[x,y],{c: 1, d: 2},'e,f'"]) == [
        {"a": a, "b": b} for a in ("1", "2") for b in ("[x,y]", "{c: 1, d: 2}", "'e,f'")
    ]
    assert grid([]) == [{}]
    with pytest.raises(ConfigError, match="a is set twice; give its values with commas"):
        grid(["a=1", "a=2"])


def test_a_setting_applies_to_a_result_that_runs_again(tmp_path: Path) -> None:
    from yantra.chakra import CollectiveType, TraceBuilder
    from yantra.run.simulate import simulate

    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    for rank in range(8):
        trace.build().write(tmp_path / f"step.{rank}.et")
    twice = load(tmp_path, PLAIN, "cluster.topology[0].bandwidth=x2")
    simulate(tmp_path / "step.yaml").to_json(tmp_path / "result.json")
    settings = {"cluster.topology[0].bandwidth": "x2"}
    assert scenarios.load(tmp_path / "result.json", settings=settings) == twice
