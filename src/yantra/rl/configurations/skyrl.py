"""Configurations of SkyRL: scripts or YAML with `trainer.placement`, `trainer.policy`, `generator`.

Source: NovaSky-AI/SkyRL at a9564572, skyrl/train/config/config.py and examples/train.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yantra.rl.configurations.tree import Tree

NAME = "skyrl"
MARKS = ("trainer.policy", "generator")
IGNORED = (
    "data.", "environment.", "trainer.epochs", "trainer.eval", "trainer.ckpt", "trainer.logger",
    "trainer.project", "trainer.run_name", "trainer.resume", "trainer.policy.optimizer",
    "trainer.critic", "trainer.ref", "trainer.algorithm.", "trainer.placement.critic",
    "trainer.placement.ref", "generator.sampling_params.t", "trainer.hf_", "trainer.update_epochs",
)  # fmt: skip
_PLACE, _POLICY = "trainer.placement", "trainer.policy"
_ENGINE = "generator.inference_engine"


def fields(tree: Tree) -> dict[str, Any]:
    """Return the fields of a question that a configuration states."""
    each = tree.whole("generator.n_samples_per_prompt", 5) or 5
    prompts = tree.whole("trainer.train_batch_size", 1024) or 1024
    mini = tree.whole("trainer.policy_mini_batch_size", prompts) or prompts
    nodes = tree.whole(f"{_PLACE}.policy_num_nodes", 1) or 1
    training = nodes * (tree.whole(f"{_PLACE}.policy_num_gpus_per_node", 1) or 1)
    engines = tree.whole(f"{_ENGINE}.num_engines", 1) or 1
    wide = tree.whole(f"{_ENGINE}.tensor_parallel_size", 1) or 1
    colocated = tree.flag(f"{_PLACE}.colocate_all", True)
    refers = tree.flag("trainer.algorithm.use_kl_loss", True)
    longest = (tree.whole("trainer.max_prompt_length", 512) or 512) + (
        tree.whole("generator.sampling_params.max_generate_length", 1024) or 1024
    )
    micro = tree.whole("trainer.micro_train_batch_size_per_gpu", 1) or 1
    score = tree.whole("trainer.micro_forward_batch_size_per_gpu", 1) or 1
    generate: dict[str, Any] = {
        "tp": wide,
        "gpu_memory_utilization": float(tree.take(f"{_ENGINE}.gpu_memory_utilization", 0.8)),
        "max_num_seqs": tree.whole(f"{_ENGINE}.max_num_seqs", 1024),
    }
    if not colocated:
        generate["gpus"] = engines * wide
    return {
        "model": tree.take(f"{_POLICY}.model.path"),
        "prompts": prompts,
        "generations": each,
        "gpus": training if colocated else training + engines * wide,
        "train_batch": mini * each,
        "micro_tokens": micro * longest,
        "score_tokens": score * longest,
        "framework": NAME,
        "generate": generate,
        "train": _train(tree),
        "reference": None if refers else False,
        **_mode(tree, colocated),
        **(_rounds(tree) if colocated else {}),
    }


def _rounds(tree: Tree) -> dict[str, Any]:
    """`filter`: batches are added until one is full. `replace` copies groups, and adds none."""
    own = "trainer.algorithm.dynamic_sampling"
    if str(tree.take(f"{own}.type")) != "filter":
        return {}
    tree.assume("filtered", 0.0, "no group were thrown away; --set filtered= says how many are")
    most = tree.whole(f"{own}.max_sample_batches", 30)
    return {"algorithm": "dapo", "most_rounds": most}


def _mode(tree: Tree, colocated: bool) -> dict[str, Any]:
    own = "trainer.fully_async"
    is_async = tree.flag(f"{own}.enabled") or own in tree
    staleness = tree.whole(f"{own}.max_staleness_steps", 4)
    workers = tree.whole(f"{own}.num_parallel_generation_workers")
    kept = "recompute" if tree.flag(f"{own}.clear_kv_cache_on_weight_sync") else "keep"
    if colocated:
        return {"mode": "sync"}
    if not is_async:
        return {"mode": "one-off"}
    return {"mode": "async", "staleness": staleness, "at_once": workers, "kv": kept}


def _train(tree: Tree) -> dict[str, Any]:
    if str(tree.take("trainer.strategy", "fsdp2")) == "megatron":
        own = f"{_POLICY}.megatron_config"
        names = {
            "tp": "tensor_model", "pp": "pipeline_model", "cp": "context", "ep": "expert_model",
        }  # fmt: skip
        return {name: tree.whole(f"{own}.{word}_parallel_size", 1) for name, word in names.items()}
    again = tree.flag("trainer.gradient_checkpointing", True)
    cp = tree.whole(f"{_POLICY}.sequence_parallel_size", 1)
    return {"cp": cp, "zero": 3, "recompute": "full" if again else "none"}
