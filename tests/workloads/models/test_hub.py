"""Published checkpoints: every id is of a model with the published weights."""

from __future__ import annotations

import re

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.frameworks.checkpoints import is_named, named_in, sizes_of_id
from yantra.workloads.models import catalogue, hub

ROWS = {row["ids"][0]: row for row in hub.table()}
IDS = [one for row in ROWS.values() for one in row["ids"]]


@pytest.mark.parametrize("name", ROWS)
def test_a_checkpoint_has_the_published_weights(name: str) -> None:
    """Up to biases that balance experts, as transformers counts them: 1 in 100,000."""
    weights = ROWS[name]["weights"]
    assert abs(catalogue.find(name).parameters() - weights) <= weights / 10**5


def test_the_billions_of_a_name_are_those_of_its_weights() -> None:
    """A name rounds, and some leave out embeddings: 25 %."""
    size = re.compile(r"(?<![\dA-Ex.])(\d+(?:\.\d+)?)[Bb](?![a-z])")
    for row in ROWS.values():
        for name in row["ids"]:
            told = [float(one) for one in size.findall(name.partition("/")[2])]
            if told and max(told) > 2 and not re.search(r"-\d+E|8x", name):
                assert 0.75 < row["weights"] / 1e9 / max(told) < 1.25, name


def test_names_are_of_one_checkpoint_each() -> None:
    names = [one.rpartition("/")[2].lower() for one in IDS]
    assert len(set(names)) == len(names)
    for name in IDS:
        short = name.rpartition("/")[2]
        squeezed = short.lower().replace("-", "")
        for written in (name, name.upper(), f"{name}-Instruct", f"{name}-chat-hf", short, squeezed):
            found = hub.find(written)
            assert found is not None
            assert found.id == name
        elsewhere = hub.find(f"/data/{short}/", of_any_owner=True)
        assert elsewhere is not None
        assert elsewhere.id == name


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("Qwen/Qwen3-8B-FP8", "fp8_block"),
        ("nvidia/Llama-3.1-70B-Instruct-FP8", "fp8"),
        ("amd/Llama-3.1-70B-Instruct-FP8-KV", "fp8"),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", "nvfp4"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "int4"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "int4"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "int4"),
        ("unsloth/DeepSeek-V3-bf16", "bf16"),
        ("Qwen/Qwen3-8B", ""),
    ],
)
def test_an_id_says_the_type_of_its_weights(name: str, dtype: str) -> None:
    plain, found = hub.stored(name)
    assert found == dtype
    assert hub.find(plain, of_any_owner=True) is not None


@pytest.mark.parametrize("end", ["GGUF", "bnb-4bit", "GPTQ-Int8", "quantized.w8a8"])
def test_a_type_that_is_not_modelled_is_refused(end: str) -> None:
    with pytest.raises(ConfigError, match=f"Qwen3-8B-{end}: weights in .* are not covered"):
        hub.stored(f"Qwen/Qwen3-8B-{end}")


def test_a_path_is_taken_by_its_last_name_which_a_note_says() -> None:
    with pytest.warns(match=r"/data/Qwen3-8B taken as Qwen/Qwen3-8B, by its name"):
        found = named_in("/data/Qwen3-8B", "serve.sh")
    assert found is not None
    assert found.model == sizes_of_id("Qwen/Qwen3-8B")
    unset = "line 1 uses $D, which the script does not set"
    assert is_named("/Qwen3-8B-AWQ", unset)
    assert not is_named("Qwen3-8B", unset)
    assert not is_named("/Qwen3-8B", "line 1 computes it")


def test_versions_are_of_their_own() -> None:
    assert hub.find("mistralai/Mistral-7B-Instruct-v0.9") is None
    distilled = catalogue.find("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B")
    assert distilled.parameters() > catalogue.find("Qwen/Qwen2.5-1.5B").parameters()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("out/qwen2.5_7b_lora_merged/checkpoint-3", "Qwen/Qwen2.5-7B"),
        ("allenai/Llama-3.1-Tulu-3-8B", "meta-llama/Llama-3.1-8B"),
        ("my_llama3_8b_sft", "meta-llama/Llama-3-8B"),
        ("a/Llama-3.1-Nemotron-Nano-4B-v1.1", None),
        ("llama2-7b-vision", None),
        ("path/to/llama-2/dir", None),
        ("medical-model", None),
    ],
)
def test_a_path_is_of_the_checkpoint_whose_family_and_size_it_says(
    path: str, found: str | None
) -> None:
    known = hub.find(path, of_any_owner=True)
    assert (known and known.id) == found
    assert hub.find(path) is None
