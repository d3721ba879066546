"""A user's own measured steps: a CSV file to rows.

    model,cluster,dtype,plan,seconds
    llama3-8b,hgx-h100,bf16,tp=8 dp=2 global_batch=32,4.31

`model` is a name of the catalogue or a file, `plan` fields of a Plan (docs/reference/plans.md) with
`=`, apart by spaces, `seconds` of one step. `dtype` is that of products and may be left out, and so
may `profile`, the kernels of the very machine by name or file, and `framework`, which is told and
never believed: which stack is near, the seconds say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import path as paths

from yantra.accuracy.rows import Row
from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.named_files import ENDING
from yantra.base.rows import csv_mappings, csv_rows
from yantra.compute import profiles
from yantra.fabric import clusters

_COLUMNS = ("model", "cluster", "plan", "seconds")
_OPTIONAL = ("dtype", "profile", "framework")
OWN = "own"
"""The stack of rows until one is made of them; nothing is known of it."""
_S_PER_MB = 7.0  # each row looks its model and cluster up


def read_steps(path: Path) -> list[Row]:
    """Return the steps of a file. Raises ConfigError with the line."""
    name = str(path)
    text = read_text(path)
    found = next(csv_rows(text, name, s_per_mb=_S_PER_MB), (1, []))[1]
    for column in _COLUMNS:
        if column not in found:
            expected = f"columns {', '.join(_COLUMNS)}, and optionally {', '.join(_OPTIONAL)}"
            raise ConfigError(f"{name}:1", expected_got(expected, ", ".join(found)))
    rows = [_row(line, f"{name}:{at}") for at, line in csv_mappings(text, name, _S_PER_MB)]
    if not rows:
        raise ConfigError(name, "expected at least one step below the names of the columns")
    return rows


def _row(line: dict[str, str], where: str) -> Row:
    from yantra.workloads.models.catalogue import find

    model = find(line["model"], f"{where}: model")
    named = line["cluster"]
    cluster = clusters.load(named, where=where, folder=paths.dirname(where))
    if not clusters.knows(named):  # a file, beside that of the steps
        named = paths.abspath(paths.join(paths.dirname(where), named))
    plan = _plan(line["plan"], where)
    try:
        seconds = float(line["seconds"])
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise ConfigError(where, f"seconds: {expected_got('a number above 0', line['seconds'])}")
    profile = line.get("profile") or ""
    if profile:
        if "/" in profile or profile.endswith(ENDING):
            profile = paths.abspath(paths.join(paths.dirname(where), profile))
        profiles.load(profile, where=f"{where}: profile")
    row = Row(
        dataset="own",
        name=where,
        gpu=cluster.device,
        dtype=line.get("dtype") or cluster.dtype,
        stack=(line.get("framework") or "").strip() or OWN,
        fold=model.name,
        ranks=0,
        cluster=named,
        model=line["model"],
        plan=json.dumps(plan),
        seconds=seconds,
        profile=profile,
    )
    try:
        return row._replace(ranks=row.made_plan().ranks)
    except ConfigError as error:
        raise ConfigError(where, f"plan: {error}") from None


def _plan(text: str, where: str) -> dict[str, object]:
    from yantra.base.documents import parse_yaml
    from yantra.workloads.plan.plan import Plan

    plan: dict[str, object] = {}
    for part in text.split():
        field, equals, value = part.partition("=")
        if not equals:
            problem = expected_got("fields such as tp=8 dp=2", part)
            raise ConfigError(where, f"plan: {problem}")
        if field not in Plan.field_names:
            problem = f"no field is called '{field}'{hint(field, Plan.field_names)}"
            raise ConfigError(where, f"plan: {problem}")
        plan[field] = parse_yaml(value, where)
    return plan


def frameworks(rows: Sequence[Row]) -> list[str]:
    """Return the frameworks that steps name, each once."""
    return list(dict.fromkeys(row.stack for row in rows if row.stack != OWN))
