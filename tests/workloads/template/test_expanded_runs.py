"""Expanded traces run as their workload does; those for ASTRA-sim do not change."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from yantra import chakra
from yantra.base.errors import ConfigError
from yantra.chakra import heads
from yantra.cli import main
from yantra.run.simulate import simulate
from yantra.scenario import Traces, load
from yantra.workloads.plan.plan import Plan
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

PLANS: dict[str, tuple[str, Any]] = {
    "zero": ("llama3-8b", Plan(tp=4, dp=4, zero=1, global_batch=16)),
    "pipeline": ("gpt3-1.3b", Plan(pp=2, dp=2, global_batch=8)),
    "experts": ("mixtral-8x7b", Plan(ep=4, dp=4, global_batch=8)),
    "context": ("gpt3-1.3b", Plan(cp=2, tp=2, dp=2, zero=3, global_batch=2)),
    "eight bits": ("gpt3-1.3b", Plan(tp=2, dp=2, dtype="fp8", global_batch=4)),
    "decode": ("llama3-8b", InferencePlan(pp=2)),
}
FOR_ASTRA_SIM = {
    "zero": "e7df0d07281ef132823a1b4651fa89ad88d1d06961e66507cd2e5078e34cd996",
    "pipeline": "dcc5e2055fdd9e1b76eebaea744b3e05c045dea8b6c188af490b1c9c3fe7cb0a",
    "experts": "e24f549698255f401a00dbd5cd90ff6bdf4e245a690224a0a268482404e30c6b",
    "context": "e0b0b3e01b6a6b363b1bf88434daa2678257f072060b00eb3e9e6775b4e41fc4",
    "decode": "39f8bb2d3e570f087fbf512cb6d579934939e157fd1c9329fe4a149726a549df",
}
"""Hash of the lines that `sha256sum *` prints in the folder of the traces that 14b349c6 wrote.

Of `context` since a ring has kernels that add its steps up."""


def made(name: str) -> Workload:
    model, plan = PLANS[name]
    if isinstance(plan, InferencePlan):
        return infer(model, plan, phase="decode", batch=8, context=512, iterations=2)
    return train(model, plan)


def ticks(path: Path, **settings: Any) -> list[int]:
    roomy = {"cluster.machine.memory": "1 TiB"}
    scenario = load(path, cluster="hgx-h100", settings=roomy | settings)
    return list(simulate(scenario.replace(fold="off")).outcome.finish)


@pytest.mark.parametrize("semantics", ["yantra", "astra-sim"])
@pytest.mark.parametrize("name", PLANS)
def test_every_rank_ends_at_the_tick_at_which_it_does_in_the_workload(
    name: str, semantics: str, tmp_path: Path
) -> None:
    work = made(name)
    work.save(tmp_path / "job.yw")
    work.expand(tmp_path)
    whole, expanded = (
        ticks(tmp_path / file, semantics=semantics) for file in ("job.yw", "workload.{rank}.et")
    )
    assert expanded == whole


@pytest.mark.parametrize("name", FOR_ASTRA_SIM)
def test_what_is_written_for_astra_sim_stays_byte_for_byte(name: str, tmp_path: Path) -> None:
    made(name).expand(tmp_path, reader="astra-sim")
    lines = [
        f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(tmp_path.iterdir())
    ]
    assert sha256("".join(lines).encode()).hexdigest() == FOR_ASTRA_SIM[name]


def test_an_ordering_that_is_asked_for_is_in_the_dependencies(tmp_path: Path) -> None:
    work = made("zero")
    found = {}
    for reader in ("yantra", "astra-sim"):
        for ordering in ("serial", "streams"):
            folder = tmp_path / f"{reader}-{ordering}"
            work.expand(folder, ordering=ordering, reader=reader)  # type: ignore[arg-type]
            found[reader, ordering] = ticks(folder / "workload.{rank}.et")
    assert found["yantra", "serial"] == found["astra-sim", "serial"]
    assert found["yantra", "streams"] == found["astra-sim", "streams"]
    assert max(found["yantra", "serial"]) > max(found["yantra", "streams"])


def test_traces_in_memory_carry_it_too(tmp_path: Path) -> None:
    work = made("zero")
    work.expand(tmp_path)
    traces = tuple(chakra.read(tmp_path / f"workload.{rank}.et") for rank in range(work.ranks))
    assert heads.texts_of(traces[0].native) == {heads.ORDERING: "serial", heads.DTYPE: "bf16"}
    held = Traces(traces=traces, groups=tuple(work.communicators().items()))
    scenario = load(
        tmp_path / "workload.{rank}.et", cluster="hgx-h100", settings={"semantics": "astra-sim"}
    )
    runs = [simulate(one).outcome.finish for one in (scenario, scenario.replace(workload=held))]
    assert list(runs[0]) == list(runs[1])


def test_packed_traces_state_it_as_plain_ones_do(tmp_path: Path) -> None:
    import gzip

    made("pipeline").expand(tmp_path)
    plain = (tmp_path / "workload.0.et").read_bytes()
    (tmp_path / "packed.et").write_bytes(gzip.compress(plain))
    stated = heads.stated_in(str(tmp_path / "workload.0.et"))
    assert stated == heads.stated(plain) == heads.stated_in(str(tmp_path / "packed.et"))
    assert stated[heads.ORDERING] == "serial"


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 20, b"\x05\x0a\x03ab", b"\x00"])
def test_what_states_nothing_is_read_as_before(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.et").write_bytes(content)
    assert heads.stated(content) == heads.stated_in(str(tmp_path / "t.et")) == {}
    assert heads.stated_in(str(tmp_path / "none.et")) == {}


def test_the_command_says_who_reads_them(tmp_path: Path, capsys: Any) -> None:
    made("pipeline").save(tmp_path / "p.yw")
    words = ["workload", "expand", str(tmp_path / "p.yw"), "-o", str(tmp_path / "o"), "--for"]
    assert main([*words, "astra-sim"]) == 0
    assert heads.stated_in(str(tmp_path / "o" / "workload.0.et")) == {}
    assert main([*words, "yantra"]) == 0
    assert heads.stated_in(str(tmp_path / "o" / "workload.0.et"))[heads.ORDERING] == "serial"
    with pytest.raises(ConfigError, match="reader: expected one of yantra, astra-sim"):
        made("pipeline").expand(tmp_path, reader="other")  # type: ignore[arg-type]
