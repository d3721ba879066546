"""Attention with heads over tp, keys and values gathered over cp."""

from __future__ import annotations

from yantra.workloads.importers.stg.builtin.form import GATHERED, Form
from yantra.workloads.importers.stg.builtin.sketch import Sketch
from yantra.workloads.importers.stg.expressions import volume
from yantra.workloads.importers.stg.module import Module
from yantra.workloads.importers.stg.parse import parse_shape

_HEADS = f"{GATHERED}, Dmodel/Head, Head/tp"
_EVERY_HEAD_WHOLE = "Batch/dp, Seq, Dmodel/Head, Head/tp"


def projections(form: Form) -> Module:
    kv = form.kv_heads
    kv_shard = f"{GATHERED}, Dmodel/Head, {kv}/tp"
    whole = f"{GATHERED}, Dmodel"
    sketch = Sketch("attention")
    x = sketch.take("x", f"{form.tokens}, Dmodel")
    w_in = sketch.weight("wqkv", f"Dmodel, Dmodel/Head, (Head+2*{kv})/tp")
    qkv = sketch.product("qkv", "bsm,mdh->bsdh", x, w_in, reads=(whole, ""))
    q = sketch.resize("q", qkv, 3, "Head/tp")
    k = sketch.resize("k", qkv, 3, f"{kv}/tp")
    v = sketch.resize("v", qkv, 3, f"{kv}/tp")
    core = sketch.take("attn", _HEADS)
    w_out = sketch.weight("wo", "Dmodel/Head, Head/tp, Dmodel")
    partial = sketch.product("o_partial", "bsdh,dhm->bsm", core, w_out)
    out = sketch.reshard("o", partial, f"{form.tokens}, Dmodel")
    sketch.backward()
    do_shard = sketch.take("do", f"{form.tokens}, Dmodel", gradient_of=out)
    do = sketch.reshard("do_whole", do_shard, whole, gradient_of=partial)
    sketch.product("dattn", "bsm,dhm->bsdh", do, w_out)
    sketch.product("dwo", "bsm,bsdh->dhm", do, core, gradient_of=w_out)
    dv = sketch.take("dv", kv_shard, gradient_of=v)
    dk = sketch.take("dk", kv_shard, gradient_of=k)
    dq = sketch.take("dq", _HEADS, gradient_of=q)
    dkv = sketch.resize("dkv", dv, 3, f"2*{kv}/tp", joined=dk)
    dqkv = sketch.resize("dqkv", dkv, 3, f"(Head+2*{kv})/tp", joined=dq, gradient_of=qkv)
    sketch.product("dwqkv", "bsdh,bsm->mdh", dqkv, x, reads=("", whole), gradient_of=w_in)
    dx = sketch.product("dx_partial", "bsdh,mdh->bsm", dqkv, w_in)
    sketch.reshard("dx", dx, f"{form.tokens}, Dmodel")
    return sketch.module()


def core(form: Form) -> Module:
    kv_shard = f"Dmodel/Head, {form.kv_heads}/tp"
    elements = volume(parse_shape(_HEADS))
    sketch = Sketch("attention core")
    q = sketch.take("q", _HEADS)
    k = sketch.take("k", f"{GATHERED}, {kv_shard}")
    v = sketch.take("v", f"{GATHERED}, {kv_shard}")
    gathered = [sketch.reshard(f"{t.name}_whole", t, f"Batch/dp, Seq, {kv_shard}") for t in (k, v)]
    result = sketch.formula("qkv", q, elements * 3, also=tuple(gathered))
    sketch.backward()
    do = sketch.take("dqkv", _HEADS, gradient_of=result)
    sketch.formula("dq", do, elements * 6, gradient_of=q)
    names = ("dk_all", "dv_all") if form.grouped_heads else ("dk", "dv")
    whole = [
        sketch.formula(name, do, elements * 6, _EVERY_HEAD_WHOLE, partial="1/cp") for name in names
    ]
    if form.grouped_heads:
        for name, gradient, of in zip(("dk", "dv"), whole, (k, v), strict=True):
            size = f"{form.kv_heads}/tp"
            sketch.resize(name, gradient, 3, size, reads=_HEADS, gradient_of=of)
    return sketch.module()
