"""A stranger's plug-in, under no built-in's name, works in every command that takes its kind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import yantra
from yantra.base.trust import allow
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.kinds import kinds

RANKS = 8
SCENARIO = """\
workload: {traces: "step.{rank}.et"}
cluster:
  topology:
  - {kind: TOPOLOGY, size: 8, bandwidth: 50 GB/s, latency: 500 ns}
  device: {peak: 100 TFLOP/s, memory_bandwidth: 1 TB/s, compute: COMPUTE}
  memory: {kind: MEMORY, latency: 1 us, bandwidth: 25 GB/s}
network: NETWORK
collectives: {all_reduce: [COLLECTIVE]SELECTION}
scheduler: SCHEDULER
"""
USUAL = {
    "topology": "ring",
    "compute": "roofline",
    "memory": "per_npu",
    "network": "analytical",
    "collective": "ring",
    "selection": "",
    "scheduler": "in_order",
}
STUDY = """\
model: ./my_model.py
clusters: [hgx-h100]
ranks: [4]
global_batch: 8
objectives: [step_time, tokens_per_s]
"""
PLUG_MODEL = ["--plugin", "./my_model.py"]
MACHINES = """\
model: ./my_model.py
clusters: [./mine.yaml]
ranks: [8]
global_batch: 8
"""
RUN = "run step.yaml"
TINY = "--tp 2 --dp 2 --global-batch 4"


class Use(NamedTuple):
    kind: str
    command: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.command}"


USES = (
    *(
        Use(kind, command)
        for kind in USUAL
        for command in (
            RUN,
            "validate step.yaml",
            "explain step.yaml",
            "network compare step.yaml",
            "sweep step.yaml --set collectives.chunks=1,2",
            "run step.yaml --export html=report.html",
        )
    ),
    Use("network", "run --workload step.yw --cluster hgx-h100 --network ./my_network.py"),
    Use("network", "network flows flows.csv --topology switch --network ./my_network.py"),
    Use("network", "network flows flows.csv --topology R(4)_SW(2) --network ./my_network.py"),
    Use("network", "network flows flows.csv --topology ring --network my_network --plugin FILE"),
    Use("network", "collective bench switch --sizes 1MiB --network ./my_network.py"),
    Use("network", "collective bench torus --sizes 1MiB --network my_network --plugin FILE"),
    Use("network", "network compare usual.yaml --plugin FILE"),
    Use("network", "collective bench --cluster hgx-h100 --ranks 8 --sizes 1MiB --network FILE"),
    Use("network", "plot links step.yaml -o links.svg"),
    Use("network", "sweep usual.yaml --set network=analytical,./my_network.py"),
    Use("collective", "run --workload step.yw --cluster hgx-h100 --all-reduce ./my_collective.py"),
    Use("collective", "collective bench switch --sizes 1MiB --algorithms ./my_collective.py"),
    Use("collective", "collective bench switch --sizes 1MiB --plugin FILE"),
    *(
        Use(kind, command)
        for kind in ("collective", "topology")
        for command in (
            "run --workload step.yw --cluster ./mine.yaml",
            "collective bench --cluster ./mine.yaml --ranks 8 --sizes 1MiB",
            "plan --model ./my_model.py --ranks 8 --cluster ./mine.yaml --global-batch 8",
            "plan --model ./my_model.py --ranks 8 --cluster ./named.yaml --global-batch 8 "
            "--plugin FILE",
            "explore run machines.yaml -o CLEAN",
            "cluster show ./named.yaml --ranks 8 --plugin FILE",
        )
    ),
    *(
        Use(kind, f"{command} --set {key}=FILE")
        for kind, key in (
            ("scheduler", "scheduler"),
            ("selection", "collectives.selection"),
            ("compute", "cluster.device.compute"),
            ("memory", "cluster.memory.kind"),
            ("network", "network"),
        )
        for command in ("run --workload stored.yw --cluster hgx-h100",)
    ),
    Use("selection", "collective bench --cluster hgx-h100 --ranks 8 --sizes 1MiB "
        "--set collectives.selection=FILE"),
    Use("collective", "collective show ./my_collective.py --ranks 4"),
    Use("fabric", "topology show ./my_fabric.py"),
    Use("fabric", "topology show --plugin FILE"),
    Use("fabric", "collective bench ./my_fabric.py --sizes 1MiB --algorithms ring"),
    Use("fabric", "topology show ./my_fabric.py --bounds 1MiB"),
    Use("fabric", "collective synthesize ./my_fabric.py --size 1MiB"),
    Use("fabric", "network flows flows.csv --topology ./my_fabric.py"),
    Use("fabric", "network flows flows.csv --topology ./my_fabric.py --network packet"),
    Use("fabric", "run fabric.yaml"),
    Use("topology", "topology show my_topology(8) --plugin FILE"),
    Use("topology", "network flows flows.csv --topology my_topology(8) --plugin FILE"),
    Use(
        "topology",
        "network flows flows.csv --topology my_topology(8) --network ideal --plugin FILE",
    ),
    *(
        Use("engine", "serve --cost 5ms,20us,0.1us "
            f"--requests poisson:rate=9/s,count=9,isl=9,osl=9 {of}")
        for of in ("--engine ./my_engine.py", "--engine my_engine --plugin FILE")
    ),
    *(
        Use(kind, f"rl {more}--model llama3-8b --cluster hgx-h100 --gpus 8 --prompts 16 "
            f"--generations 4 --lengths lognormal:mean=300,sigma=0.5,cap=1024 {option}")
        for kind, more, option in (
            ("rl_algorithm", "", "--train tp=2,recompute=full --set algorithm=FILE"),
            ("rl_algorithm", "", "--train tp=2,recompute=full --compare --set algorithm=FILE"),
            ("rl_algorithm", "plan ", "--set algorithm=FILE"),
            ("rl_mode", "", "--train tp=2,recompute=full --mode FILE"),
            ("rl_mode", "", "--train tp=2,recompute=full --mode FILE --compare"),
        )
    ),
    Use("exporter", "run usual.yaml --export ./my_exporter.py=out.txt"),
    Use("exporter", "run usual.yaml --export my_exporter=out.txt --plugin FILE"),
    Use(
        "external",
        "run --workload step.yw --cluster hgx-h100 --set network.kind=external "
        "--set network.options.command=./my_external.py",
    ),
    Use("external", "network flows flows.csv --topology switch --network external "
        "--command ./my_external.py"),
    Use("external", "collective bench switch --sizes 64KiB --algorithms ring --network external "
        "--command ./my_external.py"),
    Use("external", "collective bench --cluster hgx-h100 --ranks 4 --sizes 64KiB "
        "--set network.kind=external --set network.options.command=./my_external.py"),
    Use("external", "sweep external.yaml"),
    Use("model", f"workload train --model ./my_model.py {TINY} -o t.yw"),
    Use("model", "workload infer --model ./my_model.py --tp 2 --batch 2 --context 64 -o i.yw"),
    Use("model", "plan --model ./my_model.py --ranks 8 --cluster hgx-h100 --global-batch 8"),
    Use("model", "plan --model my_model --ranks 8 --cluster hgx-h100 --global-batch 8 "
        "--plugin FILE"),
    Use("model", f"workload train --model my_model {TINY} -o t.yw --plugin FILE"),
    Use("model", "workload infer --model my_model --batch 2 --context 64 -o i.yw --plugin FILE"),
    Use("model", "explore run study.yaml -o CLEAN"),
    Use("model", "explore run named_study.yaml -o CLEAN --workers 2 --plugin FILE"),
    Use("model", "explore why studied --not tp=2 --plugin FILE"),
    Use("model", "explore next studied --plugin FILE"),
    Use("model", "explore odds studied --plugin FILE"),
    Use("model", "explore breaks studied --vary peak --plugin FILE"),
    Use("model", "explore report studied -o study.html --plugin FILE"),
    *(Use("model", f"{command} trained.yaml") for command in ("run", "validate", "sweep")),
    *(Use("schedule", f"{command} scheduled.yaml") for command in ("run", "validate", "sweep")),
    Use("schedule", "workload train --model llama3-8b --pp 4 --global-batch 8 "
        "--schedule my_schedule -o s.yw --plugin FILE"),
    Use(
        "schedule",
        "workload train --model llama3-8b --pp 4 --global-batch 8 --schedule ./my_schedule.py "
        "-o s.yw",
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("strangers")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for kind in kinds.names():
            assert main(["new", kind, f"my_{kind}"]) == 0
        for rank in range(RANKS):
            step = TraceBuilder(rank=rank)
            kernel = step.compute("kernel", num_ops=10**9, tensor_size=10**6)
            step.collective(CollectiveType.ALL_REDUCE, 1 << 20, after=kernel)
            step.build().write(f"step.{rank}.et")
        train = ["workload", "train", "--model", "./my_model.py", *TINY.split(), "-o"]
        assert main([*train, "step.yw"]) == 0
        assert main([*train, "stored.yw", "--offload-activations"]) == 0
        Path("named_study.yaml").write_text(STUDY.replace("./my_model.py", "my_model"))
        assert main(["explore", "run", "named_study.yaml", "-o", "studied", *PLUG_MODEL]) == 0
        for name, model, plan in (
            ("trained", "./my_model.py", "tp: 2, dp: 2"),
            ("scheduled", "llama3-8b", "pp: 4, global_batch: 8, schedule: ./my_schedule.py"),
        ):
            step = f"{{model: {model}, sequence: 512, plan: {{{plan}}}}}"
            Path(f"{name}.yaml").write_text(f"workload: {step}\ncluster: hgx-h100\n")
        Path("external.yaml").write_text(
            _scenario("").replace(
                "network: analytical",
                "network: {kind: external, options: {command: ./my_external.py}}",
            )
        )
        Path("flows.csv").write_text("src,dst,bytes,start_ns\n0,1,100000,0\n2,1,5000,1234\n")
        Path("study.yaml").write_text(STUDY)
        Path("machines.yaml").write_text(MACHINES)
        Path("usual.yaml").write_text(_scenario(""))
        Path("fabric.yaml").write_text(
            _scenario("").replace("  device:", "  fabric: {kind: ./my_fabric.py, leaves: 4, "
            "ranks_per_leaf: 2, bandwidth: 50 GB/s, latency: 500 ns}\n  device:")
            .replace("network: analytical", "network: flow")
        )  # fmt: skip
    return folder


def _write_cluster(kind: str) -> None:
    machine = Path(yantra.clusters.__file__).parent / "machines" / "hgx-h100.yaml"
    text = machine.read_text()
    for path, named in (("mine.yaml", f"./my_{kind}.py"), ("named.yaml", f"my_{kind}")):
        if kind == "topology":
            own = text.replace("kind: switch\n  members", f"kind: {named}\n  members", 1)
        elif kind == "collective":
            own = text.replace("{all_reduce: ring,", f"{{all_reduce: {named},", 1)
        else:
            return
        assert own != text
        Path(path).write_text(own)


def _scenario(kind: str) -> str:
    text = SCENARIO
    for name, usual in USUAL.items():
        chosen = f"./my_{name}.py" if name == kind else usual
        if name == "selection":
            chosen = f", selection: {chosen}" if chosen else ""
        text = text.replace(name.upper(), chosen)
    return text


@pytest.mark.parametrize("use", USES, ids=str)
def test_a_plug_in_runs_in_every_command_that_takes_its_kind(
    use: Use, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    Path("step.yaml").write_text(_scenario(use.kind))
    _write_cluster(use.kind)
    shutil.rmtree("clean", ignore_errors=True)
    text = use.command.replace("FILE", f"./my_{use.kind}.py").replace("CLEAN", "clean")
    status = main(text.split())
    said = capsys.readouterr()
    assert status == 0, said.err
    assert said.out or " -o " in use.command


def test_every_kind_is_tried() -> None:
    assert {use.kind for use in USES} == set(kinds.names())


def _names(said: str) -> Iterator[str]:
    return (line.split()[0] for line in said.splitlines() if line.strip())


def test_a_network_that_is_plugged_in_is_compared(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    assert main(["network", "compare", "usual.yaml", "--plugin", "./my_network.py"]) == 0
    assert "my_network" in _names(capsys.readouterr().out)


ASKED = """
import inspect
def _ask(*arguments, **named):
    raise RuntimeError("it was asked")
for _name, _own in list(vars(PLUGIN).items()):
    if inspect.isfunction(_own):
        setattr(PLUGIN, _name, _ask)
"""


@pytest.mark.parametrize("kind", USUAL)
@pytest.mark.parametrize(
    "command", ["run step.yaml", "network compare step.yaml", "sweep step.yaml", "plan"]
)
def test_what_runs_is_the_plug_in_and_nothing_in_its_place(
    kind: str,
    command: str,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if command == "plan":
        if kind not in ("topology", "collective"):
            pytest.skip("a machine names no such plug-in")
        command = "plan --model llama3-8b --ranks 8 --cluster ./mine.yaml --global-batch 8"
    folder = shutil.copytree(files, tmp_path / "asked")
    monkeypatch.chdir(folder)
    with open(f"my_{kind}.py", "a", encoding="utf-8") as file:
        file.write(ASKED)
    Path("step.yaml").write_text(_scenario(kind))
    _write_cluster(kind)
    allow(f"./my_{kind}.py")
    status = main(command.replace("./mine", f"{folder}/mine").split())
    said = capsys.readouterr()
    is_row = kind == "network" and command.startswith("network compare")  # says who refuses
    assert status == (0 if is_row else 2)
    told = " ".join((said.out if is_row else said.err).split())
    assert f"my_{kind}" in told and "it was asked" in told
