"""Embedding, head and loss."""

from __future__ import annotations

from yantra.workloads.importers.stg.builtin.form import Form
from yantra.workloads.importers.stg.builtin.sketch import Sketch
from yantra.workloads.importers.stg.module import Module


def embedding(form: Form) -> Module:
    rows = "Din" if form.splits_sequence else "Din/tp"
    sketch = Sketch("embedding")
    x = sketch.take("x", f"{form.tokens}, {rows}")
    weight = sketch.weight("w", f"{rows}, Dout")
    y = sketch.product("y", "bsi,io->bso", x, weight)
    sketch.backward()
    dy = sketch.take("dy", f"{form.tokens}, Dout", gradient_of=y)
    sketch.product("dw", "bso,bsi->io", dy, x, gradient_of=weight)
    sketch.product("dx", "bso,io->bsi", dy, weight, gradient_of=x)
    return sketch.module()


def loss(form: Form) -> Module:
    """Five operations per element, forward and backward."""
    sketch = Sketch("loss")
    y = sketch.take("y", f"{form.tokens}, Dmodel")
    value = sketch.each("loss", y, operations=5)
    sketch.backward()
    sketch.each("dy", value, operations=5)
    return sketch.module()
