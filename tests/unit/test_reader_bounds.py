"""The size of a file bounds what it may unpack to, nest and hold, whatever its format."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base import bounds, nesting, notes
from yantra.base.documents import json_value, parse_json, parse_own_json, parse_yaml, read_text
from yantra.base.errors import ConfigError
from yantra.base.nesting import is_too_deep, too_deep_at
from yantra.base.rows import csv_mappings, csv_rows
from yantra.base.unpacking import (
    Unpacked,
    check_members,
    read_member,
    unpack_gzip,
    unpack_numbers,
)
from yantra.base.whole_numbers import is_whole, whole
from yantra.workloads.templates import container

MIB = 1 << 20


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that small files reach: 1,000 bytes, and 20 for each packed one."""
    monkeypatch.setattr(bounds, "ALWAYS", 1000)
    monkeypatch.setattr(bounds, "NUMBERS", 1000)
    monkeypatch.setattr(bounds, "PER_BYTE", 20)


def without_length(packed: bytes) -> bytes:
    return packed[:-4] + bytes(4)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4), st.integers(0, 3))
def test_gzip_unpacks_to_what_was_packed_member_by_member(parts: list[bytes], zeros: int) -> None:
    packed = b"".join(map(gzip.compress, parts)) + bytes(zeros)
    assert unpack_gzip(packed, "x") == b"".join(parts)
    file = Unpacked(io.BytesIO(packed), "x", len(packed))
    assert file.read() == b"".join(parts)
    file.seek(0)
    pieces = list(iter(lambda: file.read(7), b""))
    assert b"".join(pieces) == b"".join(parts)
    assert max(map(len, pieces), default=0) <= 7


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("honest", [True, False])
def test_a_file_unpacks_to_its_bound_and_to_no_byte_more(more: int, honest: bool) -> None:
    plain = bytes(1000 + more)
    packed = gzip.compress(plain)
    assert len(packed) * 20 < 1000
    if not honest:  # two members; the last one claims to be short
        packed = gzip.compress(plain[:-1]) + gzip.compress(plain[:1])
    if not more:
        assert unpack_gzip(packed, "x") == plain
        return
    for read in (
        lambda: unpack_gzip(packed, "x"),
        lambda: Unpacked(io.BytesIO(packed), "x", len(packed)).read(),
    ):
        with pytest.raises(ConfigError) as caught:
            read()
        said = f"x: unpacks from {len(packed)} B to more than 1000 B"
        assert str(caught.value).startswith(said)
        assert "unpack it first" in str(caught.value)


@pytest.mark.usefixtures("_small")
def test_a_longer_file_may_unpack_to_more() -> None:
    noise = random.Random(1).randbytes(2000)
    assert unpack_gzip(gzip.compress(noise), "x") == noise
    with pytest.raises(ConfigError, match=r"more than .* KiB, 20 times its size"):
        unpack_gzip(gzip.compress(noise + bytes(60_000)), "x")


@pytest.mark.parametrize("size", [3, 200, 70_000])
def test_gzip_that_is_cut_off_or_damaged_is_told_apart_from_a_bomb(size: int) -> None:
    packed = gzip.compress(random.Random(size).randbytes(size))
    for cut in {1, 4, 8, len(packed) // 2, len(packed) - 12}:
        with pytest.raises(ConfigError, match="x: the gzip data is truncated"):
            unpack_gzip(packed[:-cut], "x")
    broken = packed[:-8] + bytes(4) + packed[-4:]
    with pytest.raises(ConfigError, match="x: the gzip data is damaged: incorrect data check"):
        unpack_gzip(broken, "x")
    with pytest.raises(ConfigError, match="x: the gzip data is damaged"):
        unpack_gzip(packed + b"behind it", "x")


def test_a_bomb_takes_no_memory_to_refuse(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(100 * MIB))
    (tmp_path / "bomb.yaml").write_bytes(packed)
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError, match=r"bomb\.yaml: unpacks from .* to more than 64 MiB"):
            read_text(tmp_path / "bomb.yaml")
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


def test_what_takes_much_is_told_once_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(notes, "_receivers", [told.append])
    monkeypatch.setattr(bounds, "WORTH_TELLING", 1000)
    assert len(unpack_gzip(gzip.compress(bytes(1000)), "x")) == 1000
    assert told == []
    assert len(unpack_gzip(gzip.compress(bytes(1500)), "x")) == 1500
    size = len(gzip.compress(bytes(1500)))
    assert told == [f"x: unpacks from {size} B to as much as 1.46 KiB"]
    lying = gzip.compress(bytes(1500)) + gzip.compress(b"")
    assert len(unpack_gzip(lying, "y")) == 1500
    assert told[1:] == [f"y: unpacks from {len(lying)} B to as much as 64 MiB"]


@pytest.mark.usefixtures("_small")
def test_packed_numbers_have_a_bound_and_end_where_they_say() -> None:
    assert unpack_numbers(zlib.compress(bytes(1000))) == bytes(1000)
    for wrong in (bytes(1001), bytes(5000)):
        with pytest.raises(ValueError, match="longer than it may be"):
            unpack_numbers(zlib.compress(wrong))
    with pytest.raises(ValueError, match="cut off"):
        unpack_numbers(zlib.compress(bytes(10))[:-2])
    with pytest.raises(ValueError, match="cut off"):
        unpack_numbers(zlib.compress(bytes(10)) + b"x")
    with pytest.raises(ValueError, match="incorrect header"):
        unpack_numbers(b"nonsense")


@pytest.mark.usefixtures("_small")
def test_members_of_an_archive_have_the_bound_of_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "w.yw"
    container.write(path, "{}", [("a", bytes(40_000))])
    with pytest.raises(ConfigError, match=r"w\.yw: unpacks from .* to more than"):
        container.read(path)


def test_a_member_that_is_longer_than_it_says_is_damaged_and_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "w.yw"
    container.write(path, "{}", [("a", bytes(50 * MIB))])
    data, said = path.read_bytes(), (50 * MIB).to_bytes(4, "little")
    assert data.count(said) == 2  # in the directory, and before the member
    path.write_bytes(data.replace(said, (5).to_bytes(4, "little")))
    with zipfile.ZipFile(path) as archive:
        check_members(archive, "w.yw", len(data))
        tracemalloc.start()
        try:
            with pytest.raises(zipfile.BadZipFile):
                read_member(archive, archive.getinfo("templates/a.et"))
            assert tracemalloc.get_traced_memory()[1] < MIB
        finally:
            tracemalloc.stop()
    with pytest.raises(ConfigError, match=r"w\.yw: templates/a\.et: damaged"):
        container.read_template(path, "a")


TREES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text('[]{}\\"a', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"\\', max_size=3), inner)
    ),
    max_leaves=12,
)


def depth_of(tree: Any) -> int:
    if not isinstance(tree, dict | list):
        return 0
    inside = tree.values() if isinstance(tree, dict) else tree
    return 1 + max(map(depth_of, inside), default=0)


@given(TREES, st.integers(1, 6))
def test_a_text_is_too_deep_where_its_tree_is(tree: Any, most: int) -> None:
    text = json.dumps(tree)
    before, bounds.Bounds.depth_of_json = bounds.Bounds.depth_of_json, most
    try:
        assert is_too_deep(text) == is_too_deep(text.encode()) == (depth_of(tree) > most)
        at = too_deep_at(text)
        assert (at is None) == (depth_of(tree) <= most)
        assert at is None or text[at] in "[{"
    finally:
        bounds.Bounds.depth_of_json = before


def depth_read_by_letter(text: str) -> int | None:
    """The most levels outside texts, or None where there is an escape: no JSON."""
    depth = deepest = 0
    inside = escaped = False
    for one in text:
        if escaped:
            escaped = False
        elif one == "\\":
            if not inside:
                return None
            escaped = True
        elif one == '"':
            inside = not inside
        elif not inside:
            depth += (one in "[{") - (one in "]}")
            deepest = max(deepest, depth)
    return deepest


@given(st.text('[]{}\\"a é', max_size=60), st.integers(1, 6), st.integers(1, 9))
def test_a_text_of_several_pieces_is_as_deep_as_one(text: str, most: int, piece: int) -> None:
    deepest = depth_read_by_letter(text)
    if deepest is None:
        return
    before = bounds.Bounds.depth_of_json, nesting._PIECE
    bounds.Bounds.depth_of_json, nesting._PIECE = most, piece
    try:
        assert is_too_deep(text) == is_too_deep(text.encode()) == (deepest > most)
    finally:
        bounds.Bounds.depth_of_json, nesting._PIECE = before


@pytest.mark.parametrize("hidden", ["]", '"]', "]]]]\\", '\\"]"'])
def test_brackets_in_texts_hide_no_depth_of_a_long_text(hidden: str) -> None:
    filler = json.dumps("x" * (2 * MIB))
    deep = f"[{json.dumps(hidden)}," * 5000 + filler + "]" * 5000
    flat = f"[{filler}," + ",".join([json.dumps("[" * 300)] * 500) + "]"
    assert is_too_deep(deep) and is_too_deep(deep.encode())
    assert not is_too_deep(flat) and not is_too_deep(flat.encode())


@pytest.mark.parametrize("one", ['"', "\\", "[]", "x", '"["'])
def test_how_deep_a_text_is_takes_the_memory_of_a_piece(one: str) -> None:
    text = one * (16 * MIB // len(one))
    tracemalloc.start()
    try:
        assert not is_too_deep(text)
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("one", ["[", '{"a":'])
def test_json_nests_two_hundred_deep_in_every_reader(one: str) -> None:
    end = "]" if one == "[" else "}"
    deep = [one * levels + "1" + end * levels for levels in (199, 200, 201, 100_000)]
    own = [f'{{"a":{text}}}' for text in deep]
    for text in deep[:2]:
        assert json_value(text) == parse_json(text, "x")[0]
    assert parse_own_json(own[0], "x") == json.loads(own[0])
    for text in deep[2:]:
        with pytest.raises(ConfigError, match=r"x, line 1, column .*: not JSON: nested too deeply"):
            parse_json(text, "x")
        with pytest.raises(ValueError, match="nested too deeply"):
            json_value(text)
    for text in own[1:]:
        with pytest.raises(ConfigError, match="nested too deeply"):
            parse_own_json(text, "x")


@given(st.text("0123456789", min_size=1, max_size=400))
def test_a_whole_number_has_at_most_three_hundred_digits(text: str) -> None:
    assert is_whole(text) == (len(text) <= 300)
    assert whole(text) == (int(text) if len(text) <= 300 else None)


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1_0", "1.0", "٣", "1e3", "0x1", "a"])
def test_what_is_no_plain_digits_is_no_whole_number(text: str) -> None:
    assert not is_whole(text)
    assert whole(text) is None


def test_json_with_too_many_digits_is_an_error_of_the_file() -> None:
    digits = "9" * 5000
    with pytest.raises(ConfigError, match="x: not JSON: a number has 5000 digits; expected at"):
        parse_json(f'{{"a": {digits}}}', "x", exact_integers=True)
    with pytest.raises(ConfigError, match=r"x: not JSON: .* is out of range"):
        parse_json(f'{{"a": {digits}}}', "x")
    with pytest.raises(ConfigError, match="x: not JSON: a number has too many digits"):
        parse_own_json(f'{{"a": {digits}}}', "x")
    with pytest.raises(ValueError, match="digits"):
        json_value(digits)


@given(st.lists(st.lists(st.text("a,\"\n \r'é", max_size=4), min_size=1, max_size=3), max_size=4))
def test_rows_of_csv_are_those_that_were_written(rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    assert [row for _, row in csv_rows(out.getvalue(), "x")] == rows


def test_a_cell_has_a_bound_and_rows_have_lines() -> None:
    text = f'a,b\n1,"2\n3"\n4,{"x" * 131_072}\n'
    assert [line for line, _ in csv_rows(text, "x")] == [1, 3, 4]
    long = f'a,b\n1,"2\n3"\n4,{"x" * 131_073}\n'
    with pytest.raises(ConfigError) as caught:
        list(csv_rows(long, "x"))
    assert str(caught.value) == (
        "x, line 4: a value has more than 131072 characters; is this a CSV file?"
    )
    with pytest.raises(ConfigError, match="x, line 2: not CSV: "):
        list(csv_rows('a\n"b" c\n', "x", strict=True))
    assert list(csv_mappings("a,b\n1,2\n\n3,4\n", "x")) == [
        (2, {"a": "1", "b": "2"}),
        (4, {"a": "3", "b": "4"}),
    ]
    with pytest.raises(ConfigError, match="x, line 2: expected 2 values, as the header has, got 1"):
        list(csv_mappings("a,b\n1\n", "x"))


def test_aliases_stand_for_a_value_a_byte_at_most() -> None:
    long = "[" + ",".join("x" * 300_000) + "]"
    assert len(parse_yaml(long, "x")) == 300_000
    ones = f"a: &a [{','.join('1' * 1000)}]\nb: [{','.join(['*a'] * 98)}]"
    assert len(parse_yaml(ones, "x")["b"]) == 98
    with pytest.raises(ConfigError, match="aliases make more than 100000 values of it"):
        parse_yaml(ones.replace("b: [", "b: [*a,*a,"), "x")


@pytest.mark.parametrize(
    ("text", "read", "what"),
    [
        ("[" + "x, " * 700_000 + "x]", parse_yaml, "YAML"),
        ("a,b\n" + "1,2\n" * 525_000, lambda text, name: list(csv_rows(text, name)), "CSV"),
    ],
)
def test_a_reader_that_takes_long_says_so_before(
    text: str, read: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(notes, "_receivers", [told.append])
    read(text, "x")
    assert told == [f"x: 2 MB of {what}, which take about 2 s to read"]
    read(text[:1] + text[-1:], "y")
    assert len(told) == 1
