"""The manifest: of every recipe the digest of what it gives, tags and statistics, without data.

A row is of integers, words and features; `python -m yantra.library` makes it anew.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from io import StringIO
from os import path as paths
from typing import Any, NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.output import write_text
from yantra.library.features import NAMES

FILE = paths.join(paths.dirname(__file__), "manifest.csv")
DEGREES = ("tp", "cp", "pp", "dp", "ep")
NUMBERS = (
    "ranks", *DEGREES, "layers", "hidden", "sequence", "batch", "parameters", "nodes", "flops",
    "traffic", "communicated", "memory",
)  # fmt: skip
"""Counts: `nodes`, `flops`, `traffic` (bytes of memory) and `communicated` (bytes) over all ranks,
`memory` the most of a rank in bytes; 0 where not known."""
_HEAD = ("name", "makes", "digest", "tags", *NUMBERS, *(f"~{name}" for name in NAMES))


class Row(NamedTuple):
    """What is known of a recipe. `digest` is SHA-256 of the file, of a recording of its
    structure."""

    name: str
    makes: str
    digest: str
    tags: tuple[str, ...]
    numbers: Mapping[str, int]
    features: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"name": self.name, "makes": self.makes, "digest": self.digest,
                "tags": list(self.tags), "numbers": dict(self.numbers)}  # fmt: skip


@cache
def manifest() -> dict[str, Row]:
    """The shipped manifest by name of the recipe."""
    return {row.name: row for row in read(FILE)}


def read(path: Path) -> list[Row]:
    found = []
    for line in csv.DictReader(read_text(path).splitlines()):
        numbers = {name: int(line[name]) for name in NUMBERS}
        features = {name: float(line[f"~{name}"]) for name in NAMES}
        tags = tuple(line["tags"].split())
        found.append(Row(line["name"], line["makes"], line["digest"], tags, numbers, features))
    return found


def write(rows: Iterable[Row], path: Path = FILE) -> None:
    text = StringIO()
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(_HEAD)
    for row in rows:
        numbers = (row.numbers[name] for name in NUMBERS)
        features = (f"{row.features[name]:.4g}" for name in NAMES)
        sheet.writerow((row.name, row.makes, row.digest, " ".join(row.tags), *numbers, *features))
    write_text(path, text.getvalue())
