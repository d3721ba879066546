"""Plug-ins in files of the user: loaded once, and what is wrong with one is said in a line.

A name that ends in `.py` is the path of such a file; `file.py:4` gives the plug-in a number, as the
4 of `two_level_tree4` does. A file is run once, and again only if its contents have changed.

Trade-off: the text is compiled here and not imported, so that no bytecode beside it stands for an
older text, and two files of one name do not clash. It cannot import the files beside it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from yantra.base.errors import ConfigError, YantraError

Named = str | type[Any]
"""How a plug-in is given: by its name, by the path of its file, or as the class itself."""

NAME_LINE = re.compile(r'^PLUGIN_NAME = "([^"]+)"$', re.MULTILINE)

_PATH = re.compile(r"(.*\.py)(?::([^:]*))?", re.DOTALL)
_NOTHING = object()
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
_lock = RLock()  # sweeps load files in several threads
_loaded: dict[str, tuple[bytes, ModuleType]] = {}


def split_path(name: str) -> tuple[str, str] | None:
    """Return the path that a name is and what follows behind a colon, None if it is no path."""
    match = _PATH.fullmatch(name)
    return None if match is None else (match[1], match[2] or "")


def load(path: str, where: str | None = None) -> ModuleType:
    """Return the module of a file; `where` is the field that errors are reported at.

    Raises ConfigError if there is no such file, or if it raises when it is run.
    """
    file = os.path.realpath(path)
    try:
        source = Path(file).read_bytes()
    except FileNotFoundError:
        problem = "no such file; expected a Python file, or a name without .py"
        raise wrong(path, problem, where) from None
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise wrong(path, problem, where) from None
    with _lock:
        known = _loaded.get(file)
        if known is None or known[0] != source:
            known = _loaded[file] = (source, _run(source, file, path, where))
        return known[1]


def name_in(path: str) -> str:
    """Return the name of a file's plug-in: what its line PLUGIN_NAME says, or the file's name."""
    try:
        named = NAME_LINE.search(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        named = None
    return named[1] if named else Path(path).stem


def file_of_class(plugin: type[Any]) -> str | None:
    """Return the file that gives a class as its PLUGIN, None if none does.

    A program that is being run is not such a file: to load it would run it once more.
    """
    module = sys.modules.get(plugin.__module__)
    if module is None or plugin.__module__ == "__main__":
        return None
    is_plugin = getattr(module, "PLUGIN", _NOTHING) is plugin
    return getattr(module, "__file__", None) if is_plugin else None


def wrong(path: str, problem: str, where: str | None) -> ConfigError:
    """Return the error of a file, at the field that names it if there is one."""
    return ConfigError(where, f"{path}: {problem}") if where else ConfigError(path, problem)


def what_was_raised(error: BaseException) -> str:
    """Return an exception of a plug-in in a line, with the last line of its own that was run."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError):
        return said  # names the file and the line itself
    from traceback import extract_tb

    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if not frame.filename.startswith((_PACKAGE, "<frozen "))
    ]
    at = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return said + at


def _run(source: bytes, file: str, path: str, where: str | None) -> ModuleType:
    from hashlib import sha256

    digest = sha256(file.encode("utf-8", "surrogateescape") + b"\0" + source).hexdigest()[:12]
    module = ModuleType(f"plugin_{Path(file).stem}_{digest}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except YantraError:
        del sys.modules[module.__name__]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise wrong(path, f"cannot be imported: {_at_line(error, file)}", where) from None
    return module


def _at_line(error: BaseException, file: str) -> str:
    """Return an exception in a line, with the line of this file: that is what the user can mend."""
    from traceback import extract_tb

    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    return said if isinstance(error, SyntaxError) or not lines else f"{said} (line {lines[-1]})"
