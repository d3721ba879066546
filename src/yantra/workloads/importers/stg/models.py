"""STG's models, as assemblies of its modules.

Forward tensors are x, y, ...; gradients have a `d` in front.

Source: astra-sim/stage@9ec6c02, `models/stage1` and `models/transformer_forward_only.py`.
"""

from __future__ import annotations

from yantra.workloads.importers.stg.assembly import Assembly, Block, Link, Part

_ATTENTION = Block(
    parts=(
        Part(name="", module="group_query_attention_surrounding"),
        Part(name="attn_kernel", module="group_query_attention_kernel_fused"),
    ),
    links=(
        ("q", "attn_kernel.q"),
        ("k", "attn_kernel.k"),
        ("v", "attn_kernel.v"),
        ("attn_kernel.dq", "dq"),
        ("attn_kernel.dk", "dk"),
        ("attn_kernel.dv", "dv"),
        ("attn_kernel.qkv", "attn"),
        ("dattn", "attn_kernel.dqkv"),
    ),
)

_EXPERT = Block(
    parts=(
        Part(name="ldis", module="expert_wrapper"),
        Part(
            name="ffn",
            module="llama_feed_forward_network",
            symbols=(("Seq", "Seq*KExperts/(Experts*ep)"),),
        ),
    ),
    links=(
        ("ldis.x_expert", "ffn.x0"),
        ("ffn.xdown", "ldis.y_expert"),
        ("ldis.dy_expert", "ffn.dxdown"),
        ("ffn.dx0", "ldis.dx_expert"),
    ),
)

_EXPERTS = Block(
    parts=(
        Part(name="", module="moe_frame"),
        Part(name="*", block=_EXPERT, copies="Experts/ep"),
    ),
    links=(
        ("xrouted", "*.ldis.x"),
        ("dyrouted", "*.ldis.dy"),
        ("*.ldis.dx", "dxrouted"),
        ("*.ldis.y", "yrouted"),
    ),
)

_FEED_FORWARD = Part(name="ffn", module="llama_feed_forward_network")


def _layer(network: Part, x: str, y: str, dy: str, dx: str) -> Block:
    return Block(
        parts=(
            Part(name="input_norm", module="layer_norm"),
            Part(name="mha", block=_ATTENTION),
            Part(name="mha_res", module="residual"),
            Part(name="post_attn_norm", module="layer_norm"),
            network,
            Part(name="ffn_res", module="residual"),
        ),
        links=(
            ("input_norm.y", "mha.x"),
            ("mha.o", "mha_res.x1"),
            ("input_norm.x", "mha_res.x2"),
            ("mha_res.dx1", "mha.do"),
            ("mha_res.y", "post_attn_norm.x"),
            ("post_attn_norm.dx", "mha_res.dy"),
            ("post_attn_norm.y", x),
            (y, "ffn_res.x1"),
            ("post_attn_norm.x", "ffn_res.x2"),
            ("ffn_res.dx1", dy),
        ),
        sums=(
            ("input_norm.dy", "mha.dx", "mha_res.dx2"),
            ("post_attn_norm.dy", dx, "ffn_res.dx2"),
        ),
    )


_LINKS: tuple[Link, ...] = (
    ("previous.ffn_res.y", "next.input_norm.x"),
    ("next.input_norm.dx", "previous.ffn_res.dy"),
    ("in_emb.y", "first.input_norm.x"),
    ("first.input_norm.dx", "in_emb.dy"),
    ("last.ffn_res.y", "out_emb.x"),
    ("out_emb.dx", "last.ffn_res.dy"),
    ("out_emb.y", "loss.y"),
    ("loss.dy", "out_emb.dy"),
)


def _training(layer: Block) -> Assembly:
    return Assembly(
        front=(
            Part(
                name="in_emb", module="embedding", symbols=(("Din", "Dvocal"), ("Dout", "Dmodel"))
            ),
        ),
        layer=layer,
        tail=(
            Part(
                name="out_emb", module="embedding", symbols=(("Din", "Dmodel"), ("Dout", "Dvocal"))
            ),
            Part(name="loss", module="loss"),
        ),
        links=_LINKS,
    )


DENSE = _training(_layer(_FEED_FORWARD, "ffn.x0", "ffn.xdown", "ffn.dxdown", "ffn.dx0"))
MOE = _training(_layer(Part(name="moe", block=_EXPERTS), "moe.x", "moe.y", "moe.dy", "moe.dx"))

INFERENCE = Assembly(
    front=(Part(name="in_emb", module="embedding", symbols=(("Dout", "Dmodel"),)),),
    layer=Block(
        parts=(
            Part(name="mha", module="multi_head_attention"),
            Part(name="ffn", module="feed_forward_network"),
        ),
        links=(("mha.norm", "ffn.x0"),),
    ),
    tail=(Part(name="out_emb", module="embedding", symbols=(("Din", "Dmodel"),)),),
    links=(
        ("in_emb.y", "first.mha.x"),
        ("previous.ffn.norm", "next.mha.x"),
        ("last.ffn.norm", "out_emb.x"),
    ),
    layer_name="stack_{}",
    fuses_weights=False,
    trains=False,
    layers_first=False,
)
