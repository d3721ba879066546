"""Loads users' plug-in files once, with errors in a line.

Trade-off: compiled and not imported, so no stale bytecode and no clash of names; it cannot import
files beside it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import RLock
from types import ModuleType

from yantra.base import trust
from yantra.base.errors import YantraError
from yantra.base.plugin_files import wrong
from yantra.base.regular import read_regular

_lock = RLock()  # sweeps load in several threads
_loaded: dict[str, tuple[bytes, ModuleType]] = {}


def load(path: str, where: str | None = None) -> ModuleType:
    file = os.path.realpath(path)
    try:
        source = read_regular(file)
    except FileNotFoundError:
        problem = "no such file; expected a Python file, or a name without .py"
        raise wrong(path, problem, where) from None
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise wrong(path, problem, where) from None
    trust.require_source(path, file, source, where)
    with _lock:
        known = _loaded.get(file)
        if known is None or known[0] != source:
            known = _loaded[file] = (source, _run(source, file, path, where))
        return known[1]


def raised_in(error: BaseException) -> str | None:
    from traceback import walk_tb

    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    return next((file for file in reversed(files) if file in _loaded), None)


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
    """Return an exception in a line, at this file's line."""
    from traceback import extract_tb

    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    return said if isinstance(error, SyntaxError) or not lines else f"{said} (line {lines[-1]})"
