"""With all quirks on, packets are those of the ns-3 fork, to the nanosecond; means of 20 seeds
within 4 standard errors where marks are drawn, PINT's last end within 3 %.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.golden.packet_cases import SHARED, cases, run

CASES = cases()
FIGURES = {
    "acks": lambda run: run.packets.totals.acks,
    "nacks": lambda run: run.packets.totals.nacks,
    "drops": lambda run: run.packets.totals.drops,
    "packet_hops": lambda run: run.packets.totals.packets,
    "data_packet_hops": lambda run: run.packets.totals.data_packets,
    "pauses": lambda run: sum(run.packets.ports().pauses),
    "resumes": lambda run: sum(run.packets.ports().resumes),
}


def _results(*, deterministic: bool, mode: str | None = None) -> list[Any]:
    return [
        pytest.param(case, of, id=f"{name} {of}")
        for name, case in CASES.items()
        for of, result in case["results"].items()
        if result["status"] == "ok"
        and result["deterministic"] is deterministic
        and mode in (None, of)
    ]


@pytest.mark.parametrize(("case", "mode"), _results(deterministic=True))
def test_all_is_equal_where_nothing_is_random(case: Any, mode: str) -> None:
    expected = case["results"][mode]
    found = run(case, mode)
    assert found.completed_ns == expected["end_ns"]
    assert {name: of(found) for name, of in FIGURES.items()} == {
        name: expected[name] for name in FIGURES
    }
    if not expected.get("marks_random"):
        assert found.packets.totals.marked_acks == expected["acks_with_mark"]
    ports = found.packets.ports()
    for start, end, most in expected["queue_max_bytes"]:
        assert ports.queue_max_bytes[found.link[start, end]] == most
    for start, end, sent in expected["tx_bytes"]:
        assert ports.bytes[found.link[start, end]] == sent
    for paused, by, pauses, resumes in expected["pause_by_receiver"]:
        link = found.link[paused, by]
        assert (ports.pauses[link], ports.resumes[link]) == (pauses, resumes)


@pytest.mark.parametrize(("case", "mode"), _results(deterministic=False, mode="10"))
def test_the_last_flow_of_pint_ends_when_it_does_on_average(case: Any, mode: str) -> None:
    ends = [max(filter(None, run(case, mode, seed).completed_ns)) for seed in range(20)]
    assert np.mean(ends) == pytest.approx(max(case["results"][mode]["end_ns"]), rel=0.03)


def _shared(name: str) -> dict[str, Any]:
    path = SHARED / name
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


@pytest.mark.parametrize(("name", "of"), _shared("packet_random.json").items())
def test_random_marks_have_the_means_of_the_fork(name: str, of: dict[str, Any]) -> None:
    scenario, mode = name.split("/")
    runs = [run(CASES[scenario], mode, seed + 1) for seed in range(20)]
    ends = [np.asarray(one.packets.completed_ns) for one in runs]
    found = {
        "last_end_ns": [end.max() for end in ends],
        "mean_fct_ns": [
            (end - np.asarray(one.packets.start_ns)).mean()
            for end, one in zip(ends, runs, strict=True)
        ],
        "acks_with_mark": [one.packets.totals.marked_acks for one in runs],
        "pauses": [sum(one.packets.ports().pauses) for one in runs],
    }
    for figure, values in found.items():
        error = np.sqrt((np.var(values, ddof=1) + of[figure]["sd"] ** 2) / 20)
        assert abs(np.mean(values) - of[figure]["mean"]) <= 4 * error, figure


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        (name, mode)
        for name, of in _shared("packet_queues.json").items()
        for mode in of
        if mode != "port"
    ],
)
def test_queues_over_time_are_equal(name: str, mode: str) -> None:
    of = _shared("packet_queues.json")[name]
    sampled = {"port": tuple(of["port"]), "every_ns": 10_007.0}
    found = list(run(CASES[name], mode, sampled=sampled).packets.samples)
    assert found == of[mode][: len(found)]
    assert not any(of[mode][len(found) :])
