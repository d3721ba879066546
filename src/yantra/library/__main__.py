"""`python -m yantra.library [DIR]`: build every recipe and write the manifest anew.

Recordings keep their rows where PyTorch and transformers are not installed.
"""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory

from yantra.library.build import build
from yantra.library.families import recipes
from yantra.library.manifest import FILE, read, write


def main(folder: str) -> int:
    """Print what failed or changed; 1 where a recipe that needs no PyTorch failed."""
    from os import path as paths

    before = {row.name: row for row in read(FILE)} if paths.exists(FILE) else {}
    rows, status = [], 0
    for built in build(list(recipes().values()), folder):
        row = built.row or (
            before.get(built.recipe.name) if built.recipe.makes == "record" else None
        )
        if built.problem:
            sys.stderr.write(f"{built.recipe.name}: {built.problem}\n")
            status = status or int(built.recipe.makes != "record")
        if row is not None:
            rows.append(row)
    write(rows)
    changed = sum(before.get(row.name) != row for row in read(FILE))
    sys.stdout.write(f"{len(rows)} of {len(recipes())} recipes; {changed} rows changed\n")
    return status


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(sys.argv[1]))
    with TemporaryDirectory() as made:
        sys.exit(main(made))
