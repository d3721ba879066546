"""From an API configuration to ASTRA-sim's input files.

Clients are not trusted: paths stay inside the upload, and collectives are built-in.

Source: github.com/astra-sim/astra-sim-service, `x-astra-sim-name` in models/schema/config.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, expected_got, show
from yantra.service import infragraph, networks

BACKENDS = ("analytical_congestion_aware", "analytical_congestion_unaware", "ns3", "htsim")
SYSTEM, MEMORY, GROUPS = "system.json", "remote_memory.json", "communicator_group.json"
LOGGING = "logging_conf.toml"

_SYSTEM_NAMES = {"latency": "L", "overhead": "o", "gap": "g", "global_memory": "G"}
_CUSTOM = "_implementation_custom"
_ALGORITHM = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_ARGUMENTS = ("num_queues_per_dim", "comm_scale", "injection_scale", "rendezvous_protocol")


class Prepared(NamedTuple):
    """A runnable configuration: backend, ASTRA-sim's options, warnings."""

    backend: str
    options: dict[str, str]
    warnings: tuple[str, ...]

    def moved(self, before: str, after: str) -> Prepared:
        options = {
            name: after + value.removeprefix(before) if value.startswith(before + os.sep) else value
            for name, value in self.options.items()
        }
        return self._replace(options=options)


def prepare(config: Mapping[str, Any], upload: str, folder: str) -> Prepared:
    """Write a configuration's files into an empty folder. Raises ConfigError.

    Traces are in `upload`.
    """
    common = config.get("common_config")
    if not common:
        raise ConfigError("common_config", "missing; expected workload, system and remote_memory")
    options = {"workload-configuration": _workload(common.get("workload"), upload)}
    options["system-configuration"] = _json(folder, SYSTEM, _system(common.get("system"), upload))
    memory = _needed(common, "remote_memory")
    options["remote-memory-configuration"] = _json(folder, MEMORY, _dashed(memory))
    warnings = []
    groups = common.get("communicator_group")
    if groups:
        options["comm-group-configuration"] = _json(folder, GROUPS, _groups(groups))
    if common.get("logging"):
        _write(folder, LOGGING, _toml(common["logging"]))
        warnings.append("logging: not used; simulation.log has every line")
    given = common.get("cmd_parameters", {})
    options |= {
        name.replace("_", "-"): json.dumps(given[name]) for name in _ARGUMENTS if name in given
    }
    backend, files = _network(config)
    warnings += files.warnings
    for name, text in files.texts.items():
        _write(folder, name, text)
    options |= {option: os.path.join(folder, name) for option, name in files.options.items()}
    return Prepared(backend, options, tuple(warnings))


def inside(folder: str, name: str, where: str) -> str:
    """Path of a client's name. Raises ConfigError if it leaves the folder."""
    whole = os.path.normpath(os.path.join(folder, name))
    if "\0" in name or os.path.isabs(name) or not whole.startswith(folder + os.sep):
        raise ConfigError(where, expected_got("a path inside the upload", name))
    return whole


def _needed(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = tree.get(name)
    if part is None:
        raise ConfigError(f"common_config.{name}", "missing")
    found: dict[str, Any] = part
    return found


def _workload(name: str | None, folder: str) -> str:
    """Clients use their own path: FOLDER/PREFIX counts."""
    where = "common_config.workload"
    if not name:
        raise ConfigError(where, "missing; expected the prefix of the traces, FOLDER/PREFIX")
    prefix = inside(folder, os.path.join(*name.replace("\\", "/").split("/")[-2:]), where)
    if not os.path.isfile(f"{prefix}.0.et"):
        found = os.path.relpath(f"{prefix}.0.et", folder)
        raise ConfigError(where, f"{show(found)} is not in the upload; upload the traces first")
    return prefix


def _system(system: dict[str, Any] | None, folder: str) -> dict[str, Any]:
    where = "common_config.system"
    if system is None:
        raise ConfigError(where, "missing")
    custom = any(name.endswith(_CUSTOM) for name in system)
    tree: dict[str, Any] = {}
    for name, value in system.items():
        place = f"{where}.{name}"
        if name.endswith(_CUSTOM):
            tree[_dash(name)] = [inside(folder, prefix, place) for prefix in value]
        elif name.endswith("_implementation"):
            for one in value:
                if not _ALGORITHM.fullmatch(one):
                    raise ConfigError(place, expected_got("names such as ring or direct", one))
            if not custom:  # as in ASTRA-sim Service, custom collectives replace all others
                tree[_dash(name)] = value
        elif name == "local_mem_trace_filename":
            if os.path.basename(value) != value or value in ("", ".", ".."):
                raise ConfigError(place, expected_got("the name of a file", value))
            tree[_dash(name)] = value
        else:
            tree[_SYSTEM_NAMES.get(name, _dash(name))] = value
    return tree


def _groups(groups: list[dict[str, Any]]) -> dict[str, list[int]]:
    tree: dict[str, list[int]] = {}
    for group in groups:
        name = group.get("identifier", "")
        if name in tree:
            raise ConfigError("common_config.communicator_group", f"{show(name)} is there twice")
        tree[name] = group.get("npu_list", [])
    return tree


def _network(config: Mapping[str, Any]) -> tuple[str, networks.Files]:
    backends = config.get("network_backend", {})
    chosen = backends.get("choice")
    if chosen is None:
        present = [name for name in BACKENDS if name in backends]
        chosen = present[0] if len(present) == 1 else None
    if chosen not in BACKENDS:
        problem = expected_got(f"one of {', '.join(BACKENDS)}", chosen)
        raise ConfigError("network_backend.choice", problem)
    where = f"network_backend.{chosen}"
    network = backends.get(chosen)
    if not network or not network.get("topology"):
        raise ConfigError(f"{where}.topology", "missing")
    if network["topology"].get("choice") == "infragraph":
        return chosen, infragraph.files(chosen, network, config.get("infragraph", {}), where)
    return chosen, networks.files(chosen, network, where)


def _dash(name: str) -> str:
    return name.replace("_", "-")


def _dashed(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {_dash(name): value for name, value in tree.items()}


def _json(folder: str, name: str, tree: Any) -> str:
    return _write(folder, name, json.dumps(tree, indent=4, ensure_ascii=False))


def _write(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _toml(logging: Mapping[str, Any]) -> str:
    lines = []
    for table in ("sink", "logger"):
        for row in logging.get(table, []):
            lines.append(f"[[{table}]]")
            lines += [f"{name} = {json.dumps(value)}" for name, value in row.items()]
            lines.append("")
    return "\n".join(lines)
