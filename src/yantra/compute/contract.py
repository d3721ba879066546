"""The laws every compute model keeps, and a command that checks one against them.

python -m yantra.compute.contract fixed_efficiency
python -m yantra.compute.contract path/to/my_model.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from yantra.base import contract
from yantra.base.contract import Contract, asked
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.compute import model_of, models
from yantra.compute.answers import ask
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels, kernels
from yantra.compute.roofline import Roofline

DEVICES = (
    Device(peak_flops=1e15, memory_bytes_per_s=3e12),
    Device(peak_flops=1e13, memory_bytes_per_s=1e11),
)
_CLASSES = ("", "gemm", "attention", "norm", "elementwise", "conv", "scan", "never_heard_of")
_TYPES = ("", "fp32", "bf16", "fp8")
_FLOPS = (0, 1, 10**6, 10**9, 10**12, 10**15)
_BYTES = (0, 1, 4096, 10**6, 10**9, 10**11)
_ROUNDING = 1e-9
_PRODUCT = 4096

Law = Callable[[ComputeModel, Device], str | None]


def probes() -> Kernels:
    rows = list(product(_CLASSES, _TYPES, _FLOPS, _BYTES))
    classes, types, flops, sizes = zip(*rows, strict=True)
    side = [_PRODUCT if name == "gemm" and work == 10**12 else 0 for name, _, work, _ in rows]
    recorded = [1000 + work // 10**9 for _, _, work, _ in rows]
    return kernels(flops, sizes, classes, types, recorded_ns=recorded, m=side, n=side, k=side)


def every_kernel_has_a_duration(model: ComputeModel, device: Device) -> str | None:
    rows = probes()
    try:
        ask(model, rows, device, "it")
        ask(model, rows.take(slice(0, 0)), device, "of no kernels, it")
    except ConfigError as error:
        return error.problem
    return None


def the_same_is_said_twice(model: ComputeModel, device: Device) -> str | None:
    """An answer depends on nothing but what is asked."""
    first, second = _answer(model, probes(), device), _answer(model, probes(), device)
    return _difference(first, second, "asked twice, it says")


def the_order_of_rows_does_not_matter(model: ComputeModel, device: Device) -> str | None:
    """Each row has its answer at any place."""
    rows = probes()
    order = np.arange(len(rows))[::-1]
    answer, other = _answer(model, rows, device), _answer(model, rows.take(order), device)
    back = Estimates(*(column[order] for column in other))
    return _difference(answer, back, "in reverse order, it says", rows)


def a_kernel_does_not_see_the_others(model: ComputeModel, device: Device) -> str | None:
    rows = probes()
    answer = _answer(model, rows, device)
    for row in range(0, len(rows), 41):
        alone = _answer(model, rows.take(slice(row, row + 1)), device)
        if alone.middle[0] != answer.middle[row]:
            among = f"{answer.middle[row]:g} among others"
            return f"{rows.describe(row)} takes {alone.middle[0]:g} ns alone, {among}"
    often = _answer(model, rows.replace(count=rows.count * 7), device)
    return _difference(answer, often, "where kernels run 7 times, it says", rows)


def no_kernel_beats_the_roofline(model: ComputeModel, device: Device) -> str | None:
    if model.may_beat_the_roofline:
        return None
    rows = probes()
    answer, bound = _answer(model, rows, device).low, _answer(Roofline(), rows, device).low
    wrong = answer < bound * (1 - _ROUNDING)
    if not wrong.any():
        return None
    row = int(wrong.argmax())
    return f"{rows.describe(row)} takes {answer[row]:g} ns, the roofline {bound[row]:g}"


def more_bytes_never_take_less(model: ComputeModel, device: Device) -> str | None:
    if model.from_recorded:
        return None
    rows = probes()
    middle = _answer(model, rows, device).middle.reshape(-1, len(_BYTES))
    wrong = (np.diff(middle) < 0).any(axis=1)
    if not wrong.any():
        return None
    first = int(wrong.argmax()) * len(_BYTES)
    times = ", ".join(f"{ns:g}" for ns in middle.reshape(-1)[first : first + len(_BYTES)])
    sizes = ", ".join(map(str, _BYTES))
    return f"{rows.describe(first)}: with {sizes} bytes it takes {times} ns"


def what_was_recorded_longer_never_takes_less(model: ComputeModel, device: Device) -> str | None:
    if not model.from_recorded:
        return None
    rows = probes()
    longer = _answer(model, rows.replace(recorded_ns=rows.recorded_ns * 2), device).middle
    wrong = longer < _answer(model, rows, device).middle
    if not wrong.any():
        return None
    return f"{rows.describe(int(wrong.argmax()))} takes less if recorded longer"


LAWS: tuple[Law, ...] = (
    every_kernel_has_a_duration,
    the_same_is_said_twice,
    the_order_of_rows_does_not_matter,
    a_kernel_does_not_see_the_others,
    no_kernel_beats_the_roofline,
    more_bytes_never_take_less,
    what_was_recorded_longer_never_takes_less,
)


def example_of(name: str, where: str | None = None) -> ComputeModel:
    """A model with its defaults, and its example for options without one."""
    example = models.get(name, where).example
    return model_of(Plugin(kind=name, options=tuple(example.items())) if example else name, where)


def violations(model: ComputeModel) -> Iterator[str]:
    for device in DEVICES:
        for law in LAWS:
            wrong = asked(law, model, device)
            if wrong:
                yield f"{law.__name__}: {wrong}"
                if law is every_kernel_has_a_duration:
                    return  # the others take it for granted


def summary(model: ComputeModel) -> str:
    """What was checked, and two kernels beside the roofline."""
    held = f"every law holds over {len(probes())} kernels on {len(DEVICES)} devices"
    return f"{held}\n{_figures(model)}" if model.needs else held


CONTRACT = Contract(
    kind="compute model",
    module="yantra.compute.contract",
    about="Check a compute model: its durations, and what simulations take for granted.",
    argument="a name (roofline), or a file with a line PLUGIN =",
    find=example_of,
    violations=violations,
    summary=summary,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the model on the command line; return the exit status."""
    return contract.main(CONTRACT, arguments)


def _answer(model: ComputeModel, rows: Kernels, device: Device) -> Estimates:
    return ask(model, rows, device, "it")


def _difference(
    first: Estimates, second: Estimates, when: str, rows: Kernels | None = None
) -> str | None:
    for name, one, other in zip(Estimates._fields, first, second, strict=True):
        if not np.array_equal(one, other):
            row = int((one != other).argmax())
            which = (rows or probes()).describe(row)
            return f"{which}: {when} {other[row]:g} ns for {name}, else {one[row]:g}"
    return None


def _figures(model: ComputeModel) -> str:
    side = _PRODUCT
    rows = kernels(
        [2 * side**3, 10 * side**2],
        [3 * 2 * side**2, 2 * 2 * side**2],
        ["gemm", "norm"],
        "bf16",
        recorded_ns=[0, 0],
        m=[side, side],
        n=[side, side],
        k=[side, 0],
    )
    answer = _answer(model, rows, DEVICES[0]).middle
    bound = _answer(Roofline(), rows, DEVICES[0]).middle
    gemm, norm = answer / bound
    return f"a product of {side} x {side} takes {gemm:.2f} x its roofline, a norm {norm:.2f} x"


if __name__ == "__main__":
    sys.exit(main())
