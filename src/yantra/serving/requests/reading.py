"""Reads a trace of requests in whatever form it is; the names of its columns tell which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.documents import note_unknown
from yantra.base.errors import ConfigError, did_you_mean, show
from yantra.base.notes import note
from yantra.base.text import count
from yantra.serving.requests.forms import forms
from yantra.serving.requests.forms.form import Columns, Form, spans_of
from yantra.serving.requests.source import JsonItems, Source, open_source
from yantra.serving.requests.types import PER_REQUEST, SPANS, Requests, reordered_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from yantra.base.documents import Path

    Whole = NDArray[np.int64]

_OFTEN = ("azure", "mooncake", "own", "vllm")
DATES_NS = 10**17
"""Times from 1973 on, in ns: those of dates, which count from the first request."""


class Log(NamedTuple):
    """Requests, and what an engine measured of each: columns in seconds, NaN where it did not."""

    requests: Requests
    measured: dict[str, NDArray[np.float64]]


def read(path: Path, *, sort: bool = False, only: Mapping[str, str] | None = None) -> Requests:
    """Return the requests of a file; gzip is unpacked, and the form is found by its columns.

    `only` keeps the rows whose columns have these texts: `{"gpu": "H100"}`. With `sort` rows need
    not be in order of arrival; equal ones stay as they are. Raises ConfigError, with the line, for
    what is no such file.
    """
    return read_log(path, sort=sort, only=only).requests


def read_log(path: Path, *, sort: bool = False, only: Mapping[str, str] | None = None) -> Log:
    return _read(open_source(path), sort=sort, only=only or {})


def of_rows(rows: Iterable[Mapping[str, Any]]) -> Requests:
    """The requests of mappings, whose keys are the columns of Yantra's own files.

    Raises ConfigError, with the item.
    """
    return _read(JsonItems("requests", map(dict, rows)), sort=False, only={}).requests


def _read(source: Source, *, sort: bool, only: Mapping[str, str]) -> Log:
    form = form_of(source)
    if form.is_document:
        if only:
            raise ConfigError(source.where, "only rows of a table can be chosen; this is none")
        columns = form.document(source.objects(), source.where)
        keep = np.ones(len(columns["arrival_ns"]), bool)
    else:
        columns, keep = table_of(source, form, only)
    form.finish(columns)
    if form.fails:
        whole = (columns["output"] > 0) & (columns["prompt"] > 0)
        failed = int((keep & ~whole).sum())
        keep &= whole
        if failed:
            left = count(failed, "request", commas=True)
            note(f"{source.where}: {left} without prompt or output left out, as failed ones are")
    if not keep.any():
        chosen = f" with {_told(only)}" if only else ""
        raise ConfigError(source.where, f"has no requests{chosen}; expected at least one")
    # The items of a document are numbered, which says nothing of time.
    return log_of(source, form, columns, np.flatnonzero(keep), sort=sort or form.is_document)


def form_of(source: Source) -> Form:
    if not source.names:
        raise ConfigError(source.where, "has no requests; expected at least one")
    closest: tuple[int, str, type[Form] | None] = (0, "", None)
    for name in _names():
        form = forms.get(name)
        found = {
            role: next((one for one in names if one in source.names), "")
            for role, names in (*form.needs.items(), *form.may.items(), *form.measures.items())
        }
        if all(found[role] for role in form.needs):
            used = {role: name for role, name in found.items() if name}
            if form.has_all:
                note_unknown(
                    [one for one in source.names if one not in used.values()], source.where
                )
            return form(used)
        has = sum(bool(found[role]) for role in form.needs)
        if has > closest[0]:
            closest = has, name, form
    raise ConfigError(source.where, _unknown(source, closest[1], closest[2]))


def _names() -> Iterator[str]:
    yield from _OFTEN
    yield from (name for name in forms.names() if name not in _OFTEN)


def _unknown(source: Source, name: str, form: type[Form] | None) -> str:
    if form is None:
        shown = ", ".join(map(show, source.names[:8]))
        known = ", ".join(forms.names())
        return f"no known form of requests: has {shown}; known are {known}"
    lacking = next(names for names in form.needs.values() if not set(names) & set(source.names))
    near = did_you_mean(lacking[0], source.names) if len(lacking) == 1 else ""
    others = f" (or {', '.join(lacking[1:])})" if lacking[1:] else ""
    has = near.replace("did you mean", "it has").rstrip("?")
    return f"lacks the column '{lacking[0]}'{others}, taken as the form '{name}'{has}"


def table_of(
    source: Source, form: Form, only: Mapping[str, str]
) -> tuple[Columns, NDArray[np.bool_]]:
    for name in only:
        if name not in source.names:
            problem = f"has no column '{name}' to choose rows by"
            raise ConfigError(source.where, problem + did_you_mean(name, source.names))
    blocks, chosen = [], []
    for size, cells in source.blocks():
        blocks.append(form.block(cells))
        keep = np.ones(size, bool)
        for name, text in only.items():
            keep &= np.array(cells.texts(name), object) == text
        chosen.append(keep)
    if not blocks:
        raise ConfigError(source.where, "has no requests behind its header; expected at least one")
    joined = {name: np.concatenate([one[name] for one in blocks]) for name in blocks[0]}
    return joined, np.concatenate(chosen)


def log_of(source: Source, form: Form, columns: Columns, rows: Whole, *, sort: bool) -> Log:
    arrival = columns["arrival_ns"][rows]
    stated = rows
    if "implied" in columns:  # of those that follow another, which may be anywhere behind it
        stated = rows[~columns["implied"][rows]]
    if not sort:
        _check_order(source, form, columns["arrival_ns"][stated], stated)
    if arrival.min() >= DATES_NS:
        columns["arrival_ns"] = columns["arrival_ns"] - arrival.min()
    order = (
        rows if not sort and len(stated) == len(rows) else rows[np.argsort(arrival, kind="stable")]
    )
    measured = {name: columns[name][order] for name in form.measures if name in columns}
    given = _filled(columns)
    try:
        if len(order) < len(columns["arrival_ns"]) or np.any(order[1:] < order[:-1]):
            given = reordered_columns(given, order)
        return Log(Requests(**given), measured)
    except ConfigError as error:  # of a request, which is a row
        number = re.fullmatch(r"requests\[(\d+)\]\.(\w+)", error.where)
        if number is None:
            raise
        name = form.names.get(number[2], number[2])
        place = source.place(int(order[int(number[1])]))
        raise ConfigError(place, f"{name}: {error.problem}") from None


def _filled(columns: Columns) -> Columns:
    size = len(columns["arrival_ns"])
    for name, empty, most in (("user", 0, 2**31 - 1), ("session", -1, 2**62)):
        if name in columns and columns[name].dtype == object:
            columns[name] = _numbered(columns[name], empty, most)
    if "adapter" in columns and columns["adapter"].dtype == object:
        columns["adapter"] = _adapters(columns["adapter"].tolist())
    counts = columns.get("span_count", np.zeros(size, np.int64))
    nothing = np.zeros(0, np.int64)
    defaults = {"limit": columns["output"], "session": -1, "after": -1}
    filled = {
        name: columns[name] if name in columns else np.full(size, defaults.get(name, 0))
        for name in PER_REQUEST
    }
    for name in ("user", "adapter"):
        filled[name] = filled[name].astype(np.int32)
    filled["span_start"] = spans_of(counts)
    return filled | {name: columns.get(name, nothing) for name in SPANS[1:]}


def _adapters(names: list[str]) -> Whole:
    if all(name.isascii() and name.isdecimal() and len(name) < 10 for name in names if name):
        return np.array([int(name or 0) for name in names], np.int64)
    place = {"": 0}
    return np.array([place.setdefault(name, len(place)) for name in names], np.int64)


def _numbered(texts: NDArray[Any], empty: int, most: int) -> Whole:
    place: dict[str, int] = {}
    found = np.array([place.setdefault(text, len(place)) for text in texts.tolist()], np.int64)
    plain = all(
        name.isascii() and name.isdecimal() and len(name) < 20 and str(int(name)) == name
        for name in place
        if name
    )
    numbers = [int(name) if plain and name else at for at, name in enumerate(place)]
    if max(numbers, default=0) > most:
        numbers = list(range(len(place)))
    if "" in place:
        numbers[place[""]] = empty
    return np.array(numbers, np.int64)[found]


def _check_order(source: Source, form: Form, arrival: Whole, rows: Whole) -> None:
    early = arrival[1:] < arrival[:-1]
    if not early.any():
        return
    at = int(np.argmax(early)) + 1
    before, row = source.row(int(rows[at - 1])), source.row(int(rows[at]))
    name = form.names["arrival_ns"]
    problem = f"{name}: expected the order of arrival, got {row[name]} after {before[name]}; "
    used = set(form.names.values())
    for other, text in row.items():
        if other not in used and isinstance(text, str) and text != before[other]:
            problem += f"if '{other}' parts several runs, choose one: {other}={before[other]}"
            break
    else:
        problem += "sort the rows (in Python, read(path, sort=True) does)"
    raise ConfigError(source.place(int(rows[at])), problem)


def _told(only: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={text}" for name, text in only.items())
