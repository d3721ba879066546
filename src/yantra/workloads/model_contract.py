"""The laws that every model keeps however it is split, and the contract that checks them.

yantra contract model llama3-8b
yantra contract model path/to/my_model.py
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from yantra.base import contract
from yantra.base.contract import Contract, asked
from yantra.base.errors import ConfigError
from yantra.workloads.models import catalogue
from yantra.workloads.models.model import Model
from yantra.workloads.models.overview import short
from yantra.workloads.operators.operations import Operation, StageWork
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import Chunk, setting_of

PLANS: tuple[Plan, ...] = (
    Plan(),
    Plan(recompute="full"),
    Plan(recompute="operators"),
    Plan(recompute="selective", flash_attention=False, dropout=True),
    *(Plan(tp=tp) for tp in (2, 4, 8)),
    *(Plan(tp=tp, sequence_parallel=False) for tp in (2, 4, 8)),
    Plan(tp=2, recompute="full"),
    Plan(tp=2, recompute="operators"),
    *(Plan(cp=2, cp_kind=kind) for kind in ("p2p", "all_gather", "a2a")),
    Plan(dp=2, ep=2),
    Plan(tp=2, dp=2, ep=2, etp=2),
)
_SEQUENCES, _LENGTH = 4, 128
_PADDING = 0.001  # of a vocabulary, so that ranks have equal parts


class Work(NamedTuple):
    """What a rank does under a plan."""

    plan: Plan
    work: StageWork

    @property
    def operations(self) -> tuple[Operation, ...]:
        return self.work.forward.operations + self.work.backward.operations


Law = Callable[[Work, Work], str | None]


def what_is_kept_is_freed(_: Work, split: Work) -> str | None:
    kept = 0
    for operation in split.operations:
        kept += operation.saves - operation.frees
        if kept < 0:
            return f"{operation.name} frees {-kept} bytes that nothing kept"
    return f"{kept} bytes are never freed" if kept else None


def nothing_waits_for_later(_: Work, split: Work) -> str | None:
    for passed in (split.work.forward, split.work.backward):
        for at, operation in enumerate(passed.operations):
            for before in operation.after:
                if before >= at:
                    return f"{operation.name} waits for a later operation"
                other = passed.operations[before]
                if other.phase == "wgrad" and operation.phase != "wgrad":
                    return f"{operation.name} waits for the weight gradient {other.name}"
    return None


def products_are_shared_or_done_by_every_rank(alone: Work, split: Work) -> str | None:
    whole, share = _products(alone), _products(split)
    if whole.keys() != share.keys():
        return f"it has other products than one rank: {_some(whole.keys() ^ share.keys())}"
    plan = split.plan
    ways = {a * b for a in (1, plan.tp, plan.etp) for b in (1, plan.cp)}
    for name, flops in whole.items():
        if not any(_equal(share[name] * parts, flops) for parts in ways):
            return f"{name} has {share[name]} of {flops} operations, no equal share"
    return None


def a_gradient_is_two_products(_: Work, split: Work) -> str | None:
    forward = _products(split, "forward")
    backward = _products(split, "dgrad", "wgrad")
    for name, flops in forward.items():
        of_data = name.startswith("embedding.") and backward[name] == flops
        if backward[name] != 2 * flops and not of_data:
            return f"{name} has {flops} operations, its gradients {backward[name]}"
    return None


def weights_are_shared_evenly(alone: Work, split: Work) -> str | None:
    whole = {weight.name: weight.elements for weight in alone.work.weights}
    plan = split.plan
    ways = {1, plan.tp, plan.etp, plan.ep, plan.ep * plan.etp}
    for weight in split.work.weights:
        elements = whole.get(weight.name)
        if elements is None:
            return f"one rank alone has no weight {weight.name}"
        if not any(_equal(weight.elements * parts, elements) for parts in ways):
            return f"{weight.name} has {weight.elements} of {elements} elements, no equal share"
    return None


LAWS: tuple[Law, ...] = (
    what_is_kept_is_freed,
    nothing_waits_for_later,
    products_are_shared_or_done_by_every_rank,
    a_gradient_is_two_products,
    weights_are_shared_evenly,
)


def works(model: Model) -> Iterator[Work | ConfigError]:
    layers = tuple(dict.fromkeys(model.layers))
    short_model = model.replace(layers=layers * 2 if len(layers) == 1 else layers)
    length = model.sequence if model.fixed_sequence else min(model.sequence, _LENGTH)
    for plan in PLANS:
        one = plan.replace(micro_batch=_SEQUENCES, global_batch=_SEQUENCES * plan.dp)
        try:
            check(one, short_model, length)
            setting = setting_of(one, length)
            chunk = Chunk(short_model, setting, (0, len(short_model.layers)), True, True)
            yield Work(one, chunk.work())
        except ConfigError as error:
            yield error


def violations(model: Model) -> Iterator[str]:
    for misfit in blocks_fit_together(model):
        yield f"blocks_fit_together: {misfit}"
    alone, *others = works(model)
    if isinstance(alone, ConfigError):
        yield f"it cannot be built on one rank: {alone}"
        return
    for split in (alone, *others):
        if isinstance(split, ConfigError):
            continue
        for law in LAWS:
            wrong = asked(law, alone, split)
            if wrong:
                yield f"{_spelt(split.plan)}: {law.__name__}: {wrong}"


def blocks_fit_together(model: Model) -> Iterator[str]:
    """Where a block takes another tensor than the one before it gives."""
    chunk = Chunk(model, setting_of(Plan(), model.sequence), (0, 0), True, False)
    g, x = chunk.graph, chunk.result
    for at, block in enumerate((*model.layers, model.tail)):
        name = f"layer {at}" if at < len(model.layers) else "the tail"
        given = dict(x.sizes) if x is not None else {}
        taken = block.input_sizes(g)
        if given != taken:
            yield f"{name} takes {taken}, and is given {given}"
            return
        x = block.build(g, x)


def _products(work: Work, *phases: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for item in work.operations:
        if item.tensor_flops and (not phases or item.phase in phases):
            if item.phase == "recompute":
                continue
            name = re.sub(r"(\.(dgrad|wgrad|step\d+))+$", "", item.name)
            name = re.sub(r"\.(scores|context)$", ".core", name)  # attention that is not fused
            found[name] += item.tensor_flops - item.repeated_flops
    return found


def _equal(given: int, expected: int) -> bool:
    return abs(given - expected) <= _PADDING * expected


def _some(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:3])


def _spelt(plan: Plan) -> str:
    fields = [name for name in Plan.field_names if name not in ("micro_batch", "global_batch")]
    said = [f"{name}={plan.given[name]}" for name in fields if plan.given[name] != _DEFAULT[name]]
    return " ".join(said) or "one rank"


_DEFAULT = Plan().given


def summary(model: Model) -> str:
    results = list(works(model))
    refused = [result for result in results if isinstance(result, ConfigError)]
    reasons = dict.fromkeys(str(error).splitlines()[0] for error in refused)
    flops = f"{model.flops():.4g} operations forward for {model.sequence} tokens"
    return "\n".join(
        (
            f"every law holds over {len(results) - len(refused)} plans",
            *(f"refused: {reason}" for reason in reasons),
            f"{model.name}: {short(model.parameters())} parameters, {flops}",
        )
    )


CONTRACT = Contract(
    kind="model",
    module="yantra.workloads.model_contract",
    about="Check a model: equal shares of the work, whole gradients, memory in balance.",
    argument="a name (llama3-8b), or a file that gives a model",
    find=catalogue.find,
    violations=violations,
    summary=summary,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return contract.main(CONTRACT, arguments)


if __name__ == "__main__":
    sys.exit(main())
