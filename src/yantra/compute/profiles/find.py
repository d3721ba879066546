"""Finds and reads profiles of machines: the built-in files by name, a user's own by path."""

from __future__ import annotations

import os
from functools import cache
from os import path as paths

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.named_files import NamedFiles
from yantra.compute.profiles.types import FILE, OF_STACK, Profile

_FILES = NamedFiles("profile", paths.join(paths.dirname(__file__), "files"))


def names() -> tuple[str, ...]:
    """The names of the built-in profiles, sorted."""
    return _FILES.names()


def load(name: Path, *, where: str = "profile", folder: Path = "") -> Profile:
    """A built-in profile by name, or a file of the same form by path.

    A path has a `/` or ends in `.yaml`, or in `.csv` for lines alone; it is relative to `folder`.
    Raises ConfigError.
    """
    text = os.fspath(name)
    if text.endswith(".csv"):
        path = paths.join(folder, text)
        return _of_lines(read_text(path), path)
    path = _FILES.path_of(name, where=where, folder=folder)
    return _parsed(read_text(path), path)


@cache
def _of_lines(text: str, path: str) -> Profile:
    name = paths.splitext(paths.basename(path))[0]
    made = Profile(title=f"Kernels of {name}", device=name, source=path, kernels=text, path=path)
    made.rows  # noqa: B018 - a wrong line is told when the file is read
    return made


@cache
def _parsed(text: str, path: str) -> Profile:
    tree = parse_yaml(text, path)
    if not isinstance(tree, dict):
        raise ConfigError(path, expected_got("a mapping of title, device, source, kernels", tree))
    try:
        profile = FILE.read({key: tree[key] for key in tree if key not in OF_STACK}, "", "")
    except ConfigError as error:
        raise (error if error.where == path else ConfigError(path, str(error))) from None
    assert isinstance(profile, Profile)
    made = profile.replace(path=path)
    made.rows  # noqa: B018 - a wrong line is told when the file is read
    return made
