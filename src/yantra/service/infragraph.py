"""A configuration's InfraGraph as a file with every link's speed, by default 100 Gb/s and 5 us.

Source: github.com/astra-sim/astra-sim-service, service/docs/infragraph/annotations.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from yantra.base.errors import ConfigError, expected_got
from yantra.service.messages import decode
from yantra.service.networks import Files, ns3
from yantra.service.wire import WireError

INFRAGRAPH = "infrastructure.infragraph.json"

_GBPS, _MS = 100.0, 0.005
_RATES = ("gigabits_per_second", "gigabytes_per_second")  # GT/s is no rate without its encoding


def files(backend: str, network: Mapping[str, Any], given: Mapping[str, Any], where: str) -> Files:
    infrastructure = given.get("infrastructure")
    if not infrastructure:
        raise ConfigError("infragraph.infrastructure", "missing; the topology infragraph needs it")
    annotations = read_annotations(given.get("annotations", b""))
    unsaid = _speeds(infrastructure, _of_links(annotations))
    tree = {"infrastructure": infrastructure, "annotations": {"nodes": _ranks(annotations)}}
    text = json.dumps(tree, indent=1, ensure_ascii=False)
    made = Files({INFRAGRAPH: text}, {"topology": INFRAGRAPH})
    if backend == "ns3":
        dimensions = network.get("logical_topology", {}).get("logical_dimensions")
        if not dimensions:
            raise ConfigError(f"{where}.logical_topology.logical_dimensions", "missing")
        made = ns3(network, text, INFRAGRAPH, dimensions)
    if not unsaid:
        return made
    names = ", ".join(sorted(unsaid))
    said = f"infragraph: no speed is given for links {names}: taken as 100 Gb/s and 5 us"
    return made._replace(warnings=(said,))


def read_annotations(data: bytes) -> dict[str, Any]:
    """Annotations as of 1.4.0: `nodes`, `edges`, `links` with attributes."""
    try:
        newer = decode(data, "Annotation")
    except WireError:
        newer = {}
    if any(row.get("attributes") for rows in newer.values() for row in rows):
        return newer
    try:
        older = decode(data, "Annotations")
    except WireError as error:
        raise ConfigError("infragraph.annotations", f"cannot be read: {error}") from None
    links = [
        {"name": row.get("link_name", ""), "attributes": _attributes(row)}
        for row in older.get("link_specifications", [])
    ]
    ranks = [
        {
            "name": row.get("npu_identifier", ""),
            "attributes": [{"attribute": "rank", "value": f"{row.get('rank_identifier', 0):g}"}],
        }
        for row in older.get("rank_assignment", [])
    ]
    return {"nodes": ranks, "links": links}


def _attributes(row: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"attribute": name, "value": str(value)} for name, value in row.items()]


def _of_links(annotations: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for link in annotations.get("links", []):
        name = link.get("name", "")
        for pair in link.get("attributes", []):
            key, text = pair.get("attribute", ""), pair.get("value", "")
            where = f"infragraph.annotations.links.{name}.{key}"
            if key in ("link_bandwidth_gbps", "link_latency_ms"):
                found.setdefault(name, {})[key] = _number(text, where)
            elif key in ("packet_loss_rate", "link_error_rate") and _number(text, where):
                problem = "expected 0, as no network here loses packets"
                raise ConfigError(where, f"{problem}; got {text}")
    return found


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigError(where, expected_got("a number of at least 0", text))
    return value


def _ranks(annotations: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = []
    for node in annotations.get("nodes", []):
        ranks = [pair for pair in node.get("attributes", []) if pair.get("attribute") == "rank"]
        if ranks:
            found.append({"name": node.get("name", ""), "attributes": ranks})
    return found


def _speeds(infrastructure: Mapping[str, Any], said: Mapping[str, dict[str, float]]) -> set[str]:
    unsaid = set()
    for link in _links(infrastructure):
        name = link.get("name", "")
        own = said.get(name, {})
        physical = link.setdefault("physical", {})
        rate, latency = physical.get("bandwidth", {}), physical.get("latency", {})
        is_rate = any(key in rate for key in _RATES)
        if "link_bandwidth_gbps" in own or not is_rate:
            gbps = own.get("link_bandwidth_gbps", _GBPS)
            physical["bandwidth"] = {"choice": _RATES[0], _RATES[0]: gbps}
        if "link_latency_ms" in own or not any(key in latency for key in ("ms", "us", "ns")):
            physical["latency"] = {"choice": "ms", "ms": own.get("link_latency_ms", _MS)}
        if not is_rate and "link_bandwidth_gbps" not in own:
            unsaid.add(name)
    return unsaid


def _links(infrastructure: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from infrastructure.get("links", [])
    for device in infrastructure.get("devices", []):
        yield from device.get("links", [])
