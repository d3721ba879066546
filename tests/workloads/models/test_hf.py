"""A Hugging Face config gives the model it describes, or says which key it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import transformer_forms as forms
from tests.workloads.models.hf_configs import CONFIGS, SIZED
from tests.workloads.models.test_hf_models import MODELS
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
        ('{"hidden_size": 1}', "needs the key 'model_type', such as llama"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError) as error:
            hf.load(path)
        assert problem in str(error.value)


def test_a_type_that_is_not_read_is_refused_and_only_a_slip_is_mended() -> None:
    text = refused({"model_type": "qwen3_mo"})
    assert text == (
        "config.json: model_type: 'qwen3_mo' is not among the types that are read; "
        "did you mean 'qwen3_moe'?"
    )
    for other in ("gemma5", "gpt_ossa2", "qwen9_moe", "brandnew"):
        assert refused({"model_type": other}).endswith(
            "give the sizes of a transformer by name in a YAML file, or its blocks in Python"
        )


@pytest.mark.parametrize("kind", hf.REFUSED)
def test_a_type_that_cannot_be_built_says_what_is_not_modelled(kind: str) -> None:
    text = refused({"model_type": kind, "hidden_size": 8})
    assert text == f"config.json: model_type: {kind}: {hf.REFUSED[kind]}"
    assert "not modelled" in text
    inner = refused({"model_type": "some_vl", "text_config": {"model_type": kind}})
    assert inner == f"config.json: text_config.model_type: {kind}: {hf.REFUSED[kind]}"


def test_a_type_of_the_same_shape_is_read_as_the_other() -> None:
    for kind, other in hf.SAME.items():
        assert other in hf.families.names()
        assert kind not in hf.families.names()


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
    half = ["full_attention", "sliding_attention"] * 16
    ministral = hf.from_config(config | {"model_type": "ministral", "layer_types": half})
    assert [ministral.window(layer) for layer in (0, 1, 31)] == [0, 4096, 4096]
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


GEMMA3 = {
    "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 34, "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152},
}  # fmt: skip


@pytest.mark.parametrize("inside", ["text_config", "llm_config", "language_config"])
def test_the_language_model_within_a_config_is_read(inside: str) -> None:
    """Gemma 3 4B, whose config leaves out what its class has by default."""
    config = {"model_type": "anything", inside: GEMMA3["text_config"], "vision_config": {}}
    made = hf.from_config(config, "config.json")
    assert model_of(made).parameters() == 3_880_263_168
    assert made.notes == (
        "the language model alone, without vision_config",
        "sizes that are not in the file are those of transformers' gemma3_text: "
        "num_attention_heads 8, num_key_value_heads 4, vocab_size 262208, "
        "max_position_embeddings 131072, head_dim 256",
    )
    assert (
        hf.from_config({"thinker_config": config, "model_type": "omni"}).notes[0] == made.notes[0]
    )


def test_errors_within_a_config_name_the_whole_key() -> None:
    text = GEMMA3["text_config"] | {"num_key_value_head": 4}
    assert refused(GEMMA3 | {"text_config": text}) == (
        "config.json: text_config.num_key_value_head: not known for gemma3_text and may change the "
        "model; did you mean 'num_key_value_heads'?"
    )
    assert refused(GEMMA3 | {"text_config": 3}).startswith("config.json: text_config: expected an")
    nameless = {"text_config": {"hidden_size": 8}, "model_type": "new"}
    assert "'new' is not among the types" in refused(nameless)
    text = {"model_type": "seed_oss", "hidden_size": 8}
    assert "needs the key 'text_config.num_attention_heads'" in refused(
        GEMMA3 | {"text_config": text}
    )


def test_a_text_without_a_type_is_of_the_type_that_the_config_has_by_default() -> None:
    """An empty one is the smallest Gemma 3, as transformers builds it; LLaVA 1.5 7B has a Llama."""
    assert model_of(hf.from_config(GEMMA3 | {"text_config": {}})).hidden == 2304
    llava = {"model_type": "llava", "text_config": {"vocab_size": 32064}, "vision_config": {}}
    assert model_of(hf.from_config(llava)).parameters() == 6_738_939_904


def test_layers_that_a_search_found_are_each_their_own() -> None:
    """Two thirds of `ffn_mult` hidden sizes; 64 heads, where 8 or 16 share keys, or none."""

    def block(share: int | None, factor: float | None) -> dict[str, Any]:
        attention = {"n_heads_in_group": share, "no_op": share is None}
        return {"attention": attention, "ffn": {"ffn_mult": factor, "no_op": factor is None}}

    config = {
        "model_type": "nemotron-nas", "hidden_size": 8192, "num_hidden_layers": 4,
        "num_attention_heads": 64, "vocab_size": 128256, "max_position_embeddings": 131072,
        "block_configs": [block(8, 5.25), block(16, 2.625), block(None, 2.625), block(None, None)],
    }  # fmt: skip
    h, d = 8192, 128
    attention = [h * d * (64 + 2 * groups + 64) for groups in (8, 4)]
    wide, thin = 3 * h * 28672, 3 * h * 14336
    made = model_of(hf.from_config(config))
    norms = h * (2 + 2 + 1 + 1)
    assert made.parameters() == sum(attention) + wide + 2 * thin + norms + 2 * 128256 * h
    assert made.kv_bytes_per_token() == 2 * 2 * d * (8 + 4)
    config["block_configs"][1]["attention"]["n_heads_in_group"] = 7
    assert "block_configs[1].attention.n_heads_in_group: expected a divisor of 64" in refused(
        config
    )


def test_ling_has_the_weights_of_its_shapes() -> None:
    """Ling-mini-2.0, 16B: a dense layer, then 256 experts; a token meets 8 and a shared one."""
    config = {
        "model_type": "bailing_moe_v2", "hidden_size": 2048, "intermediate_size": 5120,
        "moe_intermediate_size": 512, "num_hidden_layers": 20, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 256, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "first_k_dense_replace": 1, "vocab_size": 157184, "n_group": 8,
        "topk_group": 4, "use_qk_norm": True, "use_qkv_bias": False, "use_bias": False,
        "moe_router_enable_expert_bias": True, "max_position_embeddings": 32768,
    }  # fmt: skip
    h, expert = 2048, 3 * 2048 * 512
    attention = h * 128 * (16 + 8 + 16) + 2 * 128
    sparse = h * 256 + 256 + 257 * expert
    layers = 20 * (attention + 2 * h) + 3 * h * 5120 + 19 * sparse
    assert model_of(hf.from_config(config)).parameters() == layers + 2 * 157184 * h + h


def test_the_config_around_a_language_model_says_whether_it_has_one_table() -> None:
    for tied in (True, False):
        made = model_of(hf.from_config(GEMMA3 | {"tie_word_embeddings": tied}))
        assert made.front.tied is tied


def test_a_config_with_towers_beside_its_sizes_is_that_of_its_language_model() -> None:
    """As Qwen2-VL and 2.5-VL were published; so are tokens that represent images."""
    config, weights = SIZED["Qwen/Qwen2.5-7B"]
    seeing = config | {
        "model_type": "qwen2_5_vl", "vision_config": {"depth": 32}, "vision_token_id": 151654,
        "image_token_id": 151655, "vision_start_token_id": 151652,
    }  # fmt: skip
    made = hf.from_config(seeing)
    assert model_of(made).parameters() == weights
    assert made.notes == ("the language model alone, without vision_config",)


def test_what_a_key_leaves_empty_changes_nothing() -> None:
    empty = {"future_lists": [], "future_tables": {}, "future": None, "future_word": ""}
    assert hf.from_config(LLAMA | empty) == hf.from_config(LLAMA)
    assert "future: not known" in refused(LLAMA | {"future": False})


def test_names_of_rates_positions_tokens_and_losses_change_nothing() -> None:
    names = ("other_dropout", "norm_eps_2", "swa_rope_theta", "new_token_id", "moe_aux_loss_alpha")
    assert hf.from_config(LLAMA | dict.fromkeys(names, 0.5)) == hf.from_config(LLAMA)
    for name in ("qk_rope_head_dim", "ffn_dim_multiplier", "capacity_factor"):
        assert f"{name}: not known for llama" in refused(LLAMA | {name: 2})


def test_infinity_is_a_number_in_a_config(tmp_path: Path) -> None:
    config, _ = SIZED["mistralai/Mamba-Codestral-7B-v0.1"]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config | {"time_step_limit": [0.0, float("inf")]}))
    assert "Infinity" in path.read_text()
    assert model_of(hf.load(path)).parameters() > 0


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("gemma3", {"layer_types": ["full"]}, "sliding_attention or full_attention for each"),
        ("gpt_oss", {"num_experts_per_tok": 200}, "at most as many as there are experts"),
        ("qwen3_next", {"linear_num_key_heads": 5}, "expected a divisor of 32 heads of values"),
        ("glm_moe_dsa", {"indexer_types": ["shared"] * 78}, "full or shared for each of the 78"),
        ("deepseek_v32", {"q_lora_rank": None}, "the index is made of compressed queries"),
        ("nemotron_h", {"hybrid_override_pattern": "MX"}, "a letter for each layer: M"),
        ("llama4", {"no_rope_layers": [1]}, "a 0 or 1 for each of the 48 layers"),
        ("minimax_m2", {"qk_norm_type": "per_head"}, "norms over each head are another model"),
        (
            "kimi_linear",
            {"attn_res_block_size": 4},
            "attention over results of layers before is not modelled",
        ),
        ("gemma4", {"num_kv_shared_layers": 2}, "layers that use the keys and values of others"),
        ("falcon_h1", {"mamba_n_heads": 31}, "heads that make 4096 channels"),
        ("mimo_v2_flash", {"num_key_value_heads": 5}, "a divisor of num_attention_heads"),
    ],
)
def test_what_a_family_of_today_cannot_have_is_refused(
    name: str, change: dict[str, Any], problem: str
) -> None:
    config = next(
        one["config"]
        for one in MODELS.values()
        if name in (one["config"]["model_type"], one["config"].get("model_type"))
    )
    inside = "text_config" if "text_config" in config else ""
    changed = config | ({inside: config[inside] | change} if inside else change)
    assert problem in refused(changed)


def test_an_index_says_what_it_adds_to_the_cache() -> None:
    made = hf.from_config(MODELS["DeepSeek-V3.2"]["config"])
    assert "the index caches a key in FP8 in each layer that has it: 132 bytes" in made.notes
    assert model_of(made).kv_bytes_per_token("fp8") == 61 * (512 + 64 + 132)


def test_what_a_family_does_not_have_may_be_off_and_not_on() -> None:
    mistral, _ = SIZED["mistralai/Mistral-7B-v0.1"]
    off = {"attention_bias": False, "use_qk_norm": False, "num_experts": 0, "n_shared_experts": 0}
    assert hf.from_config(mistral | off) == hf.from_config(mistral)
    for key, value in (("attention_bias", True), ("num_experts", 8), ("use_qk_norm", True)):
        assert f"{key}: expected " in (text := refused(mistral | {key: value}))
        assert text.endswith("not covered for mistral")


def test_heads_that_do_not_divide_are_as_wide_as_transformers_makes_them() -> None:
    """GLM-4.5V's class by default: 96 heads of 4096 // 96; counted by transformers."""
    text = {
        "model_type": "glm4v_moe_text", "hidden_size": 4096, "intermediate_size": 10944,
        "moe_intermediate_size": 1408, "num_hidden_layers": 46, "num_attention_heads": 96,
        "num_key_value_heads": 8, "n_routed_experts": 128, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "vocab_size": 151424, "attention_bias": True,
    }  # fmt: skip
    made = model_of(hf.from_config({"model_type": "glm4v_moe", "text_config": text}))
    assert made.kv_bytes_per_token() == 46 * 2 * 8 * 42 * 2
    assert "4096 is no multiple of 96 heads, and nothing says how wide they are: 42" in made.notes
    text |= {"num_attention_heads": 4097, "num_key_value_heads": 1}
    assert "text_config.num_attention_heads: expected" in refused(
        {"model_type": "glm4v_moe", "text_config": text}
    )


def test_a_config_without_a_length_of_sequences_gets_a_usual_one() -> None:
    config = {key: value for key, value in LLAMA.items() if key != "max_position_embeddings"}
    made = hf.from_config(config)
    assert (made.seq_length, made.notes) == (
        4096,
        ("its config says no length of a sequence; 4096 tokens",),
    )
    assert "max_position_embeddings: expected a whole" in refused(
        LLAMA | {"max_position_embeddings": 0}
    )
    assert hf.from_config(config | {"model_max_length": 128}).seq_length == 128


def test_what_is_left_out_is_noted() -> None:
    notes = hf.from_config(CONFIGS["deepseek-v3"]).notes
    assert [note.split(";")[0] for note in notes] == [
        "without the multi-token-prediction module, as for serving",
        "stored quantised",
    ]


values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none())


EVERY = [
    *CONFIGS.values(),
    *(config for config, _ in SIZED.values()),
    *(one["config"].get("text_config", one["config"]) for one in MODELS.values()),
]


@settings(deadline=None)
@given(st.sampled_from(EVERY), st.data())
def test_any_value_gives_a_model_or_a_config_error(
    config: dict[str, Any], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(config)))
    try:
        model_of(hf.from_config(config | {key: data.draw(values)}))
    except ConfigError as error:
        assert str(error)
