"""What the user trusts: folders and files, with digests.

Kept in `$XDG_CONFIG_HOME/yantra/trusted.json` or `~/.config/yantra/trusted.json`. Of a folder, code
and files that may name some: `.py`, executables, `.yaml`, `.yml`, `.json`. Changed or new files are
not trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from os import path as paths
from typing import Any, TypeGuard

from yantra.base.documents import parse_own_json, read_text
from yantra.base.errors import ConfigError
from yantra.base.regular import sha256_of

MOST_FILES = 10_000
"""The most files of a folder that can be trusted at once."""

_FORMAT = "yantra-trusted"
_NAMING = (".yaml", ".yml", ".json")
_SKIPPED = ("__pycache__", ".git")


def place() -> str:
    home = os.environ.get("XDG_CONFIG_HOME")
    if not home or not paths.isabs(home):
        home = paths.expanduser("~/.config")
    return paths.join(home, "yantra", "trusted.json")


class Trusted:
    """Digests by path within a folder or file, by whole path."""

    def __init__(self, entries: dict[str, dict[str, str]]) -> None:
        self.entries = entries
        """Of each folder the digest of its files by their path from it; of a file that of ""."""

    @classmethod
    def read(cls) -> Trusted:
        where = place()
        if not paths.exists(where):
            return cls({})
        tree = parse_own_json(read_text(where), where)
        entries = tree.get("trusted")
        if tree.get("format") != _FORMAT or not _are_entries(entries):
            problem = "is no list of trusted files; remove it, and trust again what you trust"
            raise ConfigError(where, problem)
        return cls(entries)

    def write(self) -> None:
        from yantra.base.output import make_folder, write_text

        where = place()
        make_folder(paths.dirname(where))
        form = {"format": _FORMAT, "version": 1, "trusted": dict(sorted(self.entries.items()))}
        write_text(where, json.dumps(form, indent=1) + "\n")

    def add(self, path: str) -> list[str]:
        whole = paths.realpath(path)
        if not paths.exists(whole):
            raise ConfigError(path, "no such file or folder")
        if not paths.isdir(whole):
            self.entries[whole] = {"": sha256_of(whole, path)}
            return [path]
        found = list(_files(whole, path))
        if not found:
            problem = "has no code, and nothing that may name some: no .py, .yaml or .json"
            raise ConfigError(path, f"{problem}, and nothing that can be executed")
        self.entries[whole] = {
            name: sha256_of(paths.join(whole, name), paths.join(path, name)) for name in found
        }
        return [paths.join(path, name) for name in found]

    def remove(self, path: str) -> bool:
        return self.entries.pop(paths.realpath(path), None) is not None

    def changed(self, entry: str) -> list[str]:
        files = {paths.join(entry, name) if name else entry: digest
                 for name, digest in self.entries[entry].items()}  # fmt: skip
        return [
            file
            for file, digest in files.items()
            if not paths.isfile(file) or sha256_of(file, file) != digest
        ]

    def why_not(self, file: str, source: bytes | None = None) -> str:
        known = [digest for _, digest in self._said_of(file)]
        if not known:
            return "is not trusted"
        now = sha256_of(file, file) if source is None else hashlib.sha256(source).hexdigest()
        return "" if now in known else "has changed since it was trusted"

    def refusal_of_program(
        self, command: tuple[str, ...], named_by: str | None
    ) -> tuple[str, str] | None:
        """Return why `named_by` may not start a program, and what to trust, or None.

        It may if that file is trusted, or if the program is and no argument is a file; trusted code
        must be unchanged.
        """
        program, *words = command
        files = [program] if "/" in program else []
        files += [word for word in words if paths.isfile(word)]
        for file in files:
            real = paths.realpath(file)
            problem = self.why_not(real) if _is_code(real) else ""
            if problem:
                folder = paths.dirname(file) or "."
                is_link = paths.dirname(real) != paths.realpath(folder)
                return f"{file} {problem}", file if is_link else folder
            for entry, _ in self._said_of(real):
                problem = self._new_code(entry)
                if problem:
                    return problem, entry
        if files == [program]:
            return None
        if not named_by:
            return "it is named in no file that is trusted", ""
        problem = self.why_not(paths.realpath(named_by))
        return (f"{named_by} {problem}", paths.dirname(named_by) or ".") if problem else None

    def _said_of(self, file: str) -> Iterator[tuple[str, str]]:
        for entry, files in self.entries.items():
            if file == entry:
                name = ""
            elif file.startswith(f"{entry.rstrip(os.sep)}{os.sep}"):
                name = paths.relpath(file, entry)
            else:
                continue
            if name in files:
                yield entry, files[name]

    def _new_code(self, entry: str) -> str:
        if not paths.isdir(entry):
            return ""
        known = self.entries[entry]
        for name in _files(entry, entry):
            file = paths.join(entry, name)
            if _is_code(file) and known.get(name) != sha256_of(file, file):
                what = "has changed" if name in known else "is new"
                return f"{file} {what} since its folder was trusted"
        return ""


def _are_entries(tree: Any) -> TypeGuard[dict[str, dict[str, str]]]:
    return isinstance(tree, dict) and all(
        isinstance(files, dict) and all(isinstance(digest, str) for digest in files.values())
        for files in tree.values()
    )


def _files(folder: str, path: str) -> Iterator[str]:
    count = 0
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            file = paths.join(at, name)
            if not paths.isfile(file) or not (name.endswith(_NAMING) or _is_code(file)):
                continue
            count += 1
            if count > MOST_FILES:
                problem = f"has more than {MOST_FILES} files that count; name a folder within it"
                raise ConfigError(path, problem)
            yield paths.relpath(file, folder)


def _is_code(file: str) -> bool:
    return file.endswith(".py") or os.access(file, os.X_OK)
