"""The scenario: its types and YAML form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    COLLECTIVE_TYPES,
    Algorithms,
    Case,
    ChakraFiles,
    Collectives,
    Counts,
    Custom,
    Device,
    DeviceOf,
    Dimension,
    Groups,
    Host,
    Interference,
    Placement,
    RemoteMemory,
    Resources,
    Scenario,
    SharedBus,
    Stack,
    Templates,
    Topology,
    Traces,
    TrainingStep,
    WorkloadFile,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.base.documents import Path
    from yantra.fabric.clusters import Cluster

__all__ = [
    "ASTRA_SIM_RESOURCES",
    "COLLECTIVE_TYPES",
    "Algorithms",
    "Case",
    "ChakraFiles",
    "Collectives",
    "Counts",
    "Custom",
    "Device",
    "DeviceOf",
    "Dimension",
    "Groups",
    "Host",
    "Interference",
    "Placement",
    "RemoteMemory",
    "Resources",
    "Scenario",
    "SharedBus",
    "Stack",
    "Templates",
    "Topology",
    "Traces",
    "TrainingStep",
    "WorkloadFile",
    "cluster_parts",
    "dump",
    "json_schema",
    "load",
    "loads",
    "to_yaml",
]


def cluster_parts(
    cluster: Cluster | Path,
    ranks: int,
    dtype: str | None = None,
    *,
    stack: str | None = None,
    semantics: str = "yantra",
) -> dict[str, Any]:
    """Return `topology`, `device`, `memory`, `collectives` and `stack` of a named cluster,

    fields of a `Scenario`: `Scenario(workload=..., **cluster_parts("hgx-h100", 64))`. The cluster
    is a name, a path, or what `yantra.clusters.load` returns. `stack` is as in a scenario file.
    `dtype` overrides the workload's type of products. Raises ConfigError.
    """
    from yantra.scenario.named import cluster_parts

    return cluster_parts(cluster, ranks, dtype, stack, semantics)


def load(
    path: Path, *, cluster: str | None = None, settings: Mapping[str, Any] | None = None
) -> Scenario:
    """Read a scenario file, or a result's scenario (JSON).

    With a `cluster`, by name or path, `path` is a workload (`.yw`), a pattern of traces
    (`step.{rank}.et`) or a training job. Relative paths start from the file's folder. `settings`
    change fields as `--set` does: `{"network": "ideal", "cluster.topology[0].bandwidth": "x2"}`.
    Raises ConfigError.
    """
    from yantra.scenario.text import load

    return load(path, cluster, settings)


def loads(text: str, folder: Path = "", name: str = "scenario") -> Scenario:
    """Read a scenario from text, with paths relative to `folder`."""
    from yantra.scenario.text import loads

    return loads(text, folder, name)


def to_yaml(scenario: Scenario, folder: Path = "") -> str:
    """Write a scenario as YAML that `loads` reads back as equal."""
    from yantra.scenario.text import to_yaml

    return to_yaml(scenario, folder)


def dump(scenario: Scenario, path: Path) -> None:
    """Write a scenario file, whole or not at all."""
    from yantra.scenario.text import dump

    dump(scenario, path)


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (draft 2020-12) of scenario files."""
    from yantra.scenario.text import json_schema

    return json_schema()
