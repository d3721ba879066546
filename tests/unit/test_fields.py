"""The kinds of fields: one object checks, writes back and describes what is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import jsonschema
import pytest

from yantra.base.errors import ConfigError
from yantra.base.fields import (
    Choice,
    Field,
    File,
    Flag,
    Many,
    NameSet,
    Number,
    Numbered,
    Quantity,
    Section,
    Text,
    Whole,
    read_options,
)
from yantra.base.records import Record
from yantra.scenario import Scenario
from yantra.scenario.fields import Dimensions
from yantra.scenario.layout import DOCUMENT, IN_CLUSTER, IN_SCENARIO
from yantra.scenario.named_layout import NAMED
from yantra.scenario.types import Machine, Resources


class Buffer(Record):
    size: int
    share: float = 0.5
    wait_ns: int = 0


OPTIONS = Section(
    Buffer,
    {
        "size": ("size", Whole(at_least=1), "packets it holds"),
        "share": ("share", Number(above=0, at_most=1), "of the buffer that one flow may take"),
        "wait": ("wait_ns", Quantity("time", "ns", whole=True, at_least=0), "before it is read"),
    },
)
BANDWIDTH = Quantity("bandwidth", "GB/s", above=0)
CAPPED = Quantity("time", "ns", at_least=2, at_most=10)

GOOD: list[tuple[Field, Any, Any]] = [
    (Whole(at_least=1), 1, 1),
    (Whole(), -3, -3),
    (Number(at_least=0, at_most=1), 1, 1.0),
    (Number(above=0), 0.25, 0.25),
    (Flag(), False, False),
    (Text(), "a", "a"),
    (Choice(Literal["a", "b"]), "b", "b"),
    (File(ending=".et"), "a.et", "a"),
    (BANDWIDTH, "50 GB/s", 50.0),
    (BANDWIDTH, "+0.5e-3 GB/s", 0.0005),
    (CAPPED, "2 ns", 2.0),
    (Quantity("time", "ns", whole=True, at_least=0), "0 ns", 0),
    (Many(Whole(at_least=0)), [0, 2], (0, 2)),
    (NameSet(), ["a"], frozenset({"a"})),
    (Numbered(Text(), at_least=1), {"2": "b", "1": "a"}, ((1, "a"), (2, "b"))),
    (OPTIONS, {"size": 2, "wait": "1 us"}, Buffer(size=2, wait_ns=1000)),
]

WRONG: list[tuple[Field, Any, str]] = [
    (Whole(), 1.0, "expected a whole number, got 1.0"),
    (Whole(), True, "expected a whole number, got true"),
    (Whole(at_least=1), 0, "must be at least 1; got 0"),
    (Whole(at_least=1, at_most=4), 5, "must be at most 4; got 5"),
    (Number(), "1", 'expected a finite number, got "1"'),
    (Number(), False, "expected a finite number, got false"),
    (Number(at_least=0), -0.5, "must be at least 0; got -0.5"),
    (Number(above=0), 0.0, "must be above 0; got 0"),
    (Number(above=0, at_most=1), 1.5, "must be at most 1; got 1.5"),
    (Flag(), 1, "expected true or false, got 1"),
    (Text(), "", 'expected a text, got ""'),
    (Choice(Literal["ring", "mesh"]), "rng", "got \"rng\"; did you mean 'ring'?"),
    (BANDWIDTH, "0 GB/s", "must be above 0 GB/s; got 0 GB/s"),
    (BANDWIDTH, "-8 GB/s", "must be above 0 GB/s; got -8 GB/s"),
    (CAPPED, "1 ns", "must be at least 2 ns; got 1 ns"),
    (CAPPED, "1 us", "must be at most 10 ns; got 1000 ns"),
    (Quantity("time", "ns", whole=True), "1.5 ns", 'expected a whole number of ns, got "1.5 ns"'),
    (Numbered(Text(), at_least=1), {"0": "a"}, "must be at least 1; got 0"),
]  # fmt: skip


def _named(value: Any) -> str:
    return type(value).__name__ if isinstance(value, Field) else str(value)[:60]


@pytest.mark.parametrize(("field", "tree", "value"), GOOD, ids=_named)
def test_what_is_read_passes_the_check_and_reads_back(field: Field, tree: Any, value: Any) -> None:
    assert field.read(tree, "here", "") == value
    field.check(value, "here")
    written = field.write(value, "")
    again = (
        {str(key): item for key, item in written.items()} if isinstance(written, dict) else written
    )
    assert field.read(again, "here", "") == value
    jsonschema.validate(tree, field.schema())
    jsonschema.validate(again, field.schema())


@pytest.mark.parametrize(("field", "tree", "problem"), WRONG, ids=_named)
def test_a_wrong_value_is_refused_where_it_stands(field: Field, tree: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)) as caught:
        field.read(tree, "here", "")
    assert caught.value.where == "here"


NOT_IN_A_SCHEMA = ("'1.5 ns'", "'1 ns'", "'1 us'", "1.0")


@pytest.mark.parametrize(
    ("field", "tree"),
    [(field, tree) for field, tree, _ in WRONG if repr(tree) not in NOT_IN_A_SCHEMA],
)
def test_the_schema_refuses_what_the_reader_refuses(field: Field, tree: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tree, field.schema())


VALUES: list[tuple[Field, Any, str]] = [
    (BANDWIDTH, 0, "must be above 0 GB/s; got 0 GB/s"),
    (BANDWIDTH, float("inf"), "expected a finite number, got Infinity"),
    (BANDWIDTH, float("nan"), "expected a finite number, got NaN"),
    (BANDWIDTH, 10**400, "expected a finite number, got 1000"),
    (Quantity("time", "ns", whole=True), 1.0, "expected a whole number, got 1.0"),
    (File(), 3, "expected a text, got 3"),
    (Many(Whole()), [1], "expected a tuple, got [1]"),
    (NameSet(), {"a"}, "expected a frozenset of names, got "),
    (OPTIONS, 3, "expected a Buffer, got 3"),
]


@pytest.mark.parametrize(("field", "value", "problem"), VALUES, ids=_named)
def test_a_wrong_value_made_in_python_is_refused(field: Field, value: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"here: {problem}")):
        field.check(value, "here")


def test_a_wrong_value_is_said_the_same_in_a_file_and_in_python() -> None:
    with pytest.raises(ConfigError) as of_file:
        OPTIONS.read({"size": 1, "wait": "-1 ns"}, "options", "")
    with pytest.raises(ConfigError) as of_python:
        OPTIONS.check(Buffer(size=1, wait_ns=-1), "options")
    assert str(of_file.value) == str(of_python.value)
    assert str(of_file.value) == "options.wait: must be at least 0 ns; got -1 ns"


@pytest.mark.parametrize("section", [DOCUMENT, NAMED, IN_SCENARIO, IN_CLUSTER])
def test_every_default_of_a_scenario_is_within_its_own_range(section: Section) -> None:
    for where, field, default in defaults(section, ""):
        field.check(default, where)


OF_PYTHON = {Machine: {"rates"}, Resources: {"sends_at_once"}}


def test_every_field_of_a_scenario_has_a_description() -> None:
    described = {entry[0] for part in (IN_SCENARIO, IN_CLUSTER) for entry in part.entries.values()}
    assert described == set(Scenario.field_names)
    for section in sections(DOCUMENT):
        names = {name for name, _, _ in section.entries.values()}
        left_out = OF_PYTHON.get(section.record, set())
        assert not names & left_out
        assert names | left_out == set(section.record.field_names)


def sections(field: Field) -> Iterator[Section]:
    inner = field.item if isinstance(field, Dimensions) else field
    if isinstance(inner, Section):
        yield inner
        for _, below, _ in inner.entries.values():
            yield from sections(below)


def defaults(section: Section, where: str) -> Iterator[tuple[str, Field, Any]]:
    for key, (name, field, _) in section.entries.items():
        default = getattr(section.record, name, None)
        if default is not None:
            yield f"{where}.{key}", field, default
        inner = field.item if isinstance(field, Dimensions) else field
        if isinstance(inner, Section):
            yield from defaults(inner, f"{where}.{key}")


@pytest.mark.parametrize(
    ("field", "described"),
    [
        (Whole(), "a whole number"),
        (Whole(at_least=1), "a whole number, at least 1"),
        (Number(above=0, at_most=1), "a number, above 0, at most 1"),
        (BANDWIDTH, 'a bandwidth such as "400 Gb/s", above 0'),
        (CAPPED, 'a time such as "500 ns", at least 2 ns, at most 10 ns'),
        (Quantity("time", "ns", whole=True), 'a time such as "500 ns", whole ns'),
    ],
)
def test_a_field_says_its_range(field: Field, described: str) -> None:
    assert field.describe() == described


def test_options_are_read_as_the_record_of_the_plug_in() -> None:
    given = {"size": 2, "share": 1, "wait": "2 us"}
    read = read_options(OPTIONS, given, "network", "")
    assert read == Buffer(size=2, share=1.0, wait_ns=2000)


def test_options_that_are_left_out_take_their_defaults() -> None:
    assert read_options(OPTIONS, {"size": 2}, "network", "") == Buffer(size=2)
    assert read_options(None, None, "network", "") is None
    assert read_options(None, {}, "network", "") is None


@pytest.mark.parametrize(
    ("section", "tree", "message"),
    [
        (OPTIONS, {"sise": 2}, "network.options.sise: unknown key; did you mean 'size'?"),
        (OPTIONS, {"x": 2}, "network.options.x: unknown key; expected one of size, share, wait"),
        (
            OPTIONS,
            {"sise": 2, "wate": 1, "a\nb": 3},
            "network.options.sise: unknown key (so are wate, \"a\\nb\"); did you mean 'size'?",
        ),
        (
            OPTIONS,
            dict.fromkeys("abcdefgh"),
            "network.options.a: unknown key (so are b, c, d, e, f and 2 more); expected one of "
            "size, share, wait",
        ),
        (OPTIONS, {"size": 0}, "network.options.size: must be at least 1; got 0"),
        (OPTIONS, {"size": 1, "share": 2}, "network.options.share: must be at most 1; got 2"),
        (OPTIONS, None, "network.options.size: missing; expected a whole number"),
        (OPTIONS, [2], "network.options: expected a mapping, got [2]"),
        (None, {"size": 1}, "network.options.size: unknown key; there are no options here"),
        (None, 3, "network.options: expected a mapping, got 3"),
    ],
)
def test_a_wrong_option_is_named_by_its_key(
    section: Section | None, tree: Any, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_options(section, tree, "network", "")
    assert str(caught.value) == message
