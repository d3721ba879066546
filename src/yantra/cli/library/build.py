"""`yantra library build`: traces from recipes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from yantra.library.build import Built


@click.command(
    cls=WithExamples,
    examples=[
        "yantra library build width.h1k.l4.tp8 --json",
        "yantra library build 'width.h1k.*' stg.gpt.l4.tp8 -o traces",
    ],
)
@click.argument("recipes", nargs=-1, metavar="[RECIPE]...")
@click.option("--all", "every", is_flag=True, help="All but recordings, which need PyTorch.")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False), default="library", show_default=True,
    help="The folder to write to.",
)  # fmt: skip
@json_option
def command(recipes: tuple[str, ...], every: bool, output: str, as_json: bool) -> int:
    """Build traces into a folder: RECIPE is a name, a pattern such as 'moe.*', or a family (.yaml).

    What is there already is kept, so an interrupted build goes on.
    """
    from yantra.cli.progress import progress
    from yantra.library import families
    from yantra.library.build import build

    if every == bool(recipes):
        raise click.UsageError("expected RECIPE..., or --all")
    if every:
        chosen = [one for one in families.recipes().values() if one.makes != "record"]
    else:
        chosen = families.chosen(recipes)
    with progress("building", counted=True) as tell:
        built = build(chosen, output, tell)
    if as_json:
        print_json([_as_dict(one) for one in built])
    else:
        _write(built, output)
    return max((one.status for one in built), default=0)


def _as_dict(one: Built) -> dict[str, object]:
    row = None if one.row is None else one.row.as_dict()
    return {"recipe": one.recipe.name, "path": one.path, "kept": one.kept, "same": one.same,
            "problem": one.problem, "row": row}  # fmt: skip


def _write(built: list[Built], folder: str) -> None:
    from yantra.base.text import count
    from yantra.cli import warn

    failed = [one for one in built if one.problem]
    said = dict.fromkeys(one.problem or "" for one in failed)
    for text in said:
        sys.stderr.write(f"error: {text}\n")
    other = [one.recipe.name for one in built if one.same is False]
    warn([f"{name}: its digest is not the manifest's" for name in other])
    kept = sum(one.kept for one in built)
    made = len(built) - kept - len(failed)
    same = sum(one.same is True for one in built)
    parts = [f"built {count(made, 'trace')} in {folder}"]
    parts += [f"{same} as the manifest says"] * any(one.same is not None for one in built)
    parts += [f"{kept} were there"] * bool(kept) + [f"{len(failed)} failed"] * bool(failed)
    sys.stdout.write("; ".join(parts) + "\n")
