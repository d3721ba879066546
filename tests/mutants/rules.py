"""Mutants of a C++ text by rule: one small change each, of the kinds that people make by mistake.
The text is read as tokens, so comments, strings, attributes and preprocessor lines stay.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple


class Token(NamedTuple):
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Mutant(NamedTuple):
    """`before`, which the text has at `start`, becomes `after`."""

    line: int  # the first is 1
    start: int
    before: str
    after: str
    rule: str

    def applied(self, text: str) -> str:
        end = self.start + len(self.before)
        assert text[self.start : end] == self.before
        return text[: self.start] + self.after + text[end:]

    @property
    def change(self) -> str:
        before = " ".join(self.before.split())
        return f"{before} -> {' '.join(self.after.split()) or 'nothing'}"


_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|^[ \t]*\#(?:\\\n|[^\n])*
        |\[\[.*?\]\])
    |(?P<token>[A-Za-z_]\w*|0x[\da-fA-F']+[uUlL]*|\d[\d'.]*[\w]*
        |<=>|<<=|>>=|->\*?|::|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_FLIPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_FLIPS |= {"&&": "||", "||": "&&"}
_OTHER_WAY = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++"}
_WHOLE = re.compile(r"(0x[\da-fA-F']+|\d[\d']*)([uUlL]*)")
_NO_STATEMENT = re.compile(
    r"(?:using|struct|class|enum|template|static|constexpr|inline|typedef|friend|namespace|public|"
    r"private|explicit|virtual|const|auto|case|default|else|do|if|for|while|switch|static_assert|"
    r"return)\b"
)
_DECLARES = re.compile(
    r"(?:[\w:]+(?:<.*>)?[&*]*\s+)+[\w]+(?:\{.*\}|\(.*\))?\s*(?:[=;\[].*)?$", re.S
)
_LEAVES = re.compile(r"return(?: true| false)?;|break;|continue;")
_PARAMETER = re.compile(r"(?:const\s+)?[\w:]+(?:<.*>)?\s*(?:[&*]+\s*\w+|\s\w+)(?:\s*=.*)?$", re.S)
_SYMMETRIC = {"min", "max", "__builtin_mul_overflow", "if", "for", "while", "switch", "catch"}
_BEFORE = {"(": (">",), "{": (">", "=", "(", ",", "{")}  # a bracket that holds arguments
_NOTHING_LOST = re.compile(r"\breserve\(|^ensure\(")


def mutants(text: str, *, left_out: tuple[str, ...] = ()) -> list[Mutant]:
    """Return all mutants of a text. Statements that begin with one of `left_out` have none."""
    tokens = list(_tokens(text))
    begins = [0, *(match.end() for match in re.finditer("\n", text))]
    skipped = _skipped(text, left_out)
    found = [*_operators(text, tokens), *_numbers(text, tokens)]
    found += [*_statements(text, tokens), *_swaps(text, tokens)]
    made = {
        (start, before, after): Mutant(bisect_right(begins, start), start, before, after, rule)
        for start, before, after, rule in found
    }
    kept = [one for one in made.values() if one.line not in skipped]
    return sorted(kept, key=lambda one: (one.start, one.after))


Change = tuple[int, str, str, str]  # start, before, after, rule


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        found = match["token"]
        if found is not None and not found.isspace():
            yield Token(found, match.start())


def _operators(text: str, tokens: list[Token]) -> Iterator[Change]:
    for at, token in enumerate(tokens):
        spaced = text[token.start - 1].isspace() and text[token.end : token.end + 1].isspace()
        if token.text in _FLIPS and spaced and not _in_declaration(tokens, at):
            yield token.start, token.text, _FLIPS[token.text], "flip"
        elif token.text in ("++", "--") or (
            token.text in _OTHER_WAY and spaced and not _joins_texts(text, token)
        ):
            yield token.start, token.text, _OTHER_WAY[token.text], "one off"


def _joins_texts(text: str, token: Token) -> bool:
    return '"' in (text[: token.start].rstrip()[-1], text[token.end :].lstrip()[0])


def _in_declaration(tokens: list[Token], at: int) -> bool:
    return at > 0 and tokens[at - 1].text in ("operator", "template")


def _numbers(text: str, tokens: list[Token]) -> Iterator[Change]:
    for token in tokens:
        match = _WHOLE.fullmatch(token.text)
        if match is None or text[token.end : token.end + 1] == ">":
            continue
        value = int(match[1].replace("'", ""), 0)
        for other in (value + 1, value - 1):
            if other >= 0:
                after = hex(other) if match[1].startswith("0x") else str(other)
                yield token.start, token.text, after + match[2], "one off"


def _statements(text: str, tokens: list[Token]) -> Iterator[Change]:
    for at, token in enumerate(tokens):
        if text[text.rfind("\n", 0, token.start) + 1 : token.start].strip():
            continue
        if at > 0 and tokens[at - 1].text not in (";", "{", "}", ")", ":"):
            continue
        end = _semicolon(tokens, at)
        if end is None:
            continue
        statement = text[token.start : end]
        kept = _NO_STATEMENT.match(statement) or _DECLARES.match(statement[:-1])
        if _LEAVES.match(statement) or not (kept or _NOTHING_LOST.search(statement)):
            yield token.start, statement, ";", "drop"


def _semicolon(tokens: list[Token], at: int) -> int | None:
    depth = 0
    for token in tokens[at:]:
        if token.text in ("(", "[", "{"):
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        if depth < 0 or (token.text == ";" and depth > 0):
            return None
        if token.text == ";":
            return token.end
    return None


def _swaps(text: str, tokens: list[Token]) -> Iterator[Change]:
    for at, token in enumerate(tokens):
        if token.text not in _BEFORE:
            continue
        before = tokens[at - 1].text if at > 0 else ""
        if before in _SYMMETRIC or not (before.isidentifier() or before in _BEFORE[token.text]):
            continue
        parts = _arguments(text, tokens, at)
        for (start, end), (begin, stop) in pairwise(parts):
            one, other = text[start:end], text[begin:stop]
            fixed = any(part[0] == '"' or _PARAMETER.match(part) for part in (one, other))
            if one != other and not fixed:
                yield start, text[start:stop], other + text[end:begin] + one, "swap"


def _arguments(text: str, tokens: list[Token], at: int) -> list[tuple[int, int]]:
    parts, depth, start = [], 0, tokens[at].end
    for token in tokens[at:]:
        if token.text in ("(", "[", "{"):
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        if token.text == ";":
            return []
        if depth == 0 or (depth == 1 and token.text == ","):
            parts.append((start, token.start))
            start = token.end
        if depth == 0:
            break
    stripped = []
    for start, end in parts:
        part = text[start:end]
        if not part.strip():
            return []
        left = len(part) - len(part.lstrip())
        stripped.append((start + left, start + left + len(part.strip())))
    return stripped


def _skipped(text: str, left_out: tuple[str, ...]) -> set[int]:
    lines: set[int] = set()
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        inside = inside or line.strip().startswith(left_out)
        if inside and left_out:
            lines.add(number)
        inside = inside and not line.rstrip().endswith(";")
    return lines
