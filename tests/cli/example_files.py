"""The small files that the examples of `--help` name, and the words of an example."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from tests.cases import ASTRA_SIM_SYSTEM
from tests.cli.tree import Found
from tests.docs.pages import blocks
from tests.nccl_logs import log
from tests.oracles.gpu_program import write_pair
from tests.oracles.msccl_writer import ring_allreduce
from tests.unit.bad_inputs.workload_inputs import HF
from tests.unit.test_mscclpp import gathering
from tests.workloads.importers.test_simai import BODY, GRADIENTS, HEAD, LOSS, TEXT
from yantra.chakra import CollectiveType, Node, Trace, TraceBuilder
from yantra.cli import main
from yantra.collectives.selection.own import HEAD as OWN
from yantra.kinds import get

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
workload: {traces: "job.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]
  device: {memory_bandwidth: 1 TB/s}
collectives: {all_reduce: [ring], chunks: 4}
"""
PROFILES = {
    "twins/twins.xplane.pb": "host0.xplane.pb",
    "nsys_b/nsys_b.sqlite": "report.sqlite",
    "rocpd_b/rocpd_b.db": "results.db",
}
MESH = (ROOT / "src/yantra/fabric/topologies/mesh.py").read_text()
TEXTS = {
    "step.yaml": SCENARIO,
    "meshed.yaml": SCENARIO.replace("ring", "my_mesh", 1),
    "my_mesh.py": MESH,
    "my_network.py": get("network").text("my_network"),
    "tenants.yaml": f"jobs: [step.yaml]\n{SCENARIO.split(chr(10), 2)[2]}",
    "other.yaml": SCENARIO.replace("50 GB/s", "100 GB/s"),
    "system.json": json.dumps(ASTRA_SIM_SYSTEM),
    "network.yml": "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n",
    "memory.json": '{"memory-type": "NO_MEMORY_EXPANSION"}',
    "transformer.txt": "DATA\n1\na -1 5 0 8 8 8 NONE 0 4 0 8 8 8 NONE 0 3 0 8 8 8 ALLREDUCE 8 1\n",
    "study.yaml": "model: llama3-8b\nglobal_batch: 16\nclusters: [hgx-h100]\nranks: [8]\n"
    "objectives: [step_time, usd_per_million_tokens]\n"
    "stack: roofline\n",
    "vgg16.txt": "DATA\n1\nonly -1 5 NONE 0 4 NONE 0 3 ALLREDUCE 1024 1\n",
    "gpt13b.txt": TEXT,
    "old.txt": f"{HEAD}checkpoints: 0 pp_comm: 4096.0\n13\n{GRADIENTS}{BODY * 3}{LOSS}",
    "allreduce.xml": ring_allreduce(4),
    "plan.json": json.dumps(gathering(4)),
    "config.json": json.dumps(HF),
    "pretrain.sh": "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 256 "
    "--max-position-embeddings 256 --vocab-size 1000 --tensor-model-parallel-size 2\n",
    "lengths.jsonl": "".join(
        f'{{"output": {300 + 70 * n}, "prompt": {n % 4}}}\n' for n in range(16)
    ),
    "grpo.yaml": "grpo: {num_prompts_per_step: 16, num_generations_per_prompt: 8}\n"
    "policy: {model_name: meta-llama/Llama-3.1-8B, train_global_batch_size: 128, "
    "max_total_sequence_length: 4096}\ncluster: {num_nodes: 1, gpus_per_node: 8}\n",
    "jobs.csv": "job_id,vc,gpu_num,submit_time,duration\n"
    + "".join(f"{at},{'ab'[at % 2]},{2**at},2020-09-01 00:0{at}:00,3600\n" for at in range(6)),
    "job.yaml": "model: llama3-8b\nplan: {tp: 2}\n",
    "pod.csv": "from,to,bandwidth,latency\n0,leaf,50 GB/s,500 ns\n1,leaf,50 GB/s,500 ns\n",
    "links.csv": "source,destination,from_ns,to_ns,bytes_per_ns\n0,leaf,500,520,50\n",
    "flows.csv": "src,dst,bytes,start_ns\n0,1,1000,0\n1,0,1000,500\n",
    "failures.csv": "at_ns,from,to,bandwidth\n100,0,leaf,0 GB/s\n900,0,leaf,50 GB/s\n",
    **dict.fromkeys(("hpcc.csv", "dcqcn.csv"), "bytes,slowdown\n1000,1.5\n9000,2.5\n"),
    "queues.csv": "link,at_ns,queue_bytes\n0,0,0\n0,100,1000\n0,300,0\n",
    "key.txt": "secret\n",
    "my-device.yaml": (ROOT / "src/yantra/compute/devices/dies/a100.yaml").read_text(),
    "steps.csv": "model,cluster,plan,seconds\nllama3-8b,hgx-h100,tp=8 dp=2 global_batch=32,4.31\n",
    "node.csv": "op,phase,dtype,shape,us\ngemm,forward,bf16,m=4096 n=4096 k=4096,250\n",
    "my-gpu.yaml": "title: mine\ndevice: my-gpu\nsource: a test\nkernels: |\n"
    "  op,phase,dtype,shape,us\n  gemm,forward,bf16,m=4096 n=4096 k=4096,250\n",
    "azure.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
    "2023-11-16 18:15:51.2224670,879,55\n",
    "requests.csv": "arrival_s,input_tokens,output_tokens,ttft_s,tpot_s,end_to_end_s\n"
    "0.0,235,53,0.069,0.0319,1.73\n0.27,103,77,0.031,0.0325,2.5\n",
    "nccl.log": log("all_reduce", [(2**k, 20 + 2**k / 1e5) for k in range(10, 20)]),
    "my-node.yaml": "title: mine\ncluster: my-node\nsource: a test\ncollectives: |\n"
    f"  {','.join(OWN)}\n  all_reduce,node,8,8,9,Ring,LL,5,0.8,1e5,0.1,0.2\n",
    "my-cluster.yaml": (ROOT / "src/yantra/fabric/clusters/machines/hgx-h100.yaml").read_text(),
    "my-megatron.yaml": "title: mine\nsources: {mine: a test}\nmachines:\n  any:\n    rows: 1\n"
    "    models: 1\n    products: {value: 1.1, source: '[mine]'}\n"
    "    attention: {value: 1.1, source: '[mine]'}\n    rest: {value: 1.1, source: '[mine]'}\n",
}
TENSOR = [3, 4, 0, 6, 4, "cpu"]
ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def words(example: str) -> list[str]:
    program, *rest = shlex.split(example.replace("\\\n", " "))
    assert program == "yantra"
    return rest


def as_json(found: Found) -> str:
    """The first example of a command with `--json`, or nothing."""
    return next((line for line in found.examples if "--json" in words(line)), "")


def write(folder: Path) -> None:
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    simulator = folder / "my_simulator"
    shutil.copy(ROOT / "adapters/python/store_and_forward.py", simulator)
    simulator.chmod(0o755)
    _traces(folder)
    _pytorch(folder)
    for source, name in PROFILES.items():
        shutil.copy(ROOT / "tests/golden/data/profiles" / source, folder / name)
    _sheets(folder)
    _library(folder)
    for step in (
        "workload train --hf-config config.json --tp 2 --dp 4 -o step.yw",
        "workload train --model llama3-8b --n-layer 4 --tp 2 --dp 2 -o job.yw",
    ):
        assert main(_in(folder, step)) == 0
    (folder / "jobs").mkdir()
    shutil.copy(folder / "job.yw", folder / "jobs")
    for jobs, rules in (("jobs", "jobs.ysyn"), ("step.yw", "step.ysyn")):
        assert main(["synth", "fit", str(folder / jobs), "-o", str(folder / rules)]) == 0
    for name, seed in (("drawn", "1"), ("held", "2")):
        line = ["synth", "sample", str(folder / "jobs.ysyn"), "--seed", seed]
        assert main([*line, "-o", str(folder / name)]) == 0
    study = ["explore", "run", str(folder / "study.yaml"), "-o", str(folder / "finished-study")]
    assert main(study) == 0
    for scenario, result in (("step.yaml", "result.json"), ("other.yaml", "other.json")):
        assert main(["run", str(folder / scenario), "-o", str(folder / result)]) == 0


def _library(folder: Path) -> None:
    made, suite = str(folder / "traces"), str(folder / "suite.json")
    assert main(["library", "build", "width.h1k.l4.*", "-o", made]) == 0
    assert main(["suite", "select", made, "-k", "2", "-o", suite]) == 0


def _in(folder: Path, line: str) -> list[str]:
    return [str(folder / word) if (folder / word).exists() or "." in word else word
            for word in line.split()]  # fmt: skip


def _traces(folder: Path) -> None:
    """Write job.0.et to job.3.et, the same as step.0.et, ... and with times as timed.0.et, ..."""
    for rank in range(4):
        step = TraceBuilder()
        kernel = step.compute("matmul", duration_micros=150, num_ops=2 * 4096**3)
        for name, value in (
            ("op_class", "gemm"),
            ("dtype", "bf16"),
            *dict.fromkeys("mnk", 4096).items(),
        ):
            kernel.set(name, value)
        step.collective(CollectiveType.ALL_REDUCE, 4_000_000, after=kernel)
        step.build().write(folder / f"job.{rank}.et")
        step.build().write(folder / f"step.{rank}.et")
        timed = [Node(0, "a", duration_micros=5, start_micros=1), Node(1, "b", 4, 5, [0])]
        timed[1].start_micros = 7
        Trace(timed).write(folder / f"timed.{rank}.et")
    shutil.copy(ROOT / "tests/unit/old_traces/0.0.1.et", folder / "old.et")
    job, text = str(folder / "job.0.et"), str(folder / "trace.json")
    assert main(["chakra", "rewrite", job, "-o", text]) == 0


def _pytorch(folder: Path) -> None:
    for rank in (0, 1):
        write_pair(folder, operators=30, seed=rank)
        device = json.loads((folder / "device.json").read_text())
        device["distributedInfo"]["rank"] = rank
        (folder / f"device.{rank}.json").write_text(json.dumps(device))
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(json.dumps(device).encode()))
        (folder / "host.json").rename(folder / f"host.{rank}.json")
        ends = [f"--{kind}={folder / f'{kind}.{rank}.json'}" for kind in ("host", "device")]
        linked = str(folder / f"linked.{rank}.json")
        assert main(["chakra", "link", "-q", *ends, "-o", linked]) == 0
    for kind in ("host", "device"):
        shutil.copy(folder / f"{kind}.0.json", folder / f"{kind}.json")
    (folder / "trace.json.gz").write_bytes(gzip.compress((folder / "device.json").read_bytes()))
    (folder / "operators.json").write_text(json.dumps(_host_trace()))


def _host_trace() -> dict[str, Any]:
    root = _operator(1, "[pytorch|profiler|execution_trace|process]", "", [], [])
    add = _operator(
        2, "aten::add", ADD, [TENSOR, TENSOR, 1], ["Tensor(float)", "Tensor(float)", "Int"]
    )
    head = {"schema": "1.1.0-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0, "finish_ts": 1}
    return head | {"nodes": [root, add]}


def _operator(
    id: int, name: str, schema: str, values: list[Any], types: list[str]
) -> dict[str, Any]:
    shapes = [[2, 3] if kind.startswith("Tensor") else [] for kind in types]
    attributes = {"rf_id": id, "tid": 1, "op_schema": schema}
    none: dict[str, Any] = {"values": [], "shapes": [], "types": []}
    return {
        "id": id,
        "name": name,
        "ctrl_deps": 1,
        "inputs": {"values": values, "shapes": shapes, "types": types},
        "outputs": none,
        "attrs": [
            {"name": name, "type": "string" if isinstance(value, str) else "uint64", "value": value}
            for name, value in attributes.items()
        ],
    }


def _sheets(folder: Path) -> None:
    for block in blocks(ROOT / "docs" / "reference" / "stg.md"):
        if block.file is not None:
            (folder / block.file).write_text(block.text)
    shutil.copy(folder / "model.yaml", folder / "mine.yaml")
