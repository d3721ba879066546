"""Notebooks hold what their cells show now."""

from __future__ import annotations

import json

import pytest

from docs.notebooks.cells import NOTEBOOKS
from docs.notebooks.files import FOLDER, run, text
from tests.docs.test_readme import FIVE


def test_each_of_five_people_has_a_notebook() -> None:
    assert set(NOTEBOOKS) == set(FIVE) == {path.stem for path in FOLDER.glob("*.ipynb")}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_what_its_cells_give(name: str) -> None:
    shown = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert shown == text(name), "run: python -m docs.notebooks.files"
    cells = json.loads(shown)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 2 and all(cell["outputs"] for cell in code[-1:])
    assert cells[0]["source"][0].startswith("# ") and len({cell["id"] for cell in cells}) > 4


def test_a_cell_shows_what_it_prints_and_its_last_value() -> None:
    names: dict[str, object] = {}
    stream, result = run("x = 2\nprint('a')\nx + 1", names)
    assert stream["text"] == ["a\n"] and result["data"] == {"text/plain": ["3"]}
    assert run("x = 5", names) == [] and names["x"] == 5


def test_intervals_are_in_what_a_notebook_shows() -> None:
    for name in set(NOTEBOOKS) - {"study-networks"}:
        assert "90" in (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
