"""Served traces for tests: short iterations of a given cost, so that nothing is measured."""

from __future__ import annotations

from typing import Any

from yantra.serving.answer import Served
from yantra.serving.fleet import Linear
from yantra.serving.serve import serve

COST = Linear(5e-3, 20e-6, 1e-7)


def served(count: int = 300, rate: float = 20.0, seed: int = 1, **fields: Any) -> Served:
    """Serve Poisson arrivals of prompts around 300 and outputs around 40 tokens."""
    rule = (
        f"poisson:rate={rate}/s,count={count},isl=lognormal:300:1200,osl=lognormal:40:200,"
        f"seed={seed}"
    )
    return serve(requests=rule, cost=COST, **fields)


def with_ends(one: Served) -> Served:
    """Give an answer the interval that measured iterations would have."""
    runs = (one.fleet.run(one.question.requests, factor=factor) for factor in (0.8, 1.25))
    return one._replace(ends=tuple(runs))
