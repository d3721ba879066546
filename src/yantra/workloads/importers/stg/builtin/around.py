"""Around attention and the feed-forward network: norms and residuals."""

from __future__ import annotations

from yantra.workloads.importers.stg.builtin.form import Form
from yantra.workloads.importers.stg.builtin.sketch import Sketch
from yantra.workloads.importers.stg.module import Module


def norm(form: Form) -> Module:
    """Five operations per element, forward and backward; no weights."""
    shard = f"{form.tokens}, Dmodel"
    sketch = Sketch("norm")
    x = sketch.take("x", shard)
    y = sketch.each("y", x, operations=5)
    sketch.backward()
    dy = sketch.take("dy", shard, gradient_of=y)
    sketch.each("dx", dy, operations=5, gradient_of=x)
    return sketch.module()


def residual(form: Form) -> Module:
    shard = f"{form.tokens}, Dmodel"
    sketch = Sketch("residual")
    branch, past = sketch.take("x1", shard), sketch.take("x2", shard)
    y = sketch.pairwise("y", branch, past, adds=True)
    sketch.backward()
    dy = sketch.take("dy", shard, gradient_of=y)
    sketch.reshard("dx1", dy, gradient_of=branch)
    sketch.reshard("dx2", dy, gradient_of=past)
    return sketch.module()
