"""Scenario files: YAML to Scenario and back, and their JSON Schema."""

from __future__ import annotations

import os
from os import path as paths
from typing import Any

from yantra.base.documents import Path, is_plain_text, parse_yaml, read_text
from yantra.base.errors import ConfigError
from yantra.base.fields.plugin_names import refuse_marks
from yantra.base.output import write_text
from yantra.scenario.layout import DOCUMENT, document_of, scenario_of
from yantra.scenario.named import with_parts
from yantra.scenario.origin import is_result, scenario_of_result
from yantra.scenario.types import Scenario


def load(path: Path) -> Scenario:
    """Read a scenario file, or the scenario of a result; relative paths start from its folder."""
    name = os.fspath(path)
    text = read_text(path)
    if is_result(text):
        return scenario_of_result(text, name, paths.dirname(path))
    try:
        return loads(text, paths.dirname(path), name)
    except ConfigError as error:
        if paths.isfile(error.where.partition(":")[0]):
            raise  # it names this file, or one that the scenario names
        raise ConfigError(f"{name}: {error.where}", error.problem) from None


def loads(text: str, folder: Path = "", name: str = "scenario") -> Scenario:
    """Read a scenario from text; relative paths in it start from `folder`."""
    tree = parse_yaml(text, name)
    if tree is None:
        raise ConfigError(name, "empty; expected a mapping with workload, cluster, ...")
    tree = with_parts(tree, os.fspath(folder))
    return scenario_of(DOCUMENT.read(tree, "", os.fspath(folder)))


def to_yaml(scenario: Scenario, folder: Path = "") -> str:
    """Write a scenario as text whose relative paths start from `folder`."""
    tree = DOCUMENT.write(document_of(scenario), os.fspath(folder))
    refuse_marks(tree)
    return tree_text(tree)


def tree_text(tree: dict[str, Any]) -> str:
    """Write the plain tree of a scenario file, or a part of one, as YAML."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes what would not read back as the same text."""

    def text(dumper: Any, value: str) -> Any:
        style = None if value.isprintable() and is_plain_text(value) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(
        tree, Dumper=Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True, width=100
    )
    return written


def dump(scenario: Scenario, path: Path) -> None:
    """Write a scenario file; it appears whole or not at all."""
    write_text(path, to_yaml(scenario, paths.dirname(path)))


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of scenario files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Yantra scenario",
        **DOCUMENT.schema(),
    }
