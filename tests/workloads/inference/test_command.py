"""`yantra workload infer`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yantra.cli import main
from yantra.workloads.templates import load

SMALL = ("--model", "llama3-8b", "--batch", "4", "--context", "64", "--phase", "decode")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(["workload", "infer", *arguments])
    found = capsys.readouterr()
    return status, found.out + found.err


def test_it_writes_a_workload_and_tells_what_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "decode.yw"
    status, text = run(capsys, *SMALL, "--tp", "4", "--cluster", "hgx-h100", "-o", str(path))
    assert status == 0
    assert "iteration 0: 0 tokens of prompts, 4 of sequences that generate, 4 chosen" in text
    work = load(path)
    assert work.ranks == 4
    assert work.about["model"] == "llama3-8b"
    assert work.about["fitting_batch"] > 4


def test_the_names_of_vllm_give_the_same_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = tmp_path / "ours.yw", tmp_path / "theirs.yw"
    common = ("--model", "mixtral-8x7b", "--phase", "decode", "--context", "64")
    run(capsys, *common, "--tp", "2", "--dp", "2", "--ep", "4", "--batch", "8", "-o", str(ours))
    run(
        capsys, *common, "--tensor-parallel-size", "2", "--data-parallel-size", "2",
        "--enable-expert-parallel", "--max-num-seqs", "4", "-o", str(theirs),
    )  # fmt: skip
    assert ours.read_bytes() == theirs.read_bytes()


def test_chunks_are_those_of_vllm_when_no_number_is_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = ("--model", "llama3-8b", "--prompt", "4096", "--enable-chunked-prefill")
    assert "iteration 1: 2048 tokens of prompts" in run(capsys, *job)[1]


def test_a_model_may_be_a_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
        "intermediate_size": 128, "num_attention_heads": 4, "num_hidden_layers": 2,
        "num_key_value_heads": 2, "vocab_size": 256, "max_position_embeddings": 128,
        "hidden_act": "silu", "tie_word_embeddings": False, "rms_norm_eps": 1e-5,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    status, text = run(capsys, "--hf-config", str(path), "--prompt", "32")
    assert status == 0, text
    assert "1 rank" in text


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "--model: expected either a known model"),
        (("--model", "llama3-8bb"), "did you mean 'llama3-8b'"),
        ((*SMALL, "--tp", "3"), "tp: llama3-8b: 3 ranks cannot share"),
        ((*SMALL, "--max-num-seqs", "4"), "--max-num-seqs: says for one replica"),
        ((*SMALL, "--memory", "8 GiB", "--cluster", "x"), "--memory: is given by --cluster"),
        ((*SMALL, "--decode", "tp"), "--decode: expected fields"),
        ((*SMALL, "--decode", "tp=2"), "only the phase disaggregated"),
        (
            (*SMALL, "--no-enable-chunked-prefill", "--max-num-batched-tokens", "8"),
            "--no-enable-chunked-prefill: without chunks",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = run(capsys, *arguments)
    assert status == 2
    assert message in text


def test_a_lack_of_memory_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = run(capsys, *SMALL, "--memory", "8 GiB")
    assert status == 3
    assert "memory: stage 0 of 1 needs" in text
