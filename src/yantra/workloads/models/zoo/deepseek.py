"""DeepSeek-V2 and V3: latent attention, many small experts, some shared, the first layers dense.

Sources: DeepSeek-AI, "DeepSeek-V2", 2024 (arXiv 2405.04434), section 3.1.2 and appendix B;
"DeepSeek-V3 technical report", 2024 (arXiv 2412.19437), section 4.2; and the published
`config.json` of deepseek-ai/DeepSeek-V2, DeepSeek-V2-Lite and DeepSeek-V3.
"""

from __future__ import annotations

from yantra.workloads.models.transformer import Transformer

PLUGIN = (
    Transformer(
        name="deepseek-v2",
        source="arXiv 2405.04434, section 3.1.2; deepseek-ai/DeepSeek-V2 config.json",
        num_layers=60,
        hidden_size=5120,
        num_attention_heads=128,
        q_lora_rank=1536,
        kv_lora_rank=512,
        qk_head_dim=128,
        qk_pos_emb_head_dim=64,
        v_head_dim=128,
        ffn_hidden_size=12288,
        vocab_size=102400,
        seq_length=4096,
        num_experts=160,
        moe_router_topk=6,
        moe_ffn_hidden_size=1536,
        moe_shared_expert_intermediate_size=2 * 1536,
        moe_layer_freq=(0,) + (1,) * 59,
        moe_router_num_groups=8,
        moe_router_group_topk=3,
    ),
    Transformer(
        name="deepseek-v2-lite",
        source="arXiv 2405.04434, appendix B; deepseek-ai/DeepSeek-V2-Lite config.json",
        num_layers=27,
        hidden_size=2048,
        num_attention_heads=16,
        kv_lora_rank=512,
        qk_head_dim=128,
        qk_pos_emb_head_dim=64,
        v_head_dim=128,
        ffn_hidden_size=10944,
        vocab_size=102400,
        seq_length=4096,
        num_experts=64,
        moe_router_topk=6,
        moe_ffn_hidden_size=1408,
        moe_shared_expert_intermediate_size=2 * 1408,
        moe_layer_freq=(0,) + (1,) * 26,
    ),
    Transformer(
        name="deepseek-v3",
        source="arXiv 2412.19437, section 4.2; deepseek-ai/DeepSeek-V3 config.json",
        num_layers=61,
        hidden_size=7168,
        num_attention_heads=128,
        q_lora_rank=1536,
        kv_lora_rank=512,
        qk_head_dim=128,
        qk_pos_emb_head_dim=64,
        v_head_dim=128,
        ffn_hidden_size=18432,
        vocab_size=129280,
        seq_length=4096,
        num_experts=256,
        moe_router_topk=8,
        moe_ffn_hidden_size=2048,
        moe_shared_expert_intermediate_size=2048,
        moe_layer_freq=(0,) * 3 + (1,) * 58,
        moe_router_num_groups=8,
        moe_router_group_topk=4,
        moe_router_enable_expert_bias=True,
        notes=("without the multi-token-prediction module, as for serving",),
    ),
)
