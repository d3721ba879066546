"""Notebooks as files: `python -m docs.notebooks.files` runs their cells and writes them.

Without Jupyter: code is run in one namespace; its output is what it prints and, as there, the last
line's value as HTML and text. Form: nbformat 4.5.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from docs.notebooks.cells import NOTEBOOKS

FOLDER = Path(__file__).resolve().parent
_WALL = re.compile(r"judged in [\d.]+ s")


def text(name: str) -> str:
    """Run a notebook and return its file."""
    cells = list(_cells(name))
    form = {
        "cells": cells,
        "metadata": {"kernelspec": {"display_name": "Python 3", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return _WALL.sub("judged", json.dumps(form, indent=1, ensure_ascii=False)) + "\n"


def _cells(name: str) -> Iterator[dict[str, Any]]:
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for number, source in enumerate(NOTEBOOKS[name]):
        common = {"id": f"cell-{number}", "metadata": {}, "source": source.splitlines(True)}
        if not source.endswith((".", ":", "?")):
            count += 1
            outputs = run(source, names, count)
            code = {"cell_type": "code", "execution_count": count, "outputs": outputs}
            yield common | code
        else:
            yield common | {"cell_type": "markdown"}


def run(source: str, names: dict[str, Any], count: int = 1) -> list[dict[str, Any]]:
    """Run a cell's code; return its outputs."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = StringIO()
    value = None
    with redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        stream = {"output_type": "stream", "name": "stdout"}
        outputs.append(stream | {"text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(True)
        result = {"output_type": "execute_result", "execution_count": count, "metadata": {}}
        outputs.append(result | {"data": data})
    return outputs


if __name__ == "__main__":
    for each in NOTEBOOKS:
        (FOLDER / f"{each}.ipynb").write_text(text(each), encoding="utf-8")
