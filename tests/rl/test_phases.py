"""Laws of the phases of a step of post-training."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.fabric.clusters import load as load_cluster
from yantra.rl.alike import intraclass
from yantra.rl.frameworks import load, names
from yantra.rl.lengths import lengths_of
from yantra.rl.phases.around import sizes_of, slowest_link, whole_refit_s
from yantra.rl.phases.packing import pack
from yantra.rl.phases.reward import Reward
from yantra.workloads.models.catalogue import find


@pytest.mark.parametrize("most", [600, 1000, 4096])
@pytest.mark.parametrize("replicas", [1, 3, 8])
def test_packing_keeps_every_token_and_no_bin_is_too_full(most: int, replicas: int) -> None:
    lengths = np.random.default_rng(most).integers(1, 513, 300)
    packed = pack(lengths, most, replicas)
    assert packed.tokens.shape == (replicas, packed.micro_batches)
    assert packed.tokens.sum() == lengths.sum()
    assert packed.tokens.max() <= most
    used = (packed.tokens > 0).sum()
    assert used >= -(-lengths.sum() // most)
    # Best fit leaves at most one bin half empty.
    assert (packed.tokens[packed.tokens > 0] <= most / 2).sum() <= 1


def test_replicas_of_a_packing_work_alike() -> None:
    lengths = np.random.default_rng(1).integers(64, 2048, 512)
    work = pack(lengths, 4096, 4).tokens.sum(axis=1)
    assert work.max() / work.mean() < 1.02


@pytest.mark.parametrize(("gpus", "binds"), [(8, "hosts"), (64, "links")])
def test_a_refit_takes_its_bytes_over_the_slowest_link_or_its_tensors_on_the_host(
    gpus: int, binds: str
) -> None:
    sizes = sizes_of(find("llama3-8b"))
    cluster, framework = load_cluster("hgx-h100"), load("nemo-rl")
    took = {
        "links": 2 * sizes.parameters / slowest_link(cluster, gpus),
        "hosts": sizes.tensors * framework.tensor.value / 1e9,
    }
    assert sizes.parameters == pytest.approx(8.03e9, rel=1e-3)
    assert max(took, key=lambda one: took[one]) == binds
    found = whole_refit_s(sizes, framework, cluster, gpus, "bf16")
    assert found == pytest.approx(took[binds], rel=1e-12)


@pytest.mark.parametrize("sigma", [0.3, 0.7, 1.2])
def test_a_lognormal_has_its_mean_and_its_cap(sigma: float) -> None:
    lengths = lengths_of(f"lognormal:mean=1000,sigma={sigma},cap=4096")
    (drawn,) = lengths.drawn(64, 32)
    assert drawn.mean == pytest.approx(1000, rel=2e-3)
    assert drawn.output.max() <= 4096


def test_mean_and_cap_alone_have_several_answers() -> None:
    assert len(lengths_of("mean=3151,cap=3996").drawn(8, 8)) == 3


def test_a_mixture_has_its_shares() -> None:
    (drawn,) = lengths_of("0.75*fixed:tokens=100 + 0.25*fixed:tokens=900").drawn(10, 10)
    assert (drawn.output == 900).sum() == 25
    assert drawn.mean == 300


def test_a_list_keeps_its_groups(tmp_path: Path) -> None:
    rows = [
        {"output": 100 * (n % 3) + 1, "prompt": n % 3, "prompt_tokens": n % 3 + 5} for n in range(9)
    ]
    path = tmp_path / "lengths.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (drawn,) = lengths_of(str(path)).drawn(6, 4)
    groups = drawn.output.reshape(6, 4)
    assert (groups == groups[:, :1]).all()
    assert drawn.prompt is not None
    assert ((drawn.prompt - 5) * 100 + 1 == groups[:, 0]).all()


@pytest.mark.parametrize(
    "text",
    ["mean=5000,cap=4096", "mean=10", "normal:mean=3,sigma=1,cap=9", "0.5*fixed:tokens=3",
     "lognormal:mean=3,sigma=-1,cap=9", "fixed:tokens=x"],
)  # fmt: skip
def test_lengths_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        lengths_of(text)


def test_rewards_are_list_scheduling() -> None:
    finished = np.array([0.0, 1.0, 1.0, 5.0])
    assert Reward(2.0, 1).ends_s(finished) == 8.0
    assert Reward(2.0, 2).ends_s(finished) == 7.0
    assert Reward(2.0, 1, overlaps=False).ends_s(finished) == 13.0
    assert Reward().ends_s(finished) == 5.0


@pytest.mark.parametrize("name", names())
def test_each_number_of_a_framework_has_a_source(name: str) -> None:
    framework = load(name)
    for number in (framework.tensor, framework.step, framework.fresh, framework.interval):
        assert number.source


@pytest.mark.parametrize("icc", [0.05, 0.3, 0.8])
@pytest.mark.parametrize(
    "rule", ["lognormal:mean=800,sigma=0.9,cap=4096", "0.5*uniform:least=1,most=90 + "
             "0.5*fixed:tokens=2000", "mean=800,cap=2000"],
)  # fmt: skip
def test_samples_of_a_prompt_are_as_alike_as_asked(rule: str, icc: float) -> None:
    for shape in ((64, 16), (400, 4)):
        some = zip(
            lengths_of(rule).drawn(*shape),
            lengths_of(f"{rule},icc={icc}").drawn(*shape),
            strict=True,
        )
        for apart, near in some:
            assert intraclass(near.output.reshape(shape)) == pytest.approx(icc, abs=0.01)
            assert sorted(near.output) == sorted(apart.output)


def test_the_correlation_of_three_prompts() -> None:
    """By hand: mean squares between 26/3, within 4/3, so (26 - 4) / (26 + 4)."""
    assert intraclass(np.array([[4.0, 4.0], [6.0, 8.0], [7.0, 9.0]])) == pytest.approx(22 / 30)


@pytest.mark.parametrize("icc", ["1", "0", "-0.1", "x", "0.1,icc=0.2"])
def test_correlations_that_cannot_be_are_refused(icc: str) -> None:
    with pytest.raises(ConfigError):
        lengths_of(f"fixed:tokens=3,icc={icc}")
