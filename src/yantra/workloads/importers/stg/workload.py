"""Sheets to a workload: one template per pipeline stage, ranks numbered as upstream."""

from __future__ import annotations

import os

from yantra.workloads.importers.stg.assembly_file import read_assembly
from yantra.workloads.importers.stg.builtin.catalog import builtin
from yantra.workloads.importers.stg.emission import templates
from yantra.workloads.importers.stg.library import sheets_of
from yantra.workloads.importers.stg.program import Program, generate
from yantra.workloads.importers.stg.settings import Settings
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group

_GRID, _VIEW = "train", "dense"


def from_stg(
    settings: Settings, sheets: str | None = None, assembly: str | None = None
) -> Workload:
    """Make a model's workload.

    `sheets` is a checkout of STG or STAGE, or a folder of sheets; by default the built-in modules.
    The file `assembly` connects your own sheets, which are beside it unless `sheets` is given.
    Raises ConfigError for what does not fit.
    """
    if assembly is not None:
        own = read_assembly(assembly)
        symbols = own.symbols | dict(settings.symbols)
        settings = settings.replace(model_type="own", symbols=symbols)
        library = sheets_of(sheets or os.path.dirname(assembly) or ".", settings)
        program = generate(settings, library, own.assembly)
    else:
        library = builtin(settings) if sheets is None else sheets_of(sheets, settings)
        program = generate(settings, library)
    return _workload(program)


def _workload(program: Program) -> Workload:
    settings = program.settings
    axes = (*settings.axes, ("pp", len(program.stages)))
    names = [f"stage{place}" for place in range(len(program.stages))]
    sections = {
        "about": {"source": "stg", **_flags(settings)},
        "ordering": "streams" if settings.units == "stg" else "serial",
        "notes": _notes(settings),
    }
    return Workload(
        grids=[Grid(_GRID, 0, {_VIEW: axes})],
        groups={name: Group(_VIEW, (name,)) for name, size in settings.axes if size > 1},
        classes=[RankClass(_GRID, {"pp": place}, name) for place, name in enumerate(names)],
        templates=dict(zip(names, templates(program), strict=True)),
        sections=sections,
    )


def _flags(settings: Settings) -> dict[str, object]:
    values = {name: getattr(settings, name) for name in settings.field_names}
    return {name: value for name, value in values.items() if value not in (None, {})}


def _notes(settings: Settings) -> list[str]:
    if settings.model_type in ("llama", "dense") and settings.family == "gpt":
        return ["units stg: a llama without mixed_precision is upstream's gpt"]
    return []
