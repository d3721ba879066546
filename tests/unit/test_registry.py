"""Laws of the registry: what is found, what is imported, and what its errors say."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.base.registry import Registry


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "ring.py").write_text("PLUGIN = 'a ring'\n")
    (package / "tree.py").write_text("PLUGIN = 'a tree'\n")
    (package / "helper.py").write_text("NOT_A_PLUGIN = 'PLUGIN'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for module in [m for m in sys.modules if m.split(".")[0] in {"shop", "guest"}]:
        del sys.modules[module]


def install(
    folder: Path, entry: str, source: str = "PLUGIN = 'a guest'\n", package: str = "guest_package"
) -> None:
    (folder / "guest.py").write_text(source)
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[shop.plugins]\n{entry}\n")


def registry() -> Registry[str]:
    return Registry("shop plug-in", "shop", "shop.plugins")


def test_names_are_sorted_and_leave_out_helpers(shop: Path) -> None:
    assert registry().names() == ("ring", "tree")


def test_listing_imports_no_plugin_and_a_lookup_imports_one(shop: Path) -> None:
    shelf = registry()
    shelf.names()
    assert "shop.ring" not in sys.modules
    assert shelf.get("ring") == "a ring"
    assert "shop.ring" in sys.modules
    assert "shop.tree" not in sys.modules


def test_a_plugin_may_have_a_name_that_no_file_of_python_has(shop: Path) -> None:
    (shop / "shop" / "one_f_one_b.py").write_text("PLUGIN_NAME = '1f1b'\nPLUGIN = 'named'\n")
    (shop / "shop" / "two.py").write_text('PLUGIN_NAME = "2-way"\nPLUGIN = "two ways"\n')
    assert registry().names() == ("2-way", "one_f_one_b", "ring", "tree")
    assert registry().get("2-way") == "two ways"


def test_an_entry_point_is_found_beside_the_built_ins(shop: Path) -> None:
    install(shop, "mesh = guest:PLUGIN")
    assert registry().names() == ("mesh", "ring", "tree")
    assert registry().get("mesh") == "a guest"


def test_an_unknown_name_names_the_field_the_choices_and_the_nearest(shop: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        registry().get("rnig", where="cluster.shape")
    assert str(caught.value) == (
        "cluster.shape: no shop plug-in is named 'rnig'; expected one of ring, tree; "
        "did you mean 'ring'?"
    )


@pytest.mark.parametrize("name", ["helper", "__init__", "../shop/ring", ""])
def test_only_plugins_are_names(shop: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="no shop plug-in is named"):
        registry().get(name)


def test_a_name_given_twice_is_reported_with_both_origins(shop: Path) -> None:
    install(shop, "ring = guest:PLUGIN")
    with pytest.raises(ConfigError) as caught:
        registry().names()
    assert str(caught.value) == (
        "entry point 'ring = guest:PLUGIN' of guest_package: the shop plug-in 'ring' is already "
        "given by the built-in shop.ring; rename one or uninstall its package"
    )


def test_a_name_two_packages_give_is_reported_when_it_is_looked_up(shop: Path) -> None:
    install(shop, "mesh = guest:PLUGIN", package="first")
    install(shop, "mesh = guest:PLUGIN", package="second")
    with pytest.raises(ConfigError, match=r"of (first|second).*'mesh' is already given by"):
        registry().get("mesh")


def test_a_plugin_that_cannot_be_imported_names_its_package(shop: Path) -> None:
    install(shop, "mesh = guest:PLUGIN", source="import no_such_module\n")
    with pytest.raises(ConfigError) as caught:
        registry().get("mesh")
    assert str(caught.value) == (
        "entry point 'mesh = guest:PLUGIN' of guest_package: cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_module'"
    )
