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

from yantra.base.fields import named
from yantra.compile import compile_like
from yantra.compile.slowdown import class_of, is_inference
from yantra.compute.families.machine import OF_ANOTHER
from yantra.fabric.stacks.choice import TOO_FAST, UNKNOWN
from yantra.result.figures import Interval
from yantra.result.what_ran import about_of, plan_of, whole
from yantra.scenario.types import CHANGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from yantra.compile import Model
    from yantra.result import Result

STEP = 0.02
_NINETY = 1.6449  # standard deviations of a normal's central 90 %
_CLASSES = ("products", "attention", "rest")


def interval(result: Result) -> Interval | None:
    """A run's interval; None if no stack states one."""
    model = result.model
    stack = model.scenario.stack
    if stack is None or not stack.interval:
        return None
    stated = stated_by_stack(model)
    if of_another(model):
        stated = stated_of(model, responses(result), class_widths(model))
    return Interval(*bounds(stated), rests_on(model))


def stated_of(model: Model, shares: NDArray[np.float64], widths: Sequence[float]) -> float:
    """The stack's half-width for such a plan, as a logarithm.

    For tables scaled from another device the classes' error comes on top.
    """
    stated = stated_by_stack(model)
    if not of_another(model):
        return stated
    return hypot(stated, _NINETY * of_classes(shares, widths))


def of_another(model: Model) -> bool:
    """Whether some kernels' tables are scaled from another device."""
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


def of_classes(shares: NDArray[np.float64], widths: Sequence[float]) -> float:
    import numpy as np

    return sqrt(float(np.sum((shares * np.array(widths)) ** 2)))


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
    return [width / time if time else 0.0 for width, time in sums.values()]


def rests_on(model: Model) -> str:
    stack = model.scenario.stack
    said = [timed.basis for timed in model.kernels if timed.basis]
    said += model.rests_on
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
