"""Laws of plug-ins in files of the user: paths and classes in place of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clusters import dimension, scenario
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError
from yantra.base.trust import allow
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives import find as find_algorithm
from yantra.collectives.algorithms import algorithms
from yantra.collectives.algorithms.ring import Ring as RingAlgorithm
from yantra.fabric.clusters import load as load_cluster
from yantra.fabric.topologies import find, topologies
from yantra.fabric.topologies.mesh import Mesh
from yantra.fabric.topologies.ring import Ring
from yantra.network import networks
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology
from yantra.scenario.origin import files_of, tree_of
from yantra.workloads import schedules

RANKS = 8
BUILT_IN = Path(__file__).parents[2] / "src" / "yantra"
STEP = """
workload: {{traces: "job.{{rank}}.et"}}
network: store_and_forward
cluster:
  topology: [{{kind: {kind}, size: 8, bandwidth: 50 GB/s, latency: 500 ns}}]
  device: {{memory_bandwidth: 1 TB/s}}
collectives: {{all_reduce: [{algorithm}]}}
"""


class OfThisFile(Mesh):
    """A topology that is no file's PLUGIN."""


class OfThisFileToo(RingAlgorithm):
    """An algorithm that is no file's PLUGIN."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "fabric/topologies/mesh",
        "fabric/topologies/two_level_tree",
        "collectives/algorithms/halving_doubling",
    ):
        copy = tmp_path / "mine" / f"my_{Path(name).name}.py"
        copy.parent.mkdir(exist_ok=True)
        copy.write_text((BUILT_IN / f"{name}.py").read_text())
    work = tmp_path / "runs"
    work.mkdir()
    for rank in range(RANKS):
        step = TraceBuilder()
        step.collective(CollectiveType.ALL_REDUCE, 4_000_000)
        step.build().write(work / f"job.{rank}.et")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def step(folder: Path, kind: str, algorithm: str, name: str = "step.yaml") -> Scenario:
    path = folder / "runs" / name
    allow(*(str(folder / "runs" / named) for named in (kind, algorithm) if ".py" in named))
    path.write_text(STEP.format(kind=kind, algorithm=algorithm))
    return scenarios.load(path)


def outcome(asked: Scenario) -> Any:
    result = simulate(asked)
    return list(result.finish_ns), list(result.links.rows())


@pytest.mark.parametrize(
    ("kind", "built_in"),
    [
        ("../mine/my_mesh.py", "mesh"),
        ("../mine/my_two_level_tree.py", "two_level_tree"),
        ("../mine/my_two_level_tree.py:4", "two_level_tree4"),
    ],
)
def test_a_plug_in_from_a_file_equals_the_built_in(folder: Path, kind: str, built_in: str) -> None:
    theirs = step(folder, kind, "../mine/my_halving_doubling.py")
    ours = step(folder, built_in, "halving_doubling")
    assert outcome(theirs) == outcome(ours)
    assert simulate(theirs).dimensions.values("kind") == [f"my_{built_in}"]


def test_a_class_in_place_of_a_name_equals_the_name(folder: Path) -> None:
    named = step(folder, "mesh", "ring")
    given = named.replace(
        topology=Topology(dimensions=(dimension("mesh", RANKS).replace(kind=OfThisFile),)),
        collectives=Collectives(all_reduce=(OfThisFileToo,)),
    )
    again = given.replace()
    assert (given, hash(given)) == (again, hash(again))
    assert "OfThisFile" in repr(given)
    by_name = given.replace(
        topology=Topology(dimensions=(dimension("mesh", RANKS),)),
        collectives=Collectives(all_reduce=("ring",)),
    )
    assert outcome(given) == outcome(by_name)
    assert simulate(given).dimensions.values("kind") == ["OfThisFile"]


def test_a_class_of_a_file_is_written_by_its_path_and_one_of_yantra_by_its_name(
    folder: Path,
) -> None:
    mesh = topologies.get("mine/my_mesh.py")
    asked = step(folder, "mesh", "ring").replace(
        topology=Topology(dimensions=(dimension("mesh", RANKS).replace(kind=mesh),)),
        collectives=Collectives(all_reduce=(RingAlgorithm,)),
    )
    text = scenarios.to_yaml(asked)
    assert f"kind: {folder}/mine/my_mesh.py" in text
    assert "all_reduce: [ring]" in text
    assert outcome(scenarios.loads(text)) == outcome(asked)


@pytest.mark.parametrize(
    ("kind", "algorithm", "place", "name"),
    [
        (OfThisFile, "ring", "cluster.topology[0].kind", "OfThisFile"),
        ("ring", OfThisFileToo, "collectives.all_reduce[0]", "OfThisFileToo"),
    ],
)
def test_a_class_in_no_file_cannot_be_written_and_its_result_says_so(
    folder: Path, kind: Any, algorithm: Any, place: str, name: str
) -> None:
    asked = scenario([TraceBuilder()] * 4, dimension("ring", 4).replace(kind=kind))
    files = step(folder, "mesh", "ring").workload
    asked = asked.replace(
        workload=files,
        topology=Topology(dimensions=(asked.topology.dimensions[0].replace(size=RANKS),)),
        collectives=Collectives(all_reduce=(algorithm,)),
    )
    with pytest.raises(ConfigError) as caught:
        scenarios.to_yaml(asked)
    assert str(caught.value) == (
        f"{place}: cannot be written: the class {name}, made in Python and in no file; put it in a "
        "file that ends with a line PLUGIN ="
    )
    simulate(asked).to_json(folder / "result.json")
    with pytest.raises(ConfigError) as caught:
        scenarios.load(folder / "result.json")
    assert str(caught.value) == (
        f"{folder}/result.json: scenario.{place}: cannot be run again: the class {name}, made in "
        "Python and in no file; write it to files before it runs"
    )


def test_a_result_of_a_file_runs_again_from_another_folder(folder: Path) -> None:
    asked = step(folder, "../mine/my_mesh.py", "../mine/my_halving_doubling.py")
    result = simulate(asked)
    result.to_json(folder / "result.json")
    again = scenarios.load(folder / "result.json")
    assert outcome(again) == outcome(asked)
    from yantra.scenario.origin import changed_inputs

    assert changed_inputs(folder / "result.json") == []
    with open(folder / "mine" / "my_mesh.py", "a") as file:
        file.write("# changed\n")
    (problem,) = changed_inputs(folder / "result.json")
    assert "my_mesh.py: changed since it was written" in problem


def test_a_scenario_with_a_file_reads_back_as_it_was_written(folder: Path) -> None:
    step(folder, "../mine/my_two_level_tree.py:4", "../mine/my_halving_doubling.py")
    asked = scenarios.load("runs/step.yaml")
    text = scenarios.to_yaml(asked, "runs")
    assert "../mine/my_two_level_tree.py:4" in text
    assert scenarios.loads(text, "runs") == asked


def test_a_file_is_run_once_and_again_only_if_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "counted.py"
    log = tmp_path / "log"
    source = (
        "from yantra.fabric.topologies.mesh import Mesh\n"
        f"open({str(log)!r}, 'a').write('run ')\n"
        "class Counted(Mesh):\n    number_means = 'one'\n"
        "PLUGIN = Counted\n"
    )
    path.write_text(source)
    first = type(find(str(path)))
    assert type(find(str(path))) is first
    assert type(find(f"{path}:3")) is first
    assert log.read_text() == "run "
    path.write_text(source.replace("'one'", "'two'"))
    assert find(str(path)).number_means == "two"
    assert log.read_text() == "run run "


NO_PLUGIN = "gives no topology; expected a line PLUGIN = <a Block class>"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "no such file; expected a Python file, or a name without .py"),
        ("", NO_PLUGIN),
        ("PLUGIN = 3\n", "expected a line PLUGIN = <a Block class>, got 3"),
        (
            "from yantra.collectives.algorithms.ring import Ring\nPLUGIN = Ring\n",
            "expected a line PLUGIN = <a Block class>, got the class Ring",
        ),
        (
            "from yantra.fabric.topologies.topology import Block\n"
            "class A(Block): pass\nPLUGIN = A\n",
            "the class A lacks links, which a topology needs",
        ),
        ("x = 1\n1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero (line 2)"),
        ("def f(:\n", "cannot be imported: SyntaxError: invalid syntax (wrong.py, line 1)"),
        ("import sys\nsys.exit(3)\n", "cannot be imported: SystemExit: 3 (line 2)"),
        (
            "\nimport no_such_module\n",
            "cannot be imported: ModuleNotFoundError: No module named 'no_such_module' (line 2)",
        ),
        ("raise KeyError\n", "cannot be imported: KeyError (line 1)"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_line_at_its_field(
    folder: Path, text: str | None, problem: str
) -> None:
    if text is not None:
        (folder / "runs" / "wrong.py").write_text(text)
    with pytest.raises(ConfigError) as caught:
        step(folder, "./wrong.py", "ring")
    said = f"{folder}/runs/step.yaml: cluster.topology[0].kind: {folder}/runs/wrong.py: {problem}"
    assert str(caught.value) == said


def test_a_folder_is_no_plug_in(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ConfigError, match=r"folder\.py: cannot be read: Is a directory"):
        find(str(tmp_path / "folder.py"))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (int, "cluster.topology[0].kind: expected a Block class, got the class int"),
        (RingAlgorithm, "expected a Block class, got the class Ring"),
        (3, "cluster.topology[0].kind: expected a text, got 3"),
    ],
)
def test_only_a_topology_is_a_kind(given: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scenario(
            [TraceBuilder()] * 4,
            Dimension(kind=given, size=4, bytes_per_ns=1.0, latency_ns=0.0),
        )
    assert problem in str(caught.value)


def test_only_an_algorithm_runs_a_collective() -> None:
    with pytest.raises(ConfigError) as caught:
        scenario(
            [TraceBuilder()] * 4, dimension("ring", 4), collectives=Collectives(all_reduce=(Ring,))
        )
    assert str(caught.value) == (
        "collectives.all_reduce: expected a CollectiveAlgorithm class, got the class Ring"
    )


def test_numbers_belong_to_what_takes_them(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"'mine/my_mesh\.py' takes no number"):
        find("mine/my_mesh.py:4")
    with pytest.raises(ConfigError, match=r"impossible number; expected 1 to 99999 ranks per leaf"):
        find("mine/my_two_level_tree.py:x")
    with pytest.raises(ConfigError, match="takes no window"):
        find_algorithm("mine/my_halving_doubling.py:4")
    assert find("mine/my_two_level_tree.py:4").number == 4


def test_a_cluster_file_takes_paths_from_its_own_folder(folder: Path) -> None:
    import yantra.fabric.clusters

    text = (Path(yantra.clusters.__file__).parent / "machines" / "hgx-h100.yaml").read_text()
    text = text.replace("kind: switch", "kind: ../mine/my_mesh.py", 1)
    (folder / "machines").mkdir()
    (folder / "machines" / "meshed.yaml").write_text(text)
    allow("mine/my_mesh.py")
    machine = load_cluster(folder / "machines" / "meshed.yaml")
    assert machine.network[0].kind == f"{folder}/mine/my_mesh.py"
    asked = folder / "runs" / "on_cluster.yaml"
    asked.write_text('workload: {traces: "job.{rank}.et"}\ncluster: ../machines/meshed.yaml\n')
    assert simulate(scenarios.load(asked)).dimensions.values("kind") == ["my_mesh"]


def test_a_schedule_may_be_a_file_or_a_class(tmp_path: Path) -> None:
    path = tmp_path / "my_gpipe.py"
    path.write_text((BUILT_IN / "workloads" / "schedules" / "gpipe.py").read_text())
    from_file, built_in = schedules.get(str(path)), schedules.get("gpipe")
    assert from_file.orders(4, 8) == built_in.orders(4, 8)
    assert from_file.name == "my_gpipe"
    assert schedules.get(type(built_in)).name == "gpipe"


NETWORK = """
from yantra.network.model import NetworkModel

class Slow(NetworkModel):
    def delay_ns(self, message):
        return 2 * self.fabric.alone_ns(message)

PLUGIN = Slow
"""


def test_a_network_of_a_file_stays_one_in_a_result_and_a_class_in_none_says_so(
    folder: Path,
) -> None:
    (folder / "mine" / "slow.py").write_text(NETWORK)
    assert networks.shown("mine/slow.py") == "slow"
    asked = step(folder, "ring", "ring").replace(network="mine/slow.py")
    tree = tree_of(asked, "runs")
    assert tree["network"] == "../mine/slow.py"
    assert "mine/slow.py" in list(files_of(asked))
    slow = networks.get("mine/slow.py")
    assert tree_of(asked.replace(network=slow), "runs")["network"] == f"{folder}/mine/slow.py"
    unknown = asked.replace(network=type("Made", (slow,), {}))
    assert tree_of(unknown)["network"] == {
        "in_memory": "the class Made, made in Python and in no file"
    }
    with pytest.raises(ConfigError, match="network: cannot be written: the class Made"):
        scenarios.to_yaml(unknown)
    with pytest.raises(ConfigError, match="network: expected a NetworkModel class, got"):
        asked.replace(network=Ring)


def test_what_texts_call_a_plug_in(folder: Path) -> None:
    assert topologies.shown(Ring) == "ring"
    assert topologies.shown(OfThisFile) == "OfThisFile"
    assert topologies.shown("mine/my_two_level_tree.py:4") == "my_two_level_tree4"
    named = folder / "mine" / "other.py"
    named.write_text('PLUGIN_NAME = "my-mesh"\n' + (folder / "mine/my_mesh.py").read_text())
    assert topologies.shown("mine/other.py") == "my-mesh"
    assert algorithms.shown("direct4") == "direct4"
