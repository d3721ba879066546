"""Finds and reads profiles of machines: the built-in files by name, a user's own by path."""

from __future__ import annotations

from functools import cache
from os import path as paths

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.named_files import NamedFiles
from yantra.compute.profiles.types import FILE, Profile

_FILES = NamedFiles("profile", paths.join(paths.dirname(__file__), "files"))


def names() -> tuple[str, ...]:
    """Return the names of the built-in profiles, sorted."""
    return _FILES.names()


def load(name: Path, *, where: str = "profile", folder: Path = "") -> Profile:
    """Return a built-in profile by name, or read a file of the same form by path.

    A path has a `/` in it or ends in `.yaml`; a relative one starts from `folder`. `where` is the
    field that an unknown name is reported at. Raises ConfigError.
    """
    path = _FILES.path_of(name, where=where, folder=folder)
    return _parsed(read_text(path), path)


@cache
def _parsed(text: str, path: str) -> Profile:
    tree = parse_yaml(text, path)
    if not isinstance(tree, dict):
        raise ConfigError(path, expected_got("a mapping of title, device, source, kernels", tree))
    try:
        profile = FILE.read(tree, "", "")
    except ConfigError as error:
        raise (error if error.where == path else ConfigError(path, str(error))) from None
    assert isinstance(profile, Profile)
    made = profile.replace(path=path)
    made.rows  # noqa: B018 - a wrong line is told when the file is read
    return made
