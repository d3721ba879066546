"""What is read without PyYAML, PyYAML reads alike; the rest is left to it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from yantra.base.documents import _parse_any_yaml, _plain_scalar
from yantra.base.errors import ConfigError
from yantra.base.plain_yaml import read_plain

NETWORK = "topology: [ Ring, Switch ]  # innermost first\nnpus_count: [8,4]\n\nlatency: [ 500.0 ]\n"
PIECES = ("a", "B", "7", "0", ".", "-", "_", "e", ":", ": ", " ", "  ", "#", " #", ",", "[", "]")
OTHERS = ("\n", "\n\n", "{", "}", "'", '"', "?", "- ", "&a", "*a", "!", "|", "%", "~", "\t", "é")
LINES = ("a: b\n", "b: [1]\n", "c: [ x , 2.5]  # [y]\n", "# c: d\n", "null: true\n", "a: 1e5\n")


def _by_pyyaml(text: str, scalar: Any) -> Any:
    try:
        return _parse_any_yaml(text, "file", scalar)
    except ConfigError as error:
        return str(error)


def _agree(text: str) -> None:
    for scalar in (str, _plain_scalar):
        read = read_plain(text, scalar)
        if read is not None:
            assert repr(_by_pyyaml(text, scalar)) == repr(read), text


def test_a_network_file_is_read() -> None:
    whole = {"topology": ["Ring", "Switch"], "npus_count": ["8", "4"], "latency": ["500.0"]}
    assert read_plain(NETWORK, str) == whole
    _agree(NETWORK)


@pytest.mark.parametrize("beginning", ["", "a: ", "a: [", "a: b\n", "a: [b, c"])
def test_short_texts_are_read_as_pyyaml_reads_them(beginning: str) -> None:
    for text in product((*PIECES, "\n"), repeat=3):
        _agree(beginning + "".join(text))


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from((*PIECES, *OTHERS, *LINES)), max_size=25).map("".join))
@example("a: b #c\nb: c#d\n")
@example("a : b\n")
@example(" a: b\n")
@example("a: [b]#c\n")
@example("a: ...\n")
@example("---\na: b\n")
@example("a: b\n...\n")
@example("a: b\n...\nc: d\n")
@example("a:  b  \n#\n # c\n")
@example("a: -1\nb: [1, -2]\n")
@example("a: b\na: c\n")
@example("a: b\x85c: d\n")
@example("a: b\n c\n")
@example("a: b\nc\n")
@example("a: 010\nb: 0x10\nc: 1:30\nd: no\n")
@example("a" * 2000 + ": b\n")
def test_any_text_is_read_as_pyyaml_reads_it(text: str) -> None:
    _agree(text)
