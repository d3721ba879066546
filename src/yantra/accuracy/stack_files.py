"""Writes the files of stacks from fitted rows: those of yantra/fabric/stacks, and a user's own.

Each machine that a stack was measured on has its own factors; `any` has those of all of its rows
together. A stack's own rows are all fitted: what the accuracy page reports are fits without them.
What is not fitted, the title, `copies`, `older_attention`, `launch`, `straggling` and `taken` with
their sources, is as the file of the stack has it, or that of `unknown` for a stack that has none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from math import isfinite
from os import path as paths

from yantra.accuracy import default
from yantra.accuracy.fit import Factors, Parts, fitted
from yantra.accuracy.mixture import PRIOR, mixture, shipped
from yantra.accuracy.predict import with_tables_attention
from yantra.accuracy.rows import UNKNOWN, Row
from yantra.accuracy.splits import (
    Ran,
    judged,
    nearest,
    pooled,
    precision,
    residuals,
    widths_by_plan,
)
from yantra.base.output import write_text
from yantra.fabric import stacks
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.types import DENSE, GIVEN, NOTHING, SHAPE, Stack, Terms

FOLDER = paths.join(paths.dirname(stacks.__file__), "files")


def write_all(parts: Sequence[Parts], known_ran: Ran, unseen_ran: Ran) -> None:
    """Write a file for each stack of the rows; see `splits.judged` for their runs."""
    strange = residuals(judged(parts, unseen=True, ran=unseen_ran))
    known = residuals(judged(parts, unseen=False, ran=known_ran))
    by_stack: dict[str, list[Parts]] = defaultdict(list)
    for one in parts:
        by_stack[one.row.stack].append(one)
    write_unknown()
    for stack, own in by_stack.items():
        for kind in ("dense", "moe"):
            of_kind = [one for one in own if one.row.kind == kind]
            if not of_kind:
                continue
            name = stack if kind == "dense" else f"{stack}-moe"
            before = of_kind[0].row.file
            title = before.title if before.name == name else name
            sets = sorted({one.row.dataset for one in of_kind})
            text = file_of(title, sets, of_kind, own, known, strange)
            write_text(paths.join(FOLDER, f"{name}.yaml"), text)


def write_unknown() -> None:
    """Write the file of a framework that nobody names, as the recorded runs of it have it."""
    write_text(paths.join(FOLDER, "unknown.yaml"), unknown())


def unknown() -> str:
    """Return the file of a framework that nobody names: the mixture of those that are shipped."""
    before, every = stacks.load(UNKNOWN), shipped()
    rows = "all measured steps of docs/reference/accuracy.md, without those of the row's framework"
    lines = [f"title: {before.title}", "", *_sources(rows, [before]), ""]
    if before.copies is not None:
        lines += [f"copies: {_number(before.copies)}", ""]
    lines += [*before.lines(), "machines:"]
    ours = default.recorded()
    models = len({(one.row.fold, one.row.cluster) for one in ours})
    said = f"fitted to {len(ours)} steps of {models} models [rows]"
    now = f"a mixture of {len(every)} stacks and what frameworks add, {PRIOR} [rows]"
    for machine, terms in before.machines:
        whole = mixture(every, older=terms.older_attention.value or 1.0)
        whole = whole._replace(rows=len(ours), models=models)
        made = _terms(machine, whole, default.half_width(ours), terms)
        lines += [line.replace(said, now) for line in made]
    return "\n".join(lines) + "\n"


def file_of(
    title: str,
    datasets: Sequence[str],
    parts: Sequence[Parts],
    every: Sequence[Parts],
    known: Sequence[tuple[Row, float]],
    strange: Sequence[tuple[Row, float]],
) -> str:
    """Return the text of a stack's file; `every` are its rows of all kinds.

    `known` and `strange` are residuals for intervals.
    """
    machines: dict[str, list[Parts]] = defaultdict(list)
    parts, every = ([with_tables_attention(one) for one in some] for some in (parts, every))
    for one in parts:
        eight = precision(one.row) == "8 bits"
        machines[f"{one.row.cluster} fp8" if eight else one.row.cluster].append(one)
    before = list(dict.fromkeys(one.row.file for one in parts))
    rows = f"measured steps of {', '.join(datasets)}: docs/reference/accuracy.md and NOTICE"
    lines = [f"title: {title}", *_identity(before[0]), "", *_sources(rows, before), ""]
    copies = next((one.copies for one in before if one.copies is not None), None)
    if copies is not None:
        lines += [f"copies: {_number(copies)}", ""]
    lines += [*before[0].lines(), "machines:"]
    widest = 0.0
    for key, own in machines.items():
        width = pooled(own[0].row, known)
        widest = max(widest, width if isfinite(width) else 0.0)
        factors = nearest(own[0].row, every)[0]
        if not own[0].row.profile:  # beside one they rest on both kinds of models
            factors = factors._replace(rows=len(own))
        lines += _terms(key, factors, width, own[0].row.given, own[0].row.profile)
        lines += _plans([one.row for one in own], known)
    elsewhere = parts[0].row._replace(profile="")
    width = pooled(elsewhere, [(row._replace(profile=""), one) for row, one in strange])
    width = max(width, widest)  # nothing is better known of a machine that no step was measured on
    lines += _terms("any", fitted(parts, elsewhere=True), width, before[0].terms()[1])
    return "\n".join(lines) + "\n"


def _identity(stack: Stack) -> list[str]:
    """Return the lines of what `auto` goes by."""
    lines = [f"framework: {stack.framework}"]
    lines += [f"names: [{', '.join(stack.names)}]"] if stack.names else []
    lines += [f"year: {stack.year}"] if stack.year is not None else []
    return [*lines, f"kind: {stack.kind}"] if stack.kind != DENSE else lines


def _plans(rows: Sequence[Row], known: Sequence[tuple[Row, float]]) -> list[str]:
    """Return the intervals of plans that 20 rows or more are like; none but of several shapes."""
    found = widths_by_plan(rows, known)
    if not found:
        return []
    lines = ["    plans:"]
    for shape, (count, width) in found.items():
        named = ", ".join(f"{name}: {n}" for name, n in zip(SHAPE, shape, strict=False))
        source = f"residuals of {count} held-out steps hold 90 % [rows]"
        value = f'interval: {{value: {width:.3f}, basis: derived, source: "{source}"}}'
        lines.append(f"      - {{{named}, {value}}}")
    return lines


def _sources(rows: str, before: Sequence[Stack]) -> list[str]:
    """Return the table of sources; all but `rows` are those of the files before."""
    others = {key: text for one in before for key, text in one.sources if key != "rows"}
    quoted = (f"  {key}: {json.dumps(text)}" for key, text in {"rows": rows, **others}.items())
    return ["sources:", *quoted]


def _number(number: Number) -> str:
    """Return a number as a file states it."""
    basis = "" if number.basis == "published" else f", basis: {number.basis}"
    return f"{{value: {number.written}{basis}, source: {json.dumps(number.source)}}}"


def _terms(key: str, factors: Factors, width: float, given: Terms, profile: str = "") -> list[str]:
    """Return the lines of a machine: what is fitted, and what is given."""
    on = f"fitted to {factors.rows} steps of {factors.models} models [rows]"
    if factors[:4] == Factors()[:4]:
        on = "nothing is fitted [rows]"
    lines = [f"  {key}:", f"    rows: {factors.rows}", f"    models: {factors.models}"]
    known = "its kernels were measured on this machine"
    if profile:
        lines.append(f"    profile: {profile}")
    for name in ("products", "attention", "rest", "communication"):
        value = getattr(factors, name)
        if name == "communication" and value == 1.0:
            continue
        source = known if profile and name in ("products", "attention") else on
        lines.append(f'    {name}: {{value: {value:.3f}, basis: derived, source: "{source}"}}')
    for name in GIVEN:
        number = getattr(given, name)
        if number != NOTHING:
            lines.append(f"    {name}: {_number(number)}")
    if isfinite(width) and width > 0:
        off = "residuals of held-out models [rows]"
        lines.append(f'    interval: {{value: {width:.3f}, basis: derived, source: "{off}"}}')
    return lines
