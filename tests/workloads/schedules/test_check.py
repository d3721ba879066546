"""The checker finds every kind of mistake: a schedule with any change is invalid."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.workloads import schedules
from yantra.workloads.schedules.check import find_violation
from yantra.workloads.schedules.execution import Costs, execute
from yantra.workloads.schedules.listed import parse_action
from yantra.workloads.schedules.schedule import Orders, Pair, Step
from yantra.workloads.schedules.stages import Stages, loop, mirror, v_shape


def orders(*texts: str) -> Orders:
    return tuple(tuple(parse_action(word) for word in text.split()) for text in texts)


TWO = loop(2)
WHOLE = "F0 F1 B0 B1"


@pytest.mark.parametrize(
    ("given_orders", "stages", "m", "told"),
    [
        (orders(WHOLE), TWO, 2, "device 1: expected the orders of 2 devices, got 1"),
        (orders(WHOLE, WHOLE, WHOLE), TWO, 2, "device 3: expected the orders of 2 devices, got 3"),
        (
            orders("F0 F1 B0", WHOLE),
            TWO,
            2,
            "device 0: no operation makes b1 (input gradient) of device 0; add it",
        ),
        (
            orders(WHOLE, "F0 b0 W0 F1 b1"),
            TWO,
            2,
            "device 1: no operation makes W1 (weight gradient) of device 1; add it",
        ),
        (
            orders("F0 F1 B0 B1 B0", WHOLE),
            TWO,
            2,
            "device 0, operation 4: B0 makes b0 (input gradient) of device 0 a second time; "
            "operation 2 (B0) has made it; leave one out",
        ),
        (
            orders("F0 F1 B0 B1 W0", WHOLE),
            TWO,
            2,
            "device 0, operation 4: W0 makes W0 (weight gradient) of device 0 a second time; "
            "operation 2 (B0) has made it; leave one out",
        ),
        (
            orders("F0 B1 F1 B0", WHOLE),
            TWO,
            2,
            "device 0, operation 1: expected F1 (forward) of device 0 before B1, "
            "got it later or never",
        ),
        (
            orders("F0 F1 W0 b0 B1", WHOLE),
            TWO,
            2,
            "device 0, operation 2: expected b0 (input gradient) of device 0 before W0, "
            "got it later or never",
        ),
        (
            orders("F0 F2 B0 B1", WHOLE),
            TWO,
            2,
            "device 0, operation 1: F2: expected a micro-batch from 0 to 1, got 2",
        ),
        (
            orders("F0 F1.1 B0 B1", WHOLE),
            TWO,
            2,
            "device 0, operation 1: F1.1: expected a chunk below 1, got 1",
        ),
        (
            orders("F0 F1 B1 B0", "F0 B0 F1 B1"),
            TWO,
            2,
            None,
        ),
        (
            orders("F0 B0 F1 B1", "F0 F1 B0 B1"),
            TWO,
            2,
            "device 0, operation 1: the devices wait for each other: B0 of device 0 waits for B0 "
            "of device 1 (its operation 2); that comes after: F1 of device 1 waits for F1 of "
            "device 0 (its operation 2)",
        ),
        (
            orders("F1&B0 F0 B1"),
            loop(1),
            2,
            "device 0, operation 0: expected F0 (forward) of device 0 before F1&B0, "
            "got it later or never",
        ),
        (orders("F0 F1&B0 B1"), loop(1), 2, None),
        (
            orders("F0&B0"),
            loop(1),
            1,
            "device 0, operation 0: expected F0 (forward) of device 0 "
            "before F0&B0, got it later or never",
        ),
        (
            orders("F0.1 F0 B0.1 B0"),
            v_shape(1),
            1,
            "device 0, operation 0: expected F0 (forward) of device 0 before F0.1, "
            "got it later or never",
        ),
        (
            orders("F0 F0.1 B0 B0.1", "F0 F1.1 B0 B1.1"),
            mirror(2),
            2,
            "device 0, operation 1: F0.1: expected a micro-batch from 1 to 1, got 0",
        ),
        (
            ((Pair(Step("F", 0), Step("b", 0)),),),
            loop(1),
            1,
            "device 0, operation 0: expected F and B in a pair, got F0&b0",
        ),
        (
            ((Step("X", 0),),),  # type: ignore[arg-type]
            loop(1),
            1,
            "device 0, operation 0: expected F, B, b or W, got 'X'",
        ),
    ],
)
def test_a_mistake_is_found(given_orders: Orders, stages: Stages, m: int, told: str | None) -> None:
    wrong = find_violation(given_orders, stages, m)
    assert (None if wrong is None else str(wrong)) == told


def test_the_executor_does_not_end_silently_half_way() -> None:
    with pytest.raises(ConfigError) as error:
        execute(orders("F0 B0 F1 B1", "F0 F1 B0 B1"), TWO, Costs())
    assert str(error.value) == (
        "device 0, operation 1: B0 never starts; it waits for b0 (input gradient) of device 1"
    )


@given(st.data())
@settings(deadline=None)
def test_a_schedule_with_an_operation_less_or_twice_is_none(data: st.DataObject) -> None:
    schedule = schedules.get(data.draw(st.sampled_from(schedules.schedules.names())))
    v = 2 if schedule.vpp is None else 1
    right = schedule.orders(4, 8, v)
    device = data.draw(st.integers(0, 3))
    at = data.draw(st.integers(0, len(right[device]) - 1))
    times = data.draw(st.sampled_from([0, 2]))
    order = right[device][:at] + right[device][at : at + 1] * times + right[device][at + 1 :]
    wrong = find_violation((*right[:device], order, *right[device + 1 :]), schedule.stages(4, v), 8)
    assert wrong is not None
    assert wrong.device == device
