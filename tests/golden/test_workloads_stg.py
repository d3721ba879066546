"""What STG made and the reference simulator said of it (../shared/golden, or YANTRA_GOLDEN): nodes,
ids, order of dependencies and ticks; of upstream's sheets with YANTRA_REFERENCE_STG.
"""

from __future__ import annotations

import json
import os
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.archives import unpack
from yantra import chakra
from yantra.astra_sim import from_files
from yantra.base.errors import DeadlockError
from yantra.compile import compile
from yantra.run.simulate import run, run_native
from yantra.workloads.importers.stg import Settings, from_stg
from yantra.workloads.templates import Workload, load

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden"
ARCHIVE = Path(os.environ.get("YANTRA_GOLDEN", GOLDEN)) / "workloads" / "stg.tar.gz"
SHEETS = os.environ.get("YANTRA_REFERENCE_STG")
CASES = (
    *("decode_8_dp2tp2pp2", "gpt_8_dp2tp2pp2", "gpt_8_dp8", "gpt_8_fsdp8", "gpt_8_pp8"),
    *("gpt_8_tp8", "gpt_8_tp8_ar", "gpt_8_tponly_dp2tp2pp2", "llama_16_dp2tp2pp2sp2"),
    *("llama_8_dp2tp2pp2", "moe_16_dp2tp2pp2ep2", "moe_64_dp4tp2pp2ep4", "moe_8_ep8"),
    "prefill_8_tp8",
)
HANGS = {"gpt_8_tponly_dp2tp2pp2", "llama_16_dp2tp2pp2sp2"}
NOT_OURS = {"output_dir", "output_name", "comm_group_file"}
SWITCHES = {"weight_sharded", "tpsp", "mixed_precision"}
SOURCES = [
    pytest.param(None, id="built-in"),
    pytest.param(
        SHEETS,
        id="sheets",
        marks=pytest.mark.skipif(not SHEETS, reason="YANTRA_REFERENCE_STG names no checkout"),
    ),
]

pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="the golden sets are not here")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(ARCHIVE) as files:
        unpack(files, folder)
    return folder / "stg"


def settings_of(case: Path) -> Settings:
    words = shlex.split(json.loads((case / "manifest.json").read_text())["cmd"])[2:]
    flags: dict[str, Any] = {}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        name = flag.removeprefix("--").replace("templates", "model_type")
        if name not in NOT_OURS:
            flags[name] = value if name == "model_type" else int(value)
    for name in SWITCHES & set(flags):
        flags[name] = bool(flags[name])
    return Settings(**flags, units="stg")


def content(
    trace: chakra.Trace, groups: dict[str, list[int]], tag: int
) -> Iterator[tuple[Any, ...]]:
    for node in sorted(trace, key=lambda node: node.id):
        values = {item.name: item.value for item in node.attributes}
        if "pg_name" in values:
            values["pg_name"] = tuple(groups[str(values["pg_name"])])
        if "comm_tag" in values:
            values["comm_tag"] = int(str(values["comm_tag"])) - tag
        for name in ("inputs", "outputs"):
            values.pop(name, None)
        own = "comm_src" if node.type == chakra.NodeType.COMM_SEND else "comm_dst"
        values.pop(own, None)
        yield node.id, int(node.type), tuple(node.data_deps), tuple(node.ctrl_deps), values


def read(folder: Path, ranks: int, groups: str) -> list[list[tuple[Any, ...]]]:
    traces = [chakra.read(folder / f"workload.{rank}.et") for rank in range(ranks)]
    tags = [
        int(str(item.value))
        for trace in traces
        for node in trace
        for item in node.attributes
        if item.name == "comm_tag"
    ]
    members = json.loads((folder / groups).read_text())
    return [list(content(trace, members, min(tags, default=0))) for trace in traces]


def saved(case: Path, sheets: str | None, folder: Path) -> Workload:
    from_stg(settings_of(case), sheets).save(folder / "case.yw")
    return load(folder / "case.yw")


@pytest.mark.parametrize("sheets", SOURCES)
@pytest.mark.parametrize("name", CASES)
def test_every_node_is_upstreams(
    name: str, sheets: str | None, golden: Path, tmp_path: Path
) -> None:
    workload = saved(golden / name, sheets, tmp_path)
    workload.expand(tmp_path / "et", reader="astra-sim")
    ours = read(tmp_path / "et", workload.ranks, "comm_group.json")
    theirs = read(golden / name, workload.ranks, "workload.json")
    for rank, (made, expected) in enumerate(zip(ours, theirs, strict=True)):
        assert made == expected, f"rank {rank}"


@pytest.mark.parametrize("sheets", SOURCES)
@pytest.mark.parametrize("name", CASES)
def test_every_run_takes_the_reference_simulators_time(
    name: str, sheets: str | None, golden: Path, tmp_path: Path
) -> None:
    saved(golden / name, sheets, tmp_path).expand(tmp_path / "et", reader="astra-sim")
    hangs = 0
    for said in json.loads((golden / name / "expected.json").read_text()):
        model = compiled(said, golden, tmp_path)
        if said["hang"]:
            hangs += 1
            with pytest.raises(DeadlockError, match="cannot finish"):
                run(model)
            continue
        outcome = run_native(model)
        finish, busy = outcome.finish.tolist(), outcome.compute_busy.tolist()
        assert dict(enumerate(finish)) == numbers(said["finish_cycles"]), said["network"]
        exposed = {rank: finish[rank] - busy[rank] for rank in range(len(finish))}
        assert exposed == numbers(said["exposed"]), said["network"]
    assert hangs == (name in HANGS)


@pytest.mark.parametrize("name", sorted(HANGS))
def test_one_order_of_collectives_ends_what_hangs_upstream(
    name: str, golden: Path, tmp_path: Path
) -> None:
    saved(golden / name, None, tmp_path).expand(
        tmp_path / "et", ordering="serial", reader="astra-sim"
    )
    for said in json.loads((golden / name / "expected.json").read_text()):
        run_native(compiled(said, golden, tmp_path))


def compiled(said: dict[str, Any], golden: Path, folder: Path) -> Any:
    (folder / "network.yml").write_text("\n".join(said["network"]))
    scenario, _ = from_files(
        workload=folder / "et/workload",
        system=golden / "systems" / said["system"],
        network=folder / "network.yml",
        memory=golden / "systems/mem.json",
        groups=folder / "et/comm_group.json",
        network_backend=f"congestion-{said['backend']}",
    )
    return compile(scenario)


def numbers(by_rank: dict[str, int]) -> dict[int, int]:
    return {int(rank): value for rank, value in by_rank.items()}


@st.composite
def plans(draw: st.DrawFn) -> Settings:
    kind = draw(st.sampled_from(("gpt", "llama", "moe", "prefilling", "decoding")))
    training = kind not in ("prefilling", "decoding")
    pp = draw(st.integers(1, 3))
    return Settings(
        model_type=kind,
        **{axis: draw(st.sampled_from((1, 2, 4))) for axis in ("dp", "tp", "sp")},
        ep=draw(st.sampled_from((1, 2, 4))) if training else 1,
        pp=pp,
        num_stacks=draw(st.integers(pp, 5)),
        weight_sharded=draw(st.booleans()),
        tpsp=kind != "gpt" or draw(st.booleans()),
        mixed_precision=kind == "llama" or draw(st.booleans()),
        batch=64,
        micro_batch=draw(st.sampled_from((16, 32, 64))) if training else None,
        dmodel=512,
        dff=1024,
        seq=2048,
        head=32,
        kvhead=16,
        dvocal=4096,
        # A decoded token is not whole where a sequence is split.
        units="stg" if kind == "decoding" else draw(st.sampled_from(("stg", "yantra"))),
    )


@pytest.mark.skipif(not SHEETS, reason="YANTRA_REFERENCE_STG names no checkout")
@settings(max_examples=60, deadline=None)
@given(plans())
def test_the_built_in_modules_make_the_nodes_of_the_sheets(plan: Settings) -> None:
    ours, theirs = from_stg(plan), from_stg(plan, SHEETS)
    assert ours.templates == theirs.templates
    for name in ours.templates:
        nodes, expected = (w.template(name) for w in (ours, theirs))
        for made, read in zip(nodes, expected, strict=True):
            assert (made.id, made.type) == (read.id, read.type)
            assert made.data_deps == read.data_deps
            assert made.attributes == read.attributes
