"""What the user trusts, as it was then: folders and files, with the digest of each file in them.

It is kept in `$XDG_CONFIG_HOME/yantra/trusted.json` or `~/.config/yantra/trusted.json`. Of a folder
those files count that are code or may name some: `.py`, executables, `.yaml`, `.yml`, `.json`. A
file that has changed, or is new, is not trusted.

Trade-off: what code reads or imports from elsewhere is not looked at.
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
    """Return the file that has what the user trusts."""
    home = os.environ.get("XDG_CONFIG_HOME")
    if not home or not paths.isabs(home):
        home = paths.expanduser("~/.config")
    return paths.join(home, "yantra", "trusted.json")


class Trusted:
    """Digests of files, by their path within a folder or file, by its whole path."""

    def __init__(self, entries: dict[str, dict[str, str]]) -> None:
        self.entries = entries
        """Of each folder the digest of its files by their path from it; of a file that of ""."""

    @classmethod
    def read(cls) -> Trusted:
        """Read what the user trusts; nothing where there is no file. Raises ConfigError."""
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
        """Keep it. Raises ConfigError if it cannot be written."""
        from yantra.base.output import make_folder, write_text

        where = place()
        make_folder(paths.dirname(where))
        form = {"format": _FORMAT, "version": 1, "trusted": dict(sorted(self.entries.items()))}
        write_text(where, json.dumps(form, indent=1) + "\n")

    def add(self, path: str) -> list[str]:
        """Trust a folder or a file as it is now; return the files. Raises ConfigError."""
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
        """Trust a folder or a file no longer; return whether it was trusted."""
        return self.entries.pop(paths.realpath(path), None) is not None

    def changed(self, entry: str) -> list[str]:
        """Return the files of a trusted folder, or the file, that are not as they were."""
        files = {paths.join(entry, name) if name else entry: digest
                 for name, digest in self.entries[entry].items()}  # fmt: skip
        return [
            file
            for file, digest in files.items()
            if not paths.isfile(file) or sha256_of(file, file) != digest
        ]

    def why_not(self, file: str, source: bytes | None = None) -> str:
        """Return why a file, given by its real path, may not run; "" if it is trusted.

        With `source` that is what it has been found to hold.
        """
        known = [digest for _, digest in self._said_of(file)]
        if not known:
            return "is not trusted"
        now = sha256_of(file, file) if source is None else hashlib.sha256(source).hexdigest()
        return "" if now in known else "has changed since it was trusted"

    def refusal_of_program(
        self, command: tuple[str, ...], named_by: str | None
    ) -> tuple[str, str] | None:
        """Return why the file `named_by` may not start a program, and what to trust; else None.

        It may if that file is trusted, or the program is and its arguments are no files; what is
        code of the command must be as it was when it was trusted.
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
        """Yield the entries that have a file, and the digest that each has of it."""
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
        """Return what code of a trusted folder is not as it was; "" if all is."""
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
    """Yield the files of a folder that are code or may name some, sorted; `path` is for errors."""
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
