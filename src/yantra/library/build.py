"""Builds recipes on all cores, a process each; what is done is kept when it is interrupted.

A file appears whole or not at all. One that has the manifest's digest is not made again, nor is a
recording, which takes minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from yantra.base.cores import cores
from yantra.base.errors import YantraError
from yantra.base.output import make_folder
from yantra.library.families import Recipe
from yantra.library.manifest import Row, manifest
from yantra.tracing.pytorch.on_cores import be_child_of, can_fork

Progress = Callable[[int, int], None]


class Built(NamedTuple):
    """What became of a recipe.

    `row` is None where it failed, for `problem`, or is another recording; `kept`: it was there.
    `same`: the digest is the manifest's, None where the manifest has none; `status`: the exit
    status of its error.
    """

    recipe: Recipe
    row: Row | None
    path: str
    kept: bool
    same: bool | None
    problem: str | None
    status: int = 0


def build(recipes: Sequence[Recipe], folder: str, progress: Progress | None = None) -> list[Built]:
    """Build into a folder, in the recipes' order. Raises ConfigError for the folder."""
    make_folder(folder)
    found: dict[str, Built] = {}
    for built in _each(recipes, folder):
        found[built.recipe.name] = built
        if progress is not None:
            progress(len(found), len(recipes))
    return [found[recipe.name] for recipe in recipes]


def _each(recipes: Sequence[Recipe], folder: str) -> Iterator[Built]:
    workers = min(cores(), len(recipes))
    if workers < 2 or not can_fork():
        yield from (one(recipe, folder) for recipe in recipes)
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(workers, get_context("fork"), be_child_of, (os.getpid(),))
    try:
        for done in as_completed([pool.submit(one, recipe, folder) for recipe in recipes]):
            yield done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def one(recipe: Recipe, folder: str) -> Built:
    """Build one recipe. What it raises becomes its `problem`."""
    path = path_of(recipe, folder)
    known = manifest().get(recipe.name)
    try:
        if known is not None and (there := _digest(recipe, path)) is not None:
            is_same = there == known.digest
            if is_same or recipe.makes == "record":
                return Built(recipe, known if is_same else None, path, True, is_same, None)
        row = _recorded(recipe, path) if recipe.makes == "record" else _made(recipe, path)
    except YantraError as error:
        return Built(recipe, None, path, False, None, str(error), error.exit_code)
    same = None if known is None else row.digest == known.digest
    return Built(recipe, row, path, False, same, None)


def path_of(recipe: Recipe, folder: str) -> str:
    """The file of a recipe, or the folder of a recording."""
    ending = "" if recipe.makes == "record" else ".yw"
    return os.path.join(folder, recipe.name + ending)


def _digest(recipe: Recipe, path: str) -> str | None:
    """Of what is there, None if nothing is."""
    if recipe.makes == "record":
        from yantra.library.recorded import digest_in

        return digest_in(path) if os.path.isdir(path) else None
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return sha256(file.read()).hexdigest()


def _made(recipe: Recipe, path: str) -> Row:
    from yantra.library.make import made
    from yantra.library.statistics import row_of

    made_ = made(recipe)
    made_.workload.save(path)
    with open(path, "rb") as file:
        return row_of(recipe, made_, file.read())


def _recorded(recipe: Recipe, path: str) -> Row:
    from yantra.library.recording import record

    return record(recipe, path)
