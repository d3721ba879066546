"""A result's origin: its scenario as a tree, and digests of named files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from os import path as paths
from tempfile import TemporaryDirectory
from typing import Any

from yantra import __version__
from yantra.base.documents import RESULT_FORMAT, Path, note_no_seal, parse_own_json, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import files_of as files_of_options
from yantra.base.fields import kind_of
from yantra.base.fields.plugin_names import IN_MEMORY, marks
from yantra.base.registry import installed_plugins, plugged_files
from yantra.base.regular import sha256_of
from yantra.base.trust import Reading
from yantra.scenario.layout import DOCUMENT, document_of, scenario_of
from yantra.scenario.training import files_of_step
from yantra.scenario.types import (
    ChakraFiles,
    Custom,
    Scenario,
    Templates,
    Traces,
    TrainingStep,
    WorkloadFile,
)


def tree_of(scenario: Scenario, folder: Path = "") -> dict[str, Any]:
    workload = scenario.workload
    if not isinstance(workload, Traces | Templates):
        return DOCUMENT.write(document_of(scenario), os.fspath(folder))
    groups = workload.groups if isinstance(workload, Traces) else ()
    named = ChakraFiles(prefix=IN_MEMORY, groups=groups)
    tree = DOCUMENT.write(document_of(scenario.replace(workload=named)), os.fspath(folder))
    what = "traces" if isinstance(workload, Traces) else "a workload"
    described = f"{what} of {scenario.topology.ranks} ranks, made in Python and not in a file"
    tree["workload"] = {IN_MEMORY: described, **tree["workload"]}
    del tree["workload"]["traces"]
    return tree


def digests(scenario: Scenario, folder: Path = "") -> dict[str, str]:
    """Return the SHA-256 of each named file, by path from `folder`."""
    start = os.fspath(folder)
    return {
        paths.relpath(file, start) if start and not paths.isabs(file) else file: sha256_of(file)
        for file in files_of(scenario)
    }


def digest_of(scenario: Scenario, tree: dict[str, Any], inputs: Mapping[str, str]) -> str | None:
    """Return the SHA-256 of everything that decides a scenario's result:

    `tree` (`tree_of`), `inputs` (`digests`), Yantra's version, what is in memory, plugged files,
    and versions of plug-in packages. None for a class in no file, whose changes cannot be seen.
    """
    if any(place != "workload" for place, _ in marks(tree)):
        return None
    parts = {
        "version": __version__,
        "scenario": tree,
        "inputs": dict(inputs),
        "memory": _digest_of_memory(scenario.workload),
        "plugged": [(package, sha256_of(file)) for package, file in plugged_files()],
        "packages": installed_plugins(),
    }
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def changed(inputs: dict[str, str], folder: Path = "") -> list[str]:
    problems = []
    for name, digest in inputs.items():
        file = paths.join(folder, name)
        if not paths.isfile(file):
            problems.append(f"{file}: no longer there")
        elif sha256_of(file) != digest:
            problems.append(f"{file}: changed since it was written")
    return problems


def changed_inputs(path: Path) -> list[str]:
    if not paths.isfile(path):
        return []
    try:
        text = read_text(path)
    except ConfigError:
        return []  # no result; its reader says what is wrong
    inputs = parse_own_json(text, os.fspath(path)).get("inputs") if is_result(text) else None
    return changed(inputs, paths.dirname(path)) if isinstance(inputs, dict) else []


def files_of(scenario: Scenario) -> Iterator[str]:
    """Yield the files that a scenario names and a run reads."""
    workload = scenario.workload
    if isinstance(workload, WorkloadFile):
        yield workload.path
    elif isinstance(workload, TrainingStep):
        yield from files_of_step(workload)
    elif isinstance(workload, ChakraFiles):
        yield from (workload.path(rank) for rank in range(scenario.topology.ranks))
    algorithms = scenario.collectives.by_type().values()
    prefixes = [chosen.prefix for chosen in algorithms if isinstance(chosen, Custom)]
    prefixes += [prefix for _, prefix in scenario.collectives.custom_per_node]
    for prefix in dict.fromkeys(prefixes):
        yield from _of_positions(prefix)
    yield from dict.fromkeys(file for file in _plugins(scenario) if file)


def is_result(text: str) -> bool:
    return text.lstrip()[:1] == "{" and f'"{RESULT_FORMAT}"' in text


def scenario_of_result(
    text: str, name: str, folder: Path = "", settings: Mapping[str, Any] | None = None
) -> Scenario:
    from yantra.scenario.settings import with_settings

    form = parse_own_json(text, name)
    tree = form.get("scenario")
    where = f"{name}: scenario"
    if tree is None:
        raise ConfigError(where, "missing; an older version of Yantra wrote this result")
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("a mapping", tree))
    for place, what in marks(tree):
        raise ConfigError(
            f"{where}.{place}", f"cannot be run again: {what}; write it to files before it runs"
        )
    try:
        with Reading(name):
            tree = with_settings(tree, settings or {}, os.fspath(folder))
            scenario = scenario_of(DOCUMENT.read(tree, "", os.fspath(folder)))
    except ConfigError as error:
        if error.where.startswith("--"):
            raise
        raise type(error)(f"{where}.{error.where}", error.problem) from None
    note_no_seal(form, name)
    return scenario


def _digest_of_memory(workload: Any) -> str:
    digest = hashlib.sha256()
    if isinstance(workload, Traces):
        once = {id(trace): trace for trace in workload.traces}
        by_trace = {key: hashlib.sha256(one.to_bytes()).digest() for key, one in once.items()}
        for trace in workload.traces:
            digest.update(by_trace[id(trace)])
    elif isinstance(workload, Templates):
        with TemporaryDirectory() as folder:
            file = paths.join(folder, "workload.yw")
            workload.workload.save(file)
            return sha256_of(file)
    else:
        return ""
    return digest.hexdigest()


def _plugins(scenario: Scenario) -> Iterator[str | None]:
    from yantra import compute, memory
    from yantra.collectives.algorithms import algorithms
    from yantra.collectives.selection import selections
    from yantra.fabric.topologies import topologies
    from yantra.network import networks
    from yantra.scenario.background_fields import BackgroundField
    from yantra.scenario.fabric_fields import FabricField
    from yantra.schedulers import schedulers

    yield networks.file_of(kind_of(scenario.network))
    if scenario.fabric is not None:
        yield from FabricField().files(scenario.fabric)
        yield scenario.link_changes
    counts = scenario.collectives.counts
    if counts is not None and counts.file:
        yield counts.file
    yield from BackgroundField().files(scenario.background)
    yield schedulers.file_of(kind_of(scenario.scheduler))
    yield memory.models.file_of(kind_of(scenario.memory.kind))
    for device in scenario.all_devices():
        yield compute.models.file_of(kind_of(device.compute))
        options = compute.models.get(kind_of(device.compute)).options
        yield from files_of_options(device.compute, options)
    options = memory.models.get(kind_of(scenario.memory.kind)).options
    yield from files_of_options(scenario.memory.kind, options)
    if scenario.collectives.selection is not None:
        yield selections.file_of(kind_of(scenario.collectives.selection))
    for dimension in scenario.topology.dimensions:
        yield topologies.file_of(dimension.kind)
    for chosen in scenario.collectives.by_type().values():
        for name in chosen if isinstance(chosen, tuple) else ():
            yield algorithms.file_of(name)


def _of_positions(prefix: str) -> Iterator[str]:
    position = 0
    while paths.isfile(file := f"{prefix}.{position}.et"):
        yield file
        position += 1
