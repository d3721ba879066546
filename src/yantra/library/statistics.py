"""The row of the manifest for what a recipe made."""

from __future__ import annotations

from hashlib import sha256

from yantra.library.families import Recipe
from yantra.library.features import of_workload
from yantra.library.make import Made
from yantra.library.manifest import DEGREES, NUMBERS, Row
from yantra.workloads.describe import as_dict
from yantra.workloads.templates import Workload


def row_of(recipe: Recipe, made: Made, content: bytes) -> Row:
    workload = made.workload
    said = as_dict(workload)
    degrees = degrees_of(workload)
    compute, communication = said["compute"], said["communication"]
    known = {
        "ranks": workload.ranks,
        "nodes": sum(workload.totals[name]["nodes"] * ranks
                     for name, ranks in workload.ranks_of_template().items()),
        "flops": sum(one["operations"] for one in compute),
        "traffic": sum(one["bytes"] for one in compute),
        "communicated": sum(one["bytes"] for one in communication),
        "memory": max(workload.peaks().values(), default=0),
    }  # fmt: skip
    numbers = dict.fromkeys(NUMBERS, 0) | degrees | dict(made.facts) | known
    tags = tags_of(recipe, made.tags, degrees)
    digest = sha256(content).hexdigest()
    return Row(recipe.name, recipe.makes, digest, tags, numbers, of_workload(workload))


def tags_of(recipe: Recipe, more: tuple[str, ...], degrees: dict[str, int]) -> tuple[str, ...]:
    """Words of a recipe, each once: family, maker, its own, those of what it made, parallelism."""
    parallel = (axis for axis, size in degrees.items() if size > 1)
    every = (recipe.family, recipe.makes, *recipe.tags, *more, *parallel)
    return tuple(dict.fromkeys(word.replace(" ", "-") for word in every))


def degrees_of(workload: Workload) -> dict[str, int]:
    """Sizes of the first grid's axes, 1 where it has none."""
    grid = workload.grids[0]
    sizes = {axis: size for _, axes in reversed(grid.views) for axis, size in axes}
    return {axis: sizes.get(axis, 1) for axis in DEGREES}
