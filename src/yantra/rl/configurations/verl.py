"""Configurations of verl: scripts or YAML with `actor_rollout_ref`.

Source: volcengine/verl at b178a3c, verl/trainer/config and examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yantra.rl.configurations.tree import Tree

NAME = "verl"
MARKS = ("actor_rollout_ref",)
IGNORED = (
    "data.", "trainer.", "algorithm.adv", "algorithm.gamma", "algorithm.lam", "algorithm.kl",
    "algorithm.norm", "algorithm.use_kl", "algorithm.rollout", "custom_reward", "reward_m",
    "global_profiler", "ray_",
    "critic.", "actor_rollout_ref.actor.optim", "actor_rollout_ref.actor.kl_",
    "actor_rollout_ref.actor.entropy", "actor_rollout_ref.actor.clip", "actor_rollout_ref.ref.",
    "actor_rollout_ref.actor.loss", "actor_rollout_ref.actor.checkpoint",
    "actor_rollout_ref.model.use_remove_padding", "actor_rollout_ref.rollout.temperature",
    "actor_rollout_ref.rollout.top_", "actor_rollout_ref.rollout.val_kwargs",
)  # fmt: skip
_ACTOR, _ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
_SEATS, _SHARE, _TOKENS = 256, 0.5, 16_384  # its defaults


def fields(tree: Tree) -> dict[str, Any]:
    """Return the fields of a question that a configuration states."""
    each = tree.whole(f"{_ROLLOUT}.n", 1) or 1
    mini = tree.whole(f"{_ACTOR}.ppo_mini_batch_size", 256) or 256
    gpus = (tree.whole("trainer.nnodes", 1) or 1) * (tree.whole("trainer.n_gpus_per_node", 8) or 8)
    tree.whole("data.max_response_length")
    is_gae = str(tree.take("algorithm.adv_estimator", "gae")) == "gae"
    refers = tree.flag(f"{_ACTOR}.use_kl_loss") or tree.flag("algorithm.use_kl_in_reward")
    most, score = _tokens(tree, "ppo_max_token_len_per_gpu", "ppo_micro_batch_size_per_gpu")
    return {
        "model": tree.take("actor_rollout_ref.model.path"),
        "prompts": tree.whole("data.train_batch_size", 1024),
        "generations": each,
        "gpus": gpus,
        "train_batch": mini * each,
        "micro_tokens": most,
        "score_tokens": score,
        "framework": NAME,
        "algorithm": "ppo" if is_gae else "grpo",
        "mode": "sync",
        "generate": _generate(tree),
        "train": _train(tree),
        "reference": None if refers else False,
        **_rounds(tree),
    }


def _rounds(tree: Tree) -> dict[str, Any]:
    """Groups of equal metrics are thrown away, until a batch is full."""
    if not tree.flag("algorithm.filter_groups.enable"):
        tree.skip("algorithm.filter_groups")
        return {}
    tree.take("algorithm.filter_groups.metric")
    step = tree.whole("data.train_batch_size", 1024) or 1024
    over = (tree.whole("data.gen_batch_size", step) or step) / step
    thrown = max(1 - 1 / over, 0.0)
    tree.assume("filtered", thrown, "a round of gen_batch_size fills a step in the mean")
    most = int(tree.take("algorithm.filter_groups.max_num_gen_batches", 0))
    return {
        "algorithm": "dapo", "oversampling": over, "most_rounds": max(most, 0),
        "filtered": thrown,
    }  # fmt: skip


def _tokens(tree: Tree, most: str, each: str) -> tuple[int, int]:
    longest = (tree.whole("data.max_prompt_length", 512) or 512) + (
        tree.whole("data.max_response_length", 512) or 512
    )
    packs = tree.flag(f"{_ACTOR}.use_dynamic_bsz")
    packed = tree.whole(f"{_ACTOR}.{most}", _TOKENS) or _TOKENS
    micro = (tree.whole(f"{_ACTOR}.{each}", 1) or 1) * longest
    score = tree.whole(f"{_ROLLOUT}.log_prob_max_token_len_per_gpu", packed) or packed
    scored = (tree.whole(f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu", 1) or 1) * longest
    return (packed, score) if packs else (micro, scored)


def _generate(tree: Tree) -> dict[str, Any]:
    return {
        "tp": tree.whole(f"{_ROLLOUT}.tensor_model_parallel_size", 2),
        "gpu_memory_utilization": float(tree.take(f"{_ROLLOUT}.gpu_memory_utilization", _SHARE)),
        "max_num_seqs": tree.whole(f"{_ROLLOUT}.max_num_seqs", _SEATS),
        "max_num_batched_tokens": tree.whole(f"{_ROLLOUT}.max_num_batched_tokens", 8192),
    }


def _train(tree: Tree) -> dict[str, Any]:
    again = tree.flag("actor_rollout_ref.model.enable_gradient_checkpointing", True)
    found: dict[str, Any] = {"recompute": "full" if again else "none"}
    own = f"{_ACTOR}.megatron"
    if own in tree or str(tree.take(f"{_ACTOR}.strategy", "fsdp")) == "megatron":
        names = {
            "tp": "tensor_model", "pp": "pipeline_model", "cp": "context", "ep": "expert_model",
        }  # fmt: skip
        return found | {
            name: tree.whole(f"{own}.{word}_parallel_size", 1) for name, word in names.items()
        }
    found["cp"] = tree.whole(f"{_ACTOR}.ulysses_sequence_parallel_size", 1)
    return found | {"zero": 3}
