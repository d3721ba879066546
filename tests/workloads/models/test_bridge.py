"""Jobs from configuration files of Megatron-Bridge and NeMo."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.job_file import Request, resolve
from yantra.workloads.models.megatron import bridge

CONFIG = """
model:
  _target_: megatron.bridge.models.mla_provider.MLAModelProvider
  add_bias_linear: false
  attention_dropout: 0.0
  cuda_graph_impl: transformer_engine
  cuda_graph_scope: [attn, moe_router]
  expert_model_parallel_size: 4
  ffn_hidden_size: 512
  gated_linear_unit: true
  hidden_dropout: 0.0
  hidden_size: 256
  kv_channels: 64
  kv_lora_rank: 64
  moe_ffn_hidden_size: 128
  moe_layer_freq: [0, 1, 1]
  moe_router_topk: 2
  moe_shared_expert_intermediate_size: 128
  mtp_num_layers: 1
  multi_latent_attention: true
  new_switch: true
  normalization: RMSNorm
  num_attention_heads: 4
  num_layers: 3
  num_moe_experts: 8
  num_query_groups: 4
  params_dtype: {_target_: torch.bfloat16}
  pipeline_model_parallel_layout: [[embedding, decoder, decoder], [decoder, mtp, loss]]
  pipeline_model_parallel_size: 2
  position_embedding_type: rope
  q_lora_rank: 128
  qk_head_dim: 32
  qk_layernorm: true
  qk_pos_emb_head_dim: 16
  recompute_granularity: selective
  recompute_modules: [mla_up_proj, moe_act]
  seq_length: 512
  share_embeddings_and_output_weights: false
  tensor_model_parallel_size: 1
  v_head_dim: 32
  vocab_size: 1024
comm_overlap: {overlap_moe_expert_parallel_comm: true, delay_wgrad_compute: true}
mixed_precision: {bf16: true, fp8: hybrid}
ddp: {use_distributed_optimizer: true, overlap_grad_reduce: true, grad_reduce_in_fp32: false}
train: {global_batch_size: 16, micro_batch_size: 1, train_iters: 50}
"""


def test_a_configuration_is_a_model_and_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(CONFIG)
    job = resolve(Request(("bridge_config", str(path)), plan={"ranks": 8}))
    plan = job.plan
    assert (plan.pp, plan.dp, plan.ep, plan.zero, plan.global_batch) == (2, 4, 4, 1, 16)
    assert (plan.stage_layers, plan.overlap_experts, plan.dtype) == ((2, 1), "1f1b", "fp8")
    assert (plan.recompute, plan.recompute_modules) == ("selective", "mla_up_proj,moe_act")
    assert (plan.cuda_graphs, plan.gradient_dtype) == ("attn,moe_router", "bf16")
    assert (plan.overlap_gradients, plan.overlap_parameters) == (True, False)
    assert job.framework == "Megatron-Bridge"
    described = bridge.load(path).model
    assert (described.num_experts, described.mtp_num_layers, described.q_lora_rank) == (8, 1, 128)
    assert "new_switch: not read" in described.notes


def test_what_is_no_configuration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("train: {}")
    with pytest.raises(ConfigError, match="expected a section model"):
        bridge.load(path)
