"""Scripts that start vLLM and SGLang: what is written comes back, with its times."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.serving.commands import emit, emit_apart, of_text
from yantra.serving.pools import asked, options_of
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
        "draft": "mtp", "num_speculative_tokens": "2", "acceptance": "0.85",
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
        ("--cpu-offload-gb 8", "--cpu-offload-gb: weights in the host's memory are not covered"),
        ("--max-num 8", "--max-num: not a flag that is known here; it may change times"),
        ("-tp x", 'tp: expected a whole number, got "x"'),
        ("--quantization tpu_int8", "expected one of none, None, petit_nvfp4, modelopt_fp4"),
        ('--speculative-config \'{"method": "draft_model"}\'', 'by "draft_model" are not covered'),
    ],
)
def test_what_may_change_times_is_refused_by_flag(flags: str, problem: str) -> None:
    with pytest.raises(ConfigError) as told:
        of_text(f"vllm serve {DENSE} {flags}", "serve.sh")
    assert problem in str(told.value)


def test_commands_of_the_hosts_of_a_replica_are_one_replica() -> None:
    start = f"sglang serve --model-path {DENSE} --tp 16 --nnodes 2 --dist-init-addr 10.0.0.1:5"
    both = of_text(f"{start} --node-rank 0\n{start} --node-rank 1 --port 3\n", "serve.sh")
    assert (both.replicas, both.fields["tp"]) == (1, "16")


SPREAD = [
    ("vllm", {"tp": 8, "pp": 2}),
    ("vllm", {"tp": 16}),
    ("vllm", {"tp": 1, "dp": 16, "ep": 16}),
    ("sglang", {"tp": 4, "pp": 4}),
    ("sglang", {"tp": 2, "dp": 8, "ep": 16}),
]


@pytest.mark.parametrize(
    ("engine", "fields"),
    [*SPREAD[:3], pytest.param(*SPREAD[3], marks=pytest.mark.slow), SPREAD[4]],
)
def test_a_replica_over_hosts_comes_back_with_its_times(
    engine: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    model = "deepseek-ai/DeepSeek-V3"
    fields = fields | {"dtype": "fp8_block"}
    files = emit(asked(3, engine, fields, "test"), model, most_devices=8)
    path = tmp_path / "serve.sh"
    path.write_text(files["serve.sh"], encoding="utf-8")
    told: dict[str, Any] = {"cluster": "hgx-h100", "requests": REQUESTS, "intervals": False}
    by_name = serve("deepseek-v3", engine=engine, replicas=3, **told, **fields)
    assert serve(engine=str(path), **told).as_dict() == by_name.as_dict()


@pytest.mark.parametrize(("engine", "fields"), SPREAD)
def test_each_host_starts_with_its_number_and_the_first_host(
    engine: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    files = emit(asked(3, engine, fields, "test"), MIXED, most_devices=4)
    _, group = yaml.safe_load_all(files["kubernetes.yaml"])
    assert (group["kind"], group["spec"]["replicas"]) == ("LeaderWorkerSet", 3)
    groups = group["spec"]["leaderWorkerTemplate"]
    assert groups["size"] == 4
    (container,) = groups["workerTemplate"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
    path = tmp_path / "serve.sh"
    path.write_text(files["serve.sh"].replace("exec ", "echo "), encoding="utf-8")
    own = [*container["command"][:2], container["command"][2].replace("exec ", "echo ")]
    for rank in ("0", "3"):
        env = {"PATH": os.environ["PATH"]}
        as_host = env | {"HEAD": "first", "RANK": rank}
        as_pod = env | {"LWS_LEADER_ADDRESS": "first", "LWS_WORKER_INDEX": rank}
        host = subprocess.check_output(["bash", str(path)], env=as_host, text=True)
        assert subprocess.check_output(own, env=as_pod, text=True) == host
        assert "first" in host
        assert ("--headless" in host) == (engine == "vllm" and rank == "3")
        if fields.get("dp") == 16:
            assert ("--data-parallel-start-rank 12" in host) == (rank == "3")
            assert "--data-parallel-size-local 4 " in host
        else:
            assert f"--nnodes 4 --node-rank {rank} " in host


def test_slurm_starts_every_host_of_a_replica(tmp_path: Path) -> None:
    files = emit(asked(1, "vllm", {"tp": 16}, "test"), DENSE)
    script = tmp_path / "serve.sh"
    script.write_text(files["serve.sh"].replace("exec vllm", "exec echo"), encoding="utf-8")
    hosts = 'for one in 0 1; do SLURM_NODEID=$one "$@"; done'
    for name, body in (
        ("srun", hosts),
        ("sbcast", 'cp "$1" "$2"'),
        ("scontrol", "echo n1; echo n2"),
    ):
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": f"7-{os.getpid()}"}
    said = subprocess.check_output(["bash", str(script)], env=env, text=True).splitlines()
    Path(f"/tmp/.serve.{env['SLURM_JOB_ID']}").unlink()
    assert ["--master-addr n1" in line for line in said] == [True, True]
    assert ["--node-rank 1" in line for line in said] == [False, True]
    assert ["--headless" in line for line in said] == [False, True]


@pytest.mark.parametrize("engine", OPTIONS)
def test_the_router_knows_groups_of_hosts(engine: str) -> None:
    some = {"prefill": asked(2, engine, {"tp": 16}, "x"), "decode": asked(1, engine, {}, "x")}
    text = emit_apart(some, DENSE)["kubernetes.yaml"]
    group = next(one for one in yaml.safe_load_all(text) if one["kind"] == "LeaderWorkerSet")
    name = group["metadata"]["name"]
    assert [text.count(f"http://{name}-{at}.{name}:") for at in range(3)] == [1, 1, 0]


@pytest.mark.parametrize(
    "start",
    [
        "docker run --gpus all vllm/vllm-openai:v0.9 --model",
        "python -m vllm.entrypoints.api_server --model",
    ],
)
def test_an_image_and_an_older_program_start_vllm(start: str) -> None:
    launch = of_text(f"{start} {DENSE} -tp 2", "serve.sh")
    assert (launch.engine, launch.fields) == ("vllm", {"tp": "2"})


def test_beginnings_of_flags_are_those_flags() -> None:
    launch = of_text(f"vllm serve {DENSE} --max-num-seq 8 --gpu-memory-util=0.8", "serve.sh")
    assert launch.fields == {"max_num_seqs": "8", "gpu_memory_utilization": "0.8"}


def test_flags_may_be_in_a_file_which_those_of_the_command_override(tmp_path: Path) -> None:
    from yantra.serving.commands.read import load

    (tmp_path / "own.yaml").write_text("max_num_seqs: 8\nblock-size: 32\nport: 1\nuvicorn: null\n")
    script = tmp_path / "serve.sh"
    script.write_text(f"vllm serve {DENSE} --config own.yaml --max-num-seqs 16\n")
    with pytest.warns(match="ignored, as it changes no time: --port"):
        launch = load(str(script))
    assert launch.fields == {"max_num_seqs": "16", "block_size": "32"}
    script.write_text(f"vllm serve {DENSE} --config other.yaml\n")
    with pytest.warns(match=r"--config other\.yaml: is not there; taken as empty"):
        assert load(str(script)).fields == {}


def test_a_flag_that_says_nothing_of_the_engine_is_left_out_which_a_note_says() -> None:
    with pytest.warns(match="--greet: not a flag that is known here; left out"):
        assert of_text(f"vllm serve {DENSE} --greet all", "serve.sh").fields == {}


def test_kv_kept_outside_of_the_devices_is_a_note() -> None:
    keeps = '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
    with pytest.warns(match="KV that LMCacheConnectorV1 keeps is left out"):
        of_text(f"vllm serve {DENSE} --kv-transfer-config '{keeps}'", "serve.sh")


def test_kv_of_the_host_is_a_note_for_sglang() -> None:
    with pytest.warns(match="--enable-hierarchical-cache: KV that the host keeps is left out"):
        of_text(f"sglang serve --model-path {DENSE} --enable-hierarchical-cache", "serve.sh")


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("mtp", {"draft": "mtp", "num_speculative_tokens": "3", "acceptance": "0.69"}),
        ("eagle3", {"draft": "mtp", "num_speculative_tokens": "3", "acceptance": "0.69"}),
        ("ngram", {"draft": "ngram", "num_speculative_tokens": "3"}),
    ],
)
def test_a_chance_of_drafts_is_taken_where_it_is_published(
    method: str, fields: dict[str, str]
) -> None:
    drafts = f"--speculative-config.method {method} --speculative-config.num_speculative_tokens 3"
    assert of_text(f"vllm serve zai-org/GLM-4.5 {drafts}", "serve.sh").fields == fields


def test_drafts_of_sglang_are_played_by_a_scheduler_that_knows_them() -> None:
    text = f"""python -m sglang.launch_server --model-path {MIXED} --tp 2 \\
  --max-running-requests 48 --chunked-prefill-size 4096 --disable-radix-cache \\
  --speculative-algorithm EAGLE \\
  --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 \\
  --speculative-draft-model-path a/b
"""
    with pytest.warns(match="drafts are played by vLLM's scheduler"):
        launch = of_text(text, "serve.sh")
    assert (launch.engine, launch.fields) == ("vllm", {
        "tp": "2", "max_num_seqs": "48", "max_num_batched_tokens": "4096",
        "enable_prefix_caching": "off", "draft": "mtp", "num_speculative_tokens": "3",
        "acceptance": "0.69",
    })  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--enforce-eager", "the host may not keep up with small batches"),
        (
            "--max-num-seqs $N",
            r"uses \$N, which the script does not set; taken as usual \(--set max",
        ),
        (
            f"\nvllm serve {MIXED} -tp 4",
            "starts others, too; read is the first, and 1 are left out",
        ),
    ],
)
def test_what_is_taken_as_usual_or_left_out_is_a_note(flags: str, told: str) -> None:
    with pytest.warns(match=told):
        assert of_text(f"vllm serve {MIXED} -tp 2 {flags}", "serve.sh").fields == {"tp": "2"}


def test_what_is_shown_or_may_not_run_starts_nothing_else() -> None:
    text = f"echo vllm serve x\nif which vllm; then\nexec vllm serve {MIXED} -tp 2\nfi\n"
    with pytest.warns(match="line 2 makes it depend on a condition, which is taken to hold"):
        launch = of_text(text, "serve.sh")
    assert (launch.fields, launch.replicas) == ({"tp": "2"}, 1)


def test_what_an_engine_has_no_flag_for_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as told:
        emit(asked(1, "vllm", {"tp": 1, "start": "60s"}, "test"), DENSE)
    assert told.value.where == "start_s"
    with pytest.raises(ConfigError, match="a rank of 16 devices is on one host of 8"):
        emit(asked(1, "vllm", {"tp": 16, "dp": 2}, "test"), MIXED)


def test_the_cheapest_is_written_with_its_pools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from yantra.cli.emitted import write_serving
    from yantra.fabric import clusters
    from yantra.serving.search.candidates import Candidate
    from yantra.serving.search.search import Found, Tried

    machine = clusters.load("hgx-h100")
    one, other = (Candidate(machine, asked(1, "vllm", {"tp": tp}, "test")) for tp in (1, 2))
    apart = Tried("apart", ((3, "prefill", one), (2, "decode", other)), 1.0, 7, None, "")
    write_serving("llama3-8b", Found((apart,), (), 1, 0, True), str(tmp_path), quiet=False)
    said = f"--prefill {tmp_path}/prefill.sh --decode {tmp_path}/decode.sh --cluster hgx-h100"
    assert said in capsys.readouterr().out
    for role, count, tp in (("prefill", 3, 1), ("decode", 2, 2)):
        back = of_text((tmp_path / f"{role}.sh").read_text(), "x", role=role)
        assert (back.replicas, back.fields["tp"]) == (count, str(tp))


@pytest.mark.parametrize("engine", OPTIONS)
@settings(max_examples=2, deadline=None, derandomize=True)
@given(data=st.data())
def test_pools_of_prefill_and_decode_come_back_with_their_times(
    engine: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    of = {role: data.draw(pools(engine)) for role in ("prefill", "decode")}
    model = of["prefill"][0]
    given_pools = {
        role: asked(count, engine, fields | ({"ep": 1, "dp": 1} if other != model else {}), role)
        for role, (other, count, fields) in of.items()
    }
    files = emit_apart(given_pools, model)
    folder = tmp_path_factory.mktemp("apart")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        if name.endswith(".sh"):
            subprocess.run(["bash", "-n", str(folder / name)], check=True)
    scripts = {role: str(folder / f"{role}.sh") for role in of}
    told: dict[str, Any] = {"cluster": "hgx-h100", "requests": REQUESTS, "stack": "roofline"}
    by_file = serve(**scripts, **told, intervals=False)
    for role, pool in given_pools.items():
        back = dict(by_file.question.pools)[role]
        assert back._replace(options=pool.options) == pool
        usual = {name: option[0] for name, option in options_of(engine).items()}
        assert usual | back.options == usual | pool.options


@pytest.mark.parametrize("engine", OPTIONS)
def test_the_router_knows_every_replica(engine: str, tmp_path: Path) -> None:
    some = {"prefill": asked(2, engine, {}, "x"), "decode": asked(1, engine, {}, "x")}
    files = emit_apart(some, DENSE)
    *parts, service, router = yaml.safe_load_all(files["kubernetes.yaml"])
    assert service["metadata"] == router["metadata"]
    sets = {one["metadata"]["name"]: one["spec"] for one in parts if one["kind"] == "StatefulSet"}
    hosts = [
        f"{name}-{at}.{one['serviceName']}"
        for name, one in sets.items()
        for at in range(one["replicas"])
    ]
    line = router["spec"]["template"]["spec"]["containers"][0]["command"][-1]
    assert re.findall(r"http://([^:]+):", line) == hosts
    route = tmp_path / "route.sh"
    route.write_text(files["route.sh"].replace("exec ", "echo "), encoding="utf-8")
    env = {"PREFILL": "a:30001 b:30002", "DECODE": "c:30001", "PATH": os.environ["PATH"]}
    done = subprocess.run(["bash", str(route)], env=env, capture_output=True, text=True, check=True)
    ports = " 8999", " 9000"
    first, second = ports if engine == "sglang" else ("", "")
    given_hosts = f"--prefill http://a:30001{first} --prefill http://b:30002{second}"
    assert f"{given_hosts} --decode http://c:30001 --host" in done.stdout


APART = """
vllm serve Qwen/Qwen3-8B -tp 2 --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"X"}'
vllm serve Qwen/Qwen3-8B -tp 4 --kv-transfer-config.kv_connector NixlConnector \\
  --kv-transfer-config.kv_role kv_consumer
"""


def test_a_script_that_starts_both_pools_is_read_by_role() -> None:
    text = APART.replace("X", "kv_producer")
    assert of_text(text, "x", role="prefill").fields == {"tp": "2"}
    assert of_text(text, "x", role="decode").fields == {"tp": "4"}
    with pytest.raises(ConfigError, match="engines for decode and prefill; give it as --prefill"):
        of_text(text, "x")
    either = text.splitlines()[1].replace("kv_producer", "kv_both")
    for role in ("prefill", "decode"):
        assert of_text(either, "x", role=role).fields == {"tp": "2"}
    for wrong, problem in (
        (text.replace("kv_producer", "producer"), "kv_role one of"),
        (text.replace("NixlConnector", "LMCacheConnectorV1"), "given as --set host_kv"),
    ):
        with pytest.raises(ConfigError, match=problem):
            of_text(wrong, "x", role="decode")
    with pytest.raises(ConfigError, match="starts no engine for decode alone"):
        of_text("vllm serve Qwen/Qwen3-8B", "x", role="decode")


def test_a_list_behind_a_condition_that_fails_is_left_out() -> None:
    text = """
KIND="${KIND:-}"
MORE=(--max-num-seqs 8)
[ -n "$KIND" ] && MORE+=(--quantization "$KIND")
vllm serve "${1:-nvidia/Llama-3.3-70B-Instruct-FP8}" "${MORE[@]}"
"""
    launch = of_text(text, "serve.sh")
    assert (launch.model, launch.fields) == ("llama3-70b", {"max_num_seqs": "8", "dtype": "fp8"})
    narrow = of_text(text.replace(":-}", ":-awq}"), "serve.sh")
    assert narrow.fields == {"max_num_seqs": "8", "weight_dtype": "int4"}


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ --dtype half", {"weight_dtype": "int4", "dtype": "fp16"}),
        ("Qwen/Qwen3-8B-FP8 --dtype bfloat16", {"dtype": "fp8_block"}),
        ("openai/gpt-oss-20b --quantization mxfp4", {"weight_dtype": "int4"}),
        ("moonshotai/Kimi-K2-Instruct", {"dtype": "fp8_block"}),
        ("Qwen/Qwen3-8B", {}),
    ],
)
def test_weights_are_as_published_under_any_type_of_activations(
    model: str, fields: dict[str, str]
) -> None:
    assert of_text(f"vllm serve {model}", "serve.sh").fields == fields
    with pytest.raises(ConfigError, match="the model's id does not say its bits"):
        of_text(f"vllm serve {DENSE} --quantization compressed-tensors", "serve.sh")
