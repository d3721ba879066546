"""The interval of a run's time: as wide as its stack states, on both sides in the logarithm.

What a stack states is from held-out steps (conformal, `yantra.accuracy.splits`), and the errors of
their kernels are in it. For tables scaled from another device those of the classes (products,
attention, the rest) come on top: the width of a class follows from its kernels' low and high
estimates, which err together, and its share T_c of the time from a run with the class a little
longer. A lower bound where that changes the critical path: the longest path is convex in the
factors.

Sources: Vovk, Gammerman and Shafer, "Algorithmic learning in a random world", 2005.
"""

from __future__ import annotations

from math import exp, hypot, sqrt
from typing import TYPE_CHECKING

from yantra.base.fields import Plugin, kind_of, named
from yantra.compile import compile_like
from yantra.compile.slowdown import class_of, is_inference
from yantra.fabric.stacks.choice import TOO_FAST, UNKNOWN
from yantra.result.carried import KIND, carried_of, is_carried
from yantra.result.figures import Interval
from yantra.result.what_ran import about_of, plan_of, whole
from yantra.scenario.types import CHANGED, Device, Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from yantra.compile import Model
    from yantra.result import Result

    Shares = Sequence[float] | NDArray[np.float64]

STEP = 0.02
COPIED = 0.53
"""The logarithm by which kernel times copied from another GPU err in nine of ten cases: five models
on H100 and MI300X (TraceLens' public pairs): 0.34, 0.06, 0.23, 0.27, 0.53."""
_NINETY = 1.6449  # standard deviations of a normal's central 90 %
_CLASSES = ("products", "attention", "rest")


def interval(result: Result) -> Interval | None:
    """A run's interval; None if no stack states one."""
    model = result.model
    if is_carried(model):
        return _of_carried(result)
    stack = model.scenario.stack
    if stack is None or not stack.interval or not result.makespan_ns:
        return None
    shares, widths = (responses(result), class_widths(model)) if of_another(model) else ((), ())
    stated = hypot(stated_of(model, shares, widths), COPIED * model.graphs.kept)
    low, high = bounds(stated)
    if model.kernels:
        from yantra.compile.capped import soonest

        low *= soonest(model.kernels)
    return Interval(low, high, rests_on(model), away(model) or None)


def _of_carried(result: Result) -> Interval:
    """A recording on another GPU, from runs at the low and at the high end of all its kernels.

    Classes err apart, so either way counts as much as their sum in quadrature over the plain one.
    """
    from yantra.run.simulate import run

    whole = result.makespan_ns
    rows = carried_of(result.model).get("carried")
    if not rows:
        return Interval(1.0, 1.0, rests_on(result.model))
    all_, *classes = rows
    bounds = []
    for end in ("low", "high"):
        model = compile_like(result.model, _at_end(result.model.scenario, end))
        moved = run(model, like=result).makespan_ns / whole - 1.0 if whole else 0.0
        together = sum(abs(row[f"{end}_ns"] - row["ns"]) for row in classes)
        apart = abs(all_[f"{end}_ns"] - all_["ns"])
        bounds.append(1.0 + moved * (apart / together if together else 0.0))
    return Interval(min(*bounds, 1.0), max(*bounds, 1.0), rests_on(result.model))


def _at_end(scenario: Scenario, end: str) -> Scenario:
    def at(device: Device) -> Device:
        if kind_of(device.compute) != KIND:
            return device
        assert isinstance(device.compute, Plugin)
        options = dict(device.compute.options) | {"estimate": end}
        return device.replace(compute=device.compute.replace(options=tuple(options.items())))

    others = tuple(part.replace(device=at(part.device)) for part in scenario.devices)
    return scenario.replace(device=at(scenario.device), devices=others)


def away(model: Model) -> float:
    """How far the nearest measured step is; 0 if unknown."""
    stack, plan = model.scenario.stack, plan_of(about_of(model))
    return 0.0 if stack is None else stack.distance(whole(plan, "tp"))


def stated_of(model: Model, shares: Shares, widths: Sequence[float]) -> float:
    """The stack's half-width for such a plan, as a logarithm, with what comes on top."""
    return hypot(stated_by_stack(model), beside(model, shares, widths))


def beside(model: Model, shares: Shares, widths: Sequence[float]) -> float:
    """What comes on top: attention whose library nobody knows, tables scaled from another device.

    The share of attention is that of kernel time, so a run needs no other.
    """
    stack = model.scenario.stack
    assert stack is not None
    of_attention = 0.0
    if stack.attention_apart and not (stack.graphs == "inference" and _is_inference(model)):
        of_class = [time for _, time in _class_times(model)]
        of_attention = stack.attention_apart * of_class[1] / (sum(of_class) or 1.0)
    scaled = of_classes(shares, widths) if of_another(model) else 0.0
    return _NINETY * hypot(of_attention, scaled)


def of_another(model: Model) -> bool:
    """Whether some kernels' tables are scaled from another device."""
    if not model.kernels:
        return False

    from yantra.compute.families.machine import OF_ANOTHER

    return any(OF_ANOTHER in timed.basis for timed in model.kernels)


def stated_by_stack(model: Model) -> float:
    """The half-width in the stack's file for such a plan; 0 for none."""
    stack, plan = model.scenario.stack, plan_of(about_of(model))
    assert stack is not None
    if stack.graphs == "inference" and stack.graphs_interval and _is_inference(model):
        return stack.graphs_interval
    return stack.interval_of(whole(plan, "tp"), whole(plan, "micro_batch"))


def _is_inference(model: Model) -> bool:
    return bool(model.kernels) and all(is_inference(timed.kernels) for timed in model.kernels)


def of_classes(shares: Shares, widths: Sequence[float]) -> float:
    import numpy as np

    return sqrt(float(np.sum((np.array(shares) * np.array(widths)) ** 2)))


def bounds(stated: float) -> tuple[float, float]:
    """Shares of the time that bound 90 of 100, where a half-width is stated as a logarithm."""
    return exp(-stated), exp(stated)


def responses(result: Result) -> NDArray[np.float64]:
    import numpy as np

    from yantra.run.simulate import run

    scenario, whole = result.model.scenario, result.makespan_ns
    stack = scenario.stack
    assert stack is not None
    found = []
    for name in _CLASSES[:-1]:
        longer = stack.replace(**{name: getattr(stack, name) * (1.0 + STEP)})
        model = compile_like(result.model, scenario.replace(stack=longer))
        other = run(model, like=result).makespan_ns
        found.append(max(other / whole - 1.0, 0.0) / STEP)
    return np.array([*found, max(1.0 - sum(found), 0.0)])


def class_widths(model: Model) -> list[float]:
    return [width / time if time else 0.0 for width, time in _class_times(model)]


def _class_times(model: Model) -> list[list[float]]:
    """Of each class its time times its kernels' widths, and its time."""
    import numpy as np

    sums = {name: [0.0, 0.0] for name in _CLASSES}
    for timed in model.kernels:
        low, middle, high = timed.estimates
        known = (middle > 0) & (low > 0) & np.isfinite(high)
        width = np.zeros(len(middle))
        width[known] = np.log(high[known] / low[known]) / (2.0 * _NINETY)
        time = middle * timed.kernels.count
        for code, op_class in enumerate(timed.kernels.op_classes):
            rows = timed.kernels.op_class == code
            into = sums[class_of(op_class)]
            into[0] += float(np.sum((time * width)[rows]))
            into[1] += float(np.sum(time[rows]))
    return list(sums.values())


def rests_on(model: Model) -> str:
    stack = model.scenario.stack
    kept = model.graphs.kept
    said = [f"recorded times of {kept:.0%} of kernel time"] if kept else []
    if kept < 1.0:
        said += [timed.basis for timed in model.kernels if timed.basis]
    said += model.rests_on
    if caps := {of.power_cap_w for of in model.scenario.all_devices() if of.power_cap_w}:
        watts = ", ".join(f"{cap:g} W" for cap in sorted(caps))
        said.append(f"capped at {watts}: power above idle as linear in the clock")
    if is_carried(model):
        return "; ".join(dict.fromkeys(said))
    if stack is not None:
        terms = f"{stack.products:.2f}, {stack.attention:.2f} and {stack.rest:.2f}"
        made = (
            "a mixture of those here, with" if (stack.name or "").startswith(UNKNOWN) else "fitted"
        )
        fitted = f"{made} factors {terms} of products, attention and the rest"
        if stack.communication != 1.0:
            fitted += f", {stack.communication:.2f} of communication beside it"
        if {stack.products, stack.attention, stack.rest, stack.communication} == {1.0}:
            fitted = "nothing fitted"
        said.append(f"stack {stack.name or 'without a name'}: {fitted}")
        if far := away(model):
            said.append(f"the nearest measured step is {far:.0%} away")
    return "; ".join(dict.fromkeys(said))


def without_interval(model: Model) -> str:
    scenario = model.scenario
    name, machine = scenario.stack.name if scenario.stack else None, scenario.machine.name
    if scenario.semantics != "yantra":
        return f"rates alone, as {scenario.semantics} has them: no interval"
    if any(named(device.compute) == "recorded" for device in scenario.all_devices()):
        return "recorded durations: no interval"
    if machine is None or machine.endswith(CHANGED):
        return "your numbers: no interval"
    if name is not None and name in TOO_FAST:
        return f"stack {name}: no interval, and usually {TOO_FAST[name]} too fast"
    said = rests_on(model)
    return f"{said}: no interval" if said else "your numbers: no interval"
