"""Flows end when SimGrid 3.32 says, to 1e-9 (CM02, all factors 1, weight-S 0, crosstraffic 0,
TCP-gamma 0, the latency slept first). `data/flows/max_min.jsonl`: links [bytes/ns, ns], flows
[bytes, start ns, route, end ns], by an event simulation in 60 digits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra import _core

RECORDED = Path(__file__).with_name("data") / "flows" / "max_min.jsonl"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "fabrics" / "flow"


def cases() -> list[Any]:
    cases = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    found = [pytest.param(case, id=case["name"]) for case in cases]
    for path in sorted(SHARED.glob("*.json")):
        case = json.loads(path.read_text())
        links = [[link["bytes_per_s"] / 1e9, link["latency_ns"]] for link in case["links"]]
        flows = [[f["bytes"], f["start_ns"], f["route"], f["done_ns"]] for f in case["flows"]]
        same = {"links": links, "flows": flows, "solves": case["solves"]}
        found.append(pytest.param(same, id=f"shared {path.stem}"))
    return found


@pytest.mark.parametrize("case", cases())
def test_flows_are_through_when_they_are_in_simgrid(case: dict[str, Any]) -> None:
    routes = [route for _, _, route, _ in case["flows"]]
    times = _core.share_flows(
        first_hop=np.cumsum([0, *map(len, routes)], dtype=np.uint64),
        hops=np.array([link for route in routes for link in route], dtype=np.uint32),
        bytes=np.array([size for size, _, _, _ in case["flows"]], dtype=float),
        start_ns=np.array([start for _, start, _, _ in case["flows"]], dtype=float),
        bytes_per_ns=np.array([rate for rate, _ in case["links"]], dtype=float),
        latency_ns=np.array([latency for _, latency in case["links"]], dtype=float),
    )
    assert times.run_for(2**63)
    expected = [end for _, _, _, end in case["flows"]]
    np.testing.assert_allclose(np.asarray(times.end_ns), expected, rtol=1e-9)
    assert times.solves == case.get("solves", times.solves)
