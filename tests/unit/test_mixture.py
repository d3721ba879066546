"""The stack without a named framework: each framework has a vote, and so has the prior."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest

from yantra.accuracy.mixture import BROAD, PRIOR, mixture, on_gpus, shipped, unknown_without
from yantra.fabric import clusters, stacks
from yantra.fabric.stacks.choice import UNKNOWN
from yantra.fabric.stacks.types import FACTORS
from yantra.scenario import cluster_parts


def test_without_any_stack_it_is_the_prior() -> None:
    assert mixture([])[:3] == pytest.approx((PRIOR,) * 3)


def test_generations_of_one_framework_share_its_vote() -> None:
    one = shipped()[0]
    twice = one.replace(name="next year")
    assert mixture([one, twice]) == pytest.approx(mixture([one]))
    other = mixture([one, one.replace(framework="another")])
    for name in FACTORS:
        own = log(getattr(one.terms()[1], name).value / PRIOR)
        for found, votes in ((mixture([one]), 1), (other, 2)):
            moved = log(getattr(found, name) / PRIOR)
            assert moved == pytest.approx(own * votes / (votes + BROAD))


def test_unknown_without_a_framework_differs_from_it_by_that_alone() -> None:
    base = stacks.load(UNKNOWN)
    for framework in ("Megatron", "none of them"):
        found = unknown_without(framework)
        for machine in ("hgx-h100", "dgx-a100-80gb", "hgx-b200", None):
            ours, theirs = found.terms(machine)[1], base.terms(machine)[1]
            of = mixture(shipped(), framework, theirs.older_attention.value or 1.0)
            for name in (*FACTORS, "communication"):
                assert getattr(ours, name).value == getattr(of, name)
            assert (ours.interval, ours.launch) == (theirs.interval, theirs.launch)
            for name in FACTORS if framework != "Megatron" else ():  # the file has three digits
                value = getattr(theirs, name).value
                assert getattr(ours, name).value == pytest.approx(value, rel=1e-3)


def test_older_kernels_make_attention_alone_longer() -> None:
    plain, older = mixture(shipped()), mixture(shipped(), older=2.0)
    assert older._replace(attention=plain.attention) == plain
    assert older.attention / plain.attention == pytest.approx(2.0)
    votes = len({stack.framework for stack in shipped() if on_gpus(stack)})
    ratio = mixture(shipped(), "Meta", 2.0).attention / mixture(shipped(), "Meta").attention
    assert ratio == pytest.approx(2.0 ** ((votes + BROAD) / (votes - 1 + BROAD)))
    attention = [stacks.load(UNKNOWN).terms(name)[1] for name in ("hgx-h100", "hgx-b200")]
    assert attention[0].attention.value > attention[1].attention.value


def test_frameworks_of_tpus_have_no_vote() -> None:
    on_tpus = [stack for stack in shipped() if not on_gpus(stack)]
    assert {stack.framework for stack in on_tpus} == {"MaxText"}
    assert mixture(shipped()) == mixture(shipped(), "MaxText") != mixture(on_tpus)


def test_it_leaves_a_framework_out_and_messages_as_measured() -> None:
    every = shipped()
    for framework in {stack.framework for stack in every}:
        left = [stack for stack in every if stack.framework != framework]
        found = mixture(every, framework)
        assert found == mixture(left)
        assert found.rest * found.communication == pytest.approx(1.0)


def test_a_copy_of_a_known_machine_has_its_terms(tmp_path: Path) -> None:
    text = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text)
    own = cluster_parts(str(tmp_path / "mine.yaml"), 8)["stack"]
    named = cluster_parts("hgx-h100", 8)["stack"]
    assert own.replace(name=named.name) == named
