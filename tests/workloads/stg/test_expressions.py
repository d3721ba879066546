"""Sizes: what is equal is one object, and arithmetic is that of fractions."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.workloads.importers.stg.expressions import number, volume
from yantra.workloads.importers.stg.parse import parse, parse_shape

VALUES = {"Seq": 1024, "Head": 16, "KVHead": 4, "cp": 2, "tp": 8}

atoms = st.one_of(st.integers(0, 9).map(str), st.sampled_from(sorted(VALUES)))
sums = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({''.join(t)})"),
        st.tuples(inner, st.sampled_from(["cp", "tp", "3*Seq"])).map(lambda t: f"{t[0]}/({t[1]})"),
        inner.map(lambda text: f"-{text}"),
        inner.map(lambda text: f"({text})**2"),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(Seq/cp)/tp", "Seq/(cp*tp)"),
        ("(Head+2*KVHead)/tp", "(2*KVHead + Head)/tp"),
        ("Dmodel/1", "Dmodel"),
        ("(Seq-1)/sp + 1/sp", "Seq/sp"),
        ("1.0", "1"),
        ("Dmodel**2/Dmodel", "Dmodel"),
        ("Seq - Seq", "0"),
    ],
)
def test_equal_sizes_are_one_object(one: str, other: str) -> None:
    assert parse(one) is parse(other)


@given(sums)
def test_values_are_those_of_exact_arithmetic(text: str) -> None:
    names = {name: Fraction(value) for name, value in VALUES.items()}
    expected = eval(text, {"__builtins__": {}}, names)  # built from the atoms above
    assert parse(text).evaluate(VALUES) == expected


@given(sums)
def test_an_expression_is_read_back_from_its_text(text: str) -> None:
    assert parse(str(parse(text))) is parse(text)


@given(sums)
def test_substituting_values_is_evaluating(text: str) -> None:
    constants = {name: number(value) for name, value in VALUES.items()}
    assert parse(text).substitute(constants) is number(parse(text).evaluate(VALUES))


def test_symbols_are_replaced_all_at_once() -> None:
    swapped = parse("a/b").substitute({"a": parse("b"), "b": parse("a")})
    assert swapped is parse("b/a")


def test_a_shape_is_a_list_of_sizes() -> None:
    shape = parse_shape("Batch/dp, (Seq/cp)/tp, Dmodel")
    assert len(shape) == 3
    assert volume(shape) is parse("Batch*Seq*Dmodel/(dp*cp*tp)")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a number, a symbol or '('"),
        ("Seq/", "expected a number, a symbol or '('"),
        ("Seq cp", "expected an operator before 'cp'"),
        ("(Seq", "a bracket is not closed"),
        ("Seq)", "expected an operator before ')'"),
        ("Seq % 2", "'%' is not part of an expression"),
        ("Seq/(cp+tp)", "cannot divide by the sum"),
        ("Seq/0", "division by 0"),
        ("Seq**tp", "expected a power of 0 to 9"),
        ("Seq**99", "expected a power of 0 to 9"),
        ("-" * 200 + "1", "nested too deeply"),
        ("(" * 200, "nested too deeply"),
    ],
)
def test_a_mistake_is_told(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        parse(text)
