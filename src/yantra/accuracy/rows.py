"""The measured training steps that predictions are compared with.

`rows/training_steps.csv` has steps of papers, benchmarks and frameworks: `stack` is the framework
and its generation, `fold` the model; a stack is known if rows of other folds of it were fitted.
`rows/vtrain_single_a100.csv` has the steps that vTrain (MICRO 2024) measured on one node, verbatim.
NOTICE names all sources and licences. Figures enter as they were published; where only a rate is,
the time of a step follows from the operations that its source counts.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from functools import cache
from os import path as paths
from typing import Any, NamedTuple

from yantra.base.documents import read_text
from yantra.base.named_files import ENDING
from yantra.fabric import stacks
from yantra.fabric.stacks.types import Stack, Terms
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan

_FOLDER = paths.join(paths.dirname(__file__), "rows")
UNKNOWN = "unknown"
"""The stack of a framework that nothing is known of."""
_VTRAIN = "vtrain_one_node"
_VTRAIN_VOCABULARY = 51200  # GPT-2's, padded as Megatron does for tp 8: what vTrain's models have

_OLD_RELEASE = (
    "a regression that its makers state (NVIDIA-NeMo/Megatron-Bridge, issue 1998: 25.11 ran this "
    "model half as fast as 25.09), mended in 26.02.01: one plan took 51.3 s on 16 H100s in 26.02 "
    "and 28.9 s in its first patch"
)
_SLOW_RELEASE = "26.02 took 49 s for it, 26.04.01 22.1 s; not said why"
_COLLECTIVE_MATMUL = "XLA hides messages of tensor parallelism in products: no word of a plan"
LEFT_OUT: Mapping[tuple[str, str], str] = {
    ("bridge_moe", "226 26.02 Qwen3_30B_a3B DGX-B200 8 MXFP8 s4096"): _OLD_RELEASE,
    ("bridge_moe", "227 26.02 Qwen3_30B_a3B DGX-H100 16 FP8 s4096"): _OLD_RELEASE,
    ("bridge_moe", "253 25.11 Qwen3_30B_a3B DGX-B200 8 FP8-MX s4096"): _OLD_RELEASE,
    ("bridge_moe", "259 25.11 Qwen3_30B_a3B DGX-H100 16 FP8-CS s4096"): _OLD_RELEASE,
    ("bridge_b300_moe", "t131 26.02.01 Qwen3_235B_a22B DGX-B300 256 MXFP8 s4096"): _SLOW_RELEASE,
    ("bridge_b300_moe", "t153 26.02 Qwen3_235B_a22B DGX-B300 256 MXFP8 s4096"): _SLOW_RELEASE,
    ("maxtext", "GPT3-175B tpu-v5p 512 int8 s2048"): _COLLECTIVE_MATMUL,
}
"""Rows that no figure counts, by data set and name, each with the reason."""
NO_PLAN: Mapping[str, str] = {
    "Megatron-Bridge, 53 steps of Nemotron 3": "Mamba beside attention and experts in one model",
    "Megatron-Bridge, 2 steps of DeepSeek-V4 Flash": "sizes that its makers do not state there",
    "Megatron-Bridge, 27 steps of GPT-OSS 120B": "attention sinks and clamped experts with biases",
    "MaxText, 18 steps of mixtures of experts and Gemma": "capacity and layers that differ",
    "MaxText, 1 step of GPT-3 in fp8 on v6e": "its fp8 has the rate of bf16 in the data sheet",
    "MaxText, 1 step of Wan 2.1": "a diffusion model of video",
}
"""Published steps that are in no data set, as no model or plan of ours says what ran."""


class Row(NamedTuple):
    """A measured step: `seconds` of a step, `alloc_gib` of memory where that is published.

    `model` and `plan` hold fields of a Transformer and of a Plan; `dtype` is that of the products.
    `profile` has kernels of the very machine, `release` is that of the framework; either is empty
    where nobody says.
    """

    dataset: str
    name: str
    gpu: str
    dtype: str
    stack: str
    fold: str
    ranks: int
    cluster: str
    model: str
    plan: str
    seconds: float
    alloc_gib: float | None = None
    profile: str = ""
    release: str = ""

    def made_model(self) -> Model:
        """Return the model: of a JSON text its sizes, else by name or file."""
        if self.model.startswith("{"):
            return _model(self.model)
        from yantra.workloads.models.catalogue import find

        return find(self.model)

    def made_plan(self) -> Plan:
        """Return the plan."""
        return Plan(**json.loads(self.plan))

    @property
    def kind(self) -> str:
        """Return `moe` or `dense`."""
        return _kind(self.plan)

    @property
    def file(self) -> Stack:
        """Return the file of the row's stack, release and kind, or that of an unknown stack."""
        return _file(self.stack, self.release, self.kind)

    @property
    def given(self) -> Terms:
        """Return what the file of the row's stack says of its machine."""
        return self.file.terms(self.machine, self.dtype)[1]

    @property
    def machine(self) -> str:
        """Return the name of the cluster, also of one that a file describes."""
        return paths.basename(self.cluster).removesuffix(ENDING)


@cache
def _kind(plan: str) -> str:
    return "moe" if '"ep":' in plan and json.loads(plan)["ep"] > 1 else "dense"


def file_name(stack: str, release: str, kind: str) -> str:
    """Return the name of the file of a stack: `megatron-bridge-moe-26.04`."""
    return "-".join((stack, *(["moe"] if kind == "moe" else []), *([release] if release else [])))


@cache
def _file(stack: str, release: str, kind: str) -> Stack:
    names = (file_name(stack, release, kind), file_name(stack, release, "dense"), UNKNOWN)
    return stacks.load(next(name for name in names if name in stacks.names()))


@cache
def _model(text: str) -> Model:
    sizes = json.loads(text)
    if (dense := sizes.pop("moe_layer_freq_first", None)) is not None:  # the first layers are dense
        sizes["moe_layer_freq"] = (0,) * dense + (1,) * (sizes["num_layers"] - dense)
    base = zoo.get(sizes.pop("base"))
    assert isinstance(base, Transformer)
    return model_of(base.replace(**sizes))


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows, those of one data set together."""
    return (*_steps(), *_vtrain())


def datasets() -> tuple[str, ...]:
    """Return the names of the data sets, in the order of their rows."""
    return tuple(dict.fromkeys(row.dataset for row in rows()))


def _lines(name: str) -> list[dict[str, str]]:
    """Return the lines of a file of `rows/`, or of a path."""
    lines = read_text(paths.join(_FOLDER, name)).splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("# P")))


def steps_of(path: str) -> list[Row]:
    """Return the rows of a file with the columns of `rows/training_steps.csv`."""
    return list(_steps(paths.abspath(path)))


def _steps(name: str = "training_steps.csv") -> Iterator[Row]:
    for line in _lines(name):
        given = {key: line[key] for key in Row._fields if key in line}
        row = Row(**(given | {"ranks": int(line["ranks"]), "seconds": 0.0}))  # type: ignore[arg-type]
        row = row._replace(profile=row.given.profile)
        memory = line["measured_alloc_gib"]
        if line["measured_s"]:
            seconds = float(line["measured_s"])
        else:
            seconds = _from_rate(row, float(line["measured_tflops_per_gpu"]))
        yield row._replace(seconds=seconds, alloc_gib=float(memory) if memory else None)


def _from_rate(row: Row, tflops: float) -> float:
    """Return the seconds of a step from its rate: 3 forward passes, half of attention is masked.

    So Llama 3's table 4 counts (Dubey et al., 2024, section 3.3.2).
    """
    plan = row.made_plan()
    flops = 3.0 * row.made_model().flops(causal="megatron") * plan.global_batch
    return flops / (tflops * 1e12 * row.ranks)


def _vtrain() -> Iterator[Row]:
    for number, line in enumerate(_lines("vtrain_single_a100.csv")):
        of = {key.lstrip("# "): value for key, value in line.items()}
        hidden, layers, length = (
            int(of[name]) for name in ("hidden size", "layers", "sequence length")
        )
        tp, dp, pp = (int(of[f"{axis} parallelism"]) for axis in ("tensor", "data", "pipeline"))
        model: dict[str, Any] = {
            "base": "gpt-1t",
            "num_layers": layers,
            "hidden_size": hidden,
            "num_attention_heads": int(of["attention heads"]),
            "ffn_hidden_size": 4 * hidden,
            "max_position_embeddings": length,
            "seq_length": length,
            "vocab_size": _VTRAIN_VOCABULARY,
            "num_query_groups": 0,
            "kv_channels": 0,
        }
        plan: dict[str, Any] = {
            "dtype": "fp16",
            "flash_attention": False,
            "dropout": True,
            "recompute": "full",
            "sequence_parallel": False,
            "gradient_dtype": "fp16",
            "overlap_gradients": False,
            "tp": tp,
            "dp": dp,
            "pp": pp,
            "micro_batch": int(of["micro batch"]),
            "global_batch": int(of["global batch"]),
        }
        yield Row(
            dataset=_VTRAIN,
            name=f"{number}: h{hidden} l{layers} s{length} t{tp}d{dp}p{pp}",
            gpu="a100",
            dtype="fp16",
            stack="megatron-deepspeed-2023",
            fold=f"gpt-{hidden}-{layers}-{length}",
            ranks=int(of["GPUs"]),
            cluster="dgx-a100-80gb",
            model=json.dumps(model),
            plan=json.dumps(plan),
            seconds=float(of["iteration time (ms)"]) / 1000.0,
        )
