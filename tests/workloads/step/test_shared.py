"""Stages of equal layers share works, drafts and passes; the templates do not change by it."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.property.test_usual_graphs import told
from tests.zoo import drawn
from yantra import _core
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import Trace
from yantra.chakra.playing import Moved
from yantra.workloads import schedules
from yantra.workloads.models.catalogue import find
from yantra.workloads.models.model import Model
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training import stage
from yantra.workloads.training.train import step_of, train, works_of

SEQUENCE = 256
SETTING = stage.setting_of(Plan(global_batch=1), SEQUENCE)
SCHEDULES = ("1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "dualpipe", "dualpipev")


def shortened(name: str) -> Model:
    model = find(name)
    return model.replace(layers=model.layers[:8])


MODELS = {
    name: shortened(name)
    for name in ("llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gpt3-13b", "mamba2-2.7b")
}


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw plans of any parallelism; a model refuses many of them."""
    chosen = {
        "tp": draw(st.sampled_from((1, 2))),
        "cp": draw(st.sampled_from((1, 1, 2))),
        "pp": draw(st.sampled_from((1, 2, 4))),
        "dp": draw(st.sampled_from((1, 2, 4))),
        "ep": draw(st.sampled_from((1, 1, 2, 4))),
        "zero": draw(st.integers(0, 3)),
        "schedule": draw(st.sampled_from(SCHEDULES)),
        "recompute": draw(st.sampled_from(("none", "selective", "full", "operators"))),
        "overlap_gradients": draw(st.booleans()),
        "overlap_parameters": draw(st.booleans()),
        "overlap_p2p": draw(st.booleans()),
        "offload_activations": draw(st.sampled_from((False, False, True))),
        "bucket_elements": draw(st.sampled_from((None, 10**7))),
    }
    chosen["vpp"] = 2 if chosen["schedule"] == "interleaved" else 1
    chosen["global_batch"] = chosen["dp"] * draw(st.sampled_from((2, 4, 8)))
    try:
        return Plan(**chosen)
    except ConfigError:
        assume(False)
        raise


@drawn(25)
@given(st.sampled_from(sorted(MODELS)), plans())
def test_templates_are_those_of_stages_that_share_nothing(name: str, plan: Plan) -> None:
    model = MODELS[name]
    try:
        made = train(model, plan, SEQUENCE)
    except (ConfigError, UnsupportedError):
        assume(False)
        raise
    schedule = schedules.get(plan.schedule)
    stages = schedule.stages(plan.pp, plan.vpp)
    works = works_of(model, plan, SEQUENCE, stages.count)
    orders = schedule.orders(plan.pp, plan.micro_batches, plan.vpp)
    alone = step_of(works, plan, orders, stages)
    for device in range(stages.devices):
        template = alone.job.template(device, alone.passes[device], alone.ends[device])
        assert made.template_bytes(f"stage{device}") == template.to_bytes()
    assert made.memory == {f"stage{n}": one.as_dict() for n, one in enumerate(alone.memory)}


@settings(max_examples=20, deadline=None)
@given(plans())
def test_items_of_shared_passes_have_the_names_of_their_own_layers(plan: Plan) -> None:
    model = MODELS["llama3-8b"]
    try:
        train(model, plan, SEQUENCE)
    except (ConfigError, UnsupportedError):
        assume(False)
    from yantra.workloads.training.train import steps_of

    (step,) = steps_of(model, plan, SEQUENCE)
    schedule = schedules.get(plan.schedule)
    stages = schedule.stages(plan.pp, plan.vpp)
    orders = schedule.orders(plan.pp, plan.micro_batches, plan.vpp)
    alone = step_of(works_of(model, plan, SEQUENCE, stages.count), plan, orders, stages)
    for shared, own in zip(step.passes, alone.passes, strict=True):
        assert {key: one.items for key, one in shared.items()} == {
            key: one.items for key, one in own.items()
        }


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("layers.3.mlp.gate", "layers.5.mlp.gate"),
        ("reduce layers.9 to layers.12", "reduce layers.11 to layers.14"),
        ("gather layers.0 experts", "gather layers.2 experts"),
        ("embedding", "embedding"),
        ("layers.x layers.", "layers.x layers."),
        ("sublayers.3", "sublayers.3"),
        ("", ""),
    ],
)
def test_numbers_of_layers_move_where_a_word_begins_with_them(text: str, moved: str) -> None:
    assert Moved(layers=2).text(text) == moved


def test_a_workload_goes_to_another_process_with_what_was_put_off() -> None:
    made = train(MODELS["llama3-8b"], Plan(pp=2, dp=2, global_batch=8), SEQUENCE)
    copy = pickle.loads(pickle.dumps(made))
    assert copy.schedule == made.schedule != ""
    assert copy.sections == made.sections
    assert [copy.template_bytes(name) for name in copy.templates] == [
        made.template_bytes(name) for name in made.templates
    ]


def test_a_template_is_the_same_before_and_after_its_bytes_were_asked_for() -> None:
    made = train(MODELS["gpt3-13b"], Plan(tp=2, pp=2, global_batch=4), SEQUENCE)
    graph = made.graph("stage0", kernels=True)
    decoded = Trace.from_bytes(made.template_bytes("stage0")).graph(kernels=True)
    assert made.graph("stage0", kernels=True) is None
    assert told(graph) == told(decoded)
    assert kernels_of(graph) == kernels_of(decoded)


def kernels_of(graph: _core.Graph) -> list[object]:
    table = _core.KernelTable(
        may_communicate=False,
        flops=True,
        bytes=True,
        missing_is_cpu_op_means_cpu=False,
        whole_microseconds=False,
    )
    assert table.add(graph, 1) == []
    names = ("op_class", "dtype", "phase", "flops", "bytes", "recorded_ns", "count")
    columns: list[object] = [list(getattr(table, name)) for name in names]
    sizes = [list(table.size(name)) for name in ("batch", "m", "n", "k")]
    return [*columns, sizes, table.op_classes, table.dtypes, table.phases]


def test_plans_that_differ_in_their_replicas_share_the_graphs_of_their_stages() -> None:
    model = MODELS["llama3-8b"]
    stage._built.cache_clear()
    works = [
        stage.StageWorks(model, Plan(tp=2, pp=4, dp=dp, global_batch=16), SEQUENCE)
        .of((2, 4), front=False, tail=False)
        .work
        for dp in (1, 2, 4)
    ]
    assert works[0] is works[1] is works[2]


def test_blocks_that_ask_for_the_replicas_of_experts_have_a_graph_for_each_number() -> None:
    asked = []

    def make(axes: object) -> int:
        setting = stage._setting(tuple(SETTING._replace(axes=())), axes)
        asked.append(setting.ways("tp"))
        return setting.ways("edp")

    def made(_: object, axes: object) -> int:
        return make(axes)

    found = [
        stage._shared(made, (), SETTING._replace(axes={"tp": 2, "edp": edp})) for edp in (1, 4)
    ]
    assert found == [1, 4]
    assert asked == [2] * 4
