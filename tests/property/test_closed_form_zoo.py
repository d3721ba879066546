"""Memory by closed form is that of the planned step, for every model of the zoo."""

from __future__ import annotations

import numpy as np
import pytest

from tests.zoo import some
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.space import PlanSpace
from yantra.workloads.models.catalogue import find, names
from yantra.workloads.training.train import train

RANKS, BATCH, PLANS = 16, 32, 3
LOW = {0: 1e-3, 1: 1e-3, 2: 0.03, 3: 0.02}
"""By level of ZeRO, how far below the step the closed form may be: small shards are padded, and
buckets of gradients, cut anywhere, are counted in the mean."""
HIGH = {0: 1e-3, 1: 1e-3, 2: 0.11, 3: 0.02}
UNLIKE = {"resnet-50": 0.25}
"""Models of which the layer with most weights is far from that with most activations."""


@pytest.mark.parametrize("name", some(names()))
def test_memory_of_a_model_is_that_of_its_steps(name: str) -> None:
    model = find(name)
    space = PlanSpace(ranks=RANKS, global_batch=BATCH, most_tp=8)
    every = space.columns(model)
    passes = every["vpp"] * every["pp"] * (BATCH // every["dp"] // every["micro_batch"])
    draw = np.random.default_rng(6)
    for zero in LOW:
        chosen = np.flatnonzero((every["zero"] == zero) & (passes <= 200))
        rows = draw.permutation(chosen)[:PLANS]
        columns = {field: of[rows] for field, of in every.items()}
        memory = ClosedForm(model, Machine("hgx-h100", RANKS)).memory(columns, BATCH)
        for row in range(len(rows)):
            plan = space.plan(columns, row)
            beyond = memory[row] / max(train(model, plan).peaks().values()) - 1
            high = UNLIKE.get(name, HIGH[zero])
            assert -LOW[zero] <= beyond <= high, plan
