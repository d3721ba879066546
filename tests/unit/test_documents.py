"""JSON and YAML text: trees, and the place of every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from yantra.base.documents import parse_json, parse_own_json, parse_yaml, read_text
from yantra.base.errors import ConfigError


@pytest.fixture(params=["libyaml", "python"])
def either_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.delattr(yaml, "CBaseLoader")


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("8", 8),
        ("-2.5e3", -2500.0),
        ("true", True),
        ("~", None),
        ("", None),
        ("'8'", "8"),
        ("no", "no"),
        ("1:30", "1:30"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("50 GB/s", "50 GB/s"),
        (".inf", ".inf"),
    ],
)
def test_a_plain_yaml_scalar_is_a_number_only_in_the_spelling_of_json(
    scalar: str, value: object
) -> None:
    tree = parse_yaml(f"key: {scalar}", "file")
    assert tree == {"key": value}
    assert type(tree["key"]) is type(value)


def test_yaml_scalars_stay_text_on_request() -> None:
    tree = parse_yaml("a: [8, 'x', true]", "file", scalars_as_text=True)
    assert tree == {"a": ["8", "x", "true"]}


def test_a_shared_anchor_costs_once_and_all_aliases_stand_for_a_bounded_number_of_values() -> None:
    lines = ["a0: &a0 [1, 1]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    assert len(parse_yaml("\n".join(lines[:14]), "file")) == 14
    with pytest.raises(ConfigError) as caught:
        parse_yaml("\n".join(lines), "file")
    assert str(caught.value) == (
        "file, line 15, column 18: aliases make more than 100000 values of it"
    )


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", 'file, line 2, column 1: the key "a" is given twice'),
        ("a: &a [*a]", "file, line 1, column 8: the anchor 'a' is not defined before"),
        ("a: *b", "file, line 1, column 4: the anchor 'b' is not defined before"),
        ("--- a\n--- b", "file, line 2, column 1: expected one document, got another"),
        ("[" * 900, "file, line 1, column 52: nested too deeply"),
        ("? [a]\n: 1", "file, line 1, column 3: a key must be a scalar"),
    ],
)
def test_a_yaml_mistake_is_found_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "file")
    assert str(caught.value) == message


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a: [1}", "file, line 1, column 6"),
        ("a: b: c", "file, line 1, column 5"),
    ],
)
def test_a_yaml_syntax_error_names_line_and_column(text: str, where: str) -> None:
    with pytest.raises(ConfigError, match="not YAML: ") as caught:
        parse_yaml(text, "file")
    assert caught.value.where == where


def test_a_control_character_is_not_yaml() -> None:
    with pytest.raises(ConfigError, match=r"^file: not YAML: "):
        parse_yaml("a: \x00", "file")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("[1, -0, 2.0, 1e2]", [1, 0, 2.0, 100.0]),
        ("[18446744073709551615]", [2**64 - 1]),
        ("[18446744073709551616]", [2.0**64]),
        (' \n{"a": null}', {"a": None}),
    ],
)
def test_json_numbers_have_64_bits(text: str, tree: Any) -> None:
    assert parse_json(text, "file") == (tree, [])


def test_what_json_readers_of_astra_sim_pass_over_is_warned_of() -> None:
    tree, warnings = parse_json('{"a": 1, "a": 2} // end', "file")
    assert tree == {"a": 2}
    assert warnings == [
        'file: "a": given twice; the last value counts',
        'file: text after the JSON value is ignored: "// end"',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a" 1}', "file, line 1, column 6: not JSON: expecting ':' delimiter"),
        ('{\n "a": 01}', "file, line 2, column 8: not JSON: expecting ',' delimiter"),
        ("", "file, line 1, column 1: not JSON: expecting value"),
        ("{'a': 1}", "file, line 1, column 2: not JSON: expecting property name enclosed in "),
        ('{"a": NaN}', "file: not JSON: NaN is not a JSON value"),
        ('{"a": 1e999}', 'file: not JSON: the number "1e999" is out of range'),
        ("[" * 100_000, "file, line 1, column 201: not JSON: nested too deeply"),
    ],
)
def test_a_json_mistake_is_found(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_json(text, "file")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("parse", [parse_json, parse_own_json])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'{"a": "\ud800"}', "column 8: not JSON: \\ud800"),
        ('{"a": 1,\n "b": "x\\uDc00y"}', "line 2, column 9: not JSON: \\uDc00"),
        (r'{"\\\ud83d\ude00\ud83d": 1}', r"column 17: not JSON: \ud83d"),
        (r'{"a": "\ude00\ud83d"}', r"column 8: not JSON: \ude00"),
    ],
)
def test_half_a_surrogate_pair_is_not_json(parse: Any, text: str, place: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse(text, "f.json")
    assert str(error.value).startswith("f.json, line ")
    assert f"{place} is half of a surrogate pair" in str(error.value)


@pytest.mark.parametrize("parse", [parse_json, parse_own_json])
def test_a_whole_surrogate_pair_is_a_character(parse: Any) -> None:
    read = parse(r'{"a": "\ud83d\uDE00", "b": "\\ud800"}', "f.json")
    tree = read[0] if parse is parse_json else read
    assert tree == {"a": "\U0001f600", "b": r"\ud800"}


def test_a_file_that_cannot_be_read_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read: No such file"):
        read_text(tmp_path / "none.json")
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"\xe9": 1}')
    with pytest.raises(ConfigError, match=r"latin\.json: not UTF-8 text at byte 2"):
        read_text(latin)


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "marked.json"
    file.write_bytes(b"\xef\xbb\xbf{}")
    assert read_text(file) == "{}"
