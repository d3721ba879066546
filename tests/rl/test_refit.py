"""Messages of refits: recorded ones, and every layout against elements one by one.

`refit.json` has cases that two programs, by rectangles and by elements, agree on; the whole set,
where it is beside the checkout, is checked too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rl.refit_oracle import sent
from yantra.base.errors import ConfigError
from yantra.rl import refit
from yantra.rl.layouts import Generation, Tensor, Training
from yantra.rl.model_tensors import tensors_of_model
from yantra.rl.phases.around import sizes_of
from yantra.rl.refit import Dtype, Messages, messages, tensors_of
from yantra.workloads.models.catalogue import find

OWN = Path(__file__).with_name("refit.json")
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "rl" / "refit.json"
SMALL: dict[str, Any] = {"vocab": 7, "hidden": 4, "layers": 2, "qkv": 6, "attention": 5, "ffn": 9}
MOE = SMALL | {"experts": 4, "expert_ffn": 3, "dense_layers": 1}


def cases() -> list[Any]:
    found = [pytest.param(case, id=case["name"]) for case in json.loads(OWN.read_text())]
    if SHARED.exists():
        shared = json.loads(SHARED.read_text())
        found += [pytest.param(case, id=f"shared {case['name']}") for case in shared]
    return found


@pytest.mark.parametrize("case", cases())
def test_recorded_messages_are_equal_to_the_byte(case: dict[str, Any]) -> None:
    assert refit.of_json(case).as_json() == case["expected"]


degrees = st.sampled_from([1, 2, 3, 4])


@st.composite
def layouts(draw: st.DrawFn) -> tuple[dict[str, Any], Training, Generation, bool]:
    is_moe = draw(st.booleans())
    tp, dp, pp = draw(degrees), draw(degrees), draw(st.sampled_from([1, 2]))
    eps = [ep for ep in (1, 2, 4) if dp * tp % ep == 0]
    train = Training(
        tp=tp,
        pp=pp,
        dp=dp,
        ep=draw(st.sampled_from(eps)) if is_moe else 1,
        fsdp=draw(st.booleans()),
    )
    wide = draw(st.sampled_from([1, 2, 4]))
    colocated = draw(st.booleans()) and train.ranks >= wide
    most = train.ranks // wide if colocated else 3
    replicas = draw(st.integers(1, min(most, 3)))
    ep = draw(st.sampled_from([1, wide])) if is_moe else 1
    model = (MOE if is_moe else SMALL) | {"tied": draw(st.booleans())}
    return model, train, Generation(tp=wide, ep=ep, replicas=replicas), colocated


dtypes = st.builds(
    Dtype,
    train_bits=st.sampled_from([16, 32]),
    generation_bits_matrices=st.sampled_from([8, 16]),
    convert=st.sampled_from(["before", "after"]),
)


@settings(max_examples=40)
@given(layouts(), dtypes, st.sampled_from(["lowest", "spread"]))
def test_each_element_reaches_each_rank_that_wants_it_once(
    layout: tuple[dict[str, Any], Training, Generation, bool], dtype: Dtype, source: Any
) -> None:
    model, train, generation, colocated = layout
    tensors = tensors_of(**model)
    made = messages(tensors, train, generation, dtype, colocated=colocated, source=source)
    bits = sent(tensors, train, generation, dtype, colocated=colocated, source=source)
    got = {(a, b): size for a, b, size in made.as_json()["messages"]}
    got |= {(rank, rank): size for rank, size in made.as_json()["local"]}
    assert got == {pair: -(-size // 8) for pair, size in bits.items()}
    assert (
        made.bytes_per_replica.tolist()
        == [whole(tensors, dtype, generation.tp)] * generation.replicas
    )


def whole(tensors: list[Tensor], dtype: Dtype, tp: int) -> int:
    """The whole model, and again for each further rank what is not cut."""
    return sum(
        tensor.rows
        * tensor.columns
        * max(tensor.experts, 1)
        * dtype.sent(tensor)
        // 8
        * (tp if tensor.cut == "none" else 1)
        for tensor in tensors
    )


@pytest.mark.parametrize("name", ["llama3-8b", "qwen3-30b-a3b", "deepseek-v3"])
def test_the_tensors_of_a_model_are_all_its_parameters(name: str) -> None:
    model = find(name)
    found = tensors_of_model(model)
    sizes = [t.rows * t.columns * max(t.experts, 1) for t in found]
    assert sum(sizes) == sizes_of(model).parameters
    cut = {t.name.split(".")[-2]: t.cut for t in found}
    assert (cut["proj"], cut["down"], cut["attention_norm"]) == ("columns", "columns", "none")
    assert {t.place for t in found} >= {"first", "last", 0, len(model.layers) - 1}


def test_deepseek_v3_on_512_gpus_is_each_whole_replica_once() -> None:
    train = Training(pp=16, ep=16, dp=16, layers_per_stage=(3, *[4] * 14, 2))
    found = tensors_of_model(find("deepseek-v3"))
    made = messages(found, train, Generation(tp=32, replicas=8), Dtype())
    assert set(made.bytes_per_replica.tolist()) == {whole(found, Dtype(), 32)}
    assert made.sent == made.bytes_per_replica.sum()


def test_ranks_that_hold_what_they_want_send_nothing() -> None:
    tensors = tensors_of(**MOE)
    same = Training(tp=2, ep=2), Generation(tp=2, ep=2)
    made = messages(tensors, *same, Dtype(), colocated=True)
    assert (made.sent, made.kept) == (0, whole(tensors, Dtype(), 2))


def test_spread_sources_share_what_the_lowest_sends_alone() -> None:
    layout = Training(tp=2, dp=4), Generation(tp=2, replicas=4)

    def made(source: Any) -> Messages:
        return messages(tensors_of(**SMALL), *layout, Dtype(), source=source)

    assert made("spread").sent == made("lowest").sent
    assert made("spread").busiest_source < made("lowest").busiest_source / 3


@pytest.mark.parametrize(
    ("train", "generation", "said"),
    [
        ({"tp": 0}, {}, "train.tp: expected a whole number from 1, got 0"),
        ({"ep": 3, "dp": 4}, {}, "train.ep: expected a divisor of dp * tp, 4, got 3"),
        ({"ep": 3, "dp": 3}, {}, "train.ep: expected a divisor of 4 experts, got 3"),
        ({"pp": 3}, {}, "train.pp: expected a divisor of 2 layers, or layers_per_stage, got 3"),
        ({"pp": 2, "layers_per_stage": (2, 1)}, {}, "train.layers_per_stage: expected 2 numbers"),
        ({}, {"tp": 4, "ep": 2}, "generation.ep: expected 1 or tp, 4, got 2"),
        ({}, {"replicas": 2}, "generation.replicas: expected at most the 1 GPUs of training"),
    ],
)
def test_a_layout_that_cannot_be_is_named(
    train: dict[str, Any], generation: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        messages(
            tensors_of(**MOE),
            Training(**train),
            Generation(**generation),
            Dtype(),
            colocated="replicas" in generation,
        )
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": SMALL | {"hiden": 1}}, "model.hiden: nothing has this name; did you mean 'hid"),
        ({"train": {"tp": 1, "zero": 3}}, "train.zero: nothing has this name"),
        ({"dtype": {"convert": "never"}}, "dtype.convert: nothing is named 'never'"),
        ({"dtype": {"train_bits": 0}}, "dtype.train_bits: expected a whole number of bits from 1"),
        ({"model": SMALL | {"qkv": 0}}, "model.qkv: expected a whole number from 1, got 0"),
        ({"model": {"vocab": 2}}, "model.hidden: is not given"),
        ({"model": MOE | {"experts": None}}, "model.experts: expected a whole number from 0"),
        ({"train": 5}, "train: expected a map, got 5"),
        ({"generation": None}, "generation: expected a map, got null"),
        ({"source": "low"}, "source: nothing is named 'low'; did you mean 'lowest'?"),
    ],
)
def test_a_wrong_member_of_a_file_is_named(changed: dict[str, Any], said: str) -> None:
    tree = {"model": SMALL, "train": {}, "generation": {}, "dtype": {}} | changed
    with pytest.raises(ConfigError) as error:
        refit.of_json(tree)
    assert str(error.value).startswith(said)
