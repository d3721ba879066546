"""The inference models: forward passes of a prompt, and of one token with its cache. tp splits
activations along the hidden size, sp the sequence.
"""

from __future__ import annotations

from yantra.workloads.importers.stg.builtin.form import Form
from yantra.workloads.importers.stg.builtin.sketch import Sketch
from yantra.workloads.importers.stg.module import Module
from yantra.workloads.importers.stg.tensors import Tensor

_HEADS = "Dmodel/Head, Head/tp"
_W_HEADS = f"Dmodel, {_HEADS}"


def embedding(form: Form, sequence: str) -> Module:
    sketch = Sketch("embedding")
    x = sketch.take("x", f"Batch/dp, {sequence}/sp, Din/tp")
    rows = "Din/(dp*sp)" if form.shards_weights else "Din"
    weight = sketch.weight("w", f"{rows}, Dout/tp")
    reads = (f"Batch/dp, {sequence}/sp, Din", "Din, Dout/tp")
    sketch.product("y", "bsi,io->bso", x, weight, reads=reads)
    return sketch.module()


def feed_forward(form: Form, sequence: str) -> Module:
    tokens = f"Batch/dp, {sequence}/sp"
    split = "Dmodel/(dp*sp)" if form.shards_weights else "Dmodel"
    sketch = Sketch("feed-forward network")
    x = sketch.take("x0", f"{tokens}, Dmodel/tp")
    w_up = sketch.weight("w1", f"{split}, Dff/tp")
    reads = (f"{tokens}, Dmodel", "Dmodel, Dff/tp")
    up = sketch.product("x1", "bsm,mf->bsf", x, w_up, reads=reads)
    w_down = sketch.weight("w2", f"Dff/tp, {split}")
    down = sketch.product("x2", "bsf,fm->bsm", up, w_down, reads=("", "Dff/tp, Dmodel"))
    total = sketch.pairwise("res", down, x, adds=True, reads=f"{tokens}, Dmodel/tp")
    sketch.each("norm", total, operations=5)
    return sketch.module()


def prefill_attention(form: Form) -> Module:
    sketch = Sketch("attention of a prompt")
    x, weights = _inputs(sketch, "Seq", "Dmodel/dp, Dmodel/(Head*sp), Head/tp", form)
    q, k, v = _projected(sketch, x, weights, "Seq", ("q", "k", "v"))
    return _attended(sketch, x, q, k, v, "Seq", "Seq/sp")


def decode_attention(form: Form) -> Module:
    sketch = Sketch("attention with a cache")
    x, weights = _inputs(sketch, "1", "Dmodel/(dp*sp), Dmodel/Head, Head/tp", form)
    q, k_new, v_new = _projected(sketch, x, weights, "1", ("q", "k_new", "v_new"))
    cached = [sketch.take(name, f"Batch/dp, (Seq-1)/sp, {_HEADS}") for name in ("kc", "vc")]
    k, v = (
        sketch.concatenate(name, cache, new, 1, f"Batch/dp, 1/sp, {_HEADS}")
        for name, cache, new in zip("kv", cached, (k_new, v_new), strict=True)
    )
    return _attended(sketch, x, q, k, v, "1", "1/sp")


def _inputs(sketch: Sketch, sequence: str, sharded: str, form: Form) -> tuple[Tensor, list[Tensor]]:
    x = sketch.take("x", f"Batch/dp, {sequence}/sp, Dmodel/tp")
    shard = sharded if form.shards_weights else _W_HEADS
    return x, [sketch.weight(name, shard) for name in ("wq", "wk", "wv")]


def _projected(
    sketch: Sketch, x: Tensor, weights: list[Tensor], sequence: str, names: tuple[str, ...]
) -> list[Tensor]:
    reads = (f"Batch/dp, {sequence}/sp, Dmodel", _W_HEADS)
    return [
        sketch.product(name, "bsm,mdh->bsdh", x, weight, reads=reads)
        for name, weight in zip(names, weights, strict=True)
    ]


def _attended(
    sketch: Sketch, x: Tensor, q: Tensor, k: Tensor, v: Tensor, queries: str, local: str
) -> Module:
    past = f"Batch/dp, Seq/sp, {_HEADS}"
    reads = (f"Batch/dp, {queries}, {_HEADS}", past)
    scores = sketch.product("qk", "bsdh,bwdh->bswh", q, k, reads=reads)
    values = sketch.product("qkv", "bswh,bwdh->bsdh", scores, v, reads=("", past))
    shard = f"Batch/dp, {local}, Dmodel/tp"
    joined = sketch.reshape("qkv_joined", values, shard, reads=f"Batch/dp, {local}, {_HEADS}")
    total = sketch.pairwise("res", joined, x, adds=True)
    sketch.each("norm", total, operations=5)
    return sketch.module()
