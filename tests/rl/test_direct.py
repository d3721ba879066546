"""A direct refit on the flow network, where its time is known."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.fabric.clusters import load
from yantra.rl.phases.direct import direct_refit_s
from yantra.workloads.models.catalogue import find


def _seconds(training: int, replicas: int, *, colocated: bool = False, **train: Any) -> float:
    cluster, model = load("hgx-h100"), find("llama3-8b")
    return direct_refit_s(
        model, cluster, train, training, {"tp": 1}, replicas, colocated=colocated
    )  # fmt: skip


def test_a_replica_takes_the_model_over_its_adapter() -> None:
    """Eight trainers of a node, eight replicas of another: 16 GB each at 48.5 GB/s."""
    size = 2 * find("llama3-8b").parameters()
    assert _seconds(8, 8) == pytest.approx(size / 48.5e9, rel=0.01)


def test_who_has_the_weights_is_sent_nothing() -> None:
    assert _seconds(8, 8, colocated=True) == 0.0


def test_within_a_node_parts_move_over_its_switch() -> None:
    size = 2 * find("llama3-8b").parameters()
    inside = _seconds(8, 8, colocated=True, pp=2)
    assert 0 < inside < size / 48.5e9
