"""The table of ASTRA-sim's keys is all there is: what it lists is read, placed and recognised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import ASTRA_SIM_SYSTEM
from yantra.astra_sim.keys import Keys
from yantra.astra_sim.memory import read_memory
from yantra.astra_sim.network import read_network
from yantra.astra_sim.places import in_files
from yantra.astra_sim.system import SystemOptions, read_system
from yantra.base.errors import ConfigError
from yantra.scenario.astra_sim_keys import FILES, MEMORY, SYSTEM, Key, file_with

PATHS = {kind: f"{kind}.txt" for kind in FILES}


class Asked(dict[str, object]):
    def __init__(self, tree: dict[str, object]) -> None:
        super().__init__(tree)
        self.names: set[str] = set()

    def get(self, key: str, default: object = None) -> object:
        self.names.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.names.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> object:
        self.names.add(key)
        return super().__getitem__(key)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    found: list[Asked] = []
    made = Keys.__init__

    def remembering(keys: Keys, path: str, known: tuple[Key, ...]) -> None:
        made(keys, path, known)
        keys.tree = Asked(keys.tree)
        found.append(keys.tree)

    monkeypatch.setattr(Keys, "__init__", remembering)
    return found


def test_each_key_of_the_system_file_is_read(tmp_path: Path, asked: list[Asked]) -> None:
    path = tmp_path / "system.json"
    path.write_text(json.dumps(ASTRA_SIM_SYSTEM))
    read_system(path, SystemOptions(dimensions=1, scheduling_keys="honour"))
    assert asked[0].names == {key.name for key in SYSTEM} - {"seed"}


def test_each_key_of_the_memory_file_is_read(tmp_path: Path, asked: list[Asked]) -> None:
    path = tmp_path / "memory.json"
    kinds = {"memory-type": "PER_NODE_MEMORY_EXPANSION", "num-nodes": 2, "num-npus-per-node": 4}
    path.write_text(json.dumps(kinds))
    read_memory(path, 8)
    assert asked[0].names == {key.name for key in MEMORY}


@pytest.mark.parametrize("kind", FILES)
def test_a_key_with_a_typo_is_named_with_the_key_that_was_meant(kind: str, tmp_path: Path) -> None:
    for key in FILES[kind]:
        if len(key.name) < 3 or key.is_of_1_0:
            continue
        written = f"{key.name[:-1]}{'x' if key.name[-1] != 'x' else 'y'}"
        path = tmp_path / "file"
        if kind == "network":
            lists = "topology: [Ring]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\n"
            path.write_text(f"{lists}{written}: 1\n")
            warnings = read_network(path, "analytical")[1]
        else:
            path.write_text(json.dumps({written: 1}))
            warnings = Keys(path, FILES[kind]).warnings
        assert f"did you mean '{key.name}'?" in warnings[0]


def test_an_error_about_a_field_is_at_its_key() -> None:
    for kind, keys in FILES.items():
        for key in keys:
            for at in (1, 12):
                field = key.field.replace("[]", f"[{at}]")
                entry = f"[{at}]" if "[]" in key.field else ""
                for where in (field, f"{field}[0]", f"{field}.size") if field else ():
                    placed = in_files(ConfigError(where, "bad"), PATHS)
                    assert str(placed) == f'{kind}.txt: "{key.name}{entry}": bad'


def test_a_file_is_known_by_its_marks_alone() -> None:
    for kind, keys in FILES.items():
        assert any(key.marks for key in keys)
        for key in keys:
            assert file_with({key.name: 1, 7: 2}) == (kind if key.marks else None)
    assert file_with({}) is None


def test_no_key_or_field_is_given_twice() -> None:
    for keys in FILES.values():
        assert len({key.name for key in keys}) == len(keys)
    fields = [key.field for keys in FILES.values() for key in keys if key.field]
    assert len({*fields}) == len(fields)
