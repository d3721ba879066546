"""Which code may run: what the user names or trusts.

Code that a file names runs if the user named it, by option or in Python, or trusts its present
content (`trusted.py`). A server runs only what is named to it. Trade-off: this is no sandbox.
"""

from __future__ import annotations

import threading
from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, show
from yantra.base.plugin_files import split_path

if TYPE_CHECKING:
    from types import TracebackType

_PLAIN = "-_./~+:@%^,="  # what a shell takes unquoted, beside letters and digits


class NotTrustedError(ConfigError):
    """Code was not run, as only a file names it; says what lets it run."""


class _State:
    def __init__(self) -> None:
        self.files: frozenset[str] = frozenset()
        self.programs: frozenset[tuple[str, ...]] = frozenset()
        self.is_command = False
        self.has_option = False
        self.asks_store = True


_state = _State()


class _Read(threading.local):
    """The file this thread reads, None for none, "" for text in no file."""

    file: str | None = None


_read = _Read()


class Reading:
    """Within the block, requests for code come from `file`, "" for text in no file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._before, _read.file = _read.file, self._file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _read.file = self._before


class Command:
    """Within the block, only what it allows, was allowed before, or is trusted runs."""

    def __init__(self, *, asks_store: bool = True) -> None:
        self._asks_store = asks_store

    def __enter__(self) -> None:
        global _state
        self._before, _state = _state, _State()
        _state.files, _state.programs = self._before.files, self._before.programs
        _state.is_command = True
        _state.asks_store = self._asks_store and self._before.asks_store

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _state
        _state = self._before


def state() -> tuple[Any, ...]:
    """Return what another process needs to allow the same, picklable."""
    return tuple(vars(_state).items())


def take(of_another: tuple[Any, ...]) -> None:
    """Adopt another process's `state`."""
    vars(_state).update(of_another)


def files() -> tuple[str, ...]:
    """Return the real paths of allowed files."""
    return tuple(sorted(_state.files))


def close_store() -> None:
    """Ignore the user's store: a server runs what it was started with."""
    _state.is_command, _state.asks_store = True, False


def say_option() -> None:
    """Note that this command has `--plugin`, for advice in errors."""
    _state.has_option = True


def allow(*files: str) -> None:
    """Let code of these files run, as the user named them."""
    real = (paths.realpath((split_path(file) or (file,))[0]) for file in files)
    _state.files = _state.files.union(real)


def allow_program(command: tuple[str, ...]) -> None:
    """Let a program run with these arguments, as the user named it."""
    _state.programs = _state.programs.union((_whole(command),))


def allow_typed(text: str) -> None:
    """Allow the Python files in an option's value: alone, listed, after `=`."""
    if ".py" in text:
        parts = text.replace("=", ",").split(",")
        named = (text, text.partition("=")[0], text.partition("=")[2], *map(str.strip, parts))
        allow(*(name for name in named if split_path(name)))


def allow_set(value: Any, folder: str) -> None:
    """Allow what a setting's tree names; paths are relative to `folder`."""
    from yantra.base.fields.command import command_of

    if isinstance(value, dict):
        for part in value.values():
            allow_set(part, folder)
    elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        allow_program(command_of(value, folder))
        allow(*(paths.join(folder, word) for word in value if split_path(word)))
    elif isinstance(value, list):
        for part in value:
            allow_set(part, folder)
    elif isinstance(value, str):
        allow_program(command_of([value], folder))
        if split_path(value):
            allow(paths.join(folder, value))


def require(name: str, where: str | None) -> None:
    """Raise ConfigError at `where` for a plug-in path whose code may not run."""
    if ".py" not in name or not _asks() or (path := split_path(name)) is None:
        return
    file = paths.realpath(path[0])
    if file not in _state.files and paths.isfile(file):  # else loading says what is wrong
        _ask(path[0], file, None, where)


def require_source(path: str, file: str, source: bytes, where: str | None) -> None:
    """Raise ConfigError if the content read of a file, real path `file`, may not run."""
    if file in _state.files:
        return
    if _asks():
        _ask(path, file, source, where)
    else:
        _state.files = _state.files.union((file,))


def require_program(command: tuple[str, ...], where: str) -> None:
    """Raise ConfigError at `where` if a file may not start this program."""
    if not _asks() or _is_allowed(command):
        return
    shown = " ".join(quoted(word) for word in command)
    if not _state.asks_store:
        raise NotTrustedError(where, f"a server starts no program that a file names; got {shown}")
    from yantra.base.trusted import Trusted

    refusal = Trusted.read().refusal_of_program(command, _read.file)
    if refusal is None:
        allow_program(command)
        return
    problem, trust = refusal
    begin = f"{problem}, so the program {shown} was not started"
    typed = f"type: yantra trust {quoted(trust)}, or " if trust else ""
    given = f"network.command=[{', '.join(map(_in_yaml, command))}]"
    named = f"add --set {quoted(given)}"
    if not _state.is_command:
        named = f"call yantra.allow({command[0]!r})" if trust else "name it in Python"
    raise NotTrustedError(where, f"{begin}; if you trust it, {typed}{named}")


def _is_allowed(command: tuple[str, ...]) -> bool:
    if _whole(command) in _state.programs:
        return True
    program, *words = command
    is_named = "/" in program and paths.realpath(program) in _state.files
    return is_named and not any(map(paths.isfile, words))


def _in_yaml(word: str) -> str:
    if word and all(sign.isalnum() or sign in "-_./" for sign in word):
        return word
    from json import dumps

    return dumps(word, ensure_ascii=False)


def _asks() -> bool:
    return _state.is_command or _read.file is not None


def _whole(command: tuple[str, ...]) -> tuple[str, ...]:
    program, *words = command
    return (paths.realpath(program) if "/" in program else program, *words)


def _ask(path: str, file: str, source: bytes | None, where: str | None) -> None:
    problem = "is not trusted"
    if _state.asks_store:
        from yantra.base.trusted import Trusted

        problem = Trusted.read().why_not(file, source)
        if not problem:
            return
    problem = f"{problem}, so its code was not run; {_advice(path)}"
    if where:
        raise NotTrustedError(where, f"{_shown(path)} {problem}")
    named_by = f" (named in {_read.file})" if _read.file else ""
    raise NotTrustedError(f"{_shown(path)}{named_by}", problem)


def _advice(path: str) -> str:
    option = f"--plugin {quoted(path)}" if _state.has_option else ""
    typed = f"type: yantra trust {quoted(path)}"
    if not _state.asks_store:
        begin = "a server runs no code that a file names"
        return f"{begin}; start it with {option} if you trust it" if option else begin
    if not _state.is_command:
        return f"if you trust it, call yantra.allow({path!r}), or {typed}"
    return f"if you trust it, add {option}, or {typed}" if option else f"if you trust it, {typed}"


def _shown(path: str) -> str:
    return path if path.isprintable() else show(path)


def quoted(word: str) -> str:
    """Quote a word for a shell."""
    if word and all(sign.isalnum() or sign in _PLAIN for sign in word):
        return word
    from shlex import quote

    return quote(word)
