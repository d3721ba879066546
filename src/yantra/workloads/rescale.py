"""A training job, known by its traces, at another plan or of another size.

The job is solved for: sizes of the model come from the shapes of products, the number of layers and
the groups, the rest of the plan from what the file says of itself. It counts as known only if the
job made from all that equals the given one node for node; else nothing is written. The new job is
then made by the same rules, and recorded times follow the work of their operator.

Trade-off: exact where the rules are ours; a recording of PyTorch, whose operators are not, is
refused.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got
from yantra.chakra import Node, NodeType, Trace
from yantra.workloads.models import catalogue
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

PLAN = ("dp", "tp", "pp", "ep", "cp", "etp", "vpp", "micro_batch", "micro_batches", "zero")
"""Settings of the plan."""

SIZES = {"layers": ("num_layers",), "width": ("hidden_size", "ffn_hidden_size")}
"""Settings of the model, and the sizes that each scales; `width` also scales heads."""

_HEADS = ("num_attention_heads", "num_query_groups")
_LAYER = re.compile(r"layers\.(\d+)")
_NUMBER = re.compile(r"\d+")


class Job(NamedTuple):
    """What a workload was solved to."""

    model: Transformer | Model
    plan: Plan
    sequence: int


class Rescaled(NamedTuple):
    """The new workload, and sentences on what changed and what is kept."""

    workload: Workload
    changed: list[str]
    kept: list[str]


def rescale(given: Workload, settings: Sequence[str]) -> Rescaled:
    """The workload at other `settings`, each NAME=NUMBER or NAME=xFACTOR.

    Raises UnsupportedError where the file does not determine the job, ConfigError for settings that
    are unknown or do not fit the model.
    """
    old = solved(given)
    new, changed = _changed(old, settings)
    made = train(model_of(new.model), new.plan, new.sequence, framework=given.framework)
    made = _with_times(given, made)
    batches = new.plan.micro_batches
    kept = [f"{batches} micro-batches a rank"] if batches == old.plan.micro_batches else []
    kept += [
        f"{name} {getattr(old.plan, name)}"
        for name in ("tp", "cp", "pp", "dp", "ep", "zero", "micro_batch", "schedule", "recompute")
        if getattr(old.plan, name) == getattr(new.plan, name)
    ]
    if new.sequence == old.sequence:
        kept.append(f"sequences of {old.sequence} tokens")
    return Rescaled(made, changed, kept)


def solved(given: Workload) -> Job:
    """The job of a workload. Raises UnsupportedError where its traces do not determine it."""
    about = given.about if isinstance(given.about, dict) else {}
    plan = about.get("plan")
    name, sequence = about.get("model"), about.get("sequence")
    if about.get("kind") != "training" or not isinstance(plan, dict):
        raise UnsupportedError(
            f"{given.name}: does not say the plan of a training step, so how its operators split "
            "is not determined; expected what `yantra workload train` writes. One recorded rank of "
            "many: `yantra chakra convert pytorch --replicate RANKS -o NEW.yw` changes data "
            "parallelism"
        )
    found = Job(_described(given, str(name)), Plan.of(_known(plan)), int(str(sequence)))
    made = train(model_of(found.model), found.plan, found.sequence, framework=given.framework)
    unlike = _unlike(given, made)
    if unlike:
        raise UnsupportedError(
            f"{given.name}: is not determined by its shapes, groups and plan: {unlike}; make it "
            "from the model with `yantra workload train`"
        )
    return found


def _known(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plan.items() if name in Plan.field_names}


def _described(given: Workload, name: str) -> Transformer | Model:
    if not catalogue.is_known(name):
        raise UnsupportedError(
            f"{given.name}: its model '{name}' is not in the catalogue (yantra workload show), "
            "which gives what shapes do not tell"
        )
    described = catalogue.described(name)
    nodes = [node for template in given.templates for node in given.template(template)]
    layers = {int(found[1]) for node in nodes if (found := _LAYER.match(str(node.get("layer"))))}
    if isinstance(described, Model):
        return described.replace(layers=described.layers[: max(layers, default=-1) + 1])
    tp = given.grids[0].axes().get("tp", 1)
    sizes: dict[str, int] = {"num_layers": max(layers, default=-1) + 1}
    for node in nodes:
        sizes |= _sizes(node, tp)
    return described.replace(
        **described.patterns(sizes["num_layers"]),
        **{field: size for field, size in sizes.items() if getattr(described, field) != size},
    )


def _sizes(node: Node, tp: int) -> dict[str, int]:
    """Sizes of the model that the forward pass of a node shows."""
    if node.get("phase") != "forward" or node.type != NodeType.COMP:
        return {}
    get = {one.name: one.value for one in node.attributes if isinstance(one.value, int)}
    if node.name.endswith(".attention.core") and "head_dim" in get and "heads" in get:
        return {"num_attention_heads": get["heads"] * tp}
    if node.name.endswith(".attention.qkv") and "k" in get:
        return {"hidden_size": get["k"]}
    if node.name.endswith(".mlp.down") and ".moe." not in node.name and "k" in get:
        return {"ffn_hidden_size": get["k"] * tp}
    return {}


def _unlike(given: Workload, made: Workload) -> str:
    if given.grids != made.grids or given.groups != made.groups:
        return "its groups are others"
    if given.templates != made.templates:
        return f"it has the templates {', '.join(given.templates)}"
    for name in given.templates:
        old, new = given.template(name), made.template(name)
        if len(old) != len(new):
            return f"template {name} has {len(old)} nodes, expected {len(new)}"
        for one, other in zip(old, new, strict=True):
            if _facts(one) != _facts(other):
                return f"{one.label} of template {name} is not as expected"
    return ""


def _facts(node: Node) -> tuple[object, ...]:
    timed = ("duration_ns", "start_time_ns")
    attributes = [(one.name, one.value) for one in node.attributes if one.name not in timed]
    return node.name, node.type, node.data_deps, node.ctrl_deps, attributes


def _changed(old: Job, settings: Sequence[str]) -> tuple[Job, list[str]]:
    plan, sizes, sequence = dict[str, Any](), dict[str, Any](), old.sequence
    told = []
    batches = old.plan.micro_batches
    for setting in settings:
        name, _, text = setting.partition("=")
        if name in SIZES:
            sizes |= _resized(old.model, name, text)
        elif name == "sequence":
            sequence = _value(name, text, old.sequence)
        elif name == "micro_batches":
            batches = _value(name, text, batches)
        elif name in PLAN:
            plan[name] = _value(name, text, getattr(old.plan, name))
        else:
            known = (*PLAN, *SIZES, "sequence")
            hint = did_you_mean(name, known) or f"; expected one of {', '.join(known)}"
            raise ConfigError(f"--set {setting}", f"unknown setting{hint}")
        told.append(setting)
    if not told:
        raise ConfigError("--set", "nothing is changed; expected NAME=NUMBER or NAME=xFACTOR")
    values = _chosen(old.plan) | plan
    values["global_batch"] = values["micro_batch"] * values["dp"] * batches
    model = old.model.replace(**sizes) if sizes else old.model
    return Job(model, Plan.of(values), sequence), told


def _chosen(plan: Plan) -> dict[str, Any]:
    """The sizes of a plan, and what is not usual for them: the rest follows the new sizes."""
    sizes = {name: getattr(plan, name) for name in PLAN if name != "micro_batches"}
    usual = Plan.of({**sizes, "global_batch": plan.global_batch})
    others = {name: getattr(plan, name) for name in Plan.field_names if name not in sizes}
    return sizes | {name: value for name, value in others.items() if value != getattr(usual, name)}


def _resized(model: Transformer | Model, name: str, text: str) -> dict[str, Any]:
    if isinstance(model, Model):
        if name != "layers":
            raise ConfigError(
                name, f"{model.name} is made of blocks, whose width is not one number"
            )
        count = _value(name, text, len(model.layers))
        whole = model_of(catalogue.described(model.name)).layers
        if not 1 <= count <= len(whole):
            raise ConfigError(f"--set {name}", f"{model.name} has {len(whole)}; got {count}")
        return {"layers": whole[:count]}
    sizes: dict[str, Any] = {
        field: _value(name, text, getattr(model, field)) for field in SIZES[name][:1]
    }
    if name == "layers":
        sizes |= model.patterns(sizes["num_layers"])
    if name == "width":
        factor = Fraction(sizes["hidden_size"], model.hidden_size)
        for field in (*SIZES[name][1:], *_HEADS, "moe_ffn_hidden_size"):
            size = getattr(model, field)
            if size:
                sizes[field] = _whole(name, size * factor)
    return sizes


def _value(name: str, text: str, old: int) -> int:
    factor = text[1:] if text.startswith("x") else ""
    try:
        value = Fraction(factor) * old if factor else Fraction(int(text))
    except (ValueError, ZeroDivisionError):
        problem = expected_got("a whole number, or x and a factor such as x2 or x0.5", text)
        raise ConfigError(f"--set {name}", problem) from None
    return _whole(name, value)


def _whole(name: str, value: Fraction) -> int:
    if value.denominator != 1 or not 0 <= value < 1 << 31:
        raise ConfigError(f"--set {name}", expected_got("a whole number", float(value)))
    return int(value)


def _with_times(given: Workload, made: Workload) -> Workload:
    """Recorded durations per operation (byte, node) of an operator, else of its class, times what
    it does now.
    """
    rates = _rates(given)
    if not rates:
        return made
    templates = {}
    for name in made.templates:
        nodes = list(made.template(name))
        for node in nodes:
            if node.type == NodeType.COMP:
                node.duration_micros = round(_rate(rates, node) * _work(node))
        templates[name] = Trace(nodes, made.template(name).metadata)
    sections = {key: part for key, part in made.sections.items() if key != "totals"}
    return Workload(
        grids=made.grids,
        groups=made.groups,
        classes=made.classes,
        templates=templates,
        sections=sections,
    )


def _rates(given: Workload) -> dict[str, float]:
    took: Counter[str] = Counter()
    done: defaultdict[str, int] = defaultdict(int)
    for node in _computations(given):
        for name in (_operator(node), str(node.get("op_class"))):
            took[name] += node.duration_micros
            done[name] += _work(node)
    return {name: took[name] / done[name] for name in took} if any(took.values()) else {}


def _rate(rates: Mapping[str, float], node: Node) -> float:
    found = rates.get(_operator(node), rates.get(str(node.get("op_class"))))
    if found is None:
        raise UnsupportedError(
            f"{node.name}: no operator of its class was recorded, so its time is not determined"
        )
    return found


def _computations(given: Workload) -> Iterator[Node]:
    for name in given.templates:
        yield from (node for node in given.template(name) if node.type == NodeType.COMP)


def _operator(node: Node) -> str:
    return f"{_NUMBER.sub('*', node.name)} {node.get('phase')!s}"


def _work(node: Node) -> int:
    values: Iterable[object] = (node.get(name) for name in ("num_ops", "tensor_size"))
    return next((value for value in values if isinstance(value, int) and value > 0), 1)
