"""Contents have one number if, and only if, their bytes are equal."""

from __future__ import annotations

import random

from yantra.compile.contents import SMALL, Contents


def _numbers(contents: list[bytes]) -> list[int]:
    by_path = {str(at): content for at, content in enumerate(contents)}
    found = Contents(by_path.__getitem__)
    return [found.number(content, path)[0] for path, content in by_path.items()]


def _first_places(contents: list[bytes]) -> list[int]:
    numbers: dict[bytes, int] = {}
    return [numbers.setdefault(content, len(numbers)) for content in contents]


def test_equal_contents_have_one_number_small_and_large() -> None:
    random_bytes = random.Random(0)
    base = random_bytes.randbytes(2 * SMALL + 17)
    contents = [b"", b"a", base, base[:SMALL], b"a"]
    for _ in range(60):
        changed = bytearray(base)
        changed[random_bytes.randrange(len(base))] ^= random_bytes.choice([0, 1])
        contents += [bytes(changed), base, base[: random_bytes.randrange(len(base))]]
    assert _numbers(contents) == _first_places(contents)


def test_large_contents_that_differ_where_nobody_looked_are_told_apart() -> None:
    one, other = bytearray(4 * SMALL), bytearray(4 * SMALL)
    other[1] = 1  # not among the bytes of the sample
    contents = [bytes(one), bytes(other), bytes(one), bytes(other)]
    assert _numbers(contents) == [0, 1, 0, 1]


def test_contents_that_come_again_are_not_new() -> None:
    found = Contents({"a": b"x" * 3 * SMALL}.__getitem__)
    assert found.number(b"x" * 3 * SMALL, "a") == (0, True)
    assert found.number(b"x" * 3 * SMALL, "b") == (0, False)
    assert found.number(b"small", "c") == (1, True)
