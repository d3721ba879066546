"""The core reads passes as they are: every field, and what their operations are together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.workloads.step.models import build, plans
from tests.workloads.step.works import kernel
from yantra.base.errors import InternalError
from yantra.chakra import passes
from yantra.chakra.passes import PassEncoder
from yantra.workloads.operators.operations import Operation
from yantra.workloads.operators.products import products_of
from yantra.workloads.training.step.draft import STORE, Item, Stretch, Wait


def test_the_core_reads_the_fields_that_there_are() -> None:
    assert " ".join(Operation._fields) == passes.OPERATION_FIELDS
    assert " ".join(Item._fields) == passes.ITEM_FIELDS
    assert " ".join(Wait._fields) == passes.WAIT_FIELDS
    assert " ".join(Stretch._fields) == passes.STRETCH_FIELDS


@given(plans())
@settings(max_examples=25)
def test_a_stretch_is_read_as_its_items_are(drawn: tuple[object, object]) -> None:
    shape, plan = drawn
    step = build(plan, shape)
    drafts = [one.like for by_key in step.passes for one in by_key.values()]
    assert any(isinstance(part, Stretch) for one in drafts for part in one.parts)
    for drafted in drafts:
        by_parts, by_items = PassEncoder(), PassEncoder()
        assert drafted.size == len(drafted.items)
        blocks = [
            [segment.block.encode() for segment in encoder.encode((parts,), 0).segments]
            for encoder, parts in ((by_parts, drafted.parts), (by_items, drafted.items))
        ]
        assert blocks[0] == blocks[1]
        messages = by_items.totals(drafted.items).messages
        assert by_parts.totals(drafted.parts).messages == messages
        found = [drafted.items[at].operation for at in messages]
        assert drafted.operations_at(messages) == found


def test_a_stretch_of_more_operations_than_there_are_is_refused() -> None:
    with pytest.raises(InternalError, match="ends behind the operations"):
        PassEncoder().encode(((Stretch((kernel("forward", "layers.0"),), 0, 2),),), 0)


@given(plans())
@settings(max_examples=25)
def test_totals_are_those_of_the_items_one_by_one(drawn: tuple[object, object]) -> None:
    shape, plan = drawn
    step = build(plan, shape)
    for by_key in step.passes:
        for drafted in by_key.values():
            items = drafted.items
            total = PassEncoder().totals(items)
            products = products_of(item.operation for item in items)
            assert (total.model_flops, total.hardware_flops) == products
            operations = [item.operation for item in items]
            assert total.all_flops == sum(o.tensor_flops + o.vector_flops for o in operations)
            groups = [i.operation.group for i in items if i.operation.collective is not None]
            assert total.groups == list(dict.fromkeys(groups))
            assert total.messages == [at for at, i in enumerate(items) if i.operation.peer]
            assert total.stores == any(i.operation.kind == STORE for i in items)
            assert total.saved == sum(i.operation.saves - i.operation.frees for i in items)
            assert total.held == sum(i.holds - i.releases for i in items)
            assert total.most_saved + total.most_held == highest(items)
            assert total.too_early is None


def highest(items: tuple[Item, ...]) -> int:
    now = most = 0
    for item in items:
        now += item.operation.saves + item.holds
        most = max(most, now)
        now -= item.operation.frees + item.releases
    return most


def test_sums_of_products_may_need_more_than_64_bits() -> None:
    large = kernel("forward", "layers.0")._replace(tensor_flops=2**62)
    items = tuple(Item(key, large) for key in range(9))
    assert PassEncoder().totals(items).hardware_flops == 9 * 2**62


def test_a_number_of_more_than_63_bits_is_refused() -> None:
    large = kernel("forward", "layers.0")._replace(bytes_read=2**63)
    with pytest.raises(OverflowError):  # who knows the file says so
        PassEncoder().encode(((Item(0, large),),), 0)


def test_a_sum_of_more_than_63_bits_is_refused() -> None:
    large = kernel("forward", "layers.0")._replace(bytes_read=2**62, bytes_written=2**62)
    with pytest.raises(OverflowError):
        PassEncoder().totals((Item(0, large),))


def test_an_operation_that_waits_for_a_later_one_is_named() -> None:
    items = (
        Item(0, kernel("forward", "layers.0"), (Wait(1),)),
        Item(1, kernel("forward", "layers.1")),
    )
    assert PassEncoder().totals(items).too_early == 0


def test_a_pass_that_waits_for_an_operation_it_does_not_have_is_refused() -> None:
    items = (Item(0, kernel("forward", "layers.0"), (Wait(7),)),)
    with pytest.raises(InternalError, match="another pass"):
        PassEncoder().encode((items,), 0)


def test_each_part_of_a_pass_is_a_segment_and_every_key_has_its_place() -> None:
    first, second, third = (
        Item(key, kernel("forward", f"layers.{key}"), waits)
        for key, waits in ((4, ()), (2, (Wait(4),)), (0, (Wait(4), Wait(2))))
    )
    made = PassEncoder().encode(((first, second), (third,)), 0)
    assert [made.places[key] for key in (4, 2, 0)] == [(0, 0), (0, 1), (1, 0)]
    assert [(one.first_compute, one.last_compute) for one in made.segments] == [(0, 1), (0, 0)]
