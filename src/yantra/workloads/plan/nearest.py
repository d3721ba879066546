"""The possible plan nearest to an impossible one, with as many ranks.

A changed field costs 1 plus the times it doubled or halved; a switch or another schedule 1.5.
Trade-off: only likely batches and chunks are tried, so an unusual plan may be nearer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import inf, log2
from typing import Any

from yantra.base.divisors import divisors
from yantra.workloads.plan.check import Facts, problems
from yantra.workloads.plan.plan import AXES, LARGEST, Plan

_SWITCH = 1.5
_MOST_SPLITS = 20_000
_MOST_TRIED = 400
_SPLIT = ("tp", "cp", "pp", "dp")
_TRIED_LAST = {"micro_batch", "global_batch", "schedule", "vpp"}
_OFF: Mapping[str, Any] = {
    "routing": "uniform",
    "capacity_factor": None,
    "reshard_after_forward": True,
    "prefetch": 1,
    "flash_attention": True,
    "order": "-".join(AXES),
    "lora_targets": "q_proj,v_proj",
    "stage_layers": None,
    "first_stage_layers": None,
    "last_stage_layers": None,
    "scaling": None,
    "narrow_weights": None,
    "transposed_weights": None,
    "reuse_gradients": True,
    "master_dtype": "fp32",
    "exp_avg_sq_dtype": "fp32",
    "offload_fraction": 1.0,
    "offload_modules": "none",
    "offload_layers": None,
}


def nearest(plan: Plan, facts: Facts, sequence: int) -> Plan | None:
    best, best_cost = None, inf
    for tried, (split_cost, sizes) in enumerate(_splits(plan, facts)):
        if split_cost >= best_cost or tried == _MOST_TRIED:
            break
        found = _complete(plan.replace(**sizes), facts, sequence)
        if found is not None and (total := cost(plan, found)) < best_cost:
            best, best_cost = found, total
    return best


def _splits(plan: Plan, facts: Facts) -> list[tuple[float, dict[str, int]]]:
    found = []
    heads = facts.heads or (1,)
    for tp in (d for d in divisors(plan.ranks) if not facts.heads or heads[0] % d == 0):
        for cp in divisors(plan.ranks // tp):
            for pp in (d for d in divisors(plan.ranks // tp // cp) if d <= facts.layers):
                sizes = dict(zip(_SPLIT, (tp, cp, pp, plan.ranks // tp // cp // pp), strict=True))
                cost = sum(_change(getattr(plan, axis), size) for axis, size in sizes.items())
                found.append((cost, sizes))
                if len(found) == _MOST_SPLITS:
                    return sorted(found, key=lambda split: split[0])
    return sorted(found, key=lambda split: split[0])


def _complete(plan: Plan, facts: Facts, sequence: int) -> Plan | None:
    broken = {rule.field for rule in problems(plan, facts, sequence)}
    plan = plan.replace(**{name: value for name, value in _OFF.items() if name in broken})
    if "sequence_parallel" in broken:
        plan = plan.replace(sequence_parallel=not plan.sequence_parallel)
    for choices in (_experts(plan, facts), _shards(plan, facts)):
        plan = next(_cheapest(plan, choices), plan)
    if {rule.field for rule in problems(plan, facts, sequence)} - _TRIED_LAST:
        return None
    fitting = (
        tried
        for tried in _cheapest(plan, _batches(plan, facts))
        if not any(problems(tried, facts, sequence))
    )
    return next(fitting, None)


def _cheapest(plan: Plan, choices: Iterable[dict[str, Any]]) -> Iterator[Plan]:
    now = vars(plan)
    ordered = sorted(
        choices, key=lambda c: sum(_change(now[field], value) for field, value in c.items())
    )
    for choice in ordered:
        changes = {field: value for field, value in choice.items() if now[field] != value}
        yield plan.replace(**changes) if changes else plan


def _experts(plan: Plan, facts: Facts) -> Iterator[dict[str, Any]]:
    stage = plan.tp * plan.cp * plan.dp
    experts = facts.experts or facts.columns or (1,)
    widths = facts.expert_widths or (1,)
    for ep, etp in product(_common(experts, stage), _common(widths, stage)):
        if stage % (ep * etp) == 0:
            yield {"ep": ep, "etp": etp}


def _shards(plan: Plan, facts: Facts) -> Iterator[dict[str, Any]]:
    if plan.shard is None or plan.zero == 0 or facts.experts:
        yield {"shard": None}
    else:
        yield from ({"shard": size} for size in divisors(plan.dp * plan.cp))


def _batches(plan: Plan, facts: Facts) -> Iterator[dict[str, Any]]:
    schedules = dict.fromkeys((plan.schedule, "1f1b", "interleaved"))
    chunks = dict.fromkeys((plan.vpp, 1, 2, *divisors(max(facts.layers // plan.pp, 1))))
    sizes = dict.fromkeys((plan.micro_batch, *divisors(plan.global_batch)))
    for micro_batch in sizes:
        batches = (batch for batch in _global_batches(plan, micro_batch) if batch <= LARGEST)
        for batch in dict.fromkeys(batches):
            for schedule, vpp in product(schedules, chunks):
                yield {
                    "micro_batch": micro_batch,
                    "global_batch": batch,
                    "schedule": schedule,
                    "vpp": vpp,
                }


def _global_batches(plan: Plan, micro_batch: int) -> Iterator[int]:
    yield plan.global_batch
    share = micro_batch * plan.dp
    for step in (share, 2 * share, share * plan.pp):
        below = plan.global_batch // step * step
        yield from (batch for batch in (below, below + step) if batch)
    yield 2 * share * plan.pp


def cost(plan: Plan, other: Plan) -> float:
    was, now = plan.given, other.given
    return sum(
        _change(getattr(plan, field), getattr(other, field))
        for field in was
        if (was[field], now[field]) != (None, None)
    )


def _change(was: Any, now: Any) -> float:
    if was == now:
        return 0.0
    if not _is_size(was) or not _is_size(now):
        return _SWITCH
    return 1 + abs(log2(now / was))


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _common(sizes: tuple[int, ...], ranks: int) -> list[int]:
    return [d for d in divisors(ranks) if all(size % d == 0 for size in sizes)]
