"""The stack without a named framework: each framework has a vote, and so has the prior."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest

from yantra.accuracy.mixture import (
    BROAD,
    in_eight_bits,
    mixture,
    mixture_on,
    on_gpus,
    powered,
    shipped,
    unknown_without,
)
from yantra.fabric import clusters, stacks
from yantra.fabric.stacks.balance import PRIOR, products_on
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
        for machine in ("hgx-h100", "dgx-a100-80gb", "hgx-h100 fp8", "any"):
            ours, theirs = dict(found.machines)[machine], dict(base.machines)[machine]
            of = mixture_on(machine, shipped(), theirs.older_attention.value or 1.0, framework)
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


def test_products_are_longer_by_the_balance_of_a_machine() -> None:
    assert products_on("dgx-a100-80gb") == pytest.approx(PRIOR)
    # By data sheets: 918 TFLOP/s and 1,638 GB/s beside 312 and 2,039.
    assert products_on("tpu-v6e") == pytest.approx(1 + 0.22 * 560.44 / 153.02, rel=1e-4)
    assert products_on("hgx-h20") == pytest.approx(1 + 0.22 * 37.0 / 153.02, rel=1e-3)
    a100, v6e = (mixture_on(name, shipped()) for name in ("dgx-a100-80gb", "tpu-v6e"))
    assert v6e._replace(products=a100.products) == a100
    votes = len({stack.framework for stack in shipped() if on_gpus(stack)})
    ratio = (products_on("tpu-v6e") / PRIOR) ** (BROAD / (BROAD + votes))
    assert v6e.products / a100.products == pytest.approx(ratio)


def test_products_gain_as_power_does_beyond_that_of_the_tables() -> None:
    # 1,400 W beside a GB200's 1,200 and a B200's 1,000; kernels have the square root of it.
    assert powered("gb300-nvl72") == pytest.approx((1200 / 1400) ** 0.5)
    assert powered("hgx-b300") == pytest.approx((1000 / 1400) ** 0.5)
    for named in ("hgx-h20", "hgx-h800", "gb200-nvl72", "tpu-v6e", "any"):
        assert powered(named) == 1.0
    for bits in ("", " fp8"):
        ours, theirs = (
            mixture_on(name + bits, shipped()) for name in ("gb300-nvl72", "gb200-nvl72")
        )
        assert ours.products == pytest.approx(theirs.products * powered("gb300-nvl72"))
        assert ours._replace(products=theirs.products) == theirs


def test_in_eight_bits_frameworks_that_do_it_have_a_vote_in_products() -> None:
    every = shipped()
    old = {stack.framework for stack in every if not in_eight_bits(stack)}
    assert {"PyTorch FSDP", "Meta"} <= old
    eight = mixture_on("any fp8", every)
    assert mixture_on("hgx-h100 fp8", every) == eight == mixture_on("any fp8", every, older=2.0)
    assert eight._replace(products=1.0) == mixture(every)._replace(products=1.0)
    assert mixture_on("any fp8", every, without="Meta").products == eight.products
    assert eight.products < mixture(every).products
    base = stacks.load(UNKNOWN)
    for dtype in ("fp8", "fp4", "int8"):
        assert base.terms("hgx-h100", dtype)[0] == "hgx-h100 fp8"
        assert base.terms("gaudi3", dtype)[0] == base.terms(None, dtype)[0] == "any fp8"
    assert base.terms("gaudi3")[0] == "gaudi3"


def test_engines_of_inference_have_neither() -> None:
    base, every = stacks.load(UNKNOWN), shipped()
    plain = mixture(every).products
    for _, terms in base.machines:
        longer = terms.training_products.value or 1.0
        assert terms.products.value / longer == pytest.approx(plain, rel=2e-3)


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
