"""The names users import."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import resources

import pytest

import yantra
from yantra.base.errors import ConfigError


def test_the_stub_declares_every_public_name() -> None:
    tree = ast.parse(resources.files("yantra").joinpath("__init__.pyi").read_text())
    declared = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared | {"__version__"} == set(yantra.__all__) == set(dir(yantra))


@pytest.mark.parametrize("name", yantra.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(yantra, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'yantra' has no attribute 'nothing'"):
        _ = yantra.nothing  # type: ignore[attr-defined]
    code = "import yantra; yantra.simulte"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "no attribute 'simulte'. Did you mean: 'simulate'?" in done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import yantra; yantra.simulate(None)",
        "from yantra.run.simulate import run; import yantra; yantra.simulate(None)",
        "import yantra.compile; yantra.compile(None)",
        "import yantra; yantra.explore(None)",
    ],
)
def test_functions_that_share_a_modules_name_can_be_called(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "NoneType" in done.stderr and "not callable" not in done.stderr


def test_importing_yantra_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import yantra;"
        "assert set(sys.modules) - before == {'yantra'}, set(sys.modules) - before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_modules_named_as_their_function_are_called_as_it() -> None:
    import yantra.explain

    with pytest.raises(ConfigError, match=r"none\.json: cannot be read"):
        yantra.explain("none.json")  # type: ignore[operator]
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read"):
        yantra.simulate("none.yaml")
