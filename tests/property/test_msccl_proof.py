"""Laws of the proof of MSCCL programs: correct ones are proven, and what is proven runs right."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.msccl_mutants import MISTAKES, mutant
from tests.oracles.msccl_runner import StuckError, holds, run
from tests.oracles.msccl_writer import random_program, ring_allreduce
from yantra.base.errors import ConfigError, YantraError
from yantra.collectives.msccl import Sizes, parse_program, prove, traces

seeds = st.integers(0, 2**32)
rings = st.builds(
    ring_allreduce, st.integers(2, 6), channels=st.integers(1, 3), split=st.booleans()
)
programs = st.one_of(st.builds(random_program, seeds), rings)


def _runs_right(xml: str, seed: int) -> bool:
    try:
        return holds(xml, *run(xml, seed))
    except (StuckError, KeyError, IndexError, ValueError):
        return False


@given(programs, seeds)
@settings(max_examples=150, deadline=None)
def test_a_correct_program_is_proven(xml: str, seed: int) -> None:
    assert _runs_right(xml, seed)
    proof = prove(parse_program(xml.encode()))
    assert not proof.lines[-1].startswith("result: not proven")
    moved = sum(event.step.kind != "nop" for event in proof.order.events)
    assert sum(len(trace) for trace in traces(proof)) >= moved


@pytest.mark.parametrize("mistake", MISTAKES)
@given(xml=programs, seed=seeds)
@settings(max_examples=60, deadline=None)
def test_a_single_mistake_is_refused_or_harmless(mistake: str, xml: str, seed: int) -> None:
    wrong = mutant(xml, mistake, seed)
    if wrong is None:
        return
    try:
        prove(parse_program(wrong.encode()))
    except ConfigError as error:
        assert ":" in error.where  # the line
    else:
        assert all(_runs_right(wrong, seed + turn) for turn in range(4))


@given(programs, st.sampled_from(["drop a step", "another kind", "another channel"]), seeds)
@settings(max_examples=100, deadline=None)
def test_a_mistake_that_shows_is_refused(xml: str, mistake: str, seed: int) -> None:
    wrong = mutant(xml, mistake, seed)
    if wrong is not None and not _runs_right(wrong, seed):
        with pytest.raises(ConfigError):
            prove(parse_program(wrong.encode()))


@given(programs, st.integers(1, 2**40))
@settings(max_examples=60, deadline=None)
def test_traces_conserve_messages_and_bytes(xml: str, size: int) -> None:
    proof = prove(parse_program(xml.encode()))
    sent: dict[tuple[object, ...], object] = {}
    received: dict[tuple[object, ...], object] = {}
    for gpu, trace in enumerate(traces(proof, Sizes(size))):
        assert [node.id for node in trace] == list(range(len(trace)))
        for node in trace:
            if "comm_dst" in node:
                key = (gpu, node["comm_dst"], node["comm_tag"])
                assert key not in sent
                sent[key] = node["comm_size"]
            elif "comm_src" in node:
                received[node["comm_src"], gpu, node["comm_tag"]] = node["comm_size"]
    assert sent == received


@given(programs, st.data())
@settings(max_examples=150, deadline=None)
def test_changed_text_is_read_or_refused(xml: str, data: st.DataObject) -> None:
    text = bytearray(xml.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        size = data.draw(st.integers(0, 3))
        text[at : at + size] = data.draw(st.sampled_from([b"", b"0", b"-1", b"<", b'"', b"9" * 9]))
    with suppress(YantraError):
        traces(prove(parse_program(bytes(text))))
