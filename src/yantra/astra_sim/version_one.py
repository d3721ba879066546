"""Files of ASTRA-sim 1.0, known by their form, and what to write in their place for ASTRA-sim 2."""

from __future__ import annotations

import json
from typing import Any

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError
from yantra.base.records import Record
from yantra.scenario.astra_sim_keys import LISTS, SYSTEM

_POLICIES = (
    *("DATA", "MODEL", "MICRO", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_CUSTOMIZED"),
    *("HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD", "DISTRIBUTED_INFERENCE"),
    *("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED"),
)
_OF_GARNET = ("num-packages", "flit-width", "local-rings")
_OF_SYSTEM = tuple(f"{key.name}:" for key in SYSTEM if key.marks)
_WITHOUT_USE = tuple(key.name for key in SYSTEM if key.is_of_1_0 and not key.names)
_PAGE = "docs/reference/astra-sim.md, Files of ASTRA-sim 1.0"


class Given(Record):
    """Paths of a command line; empty where not named."""

    network: str = ""
    system: str = ""
    workload: str = ""


def network(tree: Any) -> str | None:
    if not isinstance(tree, dict) or ("topology" in tree and "npus_count" in tree):
        return None
    if any(key in tree for key in _OF_GARNET):
        return "this is a network file of ASTRA-sim 1.0 for Garnet, which nothing here models"
    if "units-count" not in tree or "link-bandwidth" not in tree:
        return None
    what = "this is a network file of ASTRA-sim 1.0, which ASTRA-sim 2 does not read"
    lines = _as_yaml(tree)
    if lines is None:
        return f"{what}; write its dimensions as YAML ({_PAGE})"
    return f"{what}; write its dimensions as YAML:\n{lines}\n({_PAGE})"


def _as_yaml(tree: dict[str, Any]) -> str | None:
    keys = ("topologies-per-dim", "units-count", "links-count", "link-bandwidth", "link-latency")
    try:
        columns = [list(tree[key]) for key in keys]
        rows = list(zip(*columns, strict=True))
        # A direct exchange uses a full mesh's links side by side, others theirs as one.
        rates = [
            float(rate) * (1 if kind == "FullyConnected" else int(links))
            for kind, _, links, rate, _ in rows
        ]
        latencies = [float(latency) for *_, latency in rows]
        sizes = [int(size) for _, size, *_ in rows]
    except (KeyError, TypeError, ValueError):
        return None
    lists: list[tuple[str, list[Any]]]
    lists = list(zip(LISTS, (columns[0], sizes, rates, latencies), strict=True))
    return "\n".join(f"{key}: [{', '.join(map(str, values))}]" for key, values in lists)


def system(text: str) -> str | None:
    """What a 1.0 system file is for ASTRA-sim 2."""
    if text.lstrip()[:1] == "{" or not any(key in text for key in _OF_SYSTEM):
        return None
    made: dict[str, Any] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() not in _WITHOUT_USE:
            made[key.strip()] = _as_json(key.strip(), value.strip())
    return (
        "this is a system file of ASTRA-sim 1.0, which ASTRA-sim 2 does not read; write it as "
        f"JSON:\n{json.dumps(made)}\n({_PAGE})"
    )


def _as_json(key: str, value: str) -> Any:
    if key.endswith("-implementation"):
        return value.split("_")
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return value


def workload(path: str) -> str | None:
    try:
        first = read_text(path).split(maxsplit=1)
    except ConfigError:
        return None
    if not first or first[0] not in _POLICIES:
        return None
    return (
        "this is a text workload of ASTRA-sim 1.0; make traces of it with `yantra chakra convert "
        f"text {path} -o TRACES --dims AxB`, then give --workload-configuration=TRACES ({_PAGE})"
    )


def found(given: Given) -> list[str]:
    texts: list[tuple[str, str | None]] = []
    for path, look in ((given.network, _network_at), (given.system, _system_at)):
        try:
            texts.append((path, look(path) if path else None))
        except ConfigError:
            continue
    if given.workload:
        texts.append((given.workload, workload(given.workload)))
    return [f"{path}: {text}" for path, text in texts if text is not None]


def _network_at(path: str) -> str | None:
    from yantra.base.documents import parse_lenient_yaml

    return network(parse_lenient_yaml(read_text(path), path, last_counts=False)[0])


def _system_at(path: str) -> str | None:
    return system(read_text(path))
