"""A model is found by its name or its file, or the message says what was expected."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.models.hf_configs import CONFIGS
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.workloads.models import catalogue, description, zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer

SIZES = {
    "num_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "ffn_hidden_size": 96,
    "vocab_size": 100,
    "seq_length": 16,
}
MODEL = f"""from yantra.workloads.models.transformer import Transformer
SMALL = Transformer(name="small", source="here", **{SIZES})
"""


def refused(sizes: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        description.transformer(sizes, "mine", "small")
    return str(error.value)


def file(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "names",
    [
        # Megatron-LM; Hugging Face; STG; Calculon; GPT-2
        "num_layers hidden_size num_attention_heads ffn_hidden_size padded_vocab_size seq_length",
        "num_hidden_layers hidden_size num_attention_heads intermediate_size vocab_size seq",
        "num_stacks Dmodel Head Dff Dvocal Seq",
        "num_blocks hidden attn_heads feedforward vocab_size seq_size",
        "n_layer n_embd n_head ffn_dim vocab_size sequence_length",
    ],
)
def test_sizes_go_by_the_names_of_every_program(names: str) -> None:
    given = dict(zip(names.split(), SIZES.values(), strict=True))
    expected = Transformer(name="small", source="mine", **SIZES)
    assert description.transformer(given, "mine", "small") == expected
    dashed = {name.replace("_", "-").upper(): value for name, value in given.items()}
    assert description.transformer(dashed, "mine", "small") == expected


def test_a_name_may_stand_for_several_fields_or_for_the_opposite() -> None:
    model = description.transformer(
        SIZES | {"add_bias_linear": True, "untie_embeddings_and_output_weights": False,
                 "swiglu": False, "normalization": "layer"}, "mine", "small",
    )  # fmt: skip
    assert (model.qkv_bias, model.attention_output_bias, model.mlp_bias) == (True, True, True)
    assert (model.tie_word_embeddings, model.gated_linear_unit) == (True, False)
    assert model.normalization == "LayerNorm"


def test_how_often_a_layer_is_other_is_as_good_as_a_list() -> None:
    """As in Megatron-LM: every second has no window, from the second; experts from the first."""
    sizes = SIZES | {"num_layers": 5, "sliding_window": 8, "num_experts": 4, "kexperts": 2}
    for number, windows, experts in ((1, [0] * 5, [1] * 5), (2, [1, 0] * 2 + [1], [1, 0] * 2 + [1]),
                                     (3, [1, 1, 0, 1, 1], [1, 0, 0, 1, 0])):  # fmt: skip
        listed = {"window_attn_skip_freq": windows, "moe_layer_freq": experts}
        counted = dict.fromkeys(listed, number)
        assert description.transformer(sizes | counted, "mine", "small") == (
            description.transformer(sizes | listed, "mine", "small")
        )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"num_layer": 3}, "mine: num_layer: a transformer has no size of this name; did you mean"),
        ({"Dff": 3}, "mine: Dff: contradicts ffn_hidden_size, which says 96"),
        ({"swiglu": 1}, "mine: swiglu: expected true or false, got 1"),
        ({"normalization": "batch"}, "mine: normalization: expected one of RMSNorm, LayerNorm"),
        ({"residual": 3}, "mine: residual: expected one of sequential, parallel, sandwich"),
        ({"KVHead": 3}, "mine: KVHead: expected a divisor of num_attention_heads, which is 4"),
        ({"moe_layer_freq": "all"}, "mine: moe_layer_freq: expected a list of whole numbers"),
        (
            {"moe_layer_freq": 0},
            "mine: moe_layer_freq: expected a list of whole numbers, or of how",
        ),
        ({"window_attn_skip_freq": -1}, "or of how many layers one is other, got -1"),
        ({"window_attn_skip_freq": True}, "expected a list of whole numbers, got true"),
        ({"notes": [1]}, "mine: notes: expected a list of texts"),
        ({"name": 3}, "mine: name: expected a text, got 3"),
        ({"hidden_size": "64"}, "mine: hidden_size: expected a whole number"),
    ],
)
def test_a_wrong_size_is_reported_by_the_name_it_was_given(
    change: dict[str, Any], problem: str
) -> None:
    assert problem in refused(SIZES | change)


def test_missing_sizes_are_named() -> None:
    assert refused({"num_layers": 2, "swiglu": True}) == (
        "mine: needs hidden_size, num_attention_heads, ffn_hidden_size, vocab_size, seq_length"
    )


def test_a_model_is_found_in_every_kind_of_file(tmp_path: Path) -> None:
    config = file(tmp_path, "config.json", json.dumps(CONFIGS["llama3-8b"]))
    weights = model_of(zoo.get("llama3-8b")).parameters()
    assert catalogue.find("llama3-8b").parameters() == weights
    assert catalogue.find(config).parameters() == weights
    assert catalogue.find(str(tmp_path)).parameters() == weights
    for name in ("small.yaml", "small.json"):
        found = catalogue.find(file(tmp_path, name, json.dumps(SIZES)))
        assert (found.name, len(found.layers)) == ("small", 2)
    one = file(tmp_path, "one.py", MODEL + "PLUGIN = SMALL\n")
    assert catalogue.find(one).name == catalogue.find(f"{one}:small").name == "small"
    two = file(
        tmp_path, "two.py", MODEL + "PLUGIN = SMALL, SMALL.replace(name='wide', hidden_size=128)\n"
    )
    assert catalogue.find(f"{two}:wide").hidden == 128
    with pytest.raises(ConfigError) as error:
        catalogue.find(two)
    assert f"has several models; expected one of {two}:small, {two}:wide" in str(error.value)
    with pytest.raises(ConfigError) as error:
        catalogue.find(f"{two}:smal")
    assert str(error.value).endswith("did you mean 'small'?")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "PLUGIN = 3\n",
            "expected a line PLUGIN = <a Model or Transformer, or a tuple of them>, got 3",
        ),
        ("", "expected a line PLUGIN = <a Model or Transformer, or a tuple of them>"),
        ("PLUGIN = ()\n", "a line PLUGIN = <a Model or Transformer, or a tuple of them>, got []"),
        ("1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero"),
        ("def f(:\n", "cannot be imported: SyntaxError"),
        (MODEL.replace("64", "65") + "PLUGIN = SMALL\n", "small.num_attention_heads: expected a"),
    ],
)
def test_a_python_file_without_a_model_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        catalogue.find(file(tmp_path, "wrong.py", text))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("meta-llama/Llama-3.9-70B", "; did you mean 'llama3-70b'? For another model, download"),
        ("mistralai/Mixtral-8x7B-v0.3", "; did you mean 'mixtral-8x7b'?"),
        (
            "Qwen/Qwen2.4-7B",
            "; download its config.json and give the path; `yantra workload show`",
        ),
        ("vit-b/17", "; did you mean 'vit-b/16'? Known: "),
    ],
)
def test_an_unknown_id_names_a_model_of_its_size_and_what_to_type(name: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        catalogue.find(name)
    assert f"model: no model is named '{name}'{says}" in str(error.value)


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    for name, problem in (
        (
            "llama3-7b",
            "model: no model is named 'llama3-7b'; did you mean 'llama3-70b'? Known: bert-base, ",
        ),
        ("gema-3-27b", "did you mean 'gemma-3-27b'? Known: "),
        ("none.py", "none.py: no such file; expected a Python file, or a name without .py"),
        ("none.yaml", "none.yaml: cannot be read: No such file"),
        ("none.json", "none.json: cannot be read: No such file"),
    ):
        with pytest.raises(ConfigError) as error:
            catalogue.find(name)
        assert problem in str(error.value)
    empty = file(tmp_path, "empty.yaml", "")
    with pytest.raises(ConfigError) as error:
        catalogue.find(empty)
    assert "expected sizes by name, such as num_layers: 32" in str(error.value)


values = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())
)


@given(st.dictionaries(st.sampled_from([*SIZES, *description.ALIASES, "name"]), values))
def test_any_sizes_give_a_transformer_or_a_config_error(sizes: dict[str, Any]) -> None:
    try:
        description.transformer(SIZES | sizes, "mine", "small")
    except ConfigError as error:
        assert str(error)


def test_the_command_lists_every_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workload", "show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        *("name", "parameters", "active", "layers", "sequence", "KV", "bytes/token")
    ]
    assert tuple(line.split()[0] for line in lines[1:]) == zoo.names()
    row = next(line for line in lines if line.startswith("deepseek-v3"))
    assert row.split() == ["deepseek-v3", "671", "B", "37.55", "B", "61", "4096", "70,272"]


def test_the_command_counts_models_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, "small.yaml", json.dumps(SIZES))
    assert main(["workload", "show", "mixtral-8x7b", path, "--json"]) == 0
    mixtral, small = json.loads(capsys.readouterr().out)
    assert mixtral["parameters"] == 46_702_792_704
    assert mixtral["active_parameters"] == 12_879_925_248
    assert (small["name"], small["source"], small["fixed_sequence"]) == ("small", path, False)
    assert main(["workload", "show", "mixtral-8x8b"]) == 2
    assert "did you mean 'mixtral-8x7b'?" in capsys.readouterr().err


def test_the_command_tells_what_a_model_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workload", "show", "deepseek-v3"]) == 0
    assert capsys.readouterr().err == (
        "warning: without the multi-token-prediction module, as for serving\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        "Llama3-70B",
        "llama-3-70b",
        "llama3_70B",
        "meta-llama/Meta-Llama-3-70B",
        "Meta-Llama-3-70B",
        "meta-llama/Meta-Llama-3-70B-Instruct",
    ],
)
def test_a_model_is_found_whatever_its_case_and_dashes_and_by_its_hugging_face_id(
    name: str,
) -> None:
    assert catalogue.find(name) == catalogue.find("llama3-70b")


def test_every_hugging_face_id_in_a_source_finds_its_model() -> None:
    ids = [
        (name, id)
        for name in zoo.names()
        for id in re.findall(r"(\S+/\S+) config\.json", zoo.get(name).source)
    ]
    assert len(ids) > 10
    assert [catalogue.described(id).name for _, id in ids] == [name for name, _ in ids]


def test_a_name_that_may_be_several_models_lists_them(monkeypatch: pytest.MonkeyPatch) -> None:
    one = zoo.get("llama3-8b")
    assert isinstance(one, Transformer)
    twins = {name: one.replace(name=name, source="") for name in ("my-model", "mymodel")}
    monkeypatch.setattr(zoo, "_known", lambda: twins)
    assert zoo.get("my-model") is twins["my-model"]
    with pytest.raises(ConfigError, match="'My_Model' may be any of my-model, mymodel"):
        zoo.get("My_Model")
