"""Mistakes as authors make them: the contract of the kind names the law that each breaks.

Two C++ kinds have theirs in native/network/packet/cc_laws.test.cpp and
native/fabric/routing/routing_laws.test.cpp. Objectives have no contract of their own: a row of
`objectives.KNOWN` is checked where it is computed.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.explore.study import objectives
from yantra.explore.study.objectives import Facts, computed
from yantra.fabric import clusters

LINE = '''\
from yantra.network.model import NetworkModel

class Line(NetworkModel):
    """Of each pair of ranks one message at a time."""

    def __init__(self, fabric, options):
        super().__init__(fabric, options)
        self.lines = {}

    def send(self, message):
        line = self.lines.setdefault((message.source, message.destination), [])
        line.append(message)
        if len(line) == 1:
            self.start(message)

    def start(self, message):
        self.wake_at(self.now_ns + self.fabric.alone_ns(message), message)

    def woken(self, message):
        self.arrive(message, self.now_ns)
        line = self.lines[message.source, message.destination]
        line.pop(0)
        if line:
            self.start(line[0])

PLUGIN = Line
'''
SELECTION = '''\
from yantra.collectives.selection.selection import Choice, Selection

class Mine(Selection):
    """Rings between nodes, one step within."""

    def choices(self, kind, group):
        if kind != "all_reduce":
            return []
        if group.local == group.ranks:
            return [Choice(0, ("direct",))]
        return [Choice(0, ("ring",))]

PLUGIN = Mine
'''
MEMORY = '''\
from yantra.memory.model import MemoryModel

class Mine(MemoryModel):
    """Latency and bytes; a store takes longer."""

    def access(self, accesses, speeds):
        factor = 1.0 + 0.5 * accesses.is_store
        return speeds.latency_ns + factor * accesses.bytes / speeds.bytes_per_ns

PLUGIN = Mine
'''
TOPOLOGY = '''\
from yantra.fabric.topologies.topology import Block

class Mine(Block):
    """A ring with a hub that every rank is linked to, too."""

    def switches(self, n):
        return 1

    def links(self, n):
        ring = {(rank, (rank + step) % n) for rank in range(n) for step in (1, -1)}
        up = {(rank, n) for rank in range(n)}
        down = {(n, rank) for rank in range(n)}
        return sorted(ring | up | down)

PLUGIN = Mine
'''
RIGHT = {"network": LINE, "selection": SELECTION, "memory": MEMORY, "topology": TOPOLOGY}


class Mistake(NamedTuple):
    """A change of what is right, as (text, in its place), and the law that it breaks."""

    kind: str
    old: str
    new: str
    law: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.new.strip().splitlines()[0] if self.new else self.old}"


MISTAKES = (
    Mistake("network", "if line:", "if len(line) > 1:", "several_messages_of_a_pair_arrive"),
    Mistake("network", "        line.pop(0)\n        if line:",
            "        if len(line) > 1:\n            line.pop(0)",
            "every_message_arrives"),
    Mistake("network", "self.arrive(message, self.now_ns)",
            "self.arrive(message, self.now_ns + 1e6 * (message.bytes == 1000))",
            "a_message_alone_takes_its_latency_and_its_bytes"),
    Mistake("selection", '("direct",)', '("dirct",)', "every_algorithm_is_known"),
    Mistake("selection", '("direct",)', '("halving_doubling",)',
            "every_algorithm_performs_the_collective"),
    Mistake("selection", '[Choice(0, ("ring",))]',
            '[Choice(0, ("ring",)), Choice(0, ("direct",))] if group.local > 1 '
            'else [Choice(0, ("ring",))]',
            "sizes_ascend_and_every_dimension_has_an_algorithm"),
    Mistake("memory", "speeds.latency_ns + ", "", "every_access_takes_its_latency"),
    Mistake("memory", "factor * accesses.bytes / speeds.bytes_per_ns", "0.0 * accesses.bytes",
            "bytes_take_time"),
    Mistake("memory", "/ speeds.bytes_per_ns", "* speeds.bytes_per_ns",
            "a_slower_memory_takes_no_less"),
    Mistake("topology", "ring | up | down", "ring | up", "no_device_is_a_dead_end"),
    Mistake("topology", "ring | up | down", "ring | down", "no_device_is_a_dead_end"),
    Mistake("topology", "(1, -1)", "(1,)", "there_and_back_are_as_far_if_it_says_so"),
)  # fmt: skip
CLUSTER_MISTAKES = (
    Mistake("cluster", "memory_bandwidth: {value: 3.35 TB/s", "memory_bandwidth: {value: 4 GB/s",
            "memory_is_faster_than_links"),
    Mistake("cluster", "value: 400 Gb/s", "value: 400 GB/s",
            "no_port_between_nodes_is_faster_than_any_that_is_made"),
    Mistake("cluster", "latency: {value: 1350 ns", "latency: {value: 1.35 ns",
            "inner_links_are_nearer_than_outer_ones"),
    Mistake("cluster", "tf32: {value: 494.7 TFLOP/s", "tf32: {value: 49.47 TFLOP/s",
            "smaller_types_are_not_slower"),
)  # fmt: skip


@pytest.mark.parametrize("kind", RIGHT)
def test_what_the_mistakes_are_made_in_is_right(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(RIGHT[kind])
    assert main(["contract", kind, str(tmp_path / "mine.py")]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_planted_mistake_is_refused_by_the_name_of_the_law(
    mistake: Mistake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = RIGHT[mistake.kind]
    assert right.count(mistake.old) == 1
    text = right.replace(mistake.old, mistake.new)
    if mistake.law.startswith("there_and_back"):
        text = text.replace("    def switches", "    symmetric = True\n\n    def switches")
        text = text.replace("up = {", "up = set() and {").replace("down = {", "down = set() and {")
        text = text.replace("return 1\n", "return 0\n")
    (tmp_path / "mine.py").write_text(text)
    assert main(["contract", mistake.kind, str(tmp_path / "mine.py")]) == 2
    assert f"{mistake.law}: " in capsys.readouterr().err


@pytest.mark.parametrize("mistake", CLUSTER_MISTAKES, ids=str)
def test_a_mistake_in_the_numbers_of_a_cluster_is_refused_and_warned_of(
    mistake: Mistake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = Path(clusters.path_of("hgx-h100")).read_text()
    assert right.count(mistake.old) == 1
    file = tmp_path / "mine.yaml"
    file.write_text(right.replace(mistake.old, mistake.new))
    assert main(["contract", "cluster", str(file)]) == 2
    assert f"{mistake.law}: " in capsys.readouterr().err
    assert main(["cluster", "show", str(file)]) == 0
    said = capsys.readouterr()
    assert f"warning: {file}: {mistake.law}: " in said.err
    assert main(["cluster", "show", "hgx-h100"]) == 0
    assert capsys.readouterr().err == ""


USEFUL_J = (5600.0 * 0.95 + 1000.0 * 2 * 0.05 + 300.0 * 2) / 0.9 / 1000
FACTS = Facts(2.0, 1000, 8, 10**9, 8 * 10**10, 20.0, 5600.0, 0.9, 100, 0.95, 1000.0, 300.0, 360.0)


def test_every_objective_of_known_facts_is_a_number() -> None:
    found = computed(FACTS)
    assert set(found) == set(objectives.OBJECTIVES)
    assert found == pytest.approx(
        {
            "step_time": 2.0,
            "usd_per_million_tokens": 20.0 * 2 / 3600 / 1000 * 1e6,
            "joules_per_token": 5.6,
            "ranks": 8,
            "memory": 10**9,
            "time_to_train": 100 * 2.0 / 0.9,
            "tokens_per_s": 500.0,
            "memory_headroom": 79 * 10**9,
            "goodput": 0.9,
            "usd_per_million_useful_tokens": 20.0 * 2 / 3600 / 1000 * 1e6 / 0.9,
            "joules_per_useful_token": USEFUL_J,
            "g_co2_per_million_useful_tokens": USEFUL_J * 100,
            "usd_per_h": 20.0,
            "watts": 2800.0,
        }
    )
    unknown = computed(FACTS._replace(usd_per_h=None, joules=None, goodput=None, steps=None))
    lacking = {name for name, value in unknown.items() if value is None}
    assert lacking == {name for name, kind in objectives.KNOWN.items() if kind.needs}


def test_an_objective_that_is_listed_and_not_computed_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'of'"):
        objectives.Kind("s", False, "of what is forgotten")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "objective mine: is not computed, and needs nothing stated"),
        (float("nan"), "objective mine: expected a finite number, got NaN"),
        ("2 s", 'objective mine: expected a finite number, got "2 s"'),
    ],
)
def test_an_objective_that_is_no_number_is_named(
    answer: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = objectives.Kind("s", False, "of mine", lambda facts: answer)  # type: ignore[arg-type,return-value]
    monkeypatch.setitem(objectives.KNOWN, "mine", kind)
    with pytest.raises(ConfigError) as found:
        computed(FACTS)
    assert str(found.value) == said


def test_a_selection_that_errs_at_a_run_is_named_and_not_the_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from yantra.chakra import CollectiveType, TraceBuilder

    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SELECTION.replace('("direct",)', '("dirct",)'))
    step = TraceBuilder()
    step.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    for rank in range(4):
        step.build().write(f"step.{rank}.et")
    Path("sel.yaml").write_text(
        'workload: {traces: "step.{rank}.et"}\n'
        "cluster:\n  topology: [{kind: switch, size: 4, bandwidth: 50 GB/s, latency: 1 us}]\n"
        "collectives: {all_reduce: [ring], selection: ./mine.py}\n"
    )
    assert main(["run", "sel.yaml", "--plugin", "mine.py"]) == 2
    said = capsys.readouterr().err
    assert "sel.yaml: collectives.selection: " in said
    assert "mine.py chooses for all_reduce: no collective algorithm is named 'dirct'" in said
