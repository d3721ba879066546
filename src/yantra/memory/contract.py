"""The laws every memory model keeps, and a command that checks one against them.

python -m yantra.memory.contract infinite
python -m yantra.memory.contract path/to/my_model.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np

from yantra.base import contract
from yantra.base.contract import Contract, asked
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.memory import model_of, models
from yantra.memory.answers import ask
from yantra.memory.model import Accesses, MemoryModel, Sharing, Speeds, accesses

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPEEDS = (Speeds(0, 64.0), Speeds(1000, 25.0), Speeds(77, 3350.0))
_KNEES = (*(2**power for power in range(6, 41)), *(10**power for power in range(2, 13)))
_ROUNDING = 1e-12
_BYTES = (0, 1, *sorted({knee + side for knee in _KNEES for side in (-1, 0, 1)}))

Law = Callable[[MemoryModel, Speeds], str | None]


def probes() -> Accesses:
    return accesses(2 * _BYTES, [False] * len(_BYTES) + [True] * len(_BYTES))


def every_access_has_a_duration(model: MemoryModel, speeds: Speeds) -> str | None:
    if model.sharing not in get_args(Sharing):
        return f"sharing is {model.sharing!r}; expected one of {', '.join(get_args(Sharing))}"
    try:
        _answer(model, probes(), speeds)
        _answer(model, probes().take(slice(0, 0)), speeds)
    except ConfigError as error:
        return error.problem
    return None


def the_same_is_said_twice(model: MemoryModel, speeds: Speeds) -> str | None:
    first, second = _answer(model, probes(), speeds), _answer(model, probes(), speeds)
    return _difference(first, second, "asked twice, it says")


def the_order_of_rows_does_not_matter(model: MemoryModel, speeds: Speeds) -> str | None:
    order = np.arange(len(probes()))[::-1]
    back = _answer(model, probes().take(order), speeds)[order]
    return _difference(_answer(model, probes(), speeds), back, "in reverse order, it says")


def an_access_alone_takes_its_own_time(model: MemoryModel, speeds: Speeds) -> str | None:
    rows = probes()
    alone = [_answer(model, rows.take(slice(at, at + 1)), speeds)[0] for at in range(len(rows))]
    wrong = _difference(_answer(model, rows, speeds), np.array(alone), "alone, it takes")
    often = _answer(model, rows.replace(count=rows.count * 7), speeds)
    return wrong or _difference(_answer(model, rows, speeds), often, "7 times, it takes")


def more_bytes_never_take_less(model: MemoryModel, speeds: Speeds) -> str | None:
    rows = probes()
    ns = _answer(model, rows, speeds)
    for row in range(1, len(rows)):
        if rows.is_store[row] == rows.is_store[row - 1] and ns[row] < ns[row - 1]:
            return f"{rows.describe(row)} takes {ns[row]:g} ns, the one before it {ns[row - 1]:g}"
    return None


def every_access_takes_its_latency(model: MemoryModel, speeds: Speeds) -> str | None:
    rows = probes()
    ns = _answer(model, rows, speeds)
    wrong = ns != 0.0 if model.is_free else ns < speeds.latency_ns
    if not wrong.any():
        return None
    row = int(wrong.argmax())
    if model.is_free:
        return f"{rows.describe(row)} takes {ns[row]:g} ns, and the model claims that it is free"
    least = f"the memory has a latency of {speeds.latency_ns} ns"
    return f"{rows.describe(row)} takes {ns[row]:g} ns; {least}"


def bytes_take_time(model: MemoryModel, speeds: Speeds) -> str | None:
    rows = accesses([1, _BYTES[-1]], [False, False])
    few, many = _answer(model, rows, speeds)
    if model.is_free or many > few:
        return None
    return f"a load of {_BYTES[-1]} bytes takes {many:g} ns, one of a byte {few:g}"


def a_slower_memory_takes_no_less(model: MemoryModel, speeds: Speeds) -> str | None:
    rows, ns = probes(), _answer(model, probes(), speeds)
    half = speeds._replace(bytes_per_ns=speeds.bytes_per_ns / 2)
    for slower in (half, speeds._replace(latency_ns=speeds.latency_ns + 500)):
        after = _answer(model, rows, slower)
        if (after < ns * (1 - _ROUNDING)).any():
            row = int((after < ns * (1 - _ROUNDING)).argmax())
            memory = f"{slower.bytes_per_ns:g} bytes/ns after {slower.latency_ns} ns"
            return f"{rows.describe(row)} takes {ns[row]:g} ns, at {memory} it takes {after[row]:g}"
    return None


LAWS: tuple[Law, ...] = (
    every_access_has_a_duration,
    the_same_is_said_twice,
    the_order_of_rows_does_not_matter,
    an_access_alone_takes_its_own_time,
    more_bytes_never_take_less,
    every_access_takes_its_latency,
    bytes_take_time,
    a_slower_memory_takes_no_less,
)


def example_of(name: str, where: str | None = None) -> MemoryModel:
    example = models.get(name, where).example
    return model_of(Plugin(kind=name, options=tuple(example.items())) if example else name, where)


def violations(model: MemoryModel) -> Iterator[str]:
    for speeds in SPEEDS:
        for law in LAWS:
            wrong = asked(law, model, speeds)
            if wrong:
                yield f"{law.__name__}: {wrong}"
                if law is every_access_has_a_duration:
                    return  # the others take it for granted


def summary(model: MemoryModel) -> str:
    held = f"every law holds over {len(probes())} accesses to {len(SPEEDS)} memories"
    load, store = _answer(model, accesses([10**9] * 2, [False, True]), SPEEDS[0])
    times = f"a load takes {load / 1e6:.3f} ms, a store {store / 1e6:.3f} ms"
    return f"{held}\n1 GB over 64 GB/s: {times}"


CONTRACT = Contract(
    kind="memory model",
    module="yantra.memory.contract",
    about="Check a memory model: its durations, and what simulations take for granted.",
    argument="a name (pool), or a file with a line PLUGIN =",
    find=example_of,
    violations=violations,
    summary=summary,
)


def main(arguments: Sequence[str] | None = None) -> int:
    return contract.main(CONTRACT, arguments)


def _answer(model: MemoryModel, rows: Accesses, speeds: Speeds) -> NDArray[np.float64]:
    return ask(model, rows, speeds, "it")


def _difference(first: NDArray[np.float64], second: NDArray[np.float64], when: str) -> str | None:
    if np.array_equal(first, second):
        return None
    row = int((first != second).argmax())
    return f"{probes().describe(row)}: {when} {second[row]:g} ns, else {first[row]:g}"


if __name__ == "__main__":
    sys.exit(main())
