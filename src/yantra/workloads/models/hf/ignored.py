"""Keys of any `config.json` that change no weight, operation or byte."""

from __future__ import annotations

_LOADING = """
_attn_implementation _attn_implementation_autoset _commit_hash _flash_attn_2_enabled _name_or_path
architectures attn_implementation auto_map dtype experts_implementation
_experts_implementation finetuning_task id2label is_decoder label2id model_type
name_or_path num_labels prefix
task_specific_params tf_legacy_loss tokenizer_class torch_dtype torchscript transformers.js_config
transformers_version use_bfloat16 use_flash_attn
"""
_RETURNING = """
chunk_size_feed_forward gradient_checkpointing output_attentions output_hidden_states
output_router_logits output_scores problem_type return_dict return_dict_in_generate use_cache
use_return_dict
"""
_GENERATING = """
bad_words_ids begin_suppress_tokens bos_token_id decoder_start_token_id diversity_penalty do_sample
early_stopping encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty
forced_bos_token_id forced_eos_token_id length_penalty max_length min_length no_repeat_ngram_size
num_beam_groups num_beams num_return_sequences pad_token_id remove_invalid_values
repetition_penalty sep_token_id suppress_tokens temperature top_k top_p typical_p unk_token_id
"""
_NUMERICS = """
activation_dropout activation_function attention_dropout attention_probs_dropout_prob attn_pdrop
classifier_dropout classifier_dropout_prob dropout embd_pdrop embedding_dropout hidden_act
hidden_activation hidden_dropout hidden_dropout_prob init_std initializer_range layer_norm_eps
layer_norm_epsilon layerdrop mlp_dropout norm_epsilon pretraining_tp resid_pdrop residual_dropout
rms_norm_eps router_aux_loss_coef router_jitter_noise
"""
_ROTATING = """
original_max_position_embeddings partial_rotary_factor rope_interleave rope_parameters rope_scaling
rope_theta rotary_emb_base rotary_pct use_mrope use_scaled_rope
"""

_PARTS = (
    *("dropout", "pdrop", "_eps", "epsilon", "initializer", "init_std", "init_range", "seed"),
    *("_token_id", "_token_index", "rope_scal", "rope_type", "rotary", "_theta", "yarn", "softcap"),
    *("temperature", "jitter", "aux_loss", "z_loss", "loss_coef", "loss_weight", "loss_alpha"),
)
"""Parts of names about rates, small constants, positions, tokens and losses."""

IGNORED = frozenset(" ".join((_LOADING, _RETURNING, _GENERATING, _NUMERICS, _ROTATING)).split())


def is_ignored(key: str) -> bool:
    """Whether nothing depends on a key, by its name or a part of it."""
    return key in IGNORED or any(part in key for part in _PARTS)
