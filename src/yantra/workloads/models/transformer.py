"""The sizes of a decoder-only transformer, in Megatron-LM's names: the form that every importer
fills. What costs nothing is left out.

Sources: Vaswani et al., 2017; Shoeybi et al., 2019; Ainslie et al., 2023; DeepSeek-V2, 2024.
"""

from __future__ import annotations

from typing import Literal

from yantra.base.errors import ConfigError
from yantra.base.records import Record

LARGEST = 2**40
"""No size is larger; keeps products of a few sizes readable."""
MOST_LAYERS = 10_000

_REQUIRED = frozenset(
    (
        "num_layers",
        "hidden_size",
        "num_attention_heads",
        "ffn_hidden_size",
        "vocab_size",
        "seq_length",
    )
)
_OF_EXPERTS = (
    "moe_router_topk",
    "moe_ffn_hidden_size",
    "moe_shared_expert_intermediate_size",
    "moe_layer_freq",
    "moe_router_num_groups",
    "moe_router_group_topk",
    "moe_router_enable_expert_bias",
)
_OF_LATENT = ("q_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim")


_PER_LAYER = ("moe_layer_freq", "window_attn_skip_freq")


class Transformer(Record):
    """A causal language model; sizes are in elements, 0 where it has none.

    Raises ConfigError for an impossible size.
    """

    name: str
    """The name by which it is asked for."""
    source: str
    """Origin of the numbers."""
    num_layers: int
    """num_hidden_layers."""
    hidden_size: int
    """Width between layers, in elements."""
    num_attention_heads: int
    """Heads of queries."""
    ffn_hidden_size: int
    """intermediate_size; of layers without experts."""
    vocab_size: int
    """Rows of the embedding, with padding (padded_vocab_size)."""
    seq_length: int
    """Usual tokens: those of most of pre-training."""
    num_query_groups: int = 0
    """num_key_value_heads; 0: one per attention head."""
    kv_channels: int = 0
    """head_dim; 0: hidden_size / num_attention_heads."""
    normalization: Literal["RMSNorm", "LayerNorm"] = "RMSNorm"
    """Of all norms."""
    residual: Literal["sequential", "parallel", "sandwich"] = "sequential"
    """Feed-forward after attention (pre-norm), beside it, or both with norms on either side."""
    gated_linear_unit: bool = True
    """SwiGLU or GeGLU: two projections up."""
    qkv_bias: bool = False
    """Biases of the projections to queries, keys and values."""
    attention_output_bias: bool = False
    """Bias of the projection after attention."""
    mlp_bias: bool = False
    """Biases of feed-forward layers."""
    qk_layernorm: bool = False
    """A norm over each head of queries and keys."""
    window_size: int = 0
    """Keys a query sees, including itself (sliding_window); 0: all before it."""
    window_attn_skip_freq: tuple[int, ...] = ()
    """Per layer: 1 with a window, 0 with full attention; empty: all have it."""
    tie_word_embeddings: bool = False
    """Embedding and head share one weight."""
    rotary: bool = True
    """Positions rotate queries and keys."""
    max_position_embeddings: int = 0
    """Rows of a learned table of positions; 0 without."""
    num_experts: int = 0
    """n_routed_experts, num_local_experts."""
    moe_router_topk: int = 0
    """num_experts_per_tok."""
    moe_ffn_hidden_size: int = 0
    """moe_intermediate_size; 0: ffn_hidden_size."""
    moe_shared_expert_intermediate_size: int = 0
    """Width of all shared experts together."""
    moe_layer_freq: tuple[int, ...] = ()
    """Per layer: 1 with experts, 0 without; empty: all have them."""
    moe_router_num_groups: int = 0
    """n_group: groups of experts of which a token may use some; 0: no groups."""
    moe_router_group_topk: int = 0
    """topk_group."""
    moe_router_enable_expert_bias: bool = False
    """A bias per expert that balances without an auxiliary loss."""
    q_lora_rank: int = 0
    """Rank of compressed queries; 0: not compressed."""
    kv_lora_rank: int = 0
    """Rank of compressed keys and values; 0: no latent attention."""
    qk_head_dim: int = 0
    """qk_nope_head_dim."""
    qk_pos_emb_head_dim: int = 0
    """qk_rope_head_dim."""
    v_head_dim: int = 0
    """Of latent attention; 0 without."""
    mtp_num_layers: int = 0
    """num_nextn_predict_layers: layers that predict further tokens, in training alone."""
    notes: tuple[str, ...] = ()
    """What was left out, or what a source says differently."""

    @property
    def multi_latent_attention(self) -> bool:
        """Whether keys and values are compressed (MLA)."""
        return self.kv_lora_rank > 0

    def has_experts(self, layer: int) -> bool:
        """Whether a layer, numbered from 0, has experts."""
        return self.num_experts > 0 and (not self.moe_layer_freq or self.moe_layer_freq[layer] > 0)

    def window(self, layer: int) -> int:
        """A layer's window in tokens; 0: full attention."""
        everywhere = not self.window_attn_skip_freq
        return self.window_size if everywhere or self.window_attn_skip_freq[layer] else 0

    def __post_init__(self) -> None:
        for field, kind in type(self).__annotations__.items():
            if kind == "int":
                self._within(field, 1 if field in _REQUIRED else 0, LARGEST)
        self._within("num_layers", 1, MOST_LAYERS)
        self._within("mtp_num_layers", 0, MOST_LAYERS)
        state = self.__dict__
        state["num_query_groups"] = self.num_query_groups or self.num_attention_heads
        if not self.kv_channels and not self.multi_latent_attention:
            self._divides("num_attention_heads", "hidden_size")
            state["kv_channels"] = self.hidden_size // self.num_attention_heads
        if self.num_experts:
            state["moe_ffn_hidden_size"] = self.moe_ffn_hidden_size or self.ffn_hidden_size
        self._check_attention()
        self._check_experts()

    def _check_attention(self) -> None:
        self._divides("num_query_groups", "num_attention_heads")
        self._per_layer("window_attn_skip_freq")
        if self.window_attn_skip_freq and not self.window_size:
            raise self._wrong("window_attn_skip_freq", "needs a window_size, which is not given")
        if not self.multi_latent_attention:
            for field in _OF_LATENT:
                if getattr(self, field):
                    raise self._wrong(field, "belongs to latent attention; give kv_lora_rank too")
            return
        for field in ("qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"):
            self._within(field, 1, LARGEST)
        if self.kv_channels:
            raise self._wrong("kv_channels", "latent attention has qk_head_dim and v_head_dim")
        if self.window_size:
            raise self._wrong("window_size", "latent attention has no window here; expected 0")
        if self.num_query_groups != self.num_attention_heads:
            raise self._wrong(
                "num_query_groups",
                f"latent attention gives every head its keys; expected {self.num_attention_heads}, "
                f"got {self.num_query_groups}",
            )

    def _check_experts(self) -> None:
        if not self.num_experts:
            for field in _OF_EXPERTS:
                if getattr(self, field):
                    raise self._wrong(field, "belongs to experts; give num_experts too")
            return
        self._within("moe_router_topk", 1, self.num_experts)
        self._per_layer("moe_layer_freq")
        if self.moe_router_num_groups:
            self._divides("moe_router_num_groups", "num_experts")
            self._within("moe_router_group_topk", 1, self.moe_router_num_groups)
            reachable = self.num_experts // self.moe_router_num_groups * self.moe_router_group_topk
            self._within("moe_router_topk", 1, reachable)
        elif self.moe_router_group_topk:
            raise self._wrong("moe_router_group_topk", "needs moe_router_num_groups")

    def _within(self, field: str, least: int, most: int) -> None:
        value = getattr(self, field)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._wrong(field, f"expected a whole number {least} to {most}, got {value!r}")

    def _divides(self, part: str, whole: str) -> None:
        divisor, total = getattr(self, part), getattr(self, whole)
        if divisor < 1 or total % divisor:
            raise self._wrong(
                part, f"expected a divisor of {whole}, which is {total}; got {divisor}"
            )

    def patterns(self, layers: int) -> dict[str, tuple[int, ...]]:
        """What layers differ in, for another number of them: cut, or going on as the last."""
        found = {field: getattr(self, field) for field in _PER_LAYER}
        return {
            field: (pattern + pattern[-1:] * max(layers - len(pattern), 0))[:layers]
            for field, pattern in found.items()
            if pattern and layers >= 1
        }

    def _per_layer(self, field: str) -> None:
        pattern = getattr(self, field)
        if pattern and (len(pattern) != self.num_layers or not set(pattern) <= {0, 1}):
            raise self._wrong(
                field,
                f"expected a 0 or 1 for each of the {self.num_layers} layers, "
                f"got {len(pattern)} values",
            )

    def _wrong(self, field: str, problem: str) -> ConfigError:
        return ConfigError(f"{self.name}.{field}", problem)
