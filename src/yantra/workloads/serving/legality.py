"""Whether a plan can serve a model: every rule with its numbers, and the nearest value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yantra.base.errors import ConfigError
from yantra.workloads.plan.check import Facts, facts_of
from yantra.workloads.serving.plan import InferencePlan


def check_plan(plan: InferencePlan, model: Any, tokens: int, where: str = "") -> None:
    """Raise ConfigError if the plan is impossible for sequences of up to `tokens` tokens."""
    facts = facts_of(model)
    for field, reason in _problems(plan, facts, tokens):
        raise ConfigError(f"{where}{field}", f"{facts.name}: {reason}")


def _problems(plan: InferencePlan, facts: Facts, tokens: int) -> Iterator[tuple[str, str]]:
    if not _splits(facts, plan.tp):
        near = max(ways for ways in range(1, plan.tp + 1) if _splits(facts, ways))
        sizes = f"heads {_list(facts.heads)}, key-value heads {_list(facts.kv_heads)}"
        sizes += f", widths {_list(facts.widths)}" if facts.widths else ""
        yield "tp", f"{plan.tp} ranks cannot share {sizes}; nearest: {near}"
    if plan.ep > 1 and not facts.experts:
        yield "ep", f"it has no experts; expected 1, got {plan.ep}"
    for experts in facts.experts:
        if experts % plan.ep:
            near = max(n for n in range(1, plan.ep + 1) if experts % n == 0)
            yield "ep", f"{plan.ep} ranks cannot share {experts} experts; nearest: {near}"
    for width in facts.expert_widths:
        if width % plan.etp:
            near = max(n for n in range(1, plan.etp + 1) if width % n == 0)
            yield "etp", f"{plan.etp} ranks cannot share {width} columns; nearest: {near}"
    if plan.pp > facts.layers:
        yield "pp", f"{plan.pp} stages, but {facts.layers} layers; nearest: {facts.layers}"
    given = plan.stage_layers
    if given is not None and (len(given), sum(given)) != (plan.pp, facts.layers):
        told = "+".join(map(str, given))
        whole = f"{facts.layers} layers on {plan.pp} stages"
        yield "stage_layers", f"{told} = {sum(given)} on {len(given)}; expected {whole}"
    elif given is not None and 0 in given:
        yield "stage_layers", f"stage {given.index(0)} has no layer; expected one at least"
    if facts.positions and tokens > facts.positions:
        yield "context", f"it has {facts.positions} positions; sequences get {tokens} tokens long"


def _splits(facts: Facts, tp: int) -> bool:
    # key-value heads may have copies
    whole = (*facts.heads, *facts.widths)
    return all(size % tp == 0 for size in whole) and all(
        heads % tp == 0 or tp % heads == 0 for heads in facts.kv_heads
    )


def _list(sizes: tuple[int, ...]) -> str:
    return " and ".join(map(str, sizes))
