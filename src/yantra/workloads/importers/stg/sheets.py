"""Reads one module: a CSV table of tensors and a JSON file of its inputs and outputs.

Source: astra-sim/stage@9ec6c02, `sharding_spreadsheets`; the columns are in docs/reference/stg.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from yantra.base.documents import parse_json, read_text
from yantra.base.errors import ConfigError, did_you_mean, show
from yantra.base.rows import csv_rows
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.expressions import Expression, Shape, number
from yantra.workloads.importers.stg.module import Module
from yantra.workloads.importers.stg.parse import parse, parse_shape
from yantra.workloads.importers.stg.tensors import WHOLE, Graph, Spec, Tensor

COLUMNS = (
    *("id", "require_grads", "x1", "x2", "op_type", "op_attr"),
    *("x1_shape", "x1_hidden", "x2_shape", "x2_hidden", "grad_of", "extra_attr"),
)
_IDENTIFIER = re.compile(r"([^@]+)(?:@([0-9]{1,9}))?")
_AXIS = re.compile(r"\s*-?[0-9]{1,3}\s*")
_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{0,15})?")
_ONE_INPUT = {"I", "E", "R", "B", "SLICE", "CUSTOM"}
_TWO_INPUTS = {"M", "A", "E2", "C"}
_NO_INPUT = {"T", "S"}


class _Row(NamedTuple):
    where: str
    cells: Mapping[str, str]

    def wrong(self, column: str, expected: str, got: object = None) -> ConfigError:
        shown = show(self.cells[column] if got is None else got)
        return ConfigError(f"{self.where}, column {column}", f"expected {expected}, got {shown}")

    def read(self, column: str, reader: Callable[[str], Any], expected: str) -> Any:
        try:
            return reader(self.cells[column])
        except ValueError as error:
            raise self.wrong(column, f"{expected} ({error})") from None


def read_module(path: str) -> Module:
    """Read `<name>.csv` and the `<name>.json` beside it; raises ConfigError."""
    rows = _rows(path)
    graph: Graph = []
    by_id: dict[str, Tensor] = {}
    for row in rows:
        name = _identifier(row, "id")
        if name in by_id:
            raise row.wrong("id", "an id that no other row has")
        is_weight = row.cells["require_grads"]
        if is_weight not in ("Y", "N", ""):
            raise row.wrong("require_grads", "Y or N")
        # STG marks backward tensors, which get their own weights under FSDP, by this letter.
        backward = name.rpartition(".")[2].startswith("d")
        tensor = Tensor(name, _spec(row), trained=is_weight == "Y", backward=backward)
        by_id[name] = tensor
        graph.append(tensor)
    for row, tensor in zip(rows, graph, strict=True):
        _link(row, tensor, by_id)
    return _module(path, graph, by_id)


def _rows(path: str) -> list[_Row]:
    name = os.fspath(path)
    table = [row for _, row in csv_rows(read_text(path), name, strict=True)]
    header = tuple(cell.strip() for cell in table[0]) if table else ()
    if header not in (COLUMNS, COLUMNS[:-1]):
        problem = f"expected the columns {','.join(COLUMNS)}; got {show(','.join(header))}"
        raise ConfigError(f"{name}, row 1", problem)
    rows = []
    for number_, cells in enumerate(table[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"{name}, row {number_}"
        if not len(COLUMNS) - 1 <= len(cells) <= len(COLUMNS):
            problem = f"expected {len(header)} cells, got {len(cells)}"
            raise ConfigError(where, problem)
        padded = [cell.strip() for cell in cells] + [""] * (len(COLUMNS) - len(cells))
        rows.append(_Row(where, dict(zip(COLUMNS, padded, strict=True))))
    return rows


def _identifier(row: _Row, column: str, text: str | None = None) -> str:
    given = row.cells[column] if text is None else text
    match = _IDENTIFIER.fullmatch(given)
    if match is None:
        raise row.wrong(column, "a name or name@revision", given)
    name, revision = match[1], int(match[2] or 0)
    return f"{name}@{revision}" if revision else name


def _spec(row: _Row) -> Spec:
    code = row.cells["op_type"]
    if code not in operators.CODES:
        expected = f"one of {', '.join(operators.CODES)}{did_you_mean(code, operators.CODES)}"
        raise row.wrong("op_type", expected)
    equation, axis, amount = _attribute(row, code)
    shapes = [_shape(row, "x1_shape", True), _shape(row, "x1_hidden", False) or WHOLE]
    second = _shape(row, "x2_shape", code in _TWO_INPUTS or code in ("R", "CUSTOM"))
    hidden = _shape(row, "x2_hidden", False) or (None if second is None else WHOLE)
    first, first_hidden = shapes
    assert first is not None and first_hidden is not None
    spec = Spec(code, first, first_hidden, second, hidden, equation, axis, amount, row.where)
    operators.output(spec)
    return spec


def _shape(row: _Row, column: str, needed: bool) -> Shape | None:
    if not row.cells[column]:
        if needed:
            raise row.wrong(column, f"sizes, which {row.cells['op_type']} needs")
        return None
    shape: Shape = row.read(column, parse_shape, "sizes such as Batch/dp, Seq/cp")
    return shape


def _attribute(row: _Row, code: str) -> tuple[str, int, Expression]:
    text = row.cells["op_attr"]
    if code == "M":
        return _equation(row, text), 0, number(1)
    if code in ("E", "E2"):
        return "", 0, number(row.read("op_attr", _operations, "operations per element, 0 or more"))
    if code == "CUSTOM":
        return "", 0, row.read("op_attr", parse, "a formula of operations")
    if code == "C":
        if not _AXIS.fullmatch(text):
            raise row.wrong("op_attr", "an axis such as 1")
        return "", int(text), number(1)
    if code in ("B", "SLICE"):
        sign, example = ("*", "3*Head/KVHead") if code == "B" else (":", "3:Head/tp")
        axis, found, amount = text.partition(sign)
        expected = f"an axis and a size such as {example}"
        if not found or not _AXIS.fullmatch(axis):
            raise row.wrong("op_attr", expected)
        return "", int(axis), row.read("op_attr", lambda _: parse(amount), expected)
    if text:
        raise row.wrong("op_attr", f"nothing, which is what {code} takes")
    return "", 0, number(1)


def _equation(row: _Row, text: str) -> str:
    compact = text.replace(" ", "")
    inputs, arrow, result = compact.partition("->")
    first, comma, second = inputs.partition(",")
    letters = first + second
    correct = arrow and comma and first and second and set(result) <= set(letters)
    contracted = set(first) - set(result)
    repeated = any(len(set(part)) < len(part) for part in (first, second, result))
    if not correct or not letters.isalpha() or not contracted <= set(second) or repeated:
        raise row.wrong("op_attr", "an equation of two inputs such as bsm,mn->bsn")
    return compact


def _operations(text: str) -> Fraction:
    if not _DECIMAL.fullmatch(text):
        raise ValueError("not such a number")
    return Fraction(text)


def _link(row: _Row, tensor: Tensor, by_id: Mapping[str, Tensor]) -> None:
    def linked(column: str, text: str) -> Tensor:
        name = _identifier(row, column, text)
        if name not in by_id:
            raise row.wrong(column, f"the id of a row{did_you_mean(name, by_id)}", text)
        return by_id[name]

    code = tensor.spec.code
    for column in ("x1", "x2"):
        needed = code in _TWO_INPUTS or (column == "x1" and code in _ONE_INPUT)
        allowed = needed or code == "SLICE"
        if needed and not row.cells[column]:
            raise row.wrong(column, f"the id of a row, which {code} needs")
        if row.cells[column]:
            if not allowed:
                raise row.wrong(column, f"nothing, which is what {code} takes")
            setattr(tensor, column, linked(column, row.cells[column]))
    if row.cells["grad_of"]:
        tensor.gradient_of = linked("grad_of", row.cells["grad_of"])
        tensor.weight_gradient = tensor.gradient_of.trained
    tensor.also = tuple(linked("extra_attr", name) for name in _more_inputs(row, code))


def _more_inputs(row: _Row, code: str) -> Sequence[str]:
    if not row.cells["extra_attr"]:
        return ()
    expected = 'JSON such as {"data_deps": ["k", "v"]}'
    try:
        tree, warnings = parse_json(row.cells["extra_attr"], row.where)
    except ConfigError:
        raise row.wrong("extra_attr", expected) from None
    names = tree.get("data_deps", []) if isinstance(tree, dict) else None
    if warnings or not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise row.wrong("extra_attr", expected)
    if set(tree) - {"data_deps", "ctrl_deps"} or (names and code != "CUSTOM"):
        raise row.wrong("extra_attr", f"data_deps of a CUSTOM row; this one is {code}")
    return names


def _module(path: str, graph: Graph, by_id: Mapping[str, Tensor]) -> Module:
    where = f"{os.path.splitext(path)[0]}.json"
    tree, _ = parse_json(read_text(where), where)
    if not isinstance(tree, dict):
        raise ConfigError(where, "expected an object with symbols, in_tensors and out_tensors")
    ends: dict[str, list[Tensor]] = {}
    for key in ("in_tensors", "out_tensors"):
        names = tree.get(key)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ConfigError(f"{where}, {key}", f"expected a list of ids, got {show(names)}")
        for name in names:
            if name.removesuffix("@0") not in by_id:
                expected = f"expected ids of {os.path.basename(path)}{did_you_mean(name, by_id)}"
                raise ConfigError(f"{where}, {key}", f"{expected}, got {show(name)}")
        ends[key] = [by_id[name.removesuffix("@0")] for name in names]
    for tensor in ends["in_tensors"]:
        if tensor.spec.code != operators.PLACEHOLDER:
            problem = f"expected rows of type T, got {tensor.name}, which is {tensor.spec.code}"
            raise ConfigError(f"{where}, in_tensors", problem)
    _check_symbols(where, tree.get("symbols"), graph)
    return Module(path, graph)


def _check_symbols(where: str, named: object, graph: Graph) -> None:
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise ConfigError(f"{where}, symbols", f"expected a list of names, got {show(named)}")
    used: set[str] = set()
    for tensor in graph:
        spec = tensor.spec
        for shape in (spec.x1_shape, spec.x1_hidden, spec.x2_shape, spec.x2_hidden):
            used |= {name for size in shape or () for name in size.symbols}
    if used != set(named):
        more, fewer = sorted(used - set(named)), sorted(set(named) - used)
        problem = "expected the symbols of the shapes"
        problem += f"; not listed: {', '.join(more)}" if more else ""
        problem += f"; not used: {', '.join(fewer)}" if fewer else ""
        raise ConfigError(f"{where}, symbols", problem)
