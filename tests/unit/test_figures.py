"""Figures that runs are quoted by, against closed forms; and what ran, wherever shown."""

from __future__ import annotations

import json
import re
from math import exp, hypot, log
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.clusters import dimension
from tests.clusters import scenario as plain
from yantra.chakra import CollectiveType, Node, NodeType, Trace, TraceBuilder
from yantra.cli import main
from yantra.compute.power import UNJUDGED
from yantra.explain import compare
from yantra.explore.answers.best import best_plans
from yantra.explore.answers.words import why
from yantra.explore.closed_form.space import PlanSpace
from yantra.export.stored import load_result
from yantra.fabric import clusters
from yantra.result import Result
from yantra.result.energy import device_joules
from yantra.result.figures import Interval
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.types import Device, Machine, Topology
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.templates import RankClass, Workload, load
from yantra.workloads.templates.grid import Grid, Group
from yantra.workloads.training.train import train

SEQUENCE = 1024
GPT = "gpt3-1.3b"


def step(plan: Plan, **changes: Any) -> Scenario:
    work = train(GPT, plan, SEQUENCE)
    parts = cluster_parts("hgx-h100", plan.ranks, stack="roofline") | changes
    return Scenario(workload=Templates(workload=work), **parts)


def served(phase: Any, **job: Any) -> Result:
    work = infer("llama3-8b", InferencePlan(tp=2), phase=phase, **job)
    return simulate(Scenario(workload=Templates(workload=work), **cluster_parts("hgx-h100", 2)))


def test_tokens_per_second_are_the_sequences_of_a_step_over_its_time() -> None:
    result = simulate(step(Plan(dp=2, global_batch=8)))
    found = result.figures
    assert found.step_time_ns == result.makespan_ns
    assert found.tokens == 8 * SEQUENCE
    assert found.tokens_per_s == pytest.approx(8 * SEQUENCE / result.makespan_ns * 1e9)
    assert found.tokens_per_s_per_device == pytest.approx(found.tokens_per_s / 2)


@pytest.mark.parametrize("plan", [Plan(dp=2), Plan(tp=2), Plan(pp=2, global_batch=4)])
def test_the_flops_of_the_model_are_those_of_three_forward_passes_whatever_the_plan(
    plan: Plan,
) -> None:
    about = train(GPT, plan, SEQUENCE).about
    padded = about["model_flops"] / (3 * find(GPT).flops(SEQUENCE, plan.global_batch))
    assert 1 <= padded < 1.01  # a vocabulary is padded to be split


def test_mfu_is_the_flops_of_the_model_over_what_the_data_sheet_would_allow() -> None:
    scenario = step(Plan(dp=2, global_batch=4))
    result = simulate(scenario)
    needed = scenario.workload.workload.about["model_flops"]  # type: ignore[union-attr]
    could = 989.4e12 * 2 * result.makespan_ns / 1e9
    assert result.figures.mfu == pytest.approx(needed / could)
    assert result.figures.peak_flops == 989.4e12 and result.figures.peak_dtype == "bf16"


@pytest.mark.parametrize("factor", [1, 2**20, 2**40, 3**90])
def test_the_flops_of_a_workload_survive_its_file_whatever_their_size(
    factor: int, tmp_path: Path
) -> None:
    scenario = step(Plan(dp=2, global_batch=4))
    work = scenario.workload.workload  # type: ignore[union-attr]
    counts = {name: factor * work.about[name] for name in ("model_flops", "hardware_flops")}
    work.about.update(counts)
    work.save(tmp_path / "step.yw")
    read = load(tmp_path / "step.yw")
    assert {name: read.about[name] for name in counts} == counts
    result = simulate(scenario.replace(workload=Templates(workload=read)))
    could = 989.4e12 * 2 * result.makespan_ns / 1e9
    assert result.figures.mfu == pytest.approx(counts["model_flops"] / could)
    result.to_json(tmp_path / "result.json")
    kept = load_result(tmp_path / "result.json").figures
    assert kept == result.figures
    assert (kept.model_flops, kept.hardware_flops) == tuple(counts.values())


def test_hardware_does_more_than_the_model_needs_where_something_is_computed_again() -> None:
    whole = Plan(dp=2, recompute="none", flash_attention=False)
    for plan, again in (
        (whole, False),
        (whole.replace(recompute="selective"), True),
        (whole.replace(recompute="full"), True),
        (whole.replace(flash_attention=True), True),  # the fused backward repeats the scores
    ):
        found = simulate(step(plan)).figures
        assert found.mfu is not None and found.hfu is not None
        assert (found.hfu > found.mfu) == again
        assert found.hfu >= found.mfu


def test_twice_the_rates_give_twice_the_tokens_per_second() -> None:
    base = step(Plan(dp=2, global_batch=4))
    device, topology = base.device, base.topology
    faster = base.replace(
        device=device.replace(
            peak_flops=2 * device.peak_flops, memory_bytes_per_s=2 * device.memory_bytes_per_s
        ),
        topology=Topology(
            dimensions=tuple(
                one.replace(bytes_per_ns=2 * one.bytes_per_ns, latency_ns=one.latency_ns / 2)
                for one in topology.dimensions
            )
        ),
        collectives=base.collectives.replace(endpoint_delay_ns=0),
    )
    slower = base.replace(collectives=base.collectives.replace(endpoint_delay_ns=0))
    rates = [simulate(one).figures.tokens_per_s or 0 for one in (slower, faster)]
    assert rates[1] == pytest.approx(2 * rates[0], rel=1e-3)


def _equal_stages(stages: int, batches: int) -> Scenario:
    """A pipeline of equal stages and messages that take next to no time, forward passes only."""
    made = {f"stage{at}": _stage(at, stages, batches) for at in range(stages)}
    work = Workload(
        grids=[Grid("train", 0, {"dense": [("pp", stages)]})],
        groups={"world": Group("dense", ("pp",))},
        classes=[RankClass("train", {"pp": at}, name) for at, name in enumerate(made)],
        templates=made,
        sections={"about": {"kind": "training", "plan": {"pp": stages}}},
    )
    ring = dimension(size=stages, bytes_per_ns=1e6).replace(latency_ns=0.0)
    return plain([TraceBuilder()] * stages, ring).replace(workload=Templates(workload=work))


def _stage(at: int, stages: int, batches: int) -> Trace:
    nodes: list[Node] = []

    def add(name: str, type: NodeType, after: list[int], micros: int = 0, **given: Any) -> int:
        attributes = {"is_cpu_op": False, **given}
        nodes.append(Node(len(nodes), name, type, micros, after, (), attributes))
        return len(nodes) - 1

    before: list[int] = []
    for tag in range(batches):
        message = {"comm_size": 8, "comm_tag": tag}
        after = list(before)
        if at:
            after.append(add("recv", NodeType.COMM_RECV, [], comm_peer="pp-1", **message))
        before = [add("forward", NodeType.COMP, after, 1000)]
        if at < stages - 1:
            add("send", NodeType.COMM_SEND, before, comm_peer="pp+1", **message)
    meets = {"comm_type": int(CollectiveType.ALL_REDUCE), "comm_size": 4, "pg_name": "world"}
    add("meet", NodeType.COMM_COLL, before, **meets)
    return Trace(nodes)


@pytest.mark.parametrize(("stages", "batches"), [(2, 1), (2, 6), (4, 4), (4, 16), (8, 3)])
def test_the_bubble_of_equal_stages_is_that_of_gpipe(stages: int, batches: int) -> None:
    bubble = simulate(_equal_stages(stages, batches)).figures.bubble
    assert bubble == pytest.approx((stages - 1) / (batches + stages - 1), rel=1e-3)


def test_only_a_pipeline_has_a_bubble() -> None:
    assert simulate(step(Plan(dp=2))).figures.bubble is None


def test_more_micro_batches_make_the_bubble_smaller() -> None:
    plans = [Plan(pp=4, global_batch=batch) for batch in (4, 8, 32)]
    bubbles = [simulate(step(plan)).figures.bubble or 0 for plan in plans]
    assert sorted(bubbles, reverse=True) == bubbles and bubbles[0] > 1.5 * bubbles[2]


def test_a_folded_run_has_the_figures_of_a_whole_one() -> None:
    scenario = step(Plan(tp=2, pp=2, dp=8, global_batch=32))
    runs = [simulate(scenario.replace(fold=fold)) for fold in ("off", "require")]
    assert runs[0].figures == runs[1].figures and runs[1].outcome.folded


def test_headroom_is_what_the_worst_rank_leaves() -> None:
    scenario = step(Plan(pp=2, global_batch=2))
    peaks = scenario.workload.workload.peaks()  # type: ignore[union-attr]
    found = simulate(scenario).figures
    assert found.memory_need_bytes == max(peaks.values())
    assert found.memory_headroom_bytes == (80 - 4) * 2**30 - max(peaks.values())
    (said,) = [text for name, text in found.lines() if name == "memory"]
    assert " of 80 GiB less 4 GiB reserved, " in said


def test_a_prefill_has_the_time_to_the_first_token_and_a_decode_that_of_each() -> None:
    first = served("prefill", batch=2, prompt=512)
    assert first.figures.ttft_ns == first.makespan_ns and first.figures.tpot_ns is None
    assert first.figures.tokens == 1024
    later = served("decode", batch=8, context=512, iterations=4)
    assert later.figures.tpot_ns == later.makespan_ns / 4 and later.figures.ttft_ns is None
    assert later.figures.tokens_per_s == pytest.approx(32 / later.makespan_ns * 1e9)
    assert later.figures.mfu == later.figures.hfu


def test_the_cache_takes_its_share_of_what_weights_and_activations_leave() -> None:
    result = served("decode", batch=8, context=512)
    (part,) = result.model.graphs.workload.memory.values()  # type: ignore[attr-defined]
    room = int(80 * 2**30 * 0.9) - part["weights"] - part["activations"]
    assert result.figures.kv_cache_use == pytest.approx(part["cache"] / room)


def test_prompts_that_are_not_done_have_no_first_token() -> None:
    job = {"batch": 2, "prompt": 512, "max_num_batched_tokens": 256, "iterations": 1}
    assert served("prefill", **job).figures.ttft_ns is None


def test_cost_and_energy_are_there_where_price_and_power_are_stated() -> None:
    scenario = step(Plan(dp=2, global_batch=4))
    bare = scenario.machine.replace(price_usd_per_h=None, power_w=None)
    without = simulate(scenario.replace(machine=bare)).figures
    assert without.cost_usd is None and without.energy_kwh is None
    said = dict(without.lines())
    assert said["cost"] == "UNKNOWN: set cluster.machine.price"
    assert said["energy"] == "UNKNOWN: set cluster.machine.power"
    stated = scenario.machine.replace(price_usd_per_h=3.6, power_w=500.0)
    result = simulate(scenario.replace(machine=stated))
    seconds, found = result.makespan_ns / 1e9, result.figures
    assert found.cost_usd == pytest.approx(3.6 * 2 * seconds / 3600)
    joules = device_joules(result.model, result.outcome) or 0
    assert 0.5 * 500 * 2 * seconds < joules < 500 * 2 * seconds
    assert found.energy_kwh == pytest.approx(joules / 3.6e6)
    assert found.mean_power_w == pytest.approx(joules / 2 / seconds)
    assert found.usd_per_million_tokens == pytest.approx(
        (found.cost_usd or 0) / (4 * SEQUENCE) * 1e6
    )
    assert found.joules_per_token == pytest.approx(joules / (4 * SEQUENCE))
    assert found.kwh_per_million_tokens == pytest.approx((found.joules_per_token or 0) / 3.6)
    lines = dict(found.lines())
    assert lines["cost"].endswith(" at 3.6 USD/h; a point of MFU saves 0.000564")
    assert lines["energy"].endswith(f" tokens at {joules / 2 / seconds:.4g} of 500 W")


def test_what_tokens_cost_is_as_sure_as_the_time() -> None:
    found = simulate(step(Plan(dp=2, global_batch=4))).figures
    lines = dict(found.within(Interval(0.8, 1.3, "a guess")).lines())
    wide = exp(hypot(log(1.3), UNJUDGED))
    for name, each, low, high in (
        ("cost", found.usd_per_million_tokens or 0, 0.8, 1.3),
        ("energy", found.kwh_per_million_tokens or 0, 1 / wide, wide),
    ):
        assert f"{each:.4g} " in lines[name]
        assert f" ({low * each:.4g} to {high * each:.4g}, 90 %) at " in lines[name]


def test_a_cluster_file_states_price_and_power(tmp_path: Path) -> None:
    text = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    text = re.sub(r"(?m)^  (price|power): .*\n", "", text)
    stated = (
        'price: {value: 2.50 USD/h, source: "[dgx] x"}\n  power: {value: 0.7 kW, source: "[dgx] x"}'
    )
    path = tmp_path / "priced.yaml"
    path.write_text(text.replace("  memory_bandwidth:", f"  {stated}\n  memory_bandwidth:", 1))
    machine = cluster_parts(str(path), 8)["machine"]
    assert (machine.price_usd_per_h, machine.power_w) == (2.5, 700.0)
    path.write_text(path.read_text().replace("2.50 USD/h", "2.50"))
    with pytest.raises(Exception, match=r"device.price.value: a number needs its unit"):
        clusters.load(str(path))


OF_A_CLOUD = {"tpu-v4", "tpu-v5p", "tpu-v6e", "tpu7x", "trainium2"}
"""Machines that nobody owns but the cloud that rents them."""


def test_every_built_in_cluster_states_its_price_and_what_people_own_its_power() -> None:
    for name in clusters.names():
        numbers = dict(clusters.load(name).numbers())
        price = numbers["device.price"]
        assert price.source and ("list price not found" in price.source) == (
            price.basis == "estimate"
        )
        assert ("device.power" in numbers) == (name not in OF_A_CLOUD)


def test_the_cost_of_a_plan_is_price_x_time_x_devices_and_its_energy_no_more_than_power() -> None:
    space = PlanSpace(ranks=8, global_batch=8, sequence=SEQUENCE)
    answer = best_plans(find("llama3-8b"), "hgx-h100", space, top=2)
    for one in answer.ranked:
        hours, tokens = one.time_ns / 3.6e12, 8 * SEQUENCE
        assert one.cost_usd == pytest.approx(6.155 * 8 * hours)
        assert one.usd_per_million_tokens == pytest.approx((one.cost_usd or 0) / tokens * 1e6)
        most = 0.7 * 8 * hours / tokens * 1e6
        assert 0.22 * most < (one.kwh_per_million_tokens or 0) < most
    said = list(why(answer))
    assert "cost by a list price of 6.155 USD/h a device" in said
    assert any(line.startswith("1 takes ") and "the data sheet's 700 W" in line for line in said)


def test_a_cluster_without_price_and_power_gets_neither_from_a_plan(tmp_path: Path) -> None:
    text = Path(clusters.path_of("hgx-h100")).read_text(encoding="utf-8")
    path = tmp_path / "own.yaml"
    path.write_text(re.sub(r"(?m)^  (price|power): .*\n", "", text), encoding="utf-8")
    space = PlanSpace(ranks=8, global_batch=8, sequence=SEQUENCE)
    answer = best_plans(find("llama3-8b"), clusters.load(str(path)), space, top=1)
    best, said = answer.ranked[0], list(why(answer))
    assert best.cost_usd is None and best.kwh_per_million_tokens is None
    assert "no cost: the cluster states no price; give --price" in said
    assert "no energy: the cluster states no power" in said
    assert not [line for line in said if "kWh" in line]


def _traces() -> Scenario:
    trace = TraceBuilder()
    trace.compute(duration_micros=5)
    return plain([trace] * 4, dimension(size=4), device=Device(peak_flops=1e12))


def test_plain_traces_have_no_figures_and_name_their_network() -> None:
    result = simulate(_traces())
    assert result.figures.as_dict() == {}
    assert result.what_ran.clauses == (
        f"4 ranks, Ring 4, analytical network, Yantra {result.what_ran.yantra_version}",
    )


def test_another_device_under_the_name_of_a_cluster_is_told() -> None:
    from yantra import scenario as scenarios

    text = "workload: {traces: 't.{rank}.et'}\ncluster: {name: hgx-h100, ranks: 8%s}"
    same = scenarios.loads(text % "")
    other = scenarios.loads(text % ", device: {peak: 2 PFLOP/s}")
    own = scenarios.loads(text % ", machine: {price: 3 USD/h}")
    assert (same.machine.name, other.machine.name) == ("hgx-h100", "hgx-h100 (changed)")
    assert (same.machine.peak_flops, other.machine.peak_flops) == (989.4e12, 2e15)
    assert own.machine == same.machine.replace(price_usd_per_h=3.0)


@pytest.mark.parametrize(
    "wrong",
    [{"price_usd_per_h": -1.0}, {"power_w": 0.0}, {"name": ""}, {"memory_bytes": 1.5}],
)
def test_what_a_machine_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"cluster\.machine\."):
        _traces().replace(machine=Machine(**wrong))


def test_every_surface_names_what_ran_and_has_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train(GPT, Plan(tp=2, pp=2, global_batch=4), SEQUENCE).save("s.yw")
    run = ["run", "--workload", "s.yw", "--cluster", "hgx-h100", "--record"]
    assert main([*run, "-o", "r.json", "--report", "r.html"]) == 0
    head, *_ = capsys.readouterr().out.split("\n\n")
    form = json.loads(Path("r.json").read_text())
    named = [GPT, "training", "tp 2, pp 2", "4 x 1024 tokens", "hgx-h100", "analytical", "Yantra"]
    assert all(word in head for word in named)
    assert all(word in form["what_ran"]["text"] for word in named)
    lines = ["step time", "tokens/s", "MFU, HFU", "memory", "pipeline bubble", "cost", "energy"]
    named = [line[:15].strip() for line in head.splitlines()[2:]]
    assert [name for name in named if name] == [*lines, "rests on"]
    assert max(map(len, head.splitlines())) <= 80
    page = Path("r.html").read_text()
    assert f"<h1>{GPT}, tp 2, pp 2, 1f1b on hgx-h100: 4 ranks, " in page and "MFU, HFU" in page
    assert f"<title>{GPT}, tp 2, pp 2, 1f1b on hgx-h100: 4 ranks, " in page
    assert main(["sweep", "r.json"]) == 0
    _, row = capsys.readouterr().out.splitlines()
    assert f"{GPT}, tp 2, pp 2, 1f1b on hgx-h100, analytical" in row
    assert f"{100 * form['figures']['mfu']:.1f} %" in row
    for name in ("usd_per_million_tokens", "kwh_per_million_tokens"):
        assert f" {form['figures'][name]:.4g} " in row
    assert main(["explain", "r.json", "--no-runs"]) == 0
    assert capsys.readouterr().out.startswith(f"{GPT} training, tp 2, pp 2")
    schema = json.loads(
        (Path(clusters.__file__).parents[2] / "export" / "result.schema.json").read_text()
    )
    jsonschema.validate(form, schema)
    assert set(form["figures"]) <= set(schema["properties"]["figures"]["properties"])
    assert set(form["what_ran"]) == set(schema["properties"]["what_ran"]["properties"])


def test_a_comparison_names_both_and_has_their_figures_side_by_side(tmp_path: Path) -> None:
    one = simulate(step(Plan(tp=2, global_batch=2)), record=True)
    two = simulate(step(Plan(dp=2, global_batch=2)), record=True)
    found = compare(one, two)
    rows = {row["figure"]: row for row in found.data["figures"]}
    assert rows["mfu"]["a"] == one.figures.mfu and rows["mfu"]["b"] == two.figures.mfu
    words = found.text()
    assert words.startswith(f"a: {GPT} training, tp 2") and f"\nb: {GPT} training, dp 2" in words
    assert "\nMFU " in words and "\ntokens/s " in words
    found.to_report(tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text()
    title = f"<title>a ({GPT} on hgx-h100) and b ({GPT} on hgx-h100)"
    assert title in page and "Figures" in page


def test_a_result_of_an_older_version_is_compared_without_names(tmp_path: Path) -> None:
    form = simulate(_traces()).as_dict()
    old = {key: value for key, value in form.items() if key not in ("what_ran", "figures")}
    for name, one in (("new", form), ("old", old)):
        (tmp_path / f"{name}.json").write_text(json.dumps(one))
    words = compare(tmp_path / "old.json", tmp_path / "new.json", ("old", "new")).text()
    assert words.startswith("new: 4 ranks, Ring 4") and "Figures" not in words


def test_a_notebook_shows_the_same() -> None:
    result = simulate(step(Plan(tp=2)))
    html = result._repr_html_()
    assert result.what_ran.text in html and "MFU, HFU" in html
