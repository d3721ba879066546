"""Published `config.json` files of Hugging Face models, by the name the zoo has for them.

Keys that say nothing about the model are shortened.
"""

from __future__ import annotations

from typing import Any

_ANY = {
    "architectures": ["SomeForCausalLM"],
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.40.0",
    "use_cache": True,
}


def _llama(layers: int, hidden: int, heads: int, groups: int, wide: int, **more: Any) -> Any:
    return (
        _ANY
        | {
            "model_type": "llama",
            "hidden_size": hidden,
            "intermediate_size": wide,
            "max_position_embeddings": 4096,
            "num_attention_heads": heads,
            "num_hidden_layers": layers,
            "num_key_value_heads": groups,
            "pretraining_tp": 1,
            "rope_scaling": None,
            "tie_word_embeddings": False,
            "vocab_size": 32000,
        }
        | more
    )


def _llama3(*sizes: int, **more: Any) -> Any:
    return _llama(*sizes, **({"vocab_size": 128256, "max_position_embeddings": 8192} | more))


def _qwen3(layers: int, hidden: int, heads: int, groups: int, wide: int, **more: Any) -> Any:
    return _llama(
        layers, hidden, heads, groups, wide,
        **{
            "model_type": "qwen3",
            "attention_bias": False,
            "attention_dropout": 0.0,
            "head_dim": 128,
            "max_position_embeddings": 40960,
            "max_window_layers": layers,
            "sliding_window": None,
            "use_sliding_window": False,
            "vocab_size": 151936,
        } | more,
    )  # fmt: skip


def _qwen3_experts(*sizes: int, expert: int) -> Any:
    return _qwen3(
        *sizes,
        model_type="qwen3_moe",
        decoder_sparse_step=1,
        mlp_only_layers=[],
        moe_intermediate_size=expert,
        norm_topk_prob=True,
        num_experts=128,
        num_experts_per_tok=8,
        output_router_logits=False,
        router_aux_loss_coef=0.001,
    )


def _mixtral(*sizes: int, vocabulary: int, length: int) -> Any:
    return _llama(
        *sizes,
        model_type="mixtral",
        attention_dropout=0.0,
        max_position_embeddings=length,
        num_experts_per_tok=2,
        num_local_experts=8,
        output_router_logits=False,
        router_aux_loss_coef=0.02,
        sliding_window=None,
        vocab_size=vocabulary,
    )


def _deepseek(kind: str, **sizes: Any) -> Any:
    return (
        _ANY
        | {
            "model_type": kind,
            "attention_bias": False,
            "attention_dropout": 0.0,
            "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekConfig"},
            "aux_loss_alpha": 0.001,
            "ep_size": 1,
            "kv_lora_rank": 512,
            "max_position_embeddings": 163840,
            "moe_layer_freq": 1,
            "norm_topk_prob": False,
            "pretraining_tp": 1,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "rope_scaling": {"factor": 40, "type": "yarn"},
            "seq_aux": True,
            "tie_word_embeddings": False,
            "v_head_dim": 128,
            "vocab_size": 102400,
        }
        | sizes
    )


CONFIGS: dict[str, dict[str, Any]] = {
    "llama2-7b": _llama(32, 4096, 32, 32, 11008),
    "llama2-13b": _llama(40, 5120, 40, 40, 13824),
    "llama2-70b": _llama(80, 8192, 64, 8, 28672),
    "llama3-8b": _llama3(32, 4096, 32, 8, 14336, attention_bias=False, attention_dropout=0.0),
    "llama3-70b": _llama3(80, 8192, 64, 8, 28672),
    "llama3-405b": _llama3(
        126, 16384, 128, 8, 53248,
        eos_token_id=[128001, 128008, 128009],
        max_position_embeddings=131072,
        mlp_bias=False,
        rope_scaling={"factor": 8.0, "rope_type": "llama3"},
    ),
    "mixtral-8x7b": _mixtral(32, 4096, 32, 8, 14336, vocabulary=32000, length=32768),
    "mixtral-8x22b": _mixtral(56, 6144, 48, 8, 16384, vocabulary=32768, length=65536),
    "qwen3-32b": _qwen3(64, 5120, 64, 8, 25600),
    "qwen3-30b-a3b": _qwen3_experts(48, 2048, 32, 4, 6144, expert=768),
    "qwen3-235b-a22b": _qwen3_experts(94, 4096, 64, 4, 12288, expert=1536),
    "deepseek-v2": _deepseek(
        "deepseek_v2",
        first_k_dense_replace=1,
        hidden_size=5120,
        intermediate_size=12288,
        moe_intermediate_size=1536,
        n_group=8,
        n_routed_experts=160,
        n_shared_experts=2,
        num_attention_heads=128,
        num_experts_per_tok=6,
        num_hidden_layers=60,
        num_key_value_heads=128,
        q_lora_rank=1536,
        routed_scaling_factor=16.0,
        scoring_func="softmax",
        topk_group=3,
        topk_method="group_limited_greedy",
    ),
    "deepseek-v2-lite": _deepseek(
        "deepseek_v2",
        first_k_dense_replace=1,
        hidden_size=2048,
        intermediate_size=10944,
        moe_intermediate_size=1408,
        n_group=1,
        n_routed_experts=64,
        n_shared_experts=2,
        num_attention_heads=16,
        num_experts_per_tok=6,
        num_hidden_layers=27,
        num_key_value_heads=16,
        q_lora_rank=None,
        routed_scaling_factor=1.0,
        scoring_func="softmax",
        topk_group=1,
        topk_method="greedy",
    ),
    "deepseek-v3": _deepseek(
        "deepseek_v3",
        first_k_dense_replace=3,
        hidden_size=7168,
        intermediate_size=18432,
        moe_intermediate_size=2048,
        n_group=8,
        n_routed_experts=256,
        n_shared_experts=1,
        num_attention_heads=128,
        num_experts_per_tok=8,
        num_hidden_layers=61,
        num_key_value_heads=128,
        num_nextn_predict_layers=1,
        q_lora_rank=1536,
        quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
        routed_scaling_factor=2.5,
        scoring_func="sigmoid",
        topk_group=4,
        topk_method="noaux_tc",
        vocab_size=129280,
    ),
}  # fmt: skip

# Models outside the zoo: their config, and the published number of weights.
SIZED: dict[str, tuple[dict[str, Any], int]] = {
    "mistralai/Mistral-7B-v0.1": (
        _llama(
            32, 4096, 32, 8, 14336,
            model_type="mistral", max_position_embeddings=32768, sliding_window=4096,
        ),
        7_241_732_096,
    ),
    "Qwen/Qwen2.5-7B": (
        _llama(
            28, 3584, 28, 4, 18944,
            model_type="qwen2", max_position_embeddings=131072, max_window_layers=28,
            sliding_window=131072, use_mrope=False, use_sliding_window=False, vocab_size=152064,
        ),
        7_615_616_512,
    ),
    "microsoft/Phi-3-mini-4k-instruct": (
        _llama(
            32, 3072, 32, 32, 8192,
            model_type="phi3", attention_bias=False, embd_pdrop=0.0, resid_pdrop=0.0,
            original_max_position_embeddings=4096, sliding_window=2047, vocab_size=32064,
        ),
        3_821_079_552,
    ),
    "google/gemma-7b": (
        {
            key: value
            for key, value in _llama(
                28, 3072, 16, 16, 24576,
                model_type="gemma", head_dim=256, hidden_activation=None,
                max_position_embeddings=8192, vocab_size=256000,
            ).items()
            if key != "tie_word_embeddings"
        },
        8_537_680_896,
    ),
    "google/gemma-2-9b": (
        {
            key: value
            for key, value in _llama(
                42, 3584, 16, 8, 14336,
                model_type="gemma2", attention_bias=False, attention_dropout=0.0,
                attn_logit_softcapping=50.0, cache_implementation="hybrid",
                final_logit_softcapping=30.0, head_dim=256, hidden_activation="gelu_pytorch_tanh",
                max_position_embeddings=8192, query_pre_attn_scalar=256, sliding_window=4096,
                vocab_size=256000,
            ).items()
            if key != "tie_word_embeddings"
        },
        9_241_705_984,
    ),
    "EleutherAI/pythia-6.9b": (
        {
            "architectures": ["GPTNeoXForCausalLM"],
            "bos_token_id": 0,
            "eos_token_id": 0,
            "hidden_act": "gelu",
            "hidden_size": 4096,
            "initializer_range": 0.02,
            "intermediate_size": 16384,
            "layer_norm_eps": 1e-05,
            "max_position_embeddings": 2048,
            "model_type": "gpt_neox",
            "num_attention_heads": 32,
            "num_hidden_layers": 32,
            "rotary_emb_base": 10000,
            "rotary_pct": 0.25,
            "tie_word_embeddings": False,
            "torch_dtype": "float16",
            "transformers_version": "4.24.0",
            "use_cache": True,
            "use_parallel_residual": True,
            "vocab_size": 50432,
        },
        6_857_302_016,
    ),
    "google-bert/bert-large-uncased": (
        {
            "architectures": ["BertForMaskedLM"],
            "attention_probs_dropout_prob": 0.1,
            "gradient_checkpointing": False,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "hidden_size": 1024,
            "initializer_range": 0.02,
            "intermediate_size": 4096,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": 512,
            "model_type": "bert",
            "num_attention_heads": 16,
            "num_hidden_layers": 24,
            "pad_token_id": 0,
            "position_embedding_type": "absolute",
            "transformers_version": "4.6.0.dev0",
            "type_vocab_size": 2,
            "use_cache": True,
            "vocab_size": 30522,
        },
        336_226_108,
    ),
    "google/vit-base-patch16-224": (
        {
            "architectures": ["ViTForImageClassification"],
            "attention_probs_dropout_prob": 0.0,
            "encoder_stride": 16,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.0,
            "hidden_size": 768,
            "id2label": {str(number): f"class {number}" for number in range(1000)},
            "image_size": 224,
            "initializer_range": 0.02,
            "intermediate_size": 3072,
            "label2id": {f"class {number}": number for number in range(1000)},
            "layer_norm_eps": 1e-12,
            "model_type": "vit",
            "num_attention_heads": 12,
            "num_channels": 3,
            "num_hidden_layers": 12,
            "patch_size": 16,
            "qkv_bias": True,
            "transformers_version": "4.13.0.dev0",
        },
        86_567_656,
    ),
    "mistralai/Mamba-Codestral-7B-v0.1": (
        {
            "architectures": ["Mamba2ForCausalLM"],
            "bos_token_id": 0,
            "chunk_size": 256,
            "conv_kernel": 4,
            "eos_token_id": 0,
            "expand": 2,
            "head_dim": 64,
            "hidden_act": "silu",
            "hidden_size": 4096,
            "initializer_range": 0.1,
            "intermediate_size": 8192,
            "layer_norm_epsilon": 1e-05,
            "model_type": "mamba2",
            "n_groups": 8,
            "norm_before_gate": True,
            "num_heads": 128,
            "num_hidden_layers": 64,
            "pad_token_id": 0,
            "rescale_prenorm_residual": False,
            "residual_in_fp32": True,
            "rms_norm": True,
            "state_size": 128,
            "tie_word_embeddings": False,
            "time_step_floor": 0.0001,
            "time_step_max": 0.1,
            "time_step_min": 0.001,
            "time_step_rank": 256,
            "torch_dtype": "bfloat16",
            "transformers_version": "4.44.0.dev0",
            "use_bias": False,
            "use_cache": True,
            "use_conv_bias": True,
            "vocab_size": 32768,
        },
        7_285_403_648,
    ),
    "openai-community/gpt2": (
        {
            "activation_function": "gelu_new",
            "architectures": ["GPT2LMHeadModel"],
            "attn_pdrop": 0.1,
            "bos_token_id": 50256,
            "embd_pdrop": 0.1,
            "eos_token_id": 50256,
            "initializer_range": 0.02,
            "layer_norm_epsilon": 1e-05,
            "model_type": "gpt2",
            "n_ctx": 1024,
            "n_embd": 768,
            "n_head": 12,
            "n_layer": 12,
            "n_positions": 1024,
            "resid_pdrop": 0.1,
            "summary_activation": None,
            "summary_first_dropout": 0.1,
            "summary_proj_to_labels": True,
            "summary_type": "cls_index",
            "summary_use_proj": True,
            "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
            "vocab_size": 50257,
        },
        124_439_808,
    ),
    "facebook/opt-125m": (
        {
            "_name_or_path": "opt-125m",
            "activation_dropout": 0.0,
            "activation_function": "relu",
            "architectures": ["OPTForCausalLM"],
            "attention_dropout": 0.0,
            "bos_token_id": 2,
            "do_layer_norm_before": True,
            "dropout": 0.1,
            "eos_token_id": 2,
            "ffn_dim": 3072,
            "hidden_size": 768,
            "init_std": 0.02,
            "layerdrop": 0.0,
            "max_position_embeddings": 2048,
            "model_type": "opt",
            "num_attention_heads": 12,
            "num_hidden_layers": 12,
            "pad_token_id": 1,
            "prefix": "</s>",
            "torch_dtype": "float16",
            "transformers_version": "4.21.0.dev0",
            "use_cache": True,
            "vocab_size": 50272,
            "word_embed_proj_dim": 768,
        },
        125_239_296,
    ),
}  # fmt: skip
