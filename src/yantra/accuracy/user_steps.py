"""A user's own measured steps: a CSV file to rows, and rows to a stack's file.

    model,cluster,dtype,plan,seconds
    llama3-8b,hgx-h100,bf16,tp=8 dp=2 global_batch=32,4.31

`model` is a name of the catalogue or a file, `plan` fields of a Plan (docs/reference/plans.md) with
`=`, apart by spaces, `seconds` of one step. `dtype` is that of products and may be left out, and so
may `profile`, the kernels of the very machine by name or file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import path as paths

from yantra.accuracy.fit import Factors, Parts
from yantra.accuracy.predict import (
    Refused,
    parts_with,
    predicted,
    ran_with,
    with_tables_attention,
)
from yantra.accuracy.rows import Row
from yantra.accuracy.splits import Run, judged, residuals
from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.rows import csv_mappings, csv_rows
from yantra.compute import profiles
from yantra.fabric import clusters
from yantra.fabric.stacks.find import parsed
from yantra.fabric.stacks.types import Stack

_COLUMNS = ("model", "cluster", "plan", "seconds")
_OPTIONAL = ("dtype", "profile")
_ROUNDS = 2  # in which factors are fitted again, beside the first
_S_PER_MB = 7.0  # each row looks its model and cluster up


def read_steps(path: Path, stack: str) -> list[Row]:
    """Return the steps of a file as rows of a stack. Raises ConfigError with the line."""
    name = str(path)
    text = read_text(path)
    found = next(csv_rows(text, name, s_per_mb=_S_PER_MB), (1, []))[1]
    for column in _COLUMNS:
        if column not in found:
            expected = f"columns {', '.join(_COLUMNS)}, and optionally {', '.join(_OPTIONAL)}"
            raise ConfigError(f"{name}:1", expected_got(expected, ", ".join(found)))
    rows = [_row(line, f"{name}:{at}", stack) for at, line in csv_mappings(text, name, _S_PER_MB)]
    if not rows:
        raise ConfigError(name, "expected at least one step below the names of the columns")
    return rows


def _row(line: dict[str, str], where: str, stack: str) -> Row:
    from yantra.workloads.models.catalogue import find

    model = find(line["model"], f"{where}: model")
    cluster = clusters.load(line["cluster"], where=where, folder=paths.dirname(where))
    plan = _plan(line["plan"], where)
    try:
        seconds = float(line["seconds"])
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise ConfigError(where, f"seconds: {expected_got('a number above 0', line['seconds'])}")
    profile = line.get("profile") or ""
    if profile:
        if "/" in profile or profile.endswith(".yaml"):
            profile = paths.abspath(paths.join(paths.dirname(where), profile))
        profiles.load(profile, where=f"{where}: profile")
    row = Row(
        dataset="own",
        name=where,
        gpu=cluster.device,
        dtype=line.get("dtype") or cluster.dtype,
        stack=stack,
        fold=model.name,
        ranks=0,
        cluster=line["cluster"],
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


def stack_text(rows: Sequence[Row], title: str) -> tuple[str, list[Parts]]:
    """Return the file of the stack that fits the rows best, and our parts of each by the tables.

    Factors are fitted to the parts of the steps, and again to those on the paths that are the
    longest with these factors. The interval is conformal where there are ten rows or more of
    several models, else that of frameworks that nothing is known of. Raises ConfigError for a row
    that cannot be run.
    """
    from yantra.accuracy.suite import recorded, recorded_runs

    parts: list[Parts] = []
    for one in predicted(rows, "measured"):
        if isinstance(one, Refused):
            raise ConfigError(one.row.name, one.why)
        parts.append(one)
    strange = residuals(judged(recorded(), unseen=True, ran=recorded_runs().unseen))
    near = parts
    for _ in range(_ROUNDS):
        stack = parsed(_file(title, near, strange, strange), title)
        near = [parts_with(one.row, _factors(stack, one.row)) for one in parts]
    known = strange
    if len(near) >= 10 and len({one.row.fold for one in near}) > 1:
        bare = judged(near, unseen=False)
        ran = {one.parts.row: ran_with(one.parts.row, [one.factors])[0] for one in bare}
        runs = {row: Run(one.seconds) for row, one in ran.items()}
        known = residuals(judged(near, unseen=False, ran=runs))
    text = _file(title, near, known, strange)
    return text, [with_tables_attention(one) for one in parts]


def _file(
    title: str,
    parts: Sequence[Parts],
    known: Sequence[tuple[Row, float]],
    strange: Sequence[tuple[Row, float]],
) -> str:
    from yantra.accuracy.stack_files import file_of

    return file_of(title, ["the user's own steps"], parts, parts, known, strange)


def seconds_with(stack: Stack, row: Row) -> float:
    """Return what the run of a step takes with a stack that was made of it, in s."""
    return ran_with(row, [_factors(stack, row)])[0].seconds


def _factors(stack: Stack, row: Row) -> Factors:
    terms = stack.terms(row.cluster, row.dtype)[1]
    return Factors(
        products=terms.products.value,
        attention=terms.attention.value / (terms.older_attention.value or 1.0),
        rest=terms.rest.value,
        communication=terms.communication.value or 1.0,
    )
