"""Scenario files with a mistake, and the errors that they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra import scenario as scenarios
from yantra.base.errors import ConfigError

GOOD = """workload: {traces: "step.{rank}.et"}
cluster:
  topology:
  - {kind: ring, size: 8, bandwidth: 50 GB/s, latency: 500 ns}
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def with_line(line: str) -> str:
    return GOOD + line


CASES: list[tuple[str, str]] = [
    ("", "scenario: empty; expected a mapping with workload, cluster, ..."),
    ("- 1", "scenario: expected a mapping, got [1]"),
    (
        "a: b: c",
        "scenario, line 1, column 5: not YAML: mapping values are not allowed in this context",
    ),
    ("cluster: {}", "workload: missing; expected a mapping such as {templates: step.yw}"),
    (
        "workload: step.yw",
        'workload: expected a mapping, got "step.yw"; write {templates: "step.yw"}',
    ),
    (
        "workload: 'job.{rank}.et'",
        'workload: expected a mapping, got "job.{rank}.et"; write {traces: "job.{rank}.et"}',
    ),
    (
        "workload: llama3-8b",
        'workload: expected a mapping, got "llama3-8b"; write {model: "llama3-8b"}',
    ),
    (
        "workload: {templates: step.yw}",
        "cluster: missing; expected the name of a cluster (yantra cluster show), or a mapping",
    ),
    (
        changed("cluster:", "custer:"),
        "custer: unknown key; did you mean 'cluster'?",
    ),
    (
        with_line("speed: 1"),
        "speed: unknown key; expected one of semantics, workload, cluster, network, "
        "tier_networks, background, collectives, resources, scheduler, quirks, replay_only, "
        "track_local_memory, local_memory_trace, trace_nodes, stack, run_undisturbed, host, fold",
    ),
    (
        changed("kind: ring", "kind: rng"),
        "cluster.topology[0].kind: no topology is named 'rng'; expected one of dragonfly, "
        "fully_connected, hypercube, mesh, ring, switch, torus_2d, two_level_tree; did you mean "
        "'ring'?",
    ),
    (
        changed("kind: ring", r'kind: "ring\n"'),
        r'cluster.topology[0].kind: expected the name of a topology, got "ring\n"',
    ),
    (
        changed("kind: ring", "kind: hypercube2"),
        "cluster.topology[0].kind: 'hypercube' takes no number; expected 'hypercube', got "
        "'hypercube2'",
    ),
    (
        changed("kind: ring", "kind: dragonfly100000"),
        "cluster.topology[0].kind: 'dragonfly100000' has an impossible number; expected 1 to 99999 "
        "ranks per router, got 100000",
    ),
    (
        changed("kind: ring", "kind: torus_2d").replace("size: 8", "size: 7"),
        "cluster.topology[0].kind: torus_2d needs rows and columns of at least 2 ranks each, got 7",
    ),
    (
        changed("size: 8", "size: 8.0"),
        "cluster.topology[0].size: expected a whole number, got 8.0",
    ),
    (
        changed("size: 8", "sise: 8"),
        "cluster.topology[0].sise: unknown key; did you mean 'size'?",
    ),
    (changed("size: 8", "size: 0"), "cluster.topology[0].size: must be at least 1; got 0"),
    (
        changed("50 GB/s", "50"),
        "cluster.topology[0].bandwidth: a number needs its unit; expected a bandwidth such as "
        '"400 Gb/s", got 50',
    ),
    (
        changed("50 GB/s", "50 GB"),
        "cluster.topology[0].bandwidth: 'GB' is a unit of size, not of bandwidth; expected for "
        'example "400 Gb/s"',
    ),
    (
        changed("50 GB/s", "400 gbps"),
        "cluster.topology[0].bandwidth: unknown unit 'gbps'; did you mean 'GBps' or 'Gbps'? (b is "
        "a bit, B a byte)",
    ),
    (
        changed("50 GB/s", "-50 GB/s"),
        "cluster.topology[0].bandwidth: must be above 0 GB/s; got -50 GB/s",
    ),
    (
        changed(", latency: 500 ns", ""),
        'cluster.topology[0].latency: missing; expected a time such as "500 ns"',
    ),
    (
        changed("step.{rank}.et", "step.et"),
        'workload.traces: expected a path that ends in ".{rank}.et", got "step.et"',
    ),
    (
        changed('.et"}', '.et", groups: [0]}'),
        "workload.groups: expected a mapping of group id to ranks, or the path of a file with "
        "one, got [0]",
    ),
    (
        changed('.et"}', '.et", groups: {a: [0]}}'),
        'workload.groups: expected a whole number as key, got "a"',
    ),
    (
        changed('.et"}', '.et", groups: {1: [0], 01: [1]}}'),
        "workload.groups: the key 1 is given twice",
    ),
    (
        changed('.et"}', '.et", groups: {1: [0, 9]}}'),
        "workload.groups.1: expected ranks from 0 to 7, got 9",
    ),
    (
        changed('.et"}', '.et", groups: none.json}'),
        "none.json: cannot be read: No such file or directory",
    ),
    (
        changed("  topology", "  memory: {kind: pool, latency: 1.5 ns}\n  topology"),
        'cluster.memory.latency: expected a whole number of ns, got "1.5 ns"',
    ),
    (
        changed("  topology", "  memory: [pool]\n  topology"),
        'cluster.memory: expected a mapping, got ["pool"]',
    ),
    (
        changed("  topology", "  device: {peak: 234 TFLOPs}\n  topology"),
        "cluster.device.peak: unknown unit 'TFLOPs'; did you mean 'TFLOPS'?",
    ),
    (
        with_line("network: congested"),
        "network: no network is named 'congested'; expected one of analytical, flow, ideal, noc, "
        "packet, store_and_forward, external",
    ),
    (
        with_line("network: {kind: ideal, options: {speedup: 0.5}}"),
        "network.options.speedup: must be at least 1.0; got 0.5",
    ),
    (
        with_line("network: {kind: ideal, options: {speed: 2}}"),
        "network.options.speed: unknown key; did you mean 'speedup'?",
    ),
    (
        with_line("network: {kind: analytical, options: {speedup: 2}}"),
        "network.options.speedup: unknown key; there are no options here",
    ),
    (with_line("network: {options: {}}"), "network.kind: missing; expected a name"),
    (
        with_line("network: [ideal]"),
        'network: expected the name of a network, or {kind, options}, got ["ideal"]',
    ),
    (
        with_line("collectives: {all_reduce: ring}"),
        "collectives.all_reduce: expected a list of algorithm names, one per dimension, or "
        '{custom: ...}, got "ring"',
    ),
    (
        with_line("collectives: {all_reduce: [8]}"),
        "collectives.all_reduce[0]: expected a text, got 8",
    ),
    (
        with_line("collectives: {all_reduce: {costum: a}}"),
        "collectives.all_reduce.costum: unknown key; did you mean 'custom'?",
    ),
    (
        with_line("collectives: {all_reduce: {custom: a}}"),
        'collectives.all_reduce.custom: expected a path that ends in ".{position}.et", got "a"',
    ),
    (
        with_line("collectives: {chunks: '4'}"),
        'collectives.chunks: expected a whole number, got "4"',
    ),
    (
        with_line("collectives: {shared_bus: {l: 1 ns, o: 1 ns, g: 1 ns}}"),
        'collectives.shared_bus.big_g: missing; expected a time per byte such as "0.01 ns/B"',
    ),
    (
        with_line("collectives: {rendezvous: yes}"),
        'collectives.rendezvous: expected true or false, got "yes"',
    ),
    (
        with_line("resources: {copy_engines: 0}"),
        "resources.copy_engines: must be at least 1; got 0",
    ),
    (with_line("quirks: one"), 'quirks: expected a list, got "one"'),
    (
        with_line("semantics: yantra\nsemantics: yantra"),
        'scenario, line 6, column 1: the key "semantics" is given twice',
    ),
]


@pytest.mark.parametrize(("text", "message"), CASES, ids=[text for _, text in CASES])
def test_a_bad_scenario_file_is_explained(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scenarios.loads(text)
    assert str(caught.value) == message


def test_a_mistake_in_a_file_of_groups_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text('{"x": [0]}')
    file = tmp_path / "scenario.yaml"
    file.write_text(changed('.et"}', '.et", groups: groups.json}'))
    with pytest.raises(ConfigError) as caught:
        scenarios.load(file)
    assert str(caught.value) == (
        f'{tmp_path / "groups.json"}: expected a whole number as key, got "x"'
    )


def test_a_missing_scenario_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        scenarios.load(tmp_path / "none.yaml")
