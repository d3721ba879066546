"""Generated traces: upstream's byte for byte, and ours that run."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from yantra import chakra
from yantra.base.errors import ConfigError
from yantra.chakra.generator import Sizes, generate
from yantra.cli import main
from yantra.cli.upstream import generator

# SHA-256, first half of a half, of the files of two NPUs as `chakra_generator --num_npus 2` of
# mlcommons/chakra 21585d8 writes them.
UPSTREAM = {
    "one_metadata_node_all_types": "c743025215be8d0c",
    "one_remote_mem_load_node": "cff97acc449c7981",
    "one_remote_mem_store_node": "a3fb73e213afc8b7",
    "one_comp_node": "063f191d51aabddf",
    "two_comp_nodes_independent": "051203bb9605058a",
    "two_comp_nodes_dependent": "f494c9cad83f5a7b",
    "ALL_REDUCE": "afc963ab83e7d57d",
    "ALL_TO_ALL": "a3f645c6d0fbbd59",
    "ALL_GATHER": "f71aa86d03764cb8",
    "REDUCE_SCATTER": "8f950cfbcb4c67e0",
    "BROADCAST": "d48f470e71b8d995",
    "BARRIER": "d16aebaaa14cee1d",
    "one_comm_send_node": "3d3b20e890972fb3",
    "one_comm_recv_node": "e9bd3706d3128997",
}


def test_the_drop_in_command_writes_upstreams_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["chakra_generator", "--num_npus", "2"])
    assert generator.main() == 0
    files = {
        name: b"".join(Path(f"{name}.{rank}.et").read_bytes() for rank in range(2))
        for name in UPSTREAM
    }
    assert {name: sha256(data).hexdigest()[:16] for name, data in files.items()} == UPSTREAM
    assert len(list(tmp_path.iterdir())) == 2 * len(UPSTREAM)


def test_the_defaults_are_upstreams() -> None:
    (case,) = generate(only=["one_comm_recv_node"], compat="upstream")
    assert len(case.traces) == 64
    assert case.traces[-1][0].id == 15 * 64 + 63  # the case before it has two nodes
    assert Sizes() == (5, 1024, 65536)


def test_our_traces_number_their_nodes_from_zero_and_have_peers() -> None:
    cases = {case.name: case.traces for case in generate(3, Sizes(comm_bytes=7))}
    assert list(cases) == [*list(UPSTREAM)[:-2], "send_recv_ring"]
    for traces in cases.values():
        assert len(traces) == 3
        for trace in traces:
            assert [node.id for node in trace] == list(range(len(trace)))
            assert not chakra.validate(trace)
    send, recv = cases["send_recv_ring"][2]
    assert (send["comm_dst"], send["comm_size"]) == (0, 7)
    assert (recv["comm_src"], recv["comm_size"]) == (1, 7)


def test_one_rank_has_nobody_to_send_to() -> None:
    assert "send_recv_ring" not in [case.name for case in generate(1)]


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_every_case_runs_but_upstreams_messages(tmp_path: Path, compat: Any) -> None:
    ring = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    names = ", ".join(f"{kind}: [ring]" for kind in ring)
    failed = []
    for case in generate(4, compat=compat):
        case.write(tmp_path)
        scenario = tmp_path / f"{case.name}.yaml"
        scenario.write_text(
            f'workload: {{traces: "{case.name}.{{rank}}.et"}}\n'
            "cluster:\n"
            "  topology: [{kind: ring, size: 4, bandwidth: 1 GB/s, latency: 1 us}]\n"
            "  memory: {kind: per_npu, bandwidth: 1 GB/s, latency: 1 us}\n"
            f"collectives: {{{names}}}\n"
        )
        if main(["run", str(scenario)]) != 0:
            failed.append(case.name)
    assert failed == (["one_comm_send_node", "one_comm_recv_node"] if compat else [])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"num_npus": 0}, "num_npus: expected a whole number from 1 to 2^63 - 1, got 0"),
        ({"sizes": Sizes(-1)}, "runtime_micros: expected a whole number from 0 to 2^63 - 1"),
        ({"only": ["ALLREDUCE"]}, "no case is named ALLREDUCE; did you mean 'ALL_REDUCE'?"),
    ],
)
def test_a_wrong_option_is_named(arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        list(generate(**{"num_npus": 2, **arguments}))  # type: ignore[arg-type]
    assert problem in str(error.value)
