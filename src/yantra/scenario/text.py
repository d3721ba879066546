"""Scenario files: YAML to Scenario and back, and JSON Schema."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import path as paths
from typing import Any

from yantra.base.documents import Path, is_plain_text, parse_yaml
from yantra.base.errors import ConfigError
from yantra.base.fields.plugin_names import refuse_marks
from yantra.base.output import write_text
from yantra.base.seals import seal_yaml
from yantra.base.trust import Reading
from yantra.scenario.layout import DOCUMENT, document_of, scenario_of
from yantra.scenario.on_cluster import on_cluster
from yantra.scenario.origin import scenario_of_result
from yantra.scenario.recognise import Known, recognise, workload_of
from yantra.scenario.settings import with_settings
from yantra.scenario.types import Scenario


def load(
    path: Path, cluster: str | None = None, settings: Mapping[str, Any] | None = None
) -> Scenario:
    return of_known(recognise(path), cluster, settings)


def of_known(
    known: Known, cluster: str | None = None, settings: Mapping[str, Any] | None = None
) -> Scenario:
    if known.needs_cluster:
        if cluster is None:
            problem = f"{known.called}, which does not name a cluster; add --cluster hgx-h100 or "
            raise ConfigError(known.name, f"{problem}another (yantra cluster show)")
        return on_cluster(workload_of(known), cluster, settings=settings)
    if cluster is not None:
        raise ConfigError("--cluster", f"goes with a workload; {known.name} is {known.called}")
    if known.kind == "jobs":
        raise ConfigError(known.name, f"{known.called}; expected one scenario")
    folder = paths.dirname(known.name)
    if known.kind == "result":
        return scenario_of_result(known.text, known.name, folder, settings)
    try:
        with Reading(known.name):
            return _of_tree(known.tree, folder, known.name, settings)
    except ConfigError as error:
        if paths.isfile(error.where.partition(":")[0]) or error.where.startswith("--"):
            raise  # already names a file
        raise type(error)(f"{known.name}: {error.where}", error.problem) from None


def placed(error: ConfigError, file: str | None) -> ConfigError:
    if file is None or error.where.partition(".")[0].partition("[")[0] not in DOCUMENT.entries:
        return error
    return type(error)(f"{file}: {error.where}", error.problem)


@contextmanager
def placing(file: str | None) -> Iterator[None]:
    """Within the block, errors name the file as `placed` does."""
    try:
        yield
    except ConfigError as error:
        raise placed(error, file) from None


def loads(text: str, folder: Path = "", name: str = "scenario") -> Scenario:
    with Reading(""):
        return _of_tree(parse_yaml(text, name), os.fspath(folder), name)


def _of_tree(
    tree: Any, folder: str, name: str, settings: Mapping[str, Any] | None = None
) -> Scenario:
    if tree is None:
        raise ConfigError(name, "empty; expected a mapping with workload, cluster, ...")
    tree = with_settings(tree, settings or {}, folder)
    _check_topology(tree)
    return scenario_of(DOCUMENT.read(tree, "", folder))


def _check_topology(tree: Any) -> None:
    cluster = tree.get("cluster") if isinstance(tree, dict) else None
    if (
        isinstance(cluster, dict)
        and "fabric" in cluster
        and not {"topology", "name"} & set(cluster)
    ):
        example = "[{kind: switch, size: 8, bandwidth: 50 GB/s, latency: 500 ns}]"
        problem = "missing; messages cross the fabric, and collectives go by the dimensions of this"
        raise ConfigError("cluster.topology", f"{problem}, such as {example} for 8 ranks in one")


def to_yaml(scenario: Scenario, folder: Path = "") -> str:
    tree = DOCUMENT.write(document_of(scenario), os.fspath(folder))
    refuse_marks(tree)
    return tree_text(tree)


def tree_text(tree: dict[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes what would not read back equal."""

    def text(dumper: Any, value: str) -> Any:
        style = None if value.isprintable() and is_plain_text(value) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(
        tree, Dumper=Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True, width=100
    )
    return written


def dump(scenario: Scenario, path: Path) -> None:
    write_text(path, seal_yaml(to_yaml(scenario, paths.dirname(path))))


def json_schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:yantra:schema:scenario",
        "title": "Yantra scenario",
        **DOCUMENT.schema(),
    }
