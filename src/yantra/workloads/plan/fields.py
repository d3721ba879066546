"""One line per field of a plan: for `--help` and the reference page."""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "tp": "ranks that share every layer (tensor parallelism)",
    "sequence_parallel": "norms and residuals hold a part of the sequence each, over the tp ranks; "
    "on where tp > 1",
    "cp": "ranks that share the sequence (context parallelism)",
    "cp_kind": "how attention sees the whole sequence: keys and values around a ring, gathered, or "
    "heads exchanged (Ulysses)",
    "pp": "stages of the pipeline",
    "vpp": "chunks of layers per stage (virtual pipeline)",
    "ep": "ranks that share the experts of a layer; taken from tp x cp x dp",
    "etp": "ranks that share each expert",
    "dp": "replicas of the model (data parallelism)",
    "zero": "what dp x cp ranks share: 0 nothing, 1 the optimizer's state, 2 gradients too, 3 "
    "weights too (FSDP)",
    "shard": "ranks of dp x cp that share one copy (HSDP); all if left out",
    "reshard_after_forward": "zero 3 drops gathered weights after the forward pass",
    "prefetch": "layers whose weights zero 3 gathers ahead",
    "micro_batch": "sequences per micro-batch and replica",
    "global_batch": "sequences per step, all replicas; one micro-batch each if left out",
    "steps": "training steps, one behind the other; times are those of a step on average",
    "schedule": "order of micro-batches in the pipeline, or a YAML file of operations; 1f1b, or "
    "interleaved where vpp > 1",
    "recompute": "what the backward pass computes again: nothing, the core of attention, layers "
    "but attention and every second product (TorchTitan), whole layers",
    "recompute_modules": "what selective recomputation repeats: core_attn, layernorm, moe_act, "
    "mla_up_proj, mlp, moe, shared_experts",
    "recompute_layers": "layers of a chunk that full recomputation repeats at once (uniform), or "
    "alone (block); each alone if left out",
    "recompute_method": "uniform: all layers are repeated; block: the first recompute_layers of "
    "each chunk",
    "dtype": "type of products and of the inputs that they keep",
    "gradient_dtype": "type in which gradients are added and reduced",
    "scaling": "how products in 8 or 4 bits are scaled: tensorwise (that of fp8), delayed, mxfp8, "
    "blockwise (fp8_block) or nvfp4 (fp4); none in 16 bits and more",
    "narrow_weights": "weights of such products are kept and gathered in their type alone, not in "
    "16 bits beside it; true for tensorwise, delayed and mxfp8",
    "transposed_weights": "tensorwise and delayed weights have a transposed copy, as products of "
    "GPUs before Blackwell need; false on a cluster whose GPUs need none, if left out",
    "reuse_gradients": "narrow mxfp8 weights are gathered, in 16 bits, where gradients are later; "
    "else they have room of their own",
    "optimizer": "adam keeps two values per weight beside the master copy, sgd none",
    "master_dtype": "type of the optimizer's copy of weights; remainder: the 16 bits that bf16 "
    "weights lack (fp32 beside narrow weights)",
    "exp_avg_dtype": "type of adam's first moment, or of sgd's",
    "exp_avg_sq_dtype": "type of adam's second moment",
    "order": "axes of the ranks, fastest first",
    "overlap_gradients": "reduce gradients bucket by bucket during the last backward pass",
    "exposed_gradients": "share of each reduction that is left to the end of the step, where the "
    "rest overlaps",
    "overlap_parameters": "gather weights of the next layers while one computes",
    "overlap_p2p": "send to the next stage while computing",
    "overlap_tensor": "compute gradients of weights while those of inputs are summed over tp",
    "overlap_products": "gather and scatter over tp in parts, beside the product that uses or "
    "makes them",
    "overlap_experts": "what hides messages to experts: nothing, or the passes of other "
    "micro-batches, of which each device holds one more (1f1b)",
    "exposed_experts": "share of the micro-batches whose messages to experts stay exposed",
    "dispatch": "what goes to other nodes for the experts of a token: the token once to a node, "
    "where the stack's library does so, or a copy for each (an all-to-all of NCCL)",
    "gather_again": "the backward pass gathers again what the forward pass gathered over tp and "
    "cp; else that is kept",
    "messages": "what a tp rank sends to the next stage: the whole tensor; a slice of it, which is "
    "gathered there; or the part that it has if the last layer of a stage scatters its result, as "
    "all layers do with sequence_parallel",
    "bucket_elements": "gradients reduced together, in elements; if left out as in Megatron-LM: "
    "max(40e6, 1e6 x dp x cp) on the first stage, all at once on others",
    "offload_optimizer": "the optimizer's state lives in the host's memory",
    "offload_fraction": "share of it that does, with offload_optimizer",
    "offload_activations": "activations wait in the host's memory for their backward pass; true "
    "with offload_layers, but for offload_modules",
    "offload_modules": "modules whose saved activations do, in place of all: none, attn_norm, "
    "qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act",
    "offload_layers": "layers of a chunk whose activations do, its first; all if left out",
    "flash_attention": "attention keeps nothing that grows with the square of the sequence",
    "cuda_graphs": "kernels that CUDA graphs launch, so that their launches do not bind: none, "
    "attn, mlp, moe, moe_router, moe_preprocess, full_iteration",
    "unfused_kernels": "kernels that run as several, each through memory: none, rope, "
    "bias_activation, bias_dropout_add, norm, softmax_masks, router, permute",
    "dropout": "activations hold the masks of dropout",
    "fused_loss": "the loss keeps one copy of the logits, in fp32; else it keeps them in the type "
    "of activations, in fp32, and the logarithms of their softmax in fp32",
    "embedding_as_layer": "the embedding counts as a layer; stages then get equally many",
    "loss_as_layer": "the head with the loss counts as a layer, too",
    "stage_layers": "layers of each stage in order (6,9,9,6), or of each device, or Megatron-LM's "
    "layout (Et*6|t*9|t*9|t*6L); as even as they can be if left out",
    "first_stage_layers": "layers of the first device; the others share the rest evenly",
    "last_stage_layers": "layers of the last device, likewise",
    "lora_rank": "rank of low-rank adapters (LoRA), which alone are trained; if left out, all "
    "weights are",
    "lora_targets": "products that have an adapter each, where lora_rank is given: q_proj, k_proj, "
    "v_proj, o_proj, gate_proj, up_proj, down_proj, ..., all-linear",
    "routing": "share of tokens of each expert: uniform, or zipf:<alpha>",
    "capacity_factor": "tokens an expert takes, as a multiple of the average; all if left out",
}
