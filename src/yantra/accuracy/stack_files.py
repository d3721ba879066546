"""Writes the files of stacks from fitted rows: those of yantra/fabric/stacks, and a user's own.

Each release of a stack has a file for each kind of models, with the factors of all machines that a
step of the kind was measured on in any release, and of `any` other. All rows are fitted: what the
accuracy page reports are fits without a row's model. What is not fitted, the title, `copies`,
`older_attention`, `launch`, `straggling`, `taken` and the like with their sources, is as the file
has it, or that of `unknown` for a stack that has none.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from math import isfinite
from os import path as paths
from statistics import fmean

import numpy as np

from yantra.accuracy import default
from yantra.accuracy.effects import Fit, Observed, context_of, precision
from yantra.accuracy.fit import Factors, Parts, beside_profile
from yantra.accuracy.mixture import EIGHT, mixture, mixture_on, on_gpus, shipped
from yantra.accuracy.rows import UNKNOWN, Row, file_name
from yantra.accuracy.splits import Judged, Ran, judged, pooled, residuals, shape_of, widths_by_plan
from yantra.base.output import write_text
from yantra.fabric import stacks
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.balance import PRIOR
from yantra.fabric.stacks.types import ANY, DENSE, GIVEN, NOTHING, SHAPE, Stack, Terms

FOLDER = paths.join(paths.dirname(stacks.__file__), "files")
NINETY = 1.645
"""Standard deviations in half of a normal's central 90 %."""
ENDINGS = {"8 bits": " fp8", "4 bits": " fp4"}
"""What a machine's key ends in, by the precision of its steps."""


def write_all(parts: Sequence[Parts], known_ran: Ran) -> None:
    """Write a file for each stack, release and kind of the rows; see `splits.judged` for runs."""
    known = judged(parts, unseen=False, ran=known_ran)
    observed = Observed(one for one in parts if not one.row.profile)
    kinds: dict[tuple[str, str], list[Parts]] = defaultdict(list)
    for one in parts:
        kinds[one.row.stack, one.row.kind].append(one)
    write_unknown()
    for (stack, kind), own in kinds.items():
        for release in sorted({one.row.release for one in own}):
            text = file_of(
                own, release, [one for one in parts if one.row.stack == stack], known, observed
            )
            write_text(paths.join(FOLDER, f"{file_name(stack, release, kind)}.yaml"), text)


def write_unknown() -> None:
    """Write the file of a framework that nobody names, as the recorded runs of it have it."""
    write_text(paths.join(FOLDER, "unknown.yaml"), unknown())


def unknown() -> str:
    """Return the file of a framework that nobody names: the mixture of those that are shipped."""
    before, every = stacks.load(UNKNOWN), [stack for stack in shipped() if on_gpus(stack)]
    rows = "all measured steps of docs/reference/accuracy.md, without those of the row's framework"
    lines = [f"title: {before.title}", "", *_sources(rows, [before]), ""]
    if before.copies is not None:
        lines += [f"copies: {_number(before.copies)}", ""]
    lines += [*before.lines(), "machines:"]
    ours = default.recorded()
    now = f"a mixture of {len(every)} stacks and what frameworks add, {PRIOR} [rows]"
    for machine, terms in before.machines:
        eight = machine.endswith(EIGHT)
        of = [one for one in ours if default.key_of(one.row)[1] == eight]
        models = len({(one.row.fold, one.row.cluster) for one in of})
        whole = mixture_on(machine, every, terms.older_attention.value or 1.0)
        whole = whole._replace(rows=len(of), models=models)
        longer = whole.products / mixture(every).products
        terms = terms.replace(training_products=_longer(longer))
        width = default.width_on((machine.removesuffix(EIGHT), eight), ours)
        made = _terms(machine, whole, width, terms)
        told = "half of the interval, of which 90 % are 1.645 deviations [rows]"
        made.append(f'    apart: {{value: {width / NINETY:.3f}, basis: derived, source: "{told}"}}')
        if terms.attention_apart != NOTHING:
            made.append(f"    attention_apart: {_number(terms.attention_apart)}")
        said = f"fitted to {len(of)} steps of {models} models [rows]"
        lines += [line.replace(said, now) for line in made]
    return "\n".join(lines) + "\n"


def _longer(products: float) -> Number:
    if abs(products - 1.0) < 5e-4:
        return NOTHING
    said = "that of the mixture without what precision and balance say of training [rows]"
    return NOTHING.replace(value=products, written=f"{products:.3f}", basis="derived", source=said)


def file_of(
    own: Sequence[Parts],
    release: str,
    every: Sequence[Parts],
    known: Sequence[Judged],
    observed: Observed,
) -> str:
    """Return the text of a release's file; `own` are the rows of its stack and kind.

    `every` are those of the stack, and `known` all rows as they are judged.
    """
    machines: dict[str, list[Parts]] = defaultdict(list)
    for one in own:
        bits = ENDINGS.get(precision(one.row), "")
        machines[one.row.cluster + bits].append(one)
    of_release = [one.row for one in own if one.row.release == release]
    before = of_release[0].file
    name = file_name(own[0].row.stack, release, own[0].row.kind)
    title = before.title if before.name == name else name
    sets = ", ".join(sorted({one.row.dataset for one in own}))
    rows = f"measured steps of {sets}: docs/reference/accuracy.md and NOTICE"
    lines = [f"title: {title}", *_identity(before, release), "", *_sources(rows, [before]), ""]
    if before.copies is not None:
        lines += [f"copies: {_number(before.copies)}", ""]
    lines += [*before.lines(), "machines:"]
    for key, of_machine in machines.items():
        row = of_machine[0].row._replace(release=release)
        beside = [one for one in every if one.row.cluster == row.cluster]
        if row.profile:
            fit = Fit(beside_profile(beside), np.zeros((3, 3)))
        else:
            fit = observed.at(context_of(row), lambda _: True)
        given = before.terms(row.machine, row.dtype)[1]
        lines += _machine(key, row, fit, of_machine, given, known)
        lines += _plans([one.row for one in of_machine], residuals(known))
    row = own[0].row._replace(release=release, profile="", cluster="")
    fit = observed.at(context_of(row), lambda _: True)
    lines += _machine(ANY, row, fit, own, before.terms()[1], known)
    return "\n".join(lines) + "\n"


def _machine(
    key: str,
    row: Row,
    fit: Fit,
    steps: Sequence[Parts],
    given: Terms,
    known: Sequence[Judged],
) -> list[str]:
    """Return the lines of a machine, with the interval of steps like those of `steps`."""
    apart = fmean(fit.deviation(one) for one in steps)
    older = given.older_attention.value or 1.0
    models = {(one.row.fold, one.row.cluster) for one in steps}
    factors = fit.factors._replace(attention=fit.factors.attention * older)
    if not factors.rows:  # all beside a profile
        factors = factors._replace(rows=len(steps), models=len(models))
    lines = _terms(key, factors, pooled(row, known)(apart), given, row.profile)
    told = "deviation of what is not known of a step of another model [rows]"
    lines.append(f'    apart: {{value: {apart:.3f}, basis: derived, source: "{told}"}}')
    if key != ANY:
        lines.append(f"    measured_tp: {sorted({shape_of(one.row)[0] for one in steps})}")
    return lines


def _identity(stack: Stack, release: str) -> list[str]:
    """Return the lines of what `auto` goes by."""
    lines = [f"framework: {stack.framework}"]
    lines += [f"names: [{', '.join(stack.names)}]"] if stack.names else []
    lines += [f"year: {stack.year}"] if stack.year is not None else []
    lines += [f'release: "{release}"'] if release else []
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
