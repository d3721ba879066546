"""A Hugging Face config gives the model it describes, or says which key it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import transformer_forms as forms
from tests.workloads.models.hf_configs import CONFIGS, SIZED
from yantra.base.errors import ConfigError
from yantra.workloads.models import hf, zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer

ABOUT = ("name", "source", "notes", "seq_length")
LLAMA = CONFIGS["llama3-8b"]


def sizes(model: Transformer) -> dict[str, Any]:
    return {field: value for field, value in vars(model).items() if field not in ABOUT}


def refused(config: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        hf.from_config(config, "config.json")
    return str(error.value)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_published_config_gives_the_model_of_the_zoo(name: str) -> None:
    assert sizes(hf.from_config(CONFIGS[name])) == sizes(zoo.get(name))


def test_every_model_of_the_zoo_with_a_config_has_been_compared() -> None:
    known = [zoo.get(name) for name in zoo.names()]
    with_config = {
        model.name
        for model in known
        if isinstance(model, Transformer) and "config.json" in model.source
    }
    assert with_config == set(CONFIGS)


@pytest.mark.parametrize("name", SIZED)
def test_a_published_config_has_the_published_number_of_weights(name: str) -> None:
    config, weights = SIZED[name]
    described = hf.from_config(config)
    assert model_of(described).parameters() == weights
    if isinstance(described, Transformer):
        assert forms.parameters(described) == weights


def test_every_covered_type_has_a_published_config() -> None:
    tested = [*CONFIGS.values(), *(config for config, _ in SIZED.values())]
    assert {config["model_type"] for config in tested} == set(hf.families.names())


def test_a_file_or_its_folder_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), encoding="utf-8")
    model = hf.load(path)
    assert hf.load(tmp_path) == model
    assert (model.name, model.source) == ("llama", str(path))
    named = tmp_path / "mine.json"
    named.write_text(json.dumps(LLAMA | {"_name_or_path": "meta/Llama"}), encoding="utf-8")
    assert hf.load(named).name == "mine"
    assert hf.from_config(LLAMA | {"_name_or_path": "meta/Llama"}).name == "Llama"


def test_what_is_no_config_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    for text, problem in (
        ("[1]", "config.json: expected an object of keys, got [1]"),
        ("{", "config.json, line 1, column 2: not JSON"),
        ('{"a": 1, "a": 2}', 'config.json: "a": given twice'),
        ('{"hidden_size": 1}', "needs the key 'model_type', one of bert, "),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError) as error:
            hf.load(path)
        assert problem in str(error.value)


def test_a_type_that_is_not_covered_is_refused_with_those_that_are() -> None:
    text = refused({"model_type": "qwen3_mo"})
    assert text.startswith("config.json: model_type: no model_type is named 'qwen3_mo'; expected")
    assert all(name in text for name in hf.families.names())
    assert text.endswith("did you mean 'qwen3_moe'?")


def test_a_missing_key_is_named_and_found_where_it_is_misspelt() -> None:
    config = {key: value for key, value in LLAMA.items() if key != "intermediate_size"}
    message = "config.json: a llama model needs the key 'intermediate_size'"
    assert refused(config) == message
    assert refused(config | {"intermediate_sizes": 3}) == (
        f"{message}; is it the 'intermediate_sizes' here?"
    )


def test_a_key_that_nothing_reads_is_refused() -> None:
    assert refused(LLAMA | {"num_key_value_head": 8}) == (
        "config.json: num_key_value_head: not known for llama and may change the model; "
        "did you mean 'num_key_value_heads'?"
    )
    assert refused(LLAMA | {"zzz": 1}).endswith("; remove it if it does not")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hidden_size": 0}, "hidden_size: expected a whole number 1 to "),
        ({"hidden_size": "4096"}, 'got "4096"'),
        ({"hidden_size": 4096.0}, "got 4096.0"),
        ({"hidden_size": True}, "got true"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers: expected a whole number 1 to 10000"),
        ({"attention_bias": 1}, "attention_bias: expected true or false, got 1"),
        ({"num_key_value_heads": 5}, "num_query_groups: expected a divisor of num_attention_heads"),
        ({"num_attention_heads": 7, "num_key_value_heads": 7}, "a divisor of hidden_size"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder: expected false, got true"),
        ({"pruned_heads": {"1": [0]}}, "not covered for llama"),
    ],
)
def test_a_wrong_value_is_reported_at_its_key(change: dict[str, Any], problem: str) -> None:
    text = refused(LLAMA | change)
    assert text.startswith("config.json: ")
    assert problem in text


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("deepseek-v3", {"num_key_value_heads": 8}, "every head has its keys and values"),
        ("deepseek-v3", {"topk_method": "greedy"}, "topk_method: expected one of noaux_tc"),
        ("deepseek-v3", {"attention_bias": True}, "its projections have no biases"),
        ("deepseek-v2", {"moe_layer_freq": 2}, "every layer after the first dense ones"),
        ("deepseek-v2", {"n_group": 7}, "expected a divisor of num_experts, which is 160; got 7"),
        ("mixtral-8x7b", {"num_experts_per_tok": 9}, "moe_router_topk: expected a whole number 1"),
        ("qwen3-30b-a3b", {"mlp_only_layers": "all"}, "expected a list of whole numbers"),
        ("qwen3-32b", {"use_sliding_window": True, "max_window_layers": 3}, "sliding_window: "),
        (
            "qwen3-32b",
            {"use_sliding_window": True, "layer_types": ["sliding"] * 64},
            "sliding_attention or full_attention for each of the 64 layers",
        ),
    ],
)
def test_what_a_family_cannot_have_is_refused(
    name: str, change: dict[str, Any], problem: str
) -> None:
    assert problem in refused(CONFIGS[name] | change)


def test_an_opt_of_another_construction_is_refused() -> None:
    config, _ = SIZED["facebook/opt-125m"]
    assert "norms after the residual sum" in refused(config | {"do_layer_norm_before": False})
    assert "word_embed_proj_dim: expected 768, got 512" in refused(
        config | {"word_embed_proj_dim": 512}
    )


def test_a_window_holds_in_the_layers_that_have_it() -> None:
    config, _ = SIZED["mistralai/Mistral-7B-v0.1"]
    mistral = hf.from_config(config)
    assert {mistral.window(layer) for layer in range(32)} == {4096}
    qwen = CONFIGS["qwen3-32b"] | {"use_sliding_window": True, "sliding_window": 1024}
    last = hf.from_config(qwen | {"max_window_layers": 60})
    assert [last.window(layer) for layer in (0, 59, 60, 63)] == [0, 0, 1024, 1024]
    some = ["full_attention"] + ["sliding_attention"] * 63
    named = hf.from_config(qwen | {"layer_types": some})
    assert [named.window(layer) for layer in (0, 1)] == [0, 1024]
    assert hf.from_config(qwen | {"max_window_layers": 64}).window_size == 0


def test_experts_stand_in_the_layers_that_have_them() -> None:
    config = CONFIGS["qwen3-30b-a3b"] | {"decoder_sparse_step": 2, "mlp_only_layers": [1]}
    model = hf.from_config(config)
    assert [layer for layer in range(8) if model.has_experts(layer)] == [3, 5, 7]


def test_what_is_left_out_is_noted() -> None:
    notes = hf.from_config(CONFIGS["deepseek-v3"]).notes
    assert [note.split(";")[0] for note in notes] == [
        "without the multi-token-prediction module, as for serving",
        "stored quantised",
    ]


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none())


@given(
    st.sampled_from([*CONFIGS.values(), *(config for config, _ in SIZED.values())]),
    st.data(),
)
def test_any_value_gives_a_model_or_a_config_error(
    config: dict[str, Any], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(config)))
    try:
        hf.from_config(config | {key: data.draw(values)})
    except ConfigError as error:
        assert str(error)
