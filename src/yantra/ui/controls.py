"""The page's controls: allowed values, first values, meanings.

A form cannot ask for files the server was not started with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import sep
from typing import Any, NamedTuple

from yantra import network
from yantra.base.errors import ConfigError, YantraError, expected_got
from yantra.fabric import clusters, stacks
from yantra.fabric.stacks.choice import NOMINAL, ROOFLINE, UNKNOWN
from yantra.workloads.models import catalogue, zoo
from yantra.workloads.plan.fields import MEANINGS
from yantra.workloads.plan.plan import CHOICES as OF_PLAN
from yantra.workloads.schedules import schedules

MOST_RANKS = 131_072
MOST_TEXT = 131_072
"""Characters of a pasted model or cluster."""
OWN = "own"
"""`model` and `cluster` where `own_model` or `own_cluster` counts."""
USUAL = ""
"""Leaves the value to model, cluster or plan."""

CHOICES: dict[str, tuple[str, ...]] = {
    "dtype": OF_PLAN["dtype"],
    "zero": ("0", "1", "2", "3"),
    "recompute": OF_PLAN["recompute"],
    "ignore_memory": ("no", "yes"),
}
"""Controls with few choices."""
NUMBERS = {
    "ranks": "8",
    "global_batch": "16",
    "sequence": USUAL,
    "tp": "4",
    "pp": "1",
    "vpp": "1",
    "cp": "1",
    "ep": "1",
    "micro_batch": "1",
}
"""Whole-number controls with first values; only `sequence` may be empty."""
POWERS = {
    "ranks": (0, 17),
    "global_batch": (0, 14),
    "sequence": (8, 17),
    "tp": (0, 6),
    "pp": (0, 6),
    "vpp": (0, 4),
    "cp": (0, 6),
    "ep": (0, 8),
    "micro_batch": (0, 6),
}
"""Powers of two of the sliders; other numbers are typed."""
TEXTS = ("price", "more", "own_model", "own_cluster")
"""Free-text controls."""
SPLIT = ("tp", "pp", "vpp", "cp", "ep", "zero", "micro_batch", "recompute")
"""Controls that are plan fields, which a search sets."""
_FIRST = {
    "model": "llama3-8b",
    "cluster": "hgx-h100",
    "stack": UNKNOWN,
    "network": "analytical",
    "schedule": USUAL,
    "dtype": "bf16",
    "zero": "1",
    "recompute": "none",
    "ignore_memory": "no",
}

ABOUT: Mapping[str, str] = {
    **{name: MEANINGS[name] for name in (*SPLIT, "global_batch", "dtype", "schedule")},
    "model": "what is trained: a model by name, a file that the server was started with, or your "
    "own text below",
    "own_model": "sizes by name in YAML or JSON, or the config.json of Hugging Face; no code",
    "cluster": "the machine: by name, a file that the server was started with, or your own text "
    "below",
    "own_cluster": "the file of a cluster in YAML (docs/guides/add-a-cluster.md); Copy fills it "
    "with the cluster that is chosen",
    "stack": "at which speeds: those of a framework, with a 90 % interval; unknown is a mixture of "
    "all; roofline and nominal are speeds of the device alone and too fast",
    "network": "how messages interact; another than analytical runs collectives as messages, and "
    "has no interval",
    "price": "what a device costs per hour, such as 2.50 USD/h; the cluster's own if empty",
    "ranks": "devices of the job; those that tp, pp and cp leave are replicas (dp)",
    "sequence": "tokens of a sequence; the model's usual number if empty",
    "more": "other fields of the plan, such as offload_optimizer=true etp=2 first_stage_layers=7",
    "ignore_memory": "whether to run also what does not fit into memory",
}
"""Each control's meaning."""


class Offered(NamedTuple):
    """Names and files the server was started with, offered first."""

    models: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()


def names(offered: Offered) -> dict[str, tuple[str, ...]]:
    plain = (UNKNOWN, ROOFLINE, NOMINAL)
    levels = tuple(filter(_runs_by_name, network.names()))
    return {
        "model": _joined(offered.models, catalogue.names(), (OWN,)),
        "cluster": _joined(offered.clusters, clusters.names(), (OWN,)),
        "stack": _joined(offered.stacks, plain, stacks.names()),
        "network": levels,
        "schedule": (USUAL, *schedules.names()),
    }


def _runs_by_name(name: str) -> bool:
    try:
        return network.find(name).runs_by_name
    except YantraError:  # a plug-in that cannot be loaded; whoever names it learns why
        return False


def first(offered: Offered | None = None) -> dict[str, str]:
    offered = offered or Offered()
    given = (("model", offered.models), ("cluster", offered.clusters), ("stack", offered.stacks))
    begun = {name: values[0] for name, values in given if values}
    return _FIRST | NUMBERS | dict.fromkeys(TEXTS, "") | begun


def read(form: Any, offered: Offered | None = None) -> dict[str, str]:
    """A form (anything), completed.

    Raises ConfigError with the control's name.
    """
    offered = offered or Offered()
    if not isinstance(form, dict):
        raise ConfigError("form", expected_got("an object", form))
    found = first(offered)
    for name, value in form.items():
        if name not in found:
            raise ConfigError(name, f"no control has this name; expected one of {', '.join(found)}")
        if not isinstance(value, str):
            raise ConfigError(name, expected_got("a text", value))
        if len(value) > MOST_TEXT:
            raise ConfigError(name, f"expected at most {MOST_TEXT} characters, got {len(value)}")
        found[name] = value.strip() if name not in TEXTS else value
    for name, known in names(offered).items():
        if found[name] not in known:
            check_known(name, found[name])
    return found


def check_known(name: str, value: str) -> None:
    """Raise ConfigError for a name that is neither known nor offered."""
    if name == "model" and catalogue.is_known(value):
        return
    if sep in value or ":" in value or value.lower().endswith(_ENDINGS):
        problem = expected_got("a known name, or a file that the server was started with", value)
        if name in ("model", "cluster", "stack"):
            problem += f"; start it with yantra ui --{name} {value}"
        raise ConfigError(name, problem)
    _LOOKED_UP[name](value)


_ENDINGS = (".py", ".yaml", ".yml", ".json", ".gz")
_LOOKED_UP: Mapping[str, Callable[[str], Any]] = {
    "model": lambda value: zoo.get(value, "model"),
    "cluster": lambda value: clusters.path_of(value, where="cluster"),
    "stack": lambda value: stacks.load(value, where="stack"),
    "network": lambda value: network.find(value, "network"),
    "schedule": lambda value: schedules.get(value, "schedule"),
}


def _joined(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for part in parts for value in part))
