"""SimAI's workloads: what is read, where it communicates, and that nothing gets lost."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.importers.running import Semantics, finish
from yantra.base.errors import ConfigError, UnsupportedError, YantraError
from yantra.chakra import CollectiveType, Node, NodeType, Trace
from yantra.workloads.importers.simai import from_simai
from yantra.workloads.importers.simai.order import split, stages
from yantra.workloads.importers.simai.read import COLLECTIVES, Job, Phase, Row, parse
from yantra.workloads.importers.simai.trace import shard, trace

HEAD = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 4 ga: 3 "
SIZES = "all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 4096.0"
GRADIENTS = """\
grad_gather -1 1 NONE 0 1 NONE 0 1 ALLGATHER 30000 100
grad_param_comm -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 60000 100
moe_grad_norm1 -1 1 NONE 0 1 NONE 0 1 ALLGATHER_DP_EP 8000 100
"""
BODY = """\
embedding_layer -1 700 ALLREDUCE 8192 1 NONE 0 900 NONE 0 100
attention_column -1 1500 ALLGATHER 8192 800 REDUCESCATTER 8192 800 NONE 0 100
mlp_moelayer -1 1 ALLTOALL_EP 16384 1 ALLTOALL_EP 16384 1 NONE 0 100
"""
LOSS = "cross_entropy1 -1 0 ALLREDUCE 16 0 NONE 0 0 NONE 0 100\n"
TEXT = f"{HEAD}{SIZES}\n13\n{GRADIENTS}{BODY * 3}{LOSS}"


def write(folder: Path, text: str = TEXT) -> str:
    path = folder / "job.txt"
    path.write_text(text)
    return str(path)


def test_a_file_is_read_as_simai_means_it() -> None:
    job = parse(TEXT, "job.txt")
    assert (job.tp, job.ep, job.pp, job.vpp, job.micro_batches) == (2, 2, 2, 4, 3)
    assert (job.ranks, job.pp_bytes, len(job.rows)) == (16, 4096, 13)
    assert job.rows[0].weight_gradient == Phase(1, CollectiveType.ALL_GATHER, "dp", 30000)
    assert job.rows[2].weight_gradient.group == "edp"
    assert job.rows[5] == Row(
        "mlp_moelayer",
        Phase(1, CollectiveType.ALL_TO_ALL, "ep", 16384),
        Phase(1, CollectiveType.ALL_TO_ALL, "ep", 16384),
        Phase(1),
        100,
    )


def test_the_groups_are_those_of_simai(tmp_path: Path) -> None:
    workload = from_simai(write(tmp_path), schedule="simai")
    (grid,) = workload.grids
    assert workload.ranks == 8
    members = {name: list(grid.groups_of(group)) for name, group in workload.groups.items()}
    assert members["tp"] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert members["ep"] == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert members["edp"] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert members["dp"] == [(0, 2, 4, 6), (1, 3, 5, 7)]
    assert workload.sections["notes"][0].endswith("this is one of 2 stages, on 8 of 16 ranks")


def test_a_collective_of_whole_tensors_gives_one_rank_its_shard(tmp_path: Path) -> None:
    workload = from_simai(write(tmp_path), schedule="simai")
    sizes = {node.name: node["comm_size"] for node in collectives(workload.template("rank"))}
    assert sizes["grad_gather weight gradient dp"] == 7500
    assert sizes["grad_param_comm weight gradient dp"] == 60000
    assert sizes["mlp_moelayer forward ep"] == 16384


def collectives(made: Trace) -> list[Node]:
    return [node for node in made if node.type is NodeType.COMM_COLL]


PHASES = st.builds(
    Phase,
    st.integers(0, 3000),
    st.sampled_from([None, *COLLECTIVES.values()]),
    st.sampled_from(["tp", "ep", "edp", "dp"]),
    st.integers(1, 5000),
)
ROWS = st.lists(
    st.builds(Row, st.sampled_from("ab"), PHASES, PHASES, PHASES, st.sampled_from([0, 100])),
    min_size=1,
    max_size=4,
)
RANKS = {"tp": 2, "ep": 3, "dp": 6}


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    before, body, after = draw(ROWS), draw(ROWS), draw(ROWS)
    micro_batches = draw(st.integers(1, 4))
    rows = [body[0]._replace(name="embedding_layer"), *body[1:]] * micro_batches
    last = [row._replace(name="cross_entropy1") for row in after]
    pp = draw(st.integers(1, 3))
    return Job("job", tuple(before + rows + last), 2, 3, pp, 1, micro_batches, pp_bytes=draw(SIZE))


SIZE = st.sampled_from([0, 64])


@given(jobs(), st.sampled_from(["simai", "1f1b", "gpipe", "zb-h1"]))
def test_nothing_of_the_rows_is_lost_or_added_in_any_order(job: Job, schedule: str) -> None:
    phases = [phase for row in job.rows for phase in row[1:4]]
    wanted = Counter[tuple[CollectiveType, str]]()
    for phase in phases:
        if phase.kind is not None and phase.group in RANKS:
            size = phase.size_bytes
            if phase.kind is CollectiveType.ALL_GATHER:
                size = shard(size, RANKS[phase.group])
            wanted[phase.kind, phase.group] += size
    for parts in stages(job, schedule):
        made = trace(parts, RANKS, job.pp_bytes)
        got = Counter[tuple[CollectiveType, str]]()
        for node in collectives(made):
            got[CollectiveType(int(str(node["comm_type"]))), str(node["pg_name"])] += int(
                str(node["comm_size"])
            )
        assert got == wanted
        device = [node for node in made if node.type is NodeType.COMP and not node["is_cpu_op"]]
        total_ns = sum(phase.time_ns for phase in phases)
        assert sum(int(str(node["duration_ns"])) for node in device) == total_ns
        assert sum(node.duration_micros for node in device) == (total_ns + 500) // 1000


@given(jobs(), st.sampled_from(["1f1b", "gpipe", "zb-h1"]))
def test_each_micro_batch_crosses_each_border_once_each_way(job: Job, schedule: str) -> None:
    made = [trace(parts, RANKS, job.pp_bytes) for parts in stages(job, schedule)]
    for stage, one in enumerate(made):
        sent = Counter(str(n["comm_peer"]) for n in one if n.type is NodeType.COMM_SEND)
        received = Counter(str(n["comm_peer"]) for n in one if n.type is NodeType.COMM_RECV)
        crossing = job.micro_batches if job.pp_bytes else 0
        wanted = Counter({"pp+1": crossing * (stage < job.pp - 1), "pp-1": crossing * (stage > 0)})
        assert sent == wanted
        assert received == wanted


@pytest.mark.parametrize("semantics", ["astra-sim", "yantra"])
@pytest.mark.parametrize("schedule", ["simai", "1f1b", "gpipe", "zb-h1"])
def test_it_runs_to_the_end(tmp_path: Path, semantics: Semantics, schedule: str) -> None:
    workload = from_simai(write(tmp_path), schedule=schedule)
    assert len(finish(workload, semantics)) == workload.ranks  # and each within its bounds


def test_on_one_rank_it_takes_the_sum_of_its_times(tmp_path: Path) -> None:
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 all_gpus: 1"
    workload = from_simai(write(tmp_path, f"{head}\n3\n{BODY}"))
    total_ns = sum(
        phase.time_ns for row in parse(f"{HEAD}\n3\n{BODY}", "w").rows for phase in row[1:4]
    )
    assert finish(workload, "yantra")[0] == total_ns


def test_inference_runs_forward_only(tmp_path: Path) -> None:
    text = TEXT.replace("all_gpus", "mode: 1 all_gpus")
    workload = from_simai(write(tmp_path, text))
    names = {node.name.split(" ", 1)[1] for node in workload.template("rank")}
    assert {name.split()[0] for name in names} == {"forward"}


def test_a_file_without_its_number_of_ranks_takes_it_from_the_user(tmp_path: Path) -> None:
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 2 checkpoints: 0 "
    path = write(tmp_path, f"{head}checkpoint_initiates: 0\n3\n{BODY.replace('_EP', '')}")
    assert from_simai(path, ranks=4).ranks == 4
    with pytest.raises(ConfigError, match="does not say all_gpus; give the number of ranks"):
        from_simai(path)


def test_what_simai_does_not_run_is_told(tmp_path: Path) -> None:
    norm = "norm -1 0 BROADCAST 16384 1 NONE 0 1 NONE 0 100\n"
    workload = from_simai(write(tmp_path, TEXT.replace("\n13\n", f"\n14\n{norm}")))
    assert (
        "job.txt:3: forward: BROADCAST of 16384 bytes is left out" in workload.sections["notes"][0]
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "DATA", "job.txt:1: expected one of HYBRID_TRANSF"),
        ("vpp: 4", "vp: 4", "job.txt:1: \"vp:\" is no word of SimAI's; did you mean 'vpp'?"),
        ("ga: 3", "ga: 0", "job.txt:1: expected ga from 1 to 65536, got 0"),
        ("pp: 2", "pp: 70000", "job.txt:1: expected pp from 1 to 65536, got 70000"),
        ("model_parallel_NPU_group: 2", "", "job.txt:1: has no model_parallel_NPU_group: N"),
        ("checkpoints: 0", "checkpoints: 1", "job.txt:1: checkpoints: SimAI's files say what"),
        ("\n13\n", "\n12\n", "job.txt: expected 12 rows, as line 2 says, at least 1, got 13"),
        ("\n13\n", "\n13 rows\n", 'job.txt:2: expected the number of rows alone, got "13 rows"'),
        ("ALLTOALL_EP 16384 1 ALL", "ALLTOALL_PE 16384 1 ALL", "did you mean 'ALLTOALL_EP'?"),
        ("700 ALLREDUCE", "-7 ALLREDUCE", "expected a time in ns, a whole number from 0"),
        ("900 NONE 0 100", "900 NONE 0", "job.txt:6: expected 12 columns, got 11"),
        ("all_gpus: 16", "all_gpus: 18", "18 ranks are no multiple of model_parallel_NPU_group"),
        ("ep: 2", "ep: 3", "4 data-parallel ranks are no multiple of ep: 3"),
        ("ga: 3", "ga: 2", "its rows are not 2 equal micro-batches from embedding_layer on"),
        (TEXT, "", "job.txt: ends early"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    text = TEXT.replace(old, new)
    path = write(tmp_path, text)
    with pytest.raises(YantraError) as raised:
        from_simai(path)
    assert problem in str(raised.value)
    assert not isinstance(raised.value, UnsupportedError) or "checkpoints" in old


def test_a_schedule_of_several_chunks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="dualpipe puts several chunks of layers"):
        from_simai(write(tmp_path), schedule="dualpipe")
    with pytest.raises(ConfigError, match="no schedule is named 'f1b'"):
        from_simai(write(tmp_path), schedule="f1b")


def test_the_number_of_ranks_cannot_contradict_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ranks: 32 contradicts all_gpus: 16"):
        from_simai(write(tmp_path), ranks=32)


def test_micro_batches_are_told_apart_by_their_rows() -> None:
    first, bodies, last = split(parse(TEXT, "job.txt"))
    assert (len(first), [len(body) for body in bodies], len(last)) == (3, [3, 3, 3], 1)


@settings(max_examples=10)
@given(st.integers(1, 10**9), st.integers(1, 100))
def test_shards_hold_the_whole(size: int, ranks: int) -> None:
    assert 0 <= shard(size, ranks) * ranks - size < ranks


@settings(max_examples=200)
@given(st.data())
def test_any_file_is_read_or_refused(data: st.DataObject) -> None:
    words = TEXT.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(words) - 1))
        words[at] = data.draw(st.sampled_from(["", "0", "-1", "NONE", "ga:", "9" * 40, "\n", "é"]))
    with suppress(YantraError):
        job = parse(" ".join(words), "w")
        for schedule in ("simai", "1f1b"):
            for parts in stages(job, schedule):
                trace(parts, {"tp": job.tp}, job.pp_bytes)
