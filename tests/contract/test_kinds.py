"""Every kind of plug-in has a skeleton that keeps its contract, and a contract that catches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from yantra.base.contract import check
from yantra.base.errors import ConfigError
from yantra.base.text import article
from yantra.cli import main
from yantra.fabric.topologies import find, topologies
from yantra.kinds import get, kinds, of_file, plugged_in
from yantra.workloads.models import catalogue

NAMES = kinds.names()

WRONG = {
    "compute": (
        '"""Kernels at twice the speed of the roofline."""\n'
        "from yantra.compute.model import ComputeModel, Estimates\n"
        "from yantra.compute.roofline import Roofline\n"
        "class Wrong(ComputeModel):\n"
        "    def estimate(self, kernels, device):\n"
        "        return Estimates.exact(Roofline().estimate(kernels, device).middle / 2)\n"
        "PLUGIN = Wrong\n",
        "no_kernel_beats_the_roofline: row 1 (no class, 0 FLOPs, 1 bytes) takes ",
    ),
    "memory": (
        '"""Stores that take less than no time."""\n'
        "from yantra.memory.model import MemoryModel\n"
        "class Wrong(MemoryModel):\n"
        "    def access(self, accesses, speeds):\n"
        "        return accesses.bytes * -1.0\n"
        "PLUGIN = Wrong\n",
        "every_access_has_a_duration: it: row 1 (load of 1 bytes): expected a finite duration",
    ),
    "scheduler": (
        '"""Another order whenever it is asked."""\n'
        "from yantra.schedulers.scheduler import Scheduler\n"
        "class Wrong(Scheduler):\n"
        "    asked = 0\n"
        "    def priorities(self, nodes):\n"
        "        Wrong.asked += 1\n"
        "        return nodes.ps % (Wrong.asked + 2)\n"
        "PLUGIN = Wrong\n",
        "chain on 2 ranks: the_same_is_said_twice: ",
    ),
    "exporter": (
        '"""How often it was asked."""\n'
        "from yantra.export.exporter import TextExporter\n"
        "class Wrong(TextExporter):\n"
        "    asked = 0\n"
        "    def pieces(self, result, **options):\n"
        "        Wrong.asked += 1\n"
        "        yield str(Wrong.asked)\n"
        "PLUGIN = Wrong\n",
        "every rank: the_same_result_gives_the_same_file: first 1 bytes, then 1 others",
    ),
    "rl_algorithm": (
        '"""Less than no time for the reference."""\n'
        "from yantra.plugin.rl_algorithm import Algorithm\n"
        "class Wrong(Algorithm):\n"
        "    title = source = 'wrong'\n"
        "    def work(self, alone):\n"
        "        return super().work(alone)._replace(reference=-alone.scoring)\n"
        "PLUGIN = Wrong\n",
        "Alone(scoring=10.0, training=30.0): seconds_are_finite_and_not_negative: Wrong: work: "
        "reference: expected finite seconds from 0, got -10.0",
    ),
    "rl_mode": (
        '"""Three steps ahead, of which it says that they are none."""\n'
        "from yantra.plugin.rl_mode import Loop, Mode\n"
        "class Wrong(Mode):\n"
        "    def loop(self, asked):\n"
        "        return Loop('k-off', k=3)\n"
        "    def most_stale(self, asked):\n"
        "        return 0\n"
        "PLUGIN = Wrong\n",
        "4 prompts in mini-batches of 4, drain: no_sample_is_staler_than_it_states: a sample is ",
    ),
    "topology": (
        '"""A ring on which messages never turn back: they take a link that is not there."""\n'
        "from yantra.fabric.topologies.ring import Ring\n"
        "class Wrong(Ring):\n"
        "    native = None\n"
        "    def next_device(self, n, at, to):\n"
        "        return to\n"
        "PLUGIN = Wrong\n",
        "4 ranks: every_route_arrives: the route from rank 2 to 0 goes from device 2 to 0, but no "
        "link does",
    ),
    "fabric": (
        '"""A ring that states half of its bisection."""\n'
        "from yantra.fabric.graphs.ring import Ring\n"
        "class Wrong(Ring):\n"
        "    def bisection(self):\n"
        "        return self.given.bytes_per_ns\n"
        "PLUGIN = Wrong\n",
        "its example: its_bisection_is_the_least_cut: it states a bisection of 50 bytes/ns, the "
        "least cut has 100",
    ),
    "collective": (
        '"""A ring that stops one step too early."""\n'
        "from yantra.collectives.algorithms.ring import Ring\n"
        "from yantra.collectives.schedule import Schedule\n"
        "class Wrong(Ring):\n"
        "    def schedule(self, kind, n):\n"
        "        whole = super().schedule(kind, n)\n"
        "        return Schedule(kind, n, whole.blocks, whole.rounds[:-1])\n"
        "PLUGIN = Wrong\n",
        "all_gather over 2 positions: schedule_is_proven: ",
    ),
    "schedule": (
        '"""GPipe that forgets the backward pass of the last micro-batch."""\n'
        "from yantra.workloads.schedules.gpipe import GPipe\n"
        "class Wrong(GPipe):\n"
        "    def order(self, device, p, m, v):\n"
        "        return super().order(device, p, m, v)[:-1]\n"
        "PLUGIN = Wrong\n",
        "1 device, 1 micro-batch: every_pass_occurs_once_and_can_start: device 0: no operation "
        "makes b0",
    ),
    "model": (
        '"""A layer that hands on twice the width it takes."""\n'
        "from yantra.workloads.models.blocks import Block, Embedding, Head\n"
        "from yantra.workloads.operators.graph.operators.linear import linear\n"
        "from yantra.workloads.models.model import Model\n"
        "class Wider(Block):\n"
        "    def build(self, g, x):\n"
        "        return linear(g, x, 'a', {'hidden': 512}, copies=g.setting.ways('tp'))[0]\n"
        "    def input_sizes(self, g):\n"
        "        return {'tokens': g.setting.batch.tokens, 'hidden': 512}\n"
        "PLUGIN = Model(name='wrong', hidden=512, front=Embedding(vocab=1000, hidden=512),\n"
        "    layers=(Wider(),) * 2, tail=Head(vocab=1000, hidden=512), sequence=64, source='')\n",
        "tp=2: weights_are_shared_evenly: layers.0.a.weight has ",
    ),
}
RAISES = {
    "fabric": (
        "from yantra.fabric.graphs.ring import Ring\n"
        "class Wrong(Ring):\n"
        "    def diameter(self):\n"
        "        return 1 // 0\n"
        "PLUGIN = Wrong\n",
        "its example: its_diameter_is_that_of_its_graph: it raises ZeroDivisionError",
    ),
    "topology": (
        "from yantra.fabric.topologies.topology import Block\n"
        "class Wrong(Block):\n"
        "    def links(self, n):\n"
        "        return [(0, [1, 2][n])]\n"
        "PLUGIN = Wrong\n",
        "2 ranks: every_route_arrives: it raises IndexError: list index out of range "
        "(wrong.py, line 4)",
    ),
    "collective": (
        "from yantra.collectives.algorithms.ring import Ring\n"
        "class Wrong(Ring):\n"
        "    def schedule(self, kind, n):\n"
        "        return 1 // 0\n"
        "PLUGIN = Wrong\n",
        "all_gather over 2 positions: schedule_is_proven: it raises ZeroDivisionError",
    ),
    "schedule": (
        "from yantra.workloads.schedules.gpipe import GPipe\n"
        "class Wrong(GPipe):\n"
        "    def order(self, device, p, m, v):\n"
        "        return None\n"
        "PLUGIN = Wrong\n",
        "1 device, 1 micro-batch: every_pass_occurs_once_and_can_start: it raises TypeError",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_kinds_are_those_of_the_folder() -> None:
    assert set(NAMES) >= {"collective", "model", "schedule", "topology"}


@pytest.mark.parametrize("name", NAMES)
def test_a_skeleton_keeps_its_contract_as_it_stands(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", name, "my_own"]) == 0
    told = capsys.readouterr().out
    commands = [line.removeprefix("  yantra ") for line in told.splitlines() if line[:2] == "  "]
    assert commands[0] == f"contract {name} my_own.py"
    assert main(commands[0].split()) == 0
    assert capsys.readouterr().out.count("my_plugin") == 0
    assert check(get(name).contract(), "my_own.py").broken == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_skeleton_is_of_its_kind_and_is_clean(name: str, folder: Path) -> None:
    assert main(["new", name, "my-own", "-o", "plugins/begun.py"]) == 0
    path = folder / "plugins" / "begun.py"
    text = path.read_text()
    assert "my_plugin" not in text and "MyPlugin" not in text
    if get(name).is_program:
        assert os.access(path, os.X_OK)
    else:
        assert '\nPLUGIN_NAME = "my-own"\nPLUGIN = ' in text
        assert of_file(str(path)).registry() is get(name).registry()
    for options in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *options, "--isolated", "--line-length=100"]
        done = subprocess.run([*ruff, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", WRONG)
def test_a_contract_names_the_law_that_is_broken_and_the_example(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, broken = WRONG[name]
    (folder / "wrong.py").write_text(source)
    assert main(["contract", name, "wrong.py"]) == 2
    said, kind = capsys.readouterr().err, get(name).contract().kind
    assert said.startswith(
        f"error: wrong.py: breaks the contract of {article(kind)} {kind}: {broken}"
    ), said


@pytest.mark.parametrize("name", RAISES)
def test_a_plug_in_that_raises_breaks_the_law_that_asked_it(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, broken = RAISES[name]
    (folder / "wrong.py").write_text(source)
    assert main(["contract", name, "wrong.py"]) == 2
    said, kind = capsys.readouterr().err, get(name).contract().kind
    assert said.startswith(
        f"error: wrong.py: breaks the contract of {article(kind)} {kind}: {broken}"
    ), said


def test_an_algorithm_that_performs_nothing_breaks_its_contract(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "from yantra.collectives.algorithms.ring import Ring\n"
    text += "class A(Ring):\n    kinds = frozenset()\n"
    (folder / "wrong.py").write_text(text + "PLUGIN = A\n")
    assert main(["contract", "collective", "wrong.py"]) == 2
    assert "its kinds are empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["topology", "ring"],
            "NAME: 'ring' is already given by the built-in yantra.fabric.topologies.",
        ),
        (["model", "llama3-8b"], "NAME: 'llama3-8b' is already given by the model llama3-8b"),
        (["topologi", "x"], "KIND: no kind of plug-in is named 'topologi'; expected one of "),
        (
            ["routing", "x"],
            "KIND: a routing is one file of the core, not a plug-in; see docs/guides/",
        ),
        (["congestion-control", "x"], "KIND: a congestion-control is one file of the core, "),
        (["topology", "3d"], "NAME: expected a name of letters, digits, - and _ that begins"),
        (["topology", "x", "-o", "x.txt"], "--output: expected a path that ends in .py, got "),
        (["topology", "there"], "there.py: exists already; choose another name"),
    ],
)
def test_what_is_not_written_is_told(
    words: list[str], problem: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "there.py").write_text("mine\n")
    assert main(["new", *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {problem}")
    assert (folder / "there.py").read_text() == "mine\n"


def test_a_plugged_in_name_is_known_until_the_end(folder: Path) -> None:
    for name in ("topology", "model"):
        assert main(["new", name, f"my_{name}"]) == 0
    with plugged_in(["my_topology.py", "my_model.py", "./my_topology.py"]):
        assert "my_topology" in topologies.names()
        assert type(find("my_topology")).__name__ == "MyTopology"
        assert catalogue.find("my_model").hidden == 1024
    assert "my_topology" not in topologies.names()
    assert "my_model" not in catalogue.names()


def test_a_name_that_is_taken_is_told_with_what_took_it(folder: Path) -> None:
    assert main(["new", "topology", "mine"]) == 0
    (folder / "ring.py").write_text((folder / "mine.py").read_text())
    (folder / "other").mkdir()
    (folder / "other" / "mine.py").write_text((folder / "mine.py").read_text())
    for files, taken in (
        (["ring.py"], "'ring' is already given by the built-in yantra.fabric.topologies.ring"),
        (["mine.py", "other/mine.py"], "'mine' is already given by mine.py"),
    ):
        with pytest.raises(ConfigError, match=taken), plugged_in(files):
            pass
        assert "mine" not in topologies.names()


def test_a_file_of_no_kind_is_told_the_kinds(folder: Path) -> None:
    (folder / "none.py").write_text("PLUGIN = 3\n")
    with pytest.raises(ConfigError) as caught:
        of_file("none.py")
    assert str(caught.value).startswith(
        "none.py: gives no plug-in of a known kind; expected a line PLUGIN = <one of a "
        "CollectiveAlgorithm class (collective), "
    )
