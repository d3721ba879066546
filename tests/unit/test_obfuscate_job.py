"""Worked cases of hiding: files, report, leaks, and the simulated difference of a real shape."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError, TraceError
from yantra.chakra import CollectiveType, IOInfo, Node, NodeType, Trace, TraceBuilder, read
from yantra.cli import main
from yantra.run.obfuscate import Targets, obfuscate_job
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import declared_groups
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.obfuscate import obfuscate
from yantra.tracing.obfuscate.classes import CLASSES, class_of
from yantra.tracing.obfuscate.leaks import repetition

AR = CollectiveType.ALL_REDUCE
GROUPS = {"tensor.a": (0, 1), "tensor.b": (2, 3), "17": (0, 1, 2, 3)}


def job(layers: int = 6) -> list[RankTrace]:
    ranks = []
    for rank in range(4):
        draw = random.Random(7)
        step = TraceBuilder(rank=rank)
        host: Node | tuple[()] = ()
        device: Node | tuple[()] = ()
        for layer in range(layers):
            for _ in range(3):
                host = step.compute(f"aten::op_{layer}", duration_micros=5, cpu=True, after=host)
            work = step.compute(
                f"void cutlass_gemm_{layer}<float>(x)",
                duration_micros=draw.randint(50, 900),
                num_ops=draw.randint(10**9, 10**10),
                tensor_size=draw.randint(10**6, 10**7),
                after=[node for node in (host, device) if isinstance(node, Node)],
            )
            work["tid"] = 3
            work["stream"] = 7
            device = step.collective(
                AR, 2**20 * (1 + layer % 2), group=f"tensor.{'ab'[rank // 2]}", after=work
            )
        if rank % 2 == 0:
            step.send(rank + 1, 2**16, tag=5, after=device)
        else:
            step.recv(rank - 1, 2**16, tag=5, after=device)
        step.collective(AR, 2**22, group="17", after=device)
        ranks.append(RankTrace(rank, f"job.{rank}.et", step.build()))
    return ranks


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_the_simulated_difference_is_within_what_is_accepted(level: int, tmp_path: Path) -> None:
    targets = Targets(str(tmp_path / "h.{rank}.et"), report=str(tmp_path / "report.json"))
    done = obfuscate_job(job(), targets, level=level, key="secret", groups=GROUPS)
    # the old group names are no numbers, so the old form could not run
    assert done.difference is None and "number" in done.not_run
    numbered = {"1": (0, 1), "2": (2, 3), "17": (0, 1, 2, 3)}
    again = obfuscate_job(renamed(job()), targets, level=level, key="secret", groups=numbered)
    assert again.difference is not None and again.difference.accepted
    assert level > 2 or again.difference.share == 0
    before, after = again.difference.before, again.difference.after
    assert sum(after.group_bytes.values()) == pytest.approx(
        sum(before.group_bytes.values()), rel=0 if level < 3 else 1e-4
    )
    form = json.loads((tmp_path / "report.json").read_text())
    assert form["simulated"]["accepted"] and form["level"] == level
    assert {leak["shows"] for leak in form["leaks"]} <= {"exactly", "roughly", "no longer"}


def renamed(ranks: list[RankTrace]) -> list[RankTrace]:
    names = {"tensor.a": "1", "tensor.b": "2"}
    out = []
    for rank, path, trace in ranks:
        nodes = list(trace)
        for node in nodes:
            if "pg_name" in node:
                node["pg_name"] = names.get(str(node["pg_name"]), str(node["pg_name"]))
        out.append(RankTrace(rank, path, Trace(nodes)))
    return out


def test_groups_keep_their_members_under_new_names() -> None:
    first = obfuscate(job(), level=1, key=b"k", groups=GROUPS)
    assert first.groups == {"1": (0, 1), "2": (2, 3), "17": (0, 1, 2, 3)}
    second = obfuscate(job(), level=2, key=b"k", groups=GROUPS)
    assert sorted(second.groups) == ["1", "2", "3"]
    assert sorted(second.groups.values()) == sorted(GROUPS.values())


def test_listed_process_groups_are_rewritten() -> None:
    listed = json.dumps([{"pg_name": "default_pg", "pg_desc": "secret", "ranks": [0, 1]}])
    node = Node(
        1,
        "## process_group:init ##",
        NodeType.METADATA,
        inputs=IOInfo(repr([listed]), "[[]]", "['String']"),
    )
    hidden = obfuscate([RankTrace(0, "", Trace([node]))], level=2, key=b"k")
    (group,) = declared_groups(Columns(hidden.traces[0]))
    assert (group.name, group.ranks, group.description) == ("1", (0, 1), "")


def test_level_1_keeps_shapes_and_level_2_drops_them() -> None:
    node = Node(1, "aten::mm", inputs=IOInfo("[[7, 8]]", "[[2, 3]]", "['Tensor(float)']"))
    for level, shapes in ((1, "[[2, 3]]"), (2, None)):
        hidden = obfuscate([RankTrace(0, "", Trace([node]))], level=level, key=b"k")
        (kept,) = hidden.traces[0]
        assert (None if kept.inputs is None else kept.inputs.shapes) == shapes
        assert kept.inputs is None or kept.inputs.values == ""


def test_starts_begin_at_zero_until_level_3_drops_them() -> None:
    nodes = [Node(i, start_micros=10**9 + i, duration_micros=1) for i in range(3)]
    for level, starts in ((1, [0, 1, 2]), (2, [0, 1, 2]), (3, [0, 0, 0])):
        hidden = obfuscate([RankTrace(0, "", Trace(nodes))], level=level, key=b"k")
        assert list(hidden.traces[0].native.start_micros) == starts


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("aten::cudnn_batch_norm_backward", "normalization"),
        ("void cutlass::Kernel<volta_sgemm>(Params)", "matrix_product"),
        ("aten::scaled_dot_product_attention", "attention"),
        ("cudaLaunchKernel", "launch"),
        ("cudaDeviceSynchronize", "synchronization"),
        ("Optimizer.step#SGD.step", "optimizer"),
        ("something of our own", "operator"),
    ],
)
def test_names_have_classes(name: str, found: str) -> None:
    assert class_of(name, NodeType.COMP, None, True, False) == found
    assert found in CLASSES


@pytest.mark.parametrize(
    ("sequence", "found"),
    [("", (0, 0)), ("abc", (0, 0)), ("aaaa", (1, 4)), ("abcabcabc", (3, 3)), ("xababy", (2, 2))],
)
def test_the_repetition_of_a_sequence(sequence: str, found: tuple[int, int]) -> None:
    assert repetition(sequence) == found


def test_leaks_are_told_with_their_evidence() -> None:
    leaks = {
        level: {leak.what: leak for leak in obfuscate(job(), level=level, key=b"k").leaks}
        for level in (1, 2, 3, 4)
    }
    assert leaks[1]["hidden size"].shows == "exactly"
    assert "4 of 7 calls" not in leaks[1]["hidden size"].evidence
    assert any("repeats a block of 2 calls 3 times" in text for text in layers(leaks[4]))
    assert leaks[2]["durations"].shows == "exactly" and leaks[3]["durations"].shows == "roughly"
    assert leaks[3]["operators"].shows == "roughly" and leaks[4]["operators"].shows == "no longer"
    assert leaks[4]["parallel degrees"].shows == "exactly"


def layers(leaks: dict[str, object]) -> list[str]:
    return leaks["number of layers or steps"].evidence  # type: ignore[attr-defined,no-any-return]


def test_what_cannot_be_hidden_is_refused() -> None:
    cyclic = Trace([Node(1, data_deps=[2]), Node(2, data_deps=[1])])
    with pytest.raises(TraceError, match="mend it"):
        obfuscate([RankTrace(0, "x.et", cyclic)], level=1, key=b"k")
    dangling = obfuscate([RankTrace(0, "x.et", Trace([Node(1, data_deps=[9])]))], level=1, key=b"k")
    assert "1 dependencies" in dangling.remarks[0] and not dangling.traces[0][0].data_deps
    for options in ({"level": 5}, {"level": 1, "epsilon": 1.0}, {"level": 3, "epsilon": 0.0}):
        with pytest.raises(ConfigError):
            obfuscate(job(), key=b"k", **options)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="empty"):
        obfuscate(job(), level=1, key=b"")


def test_the_command_writes_traces_groups_and_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank, _, trace in renamed(job()):
        trace.write(tmp_path / f"job.{rank}.et")
    groups = {"1": [0, 1], "2": [2, 3], "17": [0, 1, 2, 3]}
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    (tmp_path / "key").write_text("a secret")
    arguments = ["chakra", "obfuscate", str(tmp_path / "job.{rank}.et"), "--level", "3"]
    arguments += ["--groups", str(tmp_path / "groups.json"), "--report", str(tmp_path / "r.json")]
    given = [*arguments, "--key", str(tmp_path / "key"), "-o", str(tmp_path / "hidden.{rank}.et")]
    assert main(given) == 0
    text = capsys.readouterr().out
    assert "level 3: 4 traces written" in text and "accepted: at most 5%" in text
    assert json.loads((tmp_path / "r.json").read_text())["simulated"]["accepted"]
    names = sorted(json.loads((tmp_path / "hidden.groups.json").read_text()))
    assert names == ["1", "2", "3"]
    checked = ["chakra", "validate", str(tmp_path / "hidden.{rank}.et")]
    assert main([*checked, "--groups", str(tmp_path / "hidden.groups.json")]) == 0
    spoken = [*arguments, "--key", "a secret", "-o", str(tmp_path / "text.{rank}.et")]
    assert main(spoken) == 0
    assert read(tmp_path / "text.0.et") == read(tmp_path / "hidden.0.et")
    assert main([*arguments, "--key", "k", "-o", str(tmp_path / "one.et")]) == 2
    capsys.readouterr()


def test_a_scenario_gives_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank, _, trace in renamed(job(2)):
        trace.write(tmp_path / f"job.{rank}.et")
    (tmp_path / "s.yaml").write_text(
        f"workload: {{traces: '{tmp_path}/job.{{rank}}.et'}}\n"
        "cluster:\n  topology:\n"
        "    - {kind: ring, size: 4, bandwidth: 100 Gb/s, latency: 1 us}\n"
        "collectives: {all_reduce: [ring]}\n"
    )
    (tmp_path / "g.json").write_text('{"1": [0, 1], "2": [2, 3], "17": [0, 1, 2, 3]}')
    arguments = ["chakra", "obfuscate", str(tmp_path / "job.{rank}.et"), "--level", "2", "--key"]
    arguments += ["k", "-o", str(tmp_path / "h.{rank}.et"), "--scenario", str(tmp_path / "s.yaml")]
    assert main([*arguments, "--groups", str(tmp_path / "g.json")]) == 0
    assert "cluster: as the scenario says" in capsys.readouterr().out
