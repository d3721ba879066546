"""How users' plug-in files are named:

by a path ending in `.py`; `file.py:4` gives a number, as the 4 of `two_level_tree4`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from yantra.base.errors import ConfigError

Named = str | type[Any]
"""How a plug-in is given: by its name, by the path of its file, or as the class itself."""

_NAME_LINE = r'(?m)^PLUGIN_NAME = "([^"]+)"$'
_PATH = r"(?s)(.*\.py)(?::([^:]*))?"
_NOTHING = object()
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep


def split_path(name: str) -> tuple[str, str] | None:
    """Return a name's path, None for no path, and what follows the colon."""
    if ".py" not in name:
        return None
    import re

    match = re.fullmatch(_PATH, name)
    return None if match is None else (match[1], match[2] or "")


def name_in(path: str) -> str:
    """Return a file's plug-in name: its PLUGIN_NAME, else the file's."""
    from pathlib import Path

    try:
        named = name_said(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        named = None
    return named or Path(path).stem


def name_said(source: str) -> str | None:
    """Return the name of a PLUGIN_NAME line, or None."""
    if "\nPLUGIN_NAME" not in f"\n{source}":
        return None
    import re

    named = re.search(_NAME_LINE, source)
    return named and named[1]


def file_of_class(plugin: type[Any]) -> str | None:
    """Return the file that gives a class as PLUGIN, or None."""
    module = sys.modules.get(plugin.__module__)
    if module is None or plugin.__module__ == "__main__":
        return None
    is_plugin = getattr(module, "PLUGIN", _NOTHING) is plugin
    return getattr(module, "__file__", None) if is_plugin else None


def wrong(path: str, problem: str, where: str | None) -> ConfigError:
    return ConfigError(where, f"{path}: {problem}") if where else ConfigError(path, problem)


def what_was_raised(error: BaseException) -> str:
    """Return a plug-in's exception in a line, with its own last line run."""
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
