"""A form as the scenario that `yantra run` makes of a training job on a cluster.

    yantra run job.yaml --cluster CLUSTER --stack STACK --network NETWORK \\
        --set "cluster.machine.price=PRICE"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import path as paths
from typing import Any

from yantra.base import units
from yantra.base.documents import parse_yaml
from yantra.base.errors import CapacityError, ConfigError, YantraError, expected_got
from yantra.base.whole_numbers import whole
from yantra.scenario import Scenario
from yantra.scenario.on_cluster import on_cluster
from yantra.ui import own
from yantra.ui.controls import MOST_RANKS, NUMBERS, USUAL, first
from yantra.workloads.plan import names

_PRICE = "cluster.machine.price"
_FILES = ("model", "cluster", "stack")
_PLACES = {
    "workload": "dtype",
    "cluster.ranks": "ranks",
    "cluster.dtype": "dtype",
    _PRICE: "price",
}
"""Controls of scenario fields with another last name."""


def scenario(form: Mapping[str, str]) -> Scenario:
    price = price_of(form)
    return on_cluster(
        workload(form),
        form["cluster"],
        stack=form["stack"],
        network=form["network"],
        ignore_memory=form["ignore_memory"] == "yes",
        settings=None if price is None else {_PRICE: price},
    )


def workload(form: Mapping[str, str]) -> dict[str, Any]:
    numbers = {name: number(form, name) for name in NUMBERS}
    ranks, sequence = numbers["ranks"], numbers.pop("sequence")
    if isinstance(ranks, int) and ranks > MOST_RANKS:
        raise ConfigError("ranks", f"at most {MOST_RANKS} here; yantra run takes more")
    plan: dict[str, Any] = {name: form[name] for name in ("recompute", "dtype")} | numbers
    plan["zero"] = number(form, "zero")
    if form["schedule"] != USUAL:
        plan["schedule"] = form["schedule"]
    made = {"model": form["model"], "plan": plan | more(form)}
    return made if sequence is None else made | {"sequence": sequence}


def number(form: Mapping[str, str], name: str) -> int | str | None:
    text = form[name].strip()
    if name == "sequence" and text == USUAL:
        return None
    found = whole(text)
    return text if found is None else found


def more(form: Mapping[str, str]) -> dict[str, Any]:
    """Plan fields without control: `offload_optimizer=true etp=2`."""
    found: dict[str, Any] = {}
    for word in form["more"].replace(";", " ").split():
        name, sign, value = word.rstrip(",").partition("=")
        if not sign or not name or not value:
            raise ConfigError("more", expected_got("fields such as offload_optimizer=true", word))
        if _field_of(names.key_of(name)) in first():
            raise ConfigError("more", f"{name}: has a control of its own")
        found[name] = _value(name, value)
    return found


def _field_of(key: str) -> str:
    return next((alias.field for alias in names.ALIASES if alias.name == key), key)


def _value(name: str, text: str) -> Any:
    lower = text.lower()
    if lower in ("true", "false"):  # advice spells them as Python does
        return lower == "true"
    value = parse_yaml(text, f"more: {name}")
    if isinstance(value, dict):
        raise ConfigError("more", f"{name}: {expected_got('a value', value)}")
    return value


def price_of(form: Mapping[str, str]) -> str | None:
    """Price of a device per hour as text, None: the cluster's."""
    text = form["price"].strip()
    if not text:
        return None
    value = parse_yaml(text, f"--set {_PRICE}")
    if not units.parse(value, "price", "USD/h", _PRICE) > 0:
        raise ConfigError(_PRICE, f"must be above 0 USD/h; got {text}")
    return str(value)


def place(error: YantraError, form: Mapping[str, str]) -> str:
    if not isinstance(error, ConfigError) or isinstance(error, CapacityError):
        return ""
    where, file = error.where, re.split("[:,] ", error.where)[0]
    if (control := own.FIELDS.get(paths.basename(file))) is not None:
        return control
    for name in _FILES:
        if file == form.get(name):
            return name
    if where in _PLACES:
        return _PLACES[where]
    known, of_plan = first(), where.removeprefix("workload.plan.")
    if of_plan != where:
        return of_plan if of_plan in known else "more"
    name = where.removeprefix("workload.").partition(".")[0].partition("[")[0]
    return name if name in known else ""
