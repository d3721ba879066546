"""`yantra library list`: the recipes, or one with settings, provenance and statistics."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from yantra.library.manifest import Row


@click.command(
    cls=WithExamples,
    examples=["yantra library list moe.mixtral-8x7b.s2k.ep8", "yantra library list --json"],
)
@click.argument("recipe", required=False)
@json_option
def command(recipe: str | None, as_json: bool) -> None:
    """List recipes, or show how RECIPE is made and what it gives."""
    from yantra.library.manifest import manifest

    if recipe is None:
        write_rows(manifest().values(), as_json)
        return
    import json

    from yantra.base.text import filled
    from yantra.library.families import chosen

    one = chosen([recipe])[0]
    row = manifest().get(one.name)
    known = {} if row is None else row.as_dict()
    said = {"name": one.name, "makes": one.makes, "about": one.about, "source": one.source,
            "settings": one.settings, **known}  # fmt: skip
    if as_json:
        print_json(said)
        return
    lines = [one.name, *(f"  {key}: {value}" for key, value in (
        ("about", one.about), ("source", one.source), ("made by", one.makes),
        ("settings", json.dumps(one.settings)), ("tags", " ".join(known.get("tags", one.tags))),
        ("digest", known.get("digest", "not in the manifest"))))]  # fmt: skip
    if row is not None:
        lines.append("  " + ", ".join(f"{key} {value:,}" for key, value in row.numbers.items()))
    sys.stdout.write("\n".join(filled(line, 100) for line in lines) + "\n")


def write_rows(rows: Iterable[Row], as_json: bool) -> None:
    """A line a recipe, and their number."""
    from yantra.base.text import count, format_bytes, table
    from yantra.base.units import format_flops

    found = list(rows)
    if as_json:
        print_json([row.as_dict() for row in found])
        return
    lines = [
        (row.name, str(row.numbers["ranks"]), f"{row.numbers['nodes']:,}",
         format_flops(row.numbers["flops"]).removesuffix("/s"),
         format_bytes(row.numbers["communicated"]), " ".join(row.tags[1:]))
        for row in found
    ]  # fmt: skip
    head = ("recipe", "ranks", "nodes", "operations", "communicated", "tags")
    text = table(head, lines, left=1) if lines else []
    sys.stdout.write("\n".join([*text, count(len(found), "recipe")]) + "\n")
