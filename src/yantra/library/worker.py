"""One rank of a recording: a Hugging Face architecture with random weights runs three steps, the
last recorded. Called by `recording.py` where PyTorch and transformers are.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_STEPS = 2  # before the recorded one: DDP rebuilds its buckets in the second
_KINDS = {"vit": "ForImageClassification", "t5": "ForConditionalGeneration",
          "bert": "ForMaskedLM", "roberta": "ForMaskedLM"}  # fmt: skip
_IMAGE = 32
_HEADS = 4


def _config(asked: dict[str, Any]) -> Any:
    """The configuration of a model type at these sizes; what a type does not know is left out."""
    from transformers import CONFIG_MAPPING  # type: ignore[import-not-found]

    layers, width = asked["layers"], asked["width"]
    known = CONFIG_MAPPING[asked["model"]]
    sizes = {
        "vocab_size": asked["vocabulary"], "hidden_size": width, "n_embd": width,
        "d_model": width, "num_hidden_layers": layers, "n_layer": layers, "num_layers": layers,
        "num_decoder_layers": layers, "num_attention_heads": _HEADS, "n_head": _HEADS,
        "num_heads": _HEADS, "num_key_value_heads": 2, "intermediate_size": 4 * width,
        "ffn_dim": 4 * width, "d_ff": 4 * width, "d_kv": width // _HEADS,
        "head_dim": width // _HEADS, "max_position_embeddings": 2 * asked["sequence"],
        "n_positions": 2 * asked["sequence"], "num_local_experts": 4, "image_size": _IMAGE,
        "patch_size": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "word_embed_proj_dim": width, "use_cache": False,
    }  # fmt: skip
    fields = set(known().to_dict()) | set(getattr(known, "attribute_map", {}))
    config = known(**{name: value for name, value in sizes.items() if name in fields})
    config._attn_implementation = "eager"
    config.decoder_start_token_id = 0
    return config


def _model(asked: dict[str, Any]) -> Any:
    import transformers

    config = _config(asked)
    kind = _KINDS.get(asked["model"], "ForCausalLM")
    names = {"ForCausalLM": "AutoModelForCausalLM", "ForMaskedLM": "AutoModelForMaskedLM",
             "ForConditionalGeneration": "AutoModelForSeq2SeqLM",
             "ForImageClassification": "AutoModelForImageClassification"}  # fmt: skip
    return getattr(transformers, names[kind]).from_config(config)


def _inputs(asked: dict[str, Any], torch: Any) -> dict[str, Any]:
    batch, sequence = asked["batch"], asked["sequence"]
    if asked["model"] == "vit":
        return {"pixel_values": torch.randn(batch, 3, _IMAGE, _IMAGE),
                "labels": torch.zeros(batch, dtype=torch.long)}  # fmt: skip
    tokens = torch.randint(3, asked["vocabulary"], (batch, sequence))
    return {"input_ids": tokens, "labels": tokens}


def _spread(model: Any, asked: dict[str, Any], torch: Any) -> Any:
    if asked["dp"] == 1:
        return model
    torch.distributed.init_process_group("gloo")
    if not asked["shard"]:
        return torch.nn.parallel.DistributedDataParallel(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (asked["dp"],))
    blocks = next(one for one in model.modules() if isinstance(one, torch.nn.ModuleList))
    for block in blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main(folder: str, text: str) -> None:
    import torch

    import yantra

    asked = json.loads(text)
    torch.manual_seed(int(os.environ.get("RANK", "0")))
    torch.set_num_threads(1)
    trains = asked["phase"] == "training"
    model = _spread(_model(asked).train(trains), asked, torch)
    inputs = _inputs(asked, torch)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    with yantra.collect(folder, warmup=_STEPS, active=1) as recording:
        for _ in range(_STEPS + 1):
            with torch.set_grad_enabled(trains):
                loss = model(**inputs).loss
            if trains:
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            recording.step()
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
