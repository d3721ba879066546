"""The controls of the page: what each may say, what it begins with, and what it means.

A form is what they say: a text for each, by name. What is left out says what the page begins with.
Only names are judged here, so that a form asks for no file that the server was not started with;
all else the readers of scenarios judge, in the words of the commands.
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
"""Characters of a model or a cluster that is pasted."""
OWN = "own"
"""What `model` and `cluster` say where the text of `own_model` or `own_cluster` counts."""
USUAL = ""
"""What a control says that leaves its value to the model, the cluster or the plan."""

CHOICES: dict[str, tuple[str, ...]] = {
    "dtype": OF_PLAN["dtype"],
    "zero": ("0", "1", "2", "3"),
    "recompute": OF_PLAN["recompute"],
    "ignore_memory": ("no", "yes"),
}
"""The controls that are one of a few."""
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
"""The controls that are whole numbers, with what they begin with; only `sequence` may be empty."""
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
"""The powers of two over which the slider of a number goes; other numbers are typed."""
TEXTS = ("price", "more", "own_model", "own_cluster")
"""The controls that are free text."""
SPLIT = ("tp", "pp", "vpp", "cp", "ep", "zero", "micro_batch", "recompute")
"""The controls that are fields of the plan alone, as a search for plans sets them."""
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
"""What each control means, in words."""


class Offered(NamedTuple):
    """The names and files that the server was started with, which the page offers first."""

    models: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()


def names(offered: Offered) -> dict[str, tuple[str, ...]]:
    """Return what each control that is a name may say, what was offered first."""
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
    """Return whether a network needs no option, as a page cannot give any."""
    try:
        return network.find(name).runs_by_name
    except YantraError:  # a plug-in that cannot be loaded; who names it is told why
        return False


def first(offered: Offered | None = None) -> dict[str, str]:
    """Return what the controls begin with, by name."""
    offered = offered or Offered()
    given = (("model", offered.models), ("cluster", offered.clusters), ("stack", offered.stacks))
    begun = {name: values[0] for name, values in given if values}
    return _FIRST | NUMBERS | dict.fromkeys(TEXTS, "") | begun


def read(form: Any, offered: Offered | None = None) -> dict[str, str]:
    """Return a form, which may be anything, with what it leaves out.

    Raises ConfigError with the name of the control.
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
            _check_known(name, found[name])
    return found


def _check_known(name: str, value: str) -> None:
    """Raise ConfigError for a file, and for what nobody knows in the words of who looks it up."""
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
