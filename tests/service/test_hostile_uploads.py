"""Hostile uploads: none is accepted, earlier uploads stay, and the service lives on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service import calls, hostile
from tests.service.calls import Client
from tests.service.conftest import SMALL
from yantra.base.errors import ConfigError
from yantra.service.archive import ArchiveLimits, pack, unpack

ARCHIVES = list(hostile.archives())


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_there_are_at_least_200_hostile_archives() -> None:
    assert len({data for _, data in ARCHIVES}) >= 200


@pytest.mark.parametrize(("what", "data"), ARCHIVES, ids=[what for what, _ in ARCHIVES])
def test_a_hostile_archive_is_refused_and_leaves_nothing_outside(
    what: str, data: bytes, tmp_path: Path
) -> None:
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"^upload"):
        unpack(data, str(inside), SMALL.archive)
    assert not {name for name in contents(tmp_path) if not name.startswith("deep/inside/")}
    assert not [path for path in tmp_path.rglob("*") if path.is_symlink()]


def test_the_service_refuses_them_all_and_still_runs_what_was_there(
    client: Client, grpc: Any
) -> None:
    client.upload(calls.traces())
    before = client.streamed("streamGetConfig")
    accepted = []
    for at, (what, data) in enumerate(ARCHIVES):
        try:
            client.upload(data, chunk=None if at % 2 else 1 << 20)
            accepted.append(what)
        except grpc.RpcError as error:
            code = error.code()
            assert code is grpc.StatusCode.INVALID_ARGUMENT, (what, error.details())
    assert not accepted
    assert client.streamed("streamGetConfig") == before
    backend = "analytical_congestion_unaware"
    client.call("SetConfig", {"config": calls.config(backend, calls.analytical())})
    assert client.run(backend) == "completed"


def test_an_upload_larger_than_the_limit_is_refused_whole_or_in_chunks(
    client: Client, grpc: Any
) -> None:
    data = calls.archive({"x.et": os.urandom(SMALL.archive.packed)})
    for chunk in (None, 1 << 20):
        with pytest.raises(grpc.RpcError) as error:
            client.upload(data, chunk)
        expected = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED)
        assert error.value.code() in expected
    assert client.status() == "inactive"


def test_a_bomb_below_the_limit_is_refused_by_its_ratio(tmp_path: Path) -> None:
    data = calls.archive({"x.et": bytes(80 << 20)})
    with pytest.raises(ConfigError, match="more than 200 times its size"):
        unpack(data, str(tmp_path), ArchiveLimits())
    assert not contents(tmp_path)


@given(st.integers(0, 10**9), st.integers(0, 255))
@settings(max_examples=300, deadline=None)
def test_an_archive_with_one_byte_changed_is_refused_or_unpacks_inside(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    good = calls.archive({"workload/step.0.et": b"a trace" * 5, "b/c.json": b"{}"})
    at = place % len(good)
    folder = tmp_path_factory.mktemp("changed")
    inside = folder / "inside"
    inside.mkdir()
    try:
        found = unpack(good[:at] + bytes([byte]) + good[at + 1 :], str(inside), SMALL.archive)
    except ConfigError:
        found = []
    written = contents(folder)
    assert all(name.startswith("inside/") for name in written)
    if found:
        assert set(written) == {f"inside/{name}" for name in found}


names = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="/\\:", exclude_categories=("C",)),
            min_size=1, max_size=20).filter(lambda part: part not in (".", "..")),
    min_size=1, max_size=4,
).map("/".join)  # fmt: skip


@given(st.dictionaries(names, st.binary(max_size=200), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_what_is_packed_is_unpacked(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folders = {name[: at + 1] for name in files for at, letter in enumerate(name) if letter == "/"}
    if any(f"{name}/" in folders for name in files):
        return
    folder = tmp_path_factory.mktemp("packed")
    assert sorted(unpack(calls.archive(files), str(folder), SMALL.archive)) == sorted(files)
    assert contents(folder) == files
    again = tmp_path_factory.mktemp("again")
    unpack(pack(str(folder)).read(), str(again), SMALL.archive)
    assert contents(again) == files
