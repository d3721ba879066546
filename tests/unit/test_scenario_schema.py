"""The JSON Schema of scenario files: valid, true of every scenario we show, as strict as can be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.example_files import SCENARIO
from tests.docs.pages import blocks
from tests.unit.bad_inputs.test_scenario_file import CASES, GOOD
from tests.unit.test_scenario_text import FULL, MINIMAL
from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.scenario import json_schema

ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = jsonschema.Draft202012Validator(json_schema())

NEEDS_MORE_THAN_THE_SCHEMA = (
    "size: 1,",  # right of one rank alone
    "kind: torus_2d",  # the topology decides which sizes it has
    "size: 8.0",  # for JSON Schema this is an integer
    "groups: {1: [0, 9]}",  # the number of ranks is a product of sizes
    "groups: {1: [0], 01: [1]}",
    "groups: none.json",
    "latency: 1.5 ns",
    "copy_engines: 0",  # right with one_slot
)


def shown() -> Iterator[tuple[str, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in blocks(page):
            if block.language != "yaml":
                continue
            tree = parse_yaml(block.text, "block")
            if isinstance(tree, dict) and {"workload", "cluster"} <= tree.keys():
                yield f"{page.name}:{block.line}", block.text


SHOWN = dict(shown())


def test_it_is_a_schema_of_draft_2020_12() -> None:
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_the_pages_show_scenarios() -> None:
    assert len(SHOWN) > 10


@pytest.mark.parametrize("text", [MINIMAL, FULL, SCENARIO, GOOD])
def test_the_scenarios_of_the_tests_are_valid(text: str) -> None:
    VALIDATOR.validate(parse_yaml(text, "scenario"))


@pytest.mark.parametrize("where", SHOWN)
def test_the_scenarios_of_the_pages_are_valid(where: str) -> None:
    shows_a_mistake = "latency: 500}" in SHOWN[where]
    assert VALIDATOR.is_valid(parse_yaml(SHOWN[where], where)) != shows_a_mistake


@pytest.mark.parametrize("text", [text for text, _ in CASES])
def test_wrong_scenarios_are_not_valid(text: str) -> None:
    try:
        tree = parse_yaml(text, "scenario")
    except ConfigError:
        return  # no tree, nothing to validate
    needs_more = any(part in text for part in NEEDS_MORE_THAN_THE_SCHEMA)
    assert VALIDATOR.is_valid(tree) == needs_more


@pytest.mark.parametrize(
    ("line", "is_valid"),
    [
        ("collectives: {chunks: 0}", False),
        ("collectives: {chunks: 1}", True),
        ("collectives: {endpoint_delay: -1 ns}", False),
        ("collectives: {endpoint_delay: 0 ns}", True),
        ("resources: {cpu_slots: 0}", False),
        ("local_memory_trace: ''", False),
        ("collectives: {all_reduce: []}", False),
    ],
)
def test_a_value_out_of_range_is_not_valid(line: str, is_valid: bool) -> None:
    assert VALIDATOR.is_valid(parse_yaml(GOOD + line, "scenario")) is is_valid


def test_the_schema_says_meaning_range_and_default_of_a_key() -> None:
    collectives: Any = json_schema()["properties"]["collectives"]  # type: ignore[index]
    assert collectives["properties"]["chunks"] == {
        "description": "pieces a collective is cut into; by default as many as its closed form "
        "likes best: a whole number, at least 1",
        "type": "integer",
        "minimum": 1,
    }


def test_the_command_prints_it_or_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == json_schema()
    file = tmp_path / "scenario.schema.json"
    assert main(["schema", "-o", str(file)]) == 0
    line = f"# yaml-language-server: $schema={file}\n"
    assert capsys.readouterr().out == line
    assert file.read_text() == printed


def test_each_schema_has_an_id_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for of in ("scenario", "result"):
        assert main(["schema", of]) == 0
        form = json.loads(capsys.readouterr().out)
        jsonschema.Draft202012Validator.check_schema(form)
        assert form["$id"] == f"urn:yantra:schema:{of}"
