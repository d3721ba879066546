"""Scripts that start vLLM and SGLang: what is written comes back, with its times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.serving.commands import emit, of_text
from yantra.serving.pools import asked
from yantra.serving.serve import serve

DENSE, MIXED = "meta-llama/Meta-Llama-3-8B", "Qwen/Qwen3-30B-A3B"
NAMES = {DENSE: "llama3-8b", MIXED: "qwen3-30b-a3b"}
REQUESTS = "poisson:rate=20/s,count=4,isl=200,osl=8,seed=1"
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "vllm": {
        "max_num_seqs": [64, 256],
        "max_num_batched_tokens": [2048, 8192],
        "enable_prefix_caching": ["on", "off"],
        "block_size": [16, 32],
    },
    "sglang": {
        "max_running_requests": [64, 256],
        "chunked_prefill_size": [2048, 8192],
        "radix_cache": ["on", "off"],
        "mixed_chunk": ["on", "off"],
        "page_size": [1, 16],
        "overlap": ["on", "off"],
    },
}


@st.composite
def pools(draw: Any, engine: str) -> tuple[str, int, dict[str, Any]]:
    model = draw(st.sampled_from([DENSE, MIXED]))
    size = draw(st.sampled_from([1, 2, 4]))
    shapes = [{"tp": size}]
    if model == MIXED:
        shapes += [{"tp": size, "ep": size}, {"tp": 1, "dp": size, "ep": size}]
    fields = draw(st.sampled_from(shapes))
    fields |= {name: draw(st.sampled_from(some)) for name, some in OPTIONS[engine].items()}
    fields["dtype"] = draw(st.sampled_from(["bf16", "fp8"]))
    fields["gpu_memory_utilization"] = draw(st.sampled_from([0.8, 0.9]))
    if draw(st.booleans()):
        fields["kv_cache_dtype"] = "fp8"
    return model, draw(st.sampled_from([1, 2, 3])), fields


def same(engine: str, data: st.DataObject, folder: Path) -> None:
    model, replicas, fields = data.draw(pools(engine))
    files = emit(asked(replicas, engine, fields, "test"), model)
    back = of_text(files["serve.sh"], "serve.sh")
    assert (back.engine, back.replicas) == (engine, replicas)
    path = folder / "serve.sh"
    path.write_text(files["serve.sh"], encoding="utf-8")
    told: dict[str, Any] = {
        "cluster": "hgx-h100",
        "requests": REQUESTS,
        "stack": "roofline",
        "intervals": False,
    }
    by_name = serve(NAMES[model], engine=engine, replicas=replicas, **told, **fields)
    by_file = serve(engine=str(path), **told)
    assert by_file.as_dict() == by_name.as_dict()


@pytest.mark.parametrize("engine", OPTIONS)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_replica_comes_back_with_its_times(
    engine: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    same(engine, data, tmp_path_factory.mktemp("served"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", OPTIONS)
@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.data())
def test_200_replicas_come_back_with_their_times(
    engine: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    same(engine, data, tmp_path_factory.mktemp("served"))


def test_a_script_says_engine_model_plan_and_options() -> None:
    text = """
TP=8
VLLM_USE_X=1 vllm serve deepseek-ai/DeepSeek-V3.1 -tp $((TP / 2)) -dp 2 --enable-expert-parallel \\
  --max-num-seqs=128 --port ${PORT:-8000} --speculative-config.method mtp \\
  --speculative-config.num_speculative_tokens 2 > server.log 2>&1 &
"""
    launch = of_text(text, "serve.sh")
    assert (launch.engine, launch.model, launch.ignored) == ("vllm", "deepseek-v3", ("--port",))
    assert launch.fields == {
        "tp": "4", "dp": "2", "ep": 8, "max_num_seqs": "128", "dtype": "fp8_block",
        "draft": "mtp", "num_speculative_tokens": "2",
    }  # fmt: skip


def test_ranks_of_attention_and_whole_copies_differ_in_sglang() -> None:
    start = f"python3 -m sglang.launch_server --model-path {MIXED} --tp 8 --dp 2"
    copies = of_text(start, "serve.sh")
    assert (copies.replicas, copies.fields) == (2, {"tp": "8", "overlap": "on"})
    apart = of_text(f"{start} --enable-dp-attention --ep 8", "serve.sh")
    assert (apart.replicas, apart.fields) == (1, {"tp": 4, "dp": "2", "ep": "8", "overlap": "on"})


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ("--enforce-eager", "--enforce-eager: launches without CUDA graphs are not covered"),
        ("--max-num-seq 8", "--max-num-seq: not a flag that is known here; it may change times"),
        ("--max-num-seqs $N", "--max-num-seqs: line 1 uses $N, which the script does not set"),
        ("--quantization awq", "expected one of fp8, modelopt, modelopt_fp4, nvfp4"),
        ('--speculative-config \'{"method": "eagle3"}\'', 'drafts by "eagle3" are not covered'),
    ],
)
def test_what_may_change_times_is_refused_by_flag(flags: str, problem: str) -> None:
    with pytest.raises(ConfigError) as told:
        of_text(f"vllm serve {DENSE} {flags}", "serve.sh")
    assert problem in str(told.value)


def test_what_an_engine_has_no_flag_for_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as told:
        emit(asked(1, "vllm", {"tp": 1, "start": "60s"}, "test"), DENSE)
    assert told.value.where == "start_s"
    with pytest.raises(ConfigError, match="16 devices of a replica, and a host has 8"):
        emit(asked(1, "vllm", {"tp": 16}, "test"), DENSE)


def test_the_cheapest_without_pools_is_written_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from yantra.cli.emitted import write_serving
    from yantra.fabric import clusters
    from yantra.serving.search.candidates import Candidate
    from yantra.serving.search.search import Found, Tried

    one = Candidate(clusters.load("hgx-h100"), asked(1, "vllm", {"tp": 2}, "test"))
    apart = Tried("apart", ((1, "prefill", one), (1, "decode", one)), 1.0, 4, None, "")
    alone = Tried("alone", ((3, "", one),), 2.0, 6, None, "")
    write_serving("llama3-8b", Found((apart, alone), (), 2, 0, True), str(tmp_path), quiet=False)
    assert capsys.readouterr().out.startswith("written: alone; pools")
    assert of_text((tmp_path / "serve.sh").read_text(), "serve.sh").replicas == 3
    with pytest.raises(ConfigError, match="only pools of prefill and decode"):
        write_serving("llama3-8b", Found((apart,), (), 1, 0, True), str(tmp_path), quiet=True)
