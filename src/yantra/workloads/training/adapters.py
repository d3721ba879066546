"""Whether a model has the products that adapters are for, checked before a plan is judged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.workloads.operators.adapters import ALL, PRODUCTS, TARGETS, targets_of
from yantra.workloads.operators.graph import Batch, Setting
from yantra.workloads.plan.check import facts_of
from yantra.workloads.plan.words import called
from yantra.workloads.training.stage import Chunk, Parts

if TYPE_CHECKING:
    from yantra.workloads.plan.plan import Plan

_KEPT = 16


def check_adapters(plan: Plan, model: Any) -> None:
    """Raise ConfigError where a plan trains adapters of products that the model lacks.

    Also for a rank above a product's rows or columns.
    """
    if plan.lora_rank is None:
        return
    named, where = targets_of(plan.lora_targets), called(plan, "lora_targets")
    found, others = _targets(model)
    missing = [name for name in named if name not in found]
    is_all = plan.lora_targets.strip() == ALL
    if is_all and others:
        told = f"; name those meant among {', '.join(found)}" if found else ""
        problem = f"adapters of {', '.join(others)} of {model.name} are not modelled{told}"
        raise ConfigError(where, problem)
    if missing and (not is_all or not found):
        told = f"; it has {', '.join(found)}" if found else ""
        raise ConfigError(where, f"{model.name} has no product {' or '.join(missing)}{told}")
    least = min(found[name] for name in named if name in found)
    if plan.lora_rank > least:
        name = next(name for name in named if found.get(name) == least)
        problem = f"{name} has {least} rows or columns; expected at most that"
        raise ConfigError(called(plan, "lora_rank"), f"{problem}, got {plan.lora_rank}")


def _targets(model: Any) -> tuple[Mapping[str, int], list[str]]:
    found: dict[str, int] = {}
    others: dict[str, None] = {}
    for layer in dict.fromkeys(model.layers):
        targets, rest = _of_layer(layer, model.sequence, max(facts_of(model).experts, default=1))
        others |= dict.fromkeys(rest)
        for name, least in targets.items():
            found[name] = min(least, found.get(name, least))
    return {name: found[name] for name in TARGETS if name in found}, list(others)


class _One:
    def __init__(self, layer: Any) -> None:
        self.layers = (layer,)
        self.front: Any = None
        self.tail: Any = None


@lru_cache(maxsize=_KEPT)
def _of_layer(layer: Any, sequence: int, experts: int) -> tuple[Mapping[str, int], tuple[str, ...]]:
    setting = Setting(Batch.of(1, sequence), lora_rank=1, lora_targets=TARGETS)
    model: Parts = _One(layer)
    weights = Chunk(model, setting, (0, 1), front=False, tail=False).graph.weights
    found: dict[str, int] = {}
    beside = set()
    for weight in weights:
        where, _, part = weight.name.removesuffix(".weight").rpartition(".")
        if not weight.is_frozen and part in ("lora_a", "lora_b"):
            target = where.rpartition(".")[2]
            beside.add(where)
            copies = experts if weight.domain == "expert" else 1
            least = weight.elements // copies
            found[target] = min(least, found.get(target, least))
    products = [weight.name.removesuffix(".weight") for weight in weights if weight.packs]
    return found, tuple(name.split(".", 2)[-1] for name in products if not _has(name, beside))


def _has(product: str, beside: set[str]) -> bool:
    where, _, name = product.rpartition(".")
    forms = [targets for form, targets in PRODUCTS.items() if form.partition(":")[0] == name]
    return where in beside or any(
        f"{where}.{target}" in beside for targets in forms for target in targets
    )
