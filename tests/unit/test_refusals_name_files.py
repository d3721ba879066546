"""Refusals name the file and the key that its writer used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, ASTRA_SIM_SYSTEM
from tests.oracles.small_traces import call, kernel, op
from yantra.chakra import TraceBuilder
from yantra.cli import main

MODEL = (
    "{num_layers: 9999, hidden_size: 1073741824, num_attention_heads: 1, vocab_size: 1000, "
    "ffn_hidden_size: 1099511627776, seq_length: 8}"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(capsys: pytest.CaptureFixture[str], *line: str) -> str:
    capsys.readouterr()
    assert main(line) == 2
    return capsys.readouterr().err.rpartition("error: ")[2]


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("model: llama3-8b\nplan: {tp: 3}", (), "job.yaml: plan.tp: 32 attention heads"),
        ("model: llama3-8b\nplan: {tp: a}", (), "job.yaml: plan.tp: expected a whole number"),
        (
            "model: llama3-8b\nplan: {tensor-parallel-size: 3}",
            (),
            "job.yaml: plan.tensor-parallel-size: 32 attention",
        ),
        ("model: llama3-8b\nplan: {tp: 2, ranks: 7}", (), "job.yaml: plan.ranks: 7 is no"),
        ("model: llama3-8b\nsequence: x", (), "job.yaml: sequence: expected"),
        ("model: nosuch", (), "job.yaml: model: no model is named 'nosuch'"),
        ("model: nosuch", ("--num-layers", "3"), "job.yaml: model: no model is named"),
        ("model: {num_layer: 2}", ("--num-layers", "3"), "job.yaml: model: num_layer: a"),
        (f"model: {MODEL}", (), "job.yaml: model: expected at most 576,460,752,303,423,488 param"),
        ("model: llama3-8b\nplan: {tp: 2}", ("--tp", "3"), "--tp: 32 attention heads"),
        ("model: llama3-8b\nplan: {dp: 2}", ("--tp", "3"), "--tp: 32 attention heads"),
        ("model: llama3-8b", ("--seq", "0"), "--seq: expected"),
        ("model: llama3-8b", ("--num-layers", "0"), "llama3-8b.num_layers: expected"),
    ],
)
def test_a_job_file_and_its_key_or_the_flag_over_it(
    text: str, flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("job.yaml").write_text(text)
    told = refusal(capsys, "workload", "train", "--job", "job.yaml", *flags)
    assert told.startswith(said)


@pytest.mark.parametrize("command", ["train", "infer"])
def test_the_config_of_a_model_too_large_for_63_bits(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": 99,
        "hidden_size": 1 << 30,
        "num_attention_heads": 64,
        "vocab_size": 10**9,
        "intermediate_size": 1 << 40,
        "max_position_embeddings": 1 << 20,
    }
    Path("big.json").write_text(json.dumps(config))
    told = refusal(capsys, "workload", command, "--hf-config", "big.json")
    assert told.startswith("big.json: expected at most 576,460,752,303,423,488 parameters")
    assert "got 351,094,415,752,757,143,142,400; make layers, widths, experts" in told


def recording(rank: int = 0) -> dict[str, Any]:
    events = [op(1, "aten::mm", 100, 20), call("cudaLaunchKernel", 105, 4, 5), kernel(120, 70, 5)]
    return {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}


def test_a_recording_whose_time_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    Path("device.json").write_text(json.dumps(recording()))
    assert main(["chakra", "link", "--device", "device.json", "-o", "linked.json"]) == 0
    tree = json.loads(Path("linked.json").read_text())
    for node in tree["nodes"]:
        if node.get("cat") == "kernel":
            node["dur_ns"] = 1 << 61
    Path("linked.json").write_text(json.dumps(tree))
    for line in (
        ("convert", "pytorch", "linked.json", "-o", "job"),
        ("convert", "pytorch", "linked.json", "-o", "job.yw", "--replicate", "2"),
        ("stats", "linked.json"),
    ):
        told = refusal(capsys, "chakra", *line)
        assert told.startswith("linked.json: rank 0: device op")
        assert "impossible time: starts at" in told


def test_the_recording_of_a_rank_that_another_is_of_and_of_a_step_that_is_not_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("one.json", "two.json"):
        Path(name).write_text(json.dumps(recording()))
    convert = ("chakra", "convert", "pytorch", "-o", "job")
    assert refusal(capsys, *convert, "one.json", "two.json").startswith("two.json: rank 0: two of")
    assert refusal(capsys, *convert, "two.json", "--step", "3").startswith("two.json: rank 0: has")


NETWORK = {"topology": "[Ring]", "npus_count": "[2]", "bandwidth": "[50.0]", "latency": "[500.0]"}


@pytest.mark.parametrize(
    ("file", "key", "value", "said"),
    [
        ("network", "bandwidth", "[1e-300]", 'n.yml: "bandwidth[0]": must be at least 1 B/s'),
        ("network", "latency", "[1e300]", 'n.yml: "latency[0]": must be at most 922337'),
        ("system", "local-mem-bw", 1e-300, 's.json: "local-mem-bw": must be at least 1 B/s'),
        ("system", "peak-perf", 1e-300, 's.json: "peak-perf": must be at least 1 FLOP/s'),
    ],
)
def test_a_file_of_astra_sim_and_its_own_key(
    file: str, key: str, value: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 1}
    files: dict[str, dict[str, Any]] = {
        "network": NETWORK,
        "system": ASTRA_SIM_SYSTEM | {"roofline-enabled": 1, "peak-perf": 1, "local-mem-bw": 1},
        "memory": memory | {"remote-mem-bw": 1},
    }
    files[file] = files[file] | {key: value}
    Path("n.yml").write_text("\n".join(f"{name}: {one}" for name, one in files["network"].items()))
    Path("s.json").write_text(json.dumps(files["system"]))
    Path("m.json").write_text(json.dumps(files["memory"]))
    for rank in range(2):
        builder = TraceBuilder()
        builder.collective(ALL_REDUCE, 1024)
        builder.build().write(f"w.{rank}.et")
    told = refusal(
        capsys,
        "astra-sim",
        "--workload-configuration=w",
        "--system-configuration=s.json",
        "--network-configuration=n.yml",
        "--remote-memory-configuration=m.json",
    )
    assert told.startswith(said)


SCENARIO = """
workload: {traces: "w.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 2, bandwidth: 1e-200 GB/s, latency: 1 ns}]
  device: {memory_bandwidth: 1 TB/s}
"""


def test_a_scenario_and_a_file_of_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    for rank in range(2):
        builder = TraceBuilder()
        builder.collective(ALL_REDUCE, 1024)
        builder.build().write(f"w.{rank}.et")
    Path("s.yaml").write_text(SCENARIO)
    Path("one.yaml").write_text(SCENARIO.replace("1e-200", "50"))
    Path("jobs.yaml").write_text("jobs: [one.yaml]\ncluster:" + SCENARIO.partition("cluster:")[2])
    where = "cluster.topology[0].bandwidth: must be at least 1 B/s"
    assert refusal(capsys, "run", "s.yaml").startswith(f"s.yaml: {where}")
    assert refusal(capsys, "plot", "links", "s.yaml", "-o", "x.svg").startswith(f"s.yaml: {where}")
    assert refusal(capsys, "run", "jobs.yaml").startswith(f"jobs.yaml: {where}")


FABRIC = "from,to,bandwidth,latency\n0,leaf,50 GB/s,1 us\n1,leaf,50 GB/s,1 us\n"


def test_loads_of_links_that_no_run_has(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pod.csv").write_text(FABRIC)
    head = "source,destination,from_ns,to_ns,bytes_per_ns\n"
    Path("l.csv").write_text(f"{head}0,leaf,0,1e308,50\n")
    line = ("topology", "show", "pod.csv", "--svg", "f.svg", "--load", "l.csv", "--over-time")
    told = refusal(capsys, *line)
    assert told == 'l.csv, line 2, to_ns: expected at most 9.22337e+18, got "1e308"\n'


@pytest.mark.parametrize("latency", ["9223372036854775808 ns", "1e308 ns", "107000 h"])
def test_a_link_that_takes_longer_than_a_run(
    latency: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pod.csv").write_text(FABRIC.replace("1 us", latency, 1))
    for line in (
        ("collective", "bench", "pod.csv", "--algorithms", "ring,synthesized", "--sizes", "1MiB"),
        ("topology", "show", "pod.csv"),
    ):
        told = refusal(capsys, *line)
        assert told.startswith("pod.csv: ")
        assert "has a latency above 9223372036854775 ns: a run lasts at most 106 days" in told


def test_a_device_trace_that_is_linked_and_converted_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = recording()
    trace["traceEvents"][2]["args"]["stream"] = 1 << 63
    Path("device.json").write_text(json.dumps(trace))
    told = refusal(capsys, "chakra", "link", "--device", "device.json", "--to", "et", "-o", "job")
    assert told.startswith("device.json: an event has a number of more than 64 bits")
