"""Whether a plan can train a model: every rule with its numbers.

Uneven shares are refused, not padded, except vocabularies.

Sources: Megatron-LM's training/arguments.py and transformer_config.py; Liu et al., "MoE Parallel
Folding", 2025; Jacobs et al., "DeepSpeed Ulysses", 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError
from yantra.base.records import Record
from yantra.workloads.operators.offloaded import offloaded_of
from yantra.workloads.plan.limits import limits_of
from yantra.workloads.plan.plan import Plan
from yantra.workloads.plan.precision import SCALINGS, TRANSPOSED
from yantra.workloads.plan.split import Unfit, is_given, shares
from yantra.workloads.plan.words import called, difference
from yantra.workloads.schedules.limits import counted


class Broken(NamedTuple):
    """A broken rule: the field to change, and why."""

    field: str
    reason: str


class Facts(NamedTuple):
    """The distinct sizes of a model that a plan must divide.

    `widths` of MLPs and shared experts, `expert_widths` of routed experts, `latents` of latent
    attention's rows, `columns` of tables that ep splits. `positions` is a learned table's length, 0
    without; `fixed_sequence` the only sequence length in tokens, 0 for any. `limits` are fields
    that a block refuses, and why.
    """

    name: str
    layers: int
    heads: tuple[int, ...] = ()
    kv_heads: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    experts: tuple[int, ...] = ()
    expert_widths: tuple[int, ...] = ()
    latents: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    positions: int = 0
    is_causal: bool = False
    sequence: int = 0
    fixed_sequence: int = 0
    limits: tuple[tuple[str, str], ...] = ()


def facts_of(model: Any) -> Facts:
    """The sizes of a model (its `front`, `layers` and `tail`).

    Kept for immutable models: plans of one search share one model.
    """
    known = _kept.get(id(model))
    if known is not None:
        return known[1]
    facts = _facts(model)
    if isinstance(model, Record):
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[id(model)] = (model, facts)  # a kept model keeps its id
    return facts


def _facts(model: Any) -> Facts:
    found: dict[str, dict[int, None]] = {}
    is_causal = False
    for part in _parts((model.front, *dict.fromkeys(model.layers), model.tail)):
        is_causal = is_causal or bool(getattr(part, "causal", False))
        for fact, size in _sizes(part):
            found.setdefault(fact, {})[size] = None
    sizes = {fact: tuple(found.get(fact, ())) for fact in _OF_BLOCKS}
    splits = gcd(*sizes["heads"], *sizes["kv_heads"], *sizes["widths"])
    return Facts(
        model.name,
        len(model.layers),
        **sizes,
        positions=max(found.get("positions", (0,))),
        is_causal=is_causal,
        sequence=model.sequence,
        fixed_sequence=model.sequence if model.fixed_sequence else 0,
        limits=limits_of(model, splits),
    )


MOST_PASSES = 1 << 20
_USUAL = Plan()
_ALTERNATING = ("1f1b", "interleaved", "interleaved-rounds")
_MOST_KEPT = 16
_kept: dict[int, tuple[Any, Facts]] = {}
_LATENTS = ("q_lora", "kv_lora", "qk_rope")
_OF_BLOCKS = ("heads", "kv_heads", "widths", "experts", "expert_widths", "latents", "columns")


def _parts(values: object) -> Iterator[Record]:
    for value in values if isinstance(values, tuple) else (values,):
        if isinstance(value, tuple):
            yield from _parts(value)
        elif isinstance(value, Record):
            yield value
            yield from _parts(tuple(vars(value).values()))


def _sizes(part: Record) -> Iterator[tuple[str, int]]:
    heads = getattr(part, "heads", 0)
    if heads:
        yield "heads", heads
        yield "kv_heads", getattr(part, "kv_heads", heads)
    experts = getattr(part, "experts", 0)
    width = getattr(part, "intermediate", 0)
    if experts:
        yield "experts", experts
    if width:
        yield ("expert_widths" if experts else "widths"), width
    if getattr(part, "shared", 0):
        shared = part.shared  # type: ignore[attr-defined]
        yield "widths", shared * (getattr(part, "shared_intermediate", None) or width)
    columns = getattr(part, "columns", 0)
    if columns:
        yield "columns", columns
    for fact, fields in (("latents", _LATENTS), ("positions", ("positions",))):
        yield from ((fact, getattr(part, field)) for field in fields if getattr(part, field, 0))


def check(plan: Plan, model: Any, sequence: int | None = None) -> None:
    """Raise ConfigError, with the nearest possible plan, if the plan cannot train the model.

    `sequence` is in tokens, None for the usual.
    """
    _check_size(plan)
    facts = facts_of(model)
    tokens = facts.sequence if sequence is None else sequence
    broken = tuple(problems(plan, facts, tokens))
    if broken:
        from yantra.workloads.plan.nearest import nearest

        raise _error(plan, broken, nearest(plan, facts, tokens))


def _check_size(plan: Plan) -> None:
    from yantra.workloads.templates.parts import MOST_RANKS

    if plan.ranks > MOST_RANKS:
        largest = max(("tp", "cp", "dp", "pp"), key=lambda axis: int(getattr(plan, axis)))
        product = f"tp x cp x dp x pp = {plan.tp} x {plan.cp} x {plan.dp} x {plan.pp}"
        problem = f"{product} = {plan.ranks} ranks; at most {MOST_RANKS} can be"
        raise ConfigError(called(plan, largest), problem)


def problems(plan: Plan, facts: Facts, sequence: int) -> Iterator[Broken]:
    """Every rule that a plan breaks for a model and a sequence length in tokens."""
    yield from plan_problems(plan)
    for field, reason in facts.limits:
        if getattr(plan, field) > 1 or getattr(plan, field) is True:
            yield Broken(field, reason)
        elif (
            field == "sequence_parallel" and plan.messages == "scattered" and plan.tp * plan.pp > 1
        ):
            yield Broken("messages", f"scattered splits a stage's last layer so: {reason}")
    yield from _modules(plan, facts)
    yield from _tensor(plan, facts)
    yield from _sequence(plan, facts, sequence)
    yield from _context(plan, facts)
    yield from _experts(plan, facts)
    yield from _pipeline(plan, facts)


def plan_problems(plan: Plan) -> Iterator[Broken]:
    if plan.sequence_parallel and plan.tp == 1:
        yield Broken("sequence_parallel", "runs over the tp ranks, and tp is 1")
    if plan.overlap_products and not plan.sequence_parallel:
        reason = "nothing is gathered before products without sequence_parallel"
        yield Broken("overlap_products", reason if plan.tp > 1 else "needs tp above 1")
    share = plan.micro_batch * plan.dp
    if plan.global_batch % share:
        product = f"micro-batch x dp = {plan.micro_batch} x {plan.dp} = {share}"
        near = _multiples(plan.global_batch, share)
        yield Broken("global_batch", f"{plan.global_batch} is no multiple of {product}{near}")
    passes = plan.micro_batches * plan.pp * plan.vpp * plan.steps
    if passes > MOST_PASSES:
        chunks = counted(plan.pp * plan.vpp, "chunk")
        made = f"{counted(plan.micro_batches, 'micro-batch')} through {chunks} of layers"
        made += f" in {plan.steps} steps" if plan.steps > 1 else ""
        yield Broken(
            "global_batch" if plan.steps == 1 else "steps",
            f"{made} are {passes} passes; at most {MOST_PASSES} can be",
        )
    yield from _schedule(plan)
    yield from _folding(plan)
    yield from _sharding(plan)
    yield from _recompute(plan)
    yield from _offload(plan)
    yield from _hidden_experts(plan)
    yield from _exposed_gradients(plan)
    yield from _precision(plan)
    yield from _order(plan)
    if plan.lora_rank is None and plan.lora_targets != type(plan)().lora_targets:
        yield Broken("lora_targets", "adapts nothing without lora_rank; give one, such as 8")


def _schedule(plan: Plan) -> Iterator[Broken]:
    from yantra.workloads import schedules

    schedule = schedules.get(plan.schedule, plan.spelling.get("schedule", "schedule"))
    reason = schedule.requires(plan.pp, plan.micro_batches or 1, plan.vpp)
    if reason is not None:
        yield Broken("schedule", f"{plan.schedule} {reason}")


def _folding(plan: Plan) -> Iterator[Broken]:
    ranks = plan.tp * plan.cp * plan.dp
    if ranks % (plan.ep * plan.etp):
        stage = f"tp x cp x dp = {plan.tp} x {plan.cp} x {plan.dp} = {ranks} ranks of a stage"
        experts = f"ep x etp = {plan.ep} x {plan.etp} = {plan.ep * plan.etp}"
        yield Broken("ep" if plan.ep > 1 else "etp", f"{experts} must divide the {stage}")


def _sharding(plan: Plan) -> Iterator[Broken]:
    every = plan.dp * plan.cp
    if plan.shard is not None:
        if plan.zero == 0:
            yield Broken("shard", "shards nothing with zero = 0; give zero 1, 2 or 3")
        if every % plan.shard:
            product = f"dp x cp = {plan.dp} x {plan.cp} = {every}"
            yield Broken("shard", f"groups of {plan.shard} ranks do not divide {product}")
    if plan.zero < 3:
        if not plan.reshard_after_forward:
            yield Broken("reshard_after_forward", f"weights are whole with zero = {plan.zero}")
        if plan.prefetch > 1:
            yield Broken("prefetch", f"nothing is gathered ahead with zero = {plan.zero}; give 3")


def _exposed_gradients(plan: Plan) -> Iterator[Broken]:
    if plan.exposed_gradients and not plan.overlap_gradients:
        yield Broken("exposed_gradients", "all is exposed without overlap_gradients")
    elif plan.exposed_gradients and plan.zero > 1:
        reason = f"shards of gradients are reduced in every pass with zero = {plan.zero}"
        yield Broken("exposed_gradients", f"{reason}; give zero 0 or 1")


def _recompute(plan: Plan) -> Iterator[Broken]:
    if plan.recompute == "operators" and not plan.flash_attention:
        yield Broken("flash_attention", "recompute = operators keeps what it gives; switch it on")
    if plan.recompute_modules != _USUAL.recompute_modules and plan.recompute != "selective":
        reason = f"are of selective recomputation, and recompute is {plan.recompute}"
        yield Broken("recompute_modules", reason)
    if plan.recompute != "full":
        for field in ("recompute_layers", "recompute_method"):
            if getattr(plan, field) != getattr(_USUAL, field):
                reason = f"is of full recomputation, and recompute is {plan.recompute}"
                yield Broken(field, reason)
    elif plan.recompute_method == "block" and plan.recompute_layers is None:
        yield Broken("recompute_layers", "block needs the number of layers; give one")


def _offload(plan: Plan) -> Iterator[Broken]:
    modules = offloaded_of(plan.offload_modules)
    if plan.offload_layers is not None and not (plan.offload_activations or modules):
        yield Broken("offload_layers", "nothing waits without offload_activations; switch it on")
    if modules and plan.offload_activations:
        yield Broken("offload_modules", "all wait with offload_activations; leave out one")
    if modules and plan.recompute == "full" and plan.recompute_method == "uniform":
        yield Broken("offload_modules", "full recomputation keeps layers' inputs alone")
    if "attn_proj" in modules and "core_attn" not in modules:
        reason = "core_attn needs what attn_proj saves, so that it stays; name both"
        yield Broken("offload_modules", reason)


def _hidden_experts(plan: Plan) -> Iterator[Broken]:
    if plan.overlap_experts == "none":
        if plan.exposed_experts:
            yield Broken("exposed_experts", "hides nothing with overlap_experts = none; give 1f1b")
        return
    if plan.ep == 1:
        yield Broken("overlap_experts", "experts exchange no messages with ep = 1")
    if plan.schedule not in _ALTERNATING:
        known = ", ".join(_ALTERNATING)
        reason = f"pairs passes of the schedules {known}; {plan.schedule} orders them itself"
        yield Broken("overlap_experts", reason)
    if plan.micro_batches == 1:
        yield Broken("overlap_experts", "hides behind other micro-batches, and the step has one")


def _modules(plan: Plan, facts: Facts) -> Iterator[Broken]:
    for module in plan.recompute_modules.split(","):
        lacks = "experts" if module in ("moe", "moe_act", "shared_experts") else "latent attention"
        if (lacks == "experts" and not facts.experts) or (
            module == "mla_up_proj" and not facts.latents
        ):
            yield Broken("recompute_modules", f"{facts.name} has no {lacks} ({module})")


def _precision(plan: Plan) -> Iterator[Broken]:
    known = SCALINGS.get(plan.dtype, ("none",))
    if plan.scaling not in known:
        of = f"products in {plan.dtype} are not scaled {plan.scaling}; {plan.dtype} has"
        yield Broken("scaling", f"{of} {', '.join(known)}")
    if plan.narrow_weights and plan.scaling == "none":
        yield Broken("narrow_weights", f"products in {plan.dtype} have no narrow weights")
    if plan.transposed_weights and plan.scaling not in TRANSPOSED:
        yield Broken("transposed_weights", f"is for {' and '.join(TRANSPOSED)} scaling alone")
    gathers = plan.scaling == "mxfp8" and plan.narrow_weights and plan.zero in (1, 2)
    if not (plan.reuse_gradients or gathers):
        yield Broken("reuse_gradients", "no narrow mxfp8 weights are gathered with zero 1 or 2")
    if plan.optimizer != "adam" and plan.exp_avg_sq_dtype != "fp32":
        yield Broken("exp_avg_sq_dtype", f"{plan.optimizer} has no second moment")
    if plan.offload_fraction < 1 and not plan.offload_optimizer:
        yield Broken("offload_fraction", "offloads nothing without offload_optimizer; switch it on")
    if plan.dtype == "fp32" and plan.master_dtype != "fp32":
        yield Broken("master_dtype", "fp32 weights have no other copy")


def _order(plan: Plan) -> Iterator[Broken]:
    if plan.tp * plan.cp * plan.dp % (plan.ep * plan.etp) or any(_bad_shard(plan)):
        return
    try:
        plan.grid()
    except ConfigError as error:
        yield Broken(error.where, error.problem)


def _bad_shard(plan: Plan) -> Iterator[bool]:
    yield plan.shard is not None and plan.dp * plan.cp % plan.shard != 0


def _tensor(plan: Plan, facts: Facts) -> Iterator[Broken]:
    for heads in facts.heads:
        if heads % plan.tp:
            yield Broken("tp", f"{heads} attention heads are not divisible by {plan.tp}")
    for heads in facts.kv_heads:
        if heads not in facts.heads and heads % plan.tp:
            yield Broken("tp", f"{heads} key-value heads are not divisible by {plan.tp}")
    for width in facts.latents:
        if width % plan.tp and not plan.sequence_parallel:
            without = f"not divisible by {plan.tp} (sequence_parallel would not split it)"
            yield Broken("tp", f"the latent width {width} is {without}")
    for width in facts.widths:
        if width % plan.tp:
            yield Broken("tp", f"the MLP width {width} is not divisible by {plan.tp}")


def _sequence(plan: Plan, facts: Facts, sequence: int) -> Iterator[Broken]:
    if facts.fixed_sequence and sequence != facts.fixed_sequence:
        always = f"{facts.name} always has {facts.fixed_sequence} tokens"
        yield Broken("sequence", f"{always}, got {sequence}")
    elif facts.positions and sequence > facts.positions:
        yield Broken("sequence", f"{facts.name} has {facts.positions} positions, got {sequence}")
    if plan.sequence_parallel and sequence % (plan.tp * plan.cp):
        product = f"tp x cp = {plan.tp} x {plan.cp} = {plan.tp * plan.cp}"
        field = "sequence_parallel" if plan.cp == 1 else "cp"
        yield Broken(field, f"{sequence} tokens are not divisible by {product}")
    elif plan.messages != "whole" and plan.pp > 1 and sequence % (plan.tp * plan.cp):
        product = f"tp x cp = {plan.tp} x {plan.cp} = {plan.tp * plan.cp}"
        yield Broken("messages", f"{sequence} tokens are not divisible by {product}")
    elif sequence % plan.cp:
        yield Broken("cp", f"{sequence} tokens are not divisible by {plan.cp}")
    elif facts.is_causal and plan.cp > 1 and sequence % (2 * plan.cp):
        halves = f"each of the {plan.cp} ranks takes two chunks, so that all have equal work"
        yield Broken("cp", f"{sequence} tokens are not divisible by 2 x {plan.cp}: {halves}")


def _context(plan: Plan, facts: Facts) -> Iterator[Broken]:
    if plan.cp == 1:
        return
    if plan.cp_kind != "a2a":
        return
    for heads in dict.fromkeys((*facts.heads, *facts.kv_heads)):
        local = heads // plan.tp
        if local % plan.cp:
            whose = "attention" if heads in facts.heads else "key-value"
            of = f"{heads} {whose} heads / tp {plan.tp} = {local}"
            yield Broken("cp", f"a2a shares heads, and {of} is not divisible by {plan.cp}")


def _experts(plan: Plan, facts: Facts) -> Iterator[Broken]:
    if not facts.experts:
        dense = f"{facts.name} has no experts"
        for columns in facts.columns:
            if columns % plan.ep:
                yield Broken("ep", f"{columns} columns of tables are not divisible by {plan.ep}")
        for field in ("etp",) if facts.columns else ("ep", "etp"):
            if getattr(plan, field) > 1:
                yield Broken(field, f"{dense}, got {getattr(plan, field)}")
        if plan.routing != "uniform":
            yield Broken("routing", f"{dense} to route to")
        if plan.capacity_factor is not None:
            yield Broken("capacity_factor", dense)
        return
    if plan.zero and plan.replicas > 1:
        dense = f"other weights are sharded over dp x cp = {plan.dp * plan.cp}"
        yield Broken("shard", f"experts have no shard groups of their own; left out, {dense}")
    if plan.tp > 1 and not plan.sequence_parallel:
        yield Broken("sequence_parallel", f"experts with tp = {plan.tp} need it (Megatron-LM too)")
    for experts in facts.experts:
        if experts % plan.ep:
            yield Broken("ep", f"{experts} experts are not divisible by {plan.ep}")
    for width in facts.expert_widths:
        if width % plan.etp:
            yield Broken("etp", f"the expert width {width} is not divisible by {plan.etp}")


def _pipeline(plan: Plan, facts: Facts) -> Iterator[Broken]:
    from yantra.workloads import schedules

    schedule = schedules.get(plan.schedule)
    if schedule.requires(plan.pp, plan.micro_batches or 1, plan.vpp) is not None:
        return
    stages = plan.pp * plan.vpp
    if facts.layers + 2 >= stages:  # else laying out many ranks would take time for nothing
        stages = schedule.stages(plan.pp, plan.vpp).count
    ends = plan.embedding_as_layer + plan.loss_as_layer
    whole = facts.layers + ends
    field = "vpp" if plan.vpp > 1 and facts.layers >= plan.pp else "pp"
    if whole < stages:
        named = f"{facts.layers} layers" + (f" and {counted(ends, 'end')}" if ends else "")
        reason = f"{named} cannot fill {stages} stages"
        if not ends and facts.layers + 2 >= stages:
            reason += (
                ", unless the embedding and the loss count (embedding_as_layer, loss_as_layer)"
            )
        yield Broken(field, reason)
    elif ends and whole % stages:
        each = (
            f"{facts.layers} layers and {counted(ends, 'end')} do not fill {stages} stages evenly"
        )
        yield Broken("embedding_as_layer" if plan.embedding_as_layer else "loss_as_layer", each)
    elif is_given(plan):
        places = schedule.stages(plan.pp, plan.vpp).routes[0]
        given = shares(plan, facts.layers, [device for device, _ in places])
        if isinstance(given, Unfit):
            yield Broken(*given)


def _multiples(number: int, of: int) -> str:
    below = number // of * of
    near = f"{below} or {below + of}" if below else str(of)
    return f"; the nearest: {near}"


def _error(plan: Plan, broken: tuple[Broken, ...], near: Plan | None) -> ConfigError:
    lines = [broken[0].reason]
    lines += [f"  also {called(plan, rule.field)}: {rule.reason}" for rule in broken[1:]]
    if near is not None:
        ranks = counted(plan.ranks, "rank")
        lines.append(f"  the nearest possible plan on {ranks}: {difference(plan, near)}")
    return ConfigError(called(plan, broken[0].field), "\n".join(lines))
