"""Generation by the loop of post-training agrees with the fleets of serving."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.rl.frameworks import load as load_framework
from yantra.rl.lengths import Drawn
from yantra.rl.phases.generation import generator_of
from yantra.serving.requests.types import Requests
from yantra.serving.serve import serve
from yantra.workloads.models.catalogue import find

_PROMPT, _EACH = 64, 8


def _drawn(count: int, most: int) -> Drawn:
    return Drawn(np.random.default_rng(count).integers(1, most, count))


def _fleet_s(drawn: Drawn, replicas: int, **plan: Any) -> float:
    count = len(drawn.output)
    requests = Requests.of(
        np.zeros(count, np.int64), np.full(count, _PROMPT), drawn.output,
        spans=(np.arange(count + 1), np.arange(count) // _EACH + 1, np.full(count, _PROMPT)),
    )  # fmt: skip
    served = serve(
        "llama3-8b", "hgx-h100", requests, replicas=replicas, routing="round_robin",
        intervals=False, **plan,
    )  # fmt: skip
    return served.ran.makespan_s


@pytest.mark.parametrize(
    "plan",
    [
        {"max_num_seqs": 1024},
        {"max_num_seqs": 16},
        {"max_num_seqs": 256, "gpu_memory_utilization": 0.28},  # KV is short
        {"max_num_seqs": 256, "num_speculative_tokens": 1, "acceptance": 0.8},
    ],
)
def test_generation_takes_as_long_as_a_fleet(plan: dict[str, Any]) -> None:
    drawn = _drawn(512, 2048)
    generator = generator_of(
        find("llama3-8b"), _cluster(), 4, plan,
        longest=(_PROMPT, 2048), framework=load_framework("nemo-rl"), in_process=False,
    )  # fmt: skip
    ours = generator.run(drawn, _EACH, _PROMPT)
    assert ours.seconds == pytest.approx(_fleet_s(drawn, 4, **plan), rel=0.04)
    assert ours.tokens == drawn.output.sum()
    assert 0 <= ours.tail < 0.5


def _cluster() -> Any:
    from yantra.fabric.clusters import load

    return load("hgx-h100")


def test_iterations_that_are_longer_make_generation_longer() -> None:
    drawn = _drawn(64, 300)
    generator = generator_of(
        find("llama3-8b"), _cluster(), 2, {}, longest=(_PROMPT, 300),
        framework=load_framework("nemo-rl"), in_process=True,
    )  # fmt: skip
    once = generator.run(drawn, _EACH, _PROMPT).seconds
    assert generator.run(drawn, _EACH, _PROMPT, 2.0).seconds == pytest.approx(2 * once)
