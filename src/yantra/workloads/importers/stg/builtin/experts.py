"""Mixture of experts: ep splits the hidden size outside of the experts and the tokens inside.

Every token goes to KExperts experts, evenly.
"""

from __future__ import annotations

from yantra.workloads.importers.stg.builtin.form import Form
from yantra.workloads.importers.stg.builtin.sketch import Sketch
from yantra.workloads.importers.stg.module import Module

_TOKENS = "Batch/dp, Seq/(cp*tp)"
_CHOICES = "Batch/dp, Seq*KExperts/(cp*tp)"
_SPLIT = "Dmodel/ep"
_ROUTED = "Batch/dp, Seq*KExperts/(cp*tp*ep), Dmodel"
_ONE_EXPERT = "Batch/dp, Seq*KExperts/(cp*tp*ep*Experts), Dmodel"
_ROUTED_SEQUENCE = "Seq*KExperts/(cp*tp*ep)"
_EXPERT_SEQUENCE = "Seq*KExperts/(cp*tp*ep*Experts)"


def routing(form: Form) -> Module:
    sketch = Sketch("routing")
    x = sketch.take("x", f"{_TOKENS}, Dmodel")
    weight = sketch.weight("wrouter", f"{_SPLIT}, KExperts")
    scores = sketch.product("scores", "bsm,mk->bsk", x, weight, reads=("", "Dmodel, KExperts"))
    listed = sketch.reshape("scores_listed", scores, f"{_CHOICES}, 1")
    copies = sketch.scale("x_copies", x, 1, "KExperts", reads=f"{_TOKENS}, {_SPLIT}")
    sketch.reshard("xrouted", copies, _ROUTED)
    results = sketch.take("yrouted", _ROUTED)
    returned = sketch.reshard("y_returned", results, f"{_CHOICES}, {_SPLIT}")
    spread = sketch.resize("scores_spread", listed, 2, _SPLIT)
    weighted = sketch.pairwise("y_weighted", returned, spread)
    sketch.scale("y", weighted, 1, "1/KExperts")
    sketch.backward()
    dy = sketch.take("dy", f"{_TOKENS}, {_SPLIT}")
    dcopies = sketch.scale("dy_copies", dy, 1, "KExperts")
    dweighted = sketch.pairwise("dy_weighted", dcopies, spread)
    dspread = sketch.pairwise("dscores_spread", dcopies, returned)
    dlisted = sketch.resize("dscores_listed", dspread, 2, "1")
    sketch.reshard("dyrouted", dweighted, _ROUTED)
    dscores = sketch.reshape("dscores", dlisted, f"{_TOKENS}, KExperts")
    sketch.product(
        "dwrouter",
        "bsk,bsm->mk",
        dscores,
        x,
        reads=("", f"{_TOKENS}, {_SPLIT}"),
        gradient_of=weight,
    )
    through_router = sketch.product("dx_router", "bsk,mk->bsm", dscores, weight)
    dresults = sketch.take("dxrouted", _ROUTED)
    dreturned = sketch.reshard("dx_returned", dresults, f"{_CHOICES}, {_SPLIT}")
    through_experts = sketch.scale("dx_experts", dreturned, 1, "1/KExperts")
    sketch.pairwise("dx", through_router, through_experts, adds=True)
    return sketch.module()


def share(form: Form) -> Module:
    sketch = Sketch("expert's share")
    routed = sketch.take("x", _ROUTED)
    sketch.resize("x_expert", routed, 1, _EXPERT_SEQUENCE)
    dx = sketch.take("dx_expert", _ONE_EXPERT)
    sketch.resize("dx", dx, 1, _ROUTED_SEQUENCE)
    y = sketch.take("y_expert", _ONE_EXPERT)
    sketch.resize("y", y, 1, _ROUTED_SEQUENCE)
    dy = sketch.take("dy", _ROUTED)
    sketch.resize("dy_expert", dy, 1, _EXPERT_SEQUENCE)
    for tensor in sketch.module().graph:
        tensor.backward = tensor.name.startswith("d")
    return sketch.module()
