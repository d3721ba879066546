"""Files for command lines of `yantra workload` that go wrong: few sound ones, many broken."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from yantra.workloads.models import catalogue, description
from yantra.workloads.models.assemble import model_of
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

HF = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 64,
}
CONFIGS: dict[str, Any] = {
    "config.json": HF,
    "hf_missing.json": {key: value for key, value in HF.items() if key != "hidden_size"},
    "hf_unknown.json": HF | {"hiden_size": 64},
    "hf_type.json": HF | {"hidden_size": "64"},
    "hf_family.json": HF | {"model_type": "lama"},
    "hf_none.json": {"a": 1},
    "hf_list.json": [1],
    "hf_heads.json": HF | {"num_attention_heads": 5, "num_key_value_heads": 5},
    "hf_negative.json": HF | {"num_hidden_layers": -1},
}
TEXTS = {
    "hf_cut.json": '{"model_type": "llama", ',
    "job.yaml": "model: llama3-8b\nplan: {tp: 2}\n",
    "job_key.yaml": "modle: llama3-8b\n",
    "job_plan.yaml": "model: llama3-8b\nplan: {tpp: 2}\n",
    "job_two.yaml": "model: {name: llama3-8b, hf_config: config.json}\n",
    "job_yaml.yaml": "a: b: c\n",
    "sizes.yaml": "num_layers: 2\nhidden: 64\n",
    "three.py": "PLUGIN = 3\n",
    "crash.py": "1/0\n",
    "schedule.yaml": "micro_batches: 2\ndevices: [[F0, F1, B0]]\n",
    "args.sh": "--num-layers 2 --hiden-size 64\n",
    "args_none.sh": "echo hi\n",
    "w.txt": "DATA\n1\nonly -1 5 NONE 0 4 NONE 0 3 ALLREDUCE 1024 1\n",
    "w_cut.txt": "DATA\n2\nonly -1 5 NONE 0\n",
    "w_policy.txt": "DATAA\n1\n",
    "simai.txt": "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2\n1\n",
    "text.yw": "hello\n",
    "empty.yw": "",
}
MANIFESTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "future.yw": lambda tree: tree | {"version": 2},
    "format.yw": lambda tree: tree | {"format": "other"},
    "ranks.yw": lambda tree: tree | {"ranks": 9},
    "nogroup.yw": lambda tree: (
        tree | {"groups": {name: group for name, group in tree["groups"].items() if name != "tp"}}
    ),
    "badaxis.yw": lambda tree: (
        tree
        | {"groups": tree["groups"] | {"tp": {"grid": "train", "view": "dense", "axes": ["tpp"]}}}
    ),
    "noclass.yw": lambda tree: tree | {"classes": tree["classes"][:1]},
}


def write(folder: Path) -> None:
    for name, tree in CONFIGS.items():
        (folder / name).write_text(json.dumps(tree))
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    for name in ("folder", "nofiles"):
        (folder / name).mkdir()
    os.symlink("loop.yw", folder / "loop.yw")
    sizes = {"num_layers": 2, "hidden_size": 256, "seq_length": 128}
    llama: Any = catalogue.described("llama3-8b")
    small = model_of(llama.replace(**description.fields_of(sizes, "model")))
    train(small, Plan(tp=2, pp=2, dp=2)).save(folder / "good.yw")
    whole = (folder / "good.yw").read_bytes()
    (folder / "cut.yw").write_bytes(whole[: len(whole) // 2])
    _changed(folder, "nomanifest.yw", lambda name, data: None if "manifest" in name else data)
    _changed(folder, "notemplate.yw", lambda name, data: None if "stage1" in name else data)
    _changed(folder, "broken.yw", lambda name, data: data[:5000] if "stage1" in name else data)
    _changed(folder, "notjson.yw", lambda name, data: b"{" if "manifest" in name else data)
    for name, change in MANIFESTS.items():
        _changed(folder, name, _with_manifest(change))


def _with_manifest(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    def changed(name: str, data: bytes) -> bytes:
        return json.dumps(change(json.loads(data))).encode() if "manifest" in name else data

    return changed


def _changed(folder: Path, name: str, change: Callable[[str, bytes], bytes | None]) -> None:
    with (
        zipfile.ZipFile(folder / "good.yw") as source,
        zipfile.ZipFile(folder / name, "w") as target,
    ):
        for member in source.namelist():
            content = change(member, source.read(member))
            if content is not None:
                target.writestr(member, content)
