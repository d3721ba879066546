"""The reference pages say what the code says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.generate import DOCS, generated, pages
from tests.clusters import dimension, scenario
from yantra import simulate
from yantra.astra_sim.flags import help_text
from yantra.base.registry import Registry
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compute import models as compute_models
from yantra.memory import models as memory_models
from yantra.result.table_names import TABLES
from yantra.scenario import json_schema

REFERENCE = DOCS / "reference"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_the_generated_parts_are_as_generated(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == generated(text), "run: python docs/generate.py"


def test_the_quirks_page_has_every_quirk() -> None:
    from yantra.scenario.quirks import Quirk

    text = (DOCS / "concepts" / "quirks.md").read_text(encoding="utf-8")
    assert [quirk for quirk in Quirk if f"| `{quirk}` |" not in text] == []


def test_the_scenario_page_has_every_key_of_the_schema() -> None:
    text = (REFERENCE / "scenario.md").read_text(encoding="utf-8")
    assert [key for key in keys(json_schema()) if f"| `{key}` |" not in text] == []


def test_the_scenario_page_has_every_name_of_the_schema() -> None:
    text = (REFERENCE / "scenario.md").read_text(encoding="utf-8")
    for key, names in choices(json_schema()):
        row = next(line for line in text.splitlines() if line.startswith(f"| `{key}` |"))
        assert [name for name in names if name not in row] == []


@pytest.mark.parametrize("models", [compute_models, memory_models], ids=lambda one: one.kind)
def test_the_scenario_page_has_every_option_of_the_models(models: Registry[Any]) -> None:
    text = (REFERENCE / "scenario.md").read_text(encoding="utf-8")
    for name in models.names():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        options = models.get(name).options
        assert [key for key in (options.entries if options else ()) if f"`{key}`" not in row] == []


def test_the_astra_sim_page_has_every_flag() -> None:
    text = (REFERENCE / "astra-sim.md").read_text(encoding="utf-8")
    flags = [word for word in help_text("x").split() if word.startswith("--") and "=" not in word]
    assert flags
    assert [flag for flag in flags if f"`{flag}" not in text] == []


def test_the_result_page_has_every_column_of_every_table() -> None:
    text = (REFERENCE / "result.md").read_text(encoding="utf-8")
    step = TraceBuilder()
    step.collective(CollectiveType.ALL_REDUCE, 1000)
    result = simulate(scenario([step] * 4, dimension(size=4), network="store_and_forward"))
    for name in TABLES:
        part = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        columns = result.table(name).columns
        assert columns
        assert [column for column in columns if f"`{column}`" not in part] == []
    run = text.split("\n## The run\n")[1].split("\n## ")[0]
    assert [field for field in result.as_dict(()) if f"`{field}`" not in run] == []


def keys(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in properties(schema):
        yield path + key
        if path + key == "cluster.devices.device":
            continue  # its keys are those of cluster.device
        yield from keys(value, f"{path}{key}.")


def choices(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, list[str]]]:
    for key, value in properties(schema):
        if "enum" in value:
            yield path + key, value["enum"]
        if path + key == "cluster.devices.device":
            continue
        yield from choices(value, f"{path}{key}.")


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield keys of a mapping, of the items of a list, and of every form it may have."""
    for form in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        if form.get("required") not in (["kind"], ["custom"]):
            yield from form.get("properties", {}).items()
