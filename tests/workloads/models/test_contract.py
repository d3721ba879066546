"""Every family of models keeps the contract, and the command says what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.model_contract import PLANS, main, violations, works
from yantra.workloads.models import catalogue, zoo

ONE_EACH = (
    *("bert-base", "deepseek-v2-lite", "deepseek-v3", "dit-xl/2", "dlrm", "gpt3-1.3b"),
    *("llama2-7b", "llama3-70b", "mamba2-2.7b", "mixtral-8x7b", "qwen3-32b", "qwen3-30b-a3b"),
    *("resnet-50", "vit-b/16"),
)
HEAD = """from yantra.workloads.models.blocks import MLP, Attention, Block, Embedding, Head, Layer
from yantra.workloads.models.model import Model
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear


class Wrong(Block):
    def build(self, g, x):
        {build}

    def input_sizes(self, g):
        return {{"tokens": g.setting.batch.tokens, "hidden": {width}}}


PLUGIN = Model(
    name="wrong",
    hidden=256,
    front=Embedding(vocab=1000, hidden=256),
    layers=(Wrong(),) * 2,
    tail=Head(vocab=1000, hidden=256),
    sequence=64,
    source="",
)
"""


def test_every_family_is_checked() -> None:
    families = {
        family
        for family in zoo.families.names()
        if {model.name for model in zoo.families.get(family)} & set(ONE_EACH)
    }
    assert families == set(zoo.families.names())


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_known_model_keeps_the_contract(name: str) -> None:
    assert next(violations(catalogue.find(name)), None) is None


def test_a_decoder_has_every_plan_that_has_no_experts() -> None:
    refused = [work for work in works(catalogue.find("llama3-8b")) if isinstance(work, ConfigError)]
    assert len(refused) == sum(plan.ep > 1 for plan in PLANS) == 2


def test_the_command_tells_what_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mamba2-2.7b"]) == 0
    assert capsys.readouterr().out == (
        "every law holds over 4 plans\n"
        "refused: tp: 1 groups of states cannot be split over 2 ranks; the nearest possible is 1\n"
        "refused: cp: a scan is not split along the sequence; expected 1\n"
        "refused: ep: mamba2-2.7b has no experts, got 2\n"
        "mamba2-2.7b: 2.703 B parameters, 1.176e+13 operations forward for 2048 tokens\n"
    )


@pytest.mark.parametrize(
    ("build", "width", "wrong"),
    [
        (
            "return linear(g, x, 'a', {'hidden': 512})[0]",
            256,
            "blocks_fit_together: layer 1 takes {'tokens': 64, 'hidden': 256}, "
            "and is given {'tokens': 64, 'hidden': 512}",
        ),
        (
            "return linear(g, x, 'a', {'hidden': 256}, is_first=True)[0]",
            256,
            "one rank: a_gradient_is_two_products: ",
        ),
        (
            "return linear(g, x, 'a', {'hidden': 256}, copies=g.setting.ways('tp'))[0]",
            256,
            "tp=2: weights_are_shared_evenly: layers.0.a.weight has 131072 of 65536 elements",
        ),
        (
            "y = linear(g, x, 'a', {'y': 256 + g.setting.ways('tp')})[0]; "
            "return linear(g, y, 'b', {'hidden': 256})[0]",
            256,
            "tp=2: products_are_shared_or_done_by_every_rank: ",
        ),
    ],
)
def test_the_command_tells_what_is_wrong(
    build: str, width: int, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(HEAD.format(build=build, width=width), encoding="utf-8")
    status = main([str(path)])
    assert (status, capsys.readouterr().out.startswith(wrong)) == (1, True)


def test_a_model_that_is_not_found_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["llama3"]) == 2
    assert "did you mean 'llama3-8b'?" in capsys.readouterr().err
