"""Damaged results are explained and compared, or refused with a message."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import ALL_REDUCE, cluster, scenario, write_result
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.explain import compare, explain
from yantra.run.simulate import simulate

JUNK: tuple[Any, ...] = (None, True, -1, 0, 1.5, "x", "", [], [1], ["a", None], {}, {"a": 1})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def step(builder: TraceBuilder, rank: int) -> None:
        builder.collective(ALL_REDUCE, 1 << 10, after=builder.compute(duration_micros=3 + rank))

    path = tmp_path_factory.mktemp("results") / "whole.json"
    topology = cluster(("ring", 3, 50.0, 500.0))
    simulate(scenario(topology, step), record=True).to_json(path)
    return path


def damaged(form: Any, random: Random) -> Any:
    form = copy.deepcopy(form)
    inside = form
    while True:
        keys = list(inside) if isinstance(inside, dict) else range(len(inside))
        key = random.choice(keys)
        if not isinstance(inside[key], dict | list) or not inside[key] or random.random() < 0.3:
            break
        inside = inside[key]
    if random.random() < 0.3:
        del inside[key]
    else:
        inside[key] = random.choice(JUNK)
    return form


@settings(max_examples=100)
@given(st.integers(0, 10**9))
def test_a_damaged_result_is_told_or_refused(whole: Path, seed: int) -> None:
    random = Random(seed)
    form = json.loads(whole.read_text())
    for _ in range(random.randrange(1, 4)):
        form = damaged(form, random)
        if not form:
            return
    path = whole.parent / "damaged.json"
    write_result(path, form)
    try:
        assert explain(path, runs=False).text()
    except ConfigError as error:
        assert str(error).startswith(str(path))
    try:
        assert compare(whole, path).text()
        compare(path, whole).to_report(whole.parent / "c.html")
    except ConfigError as error:
        assert str(error).startswith(str(path))
