"""Writes a drawing in the format of the file's name.

Graphviz lays out SVG and PDF, with a time limit.
"""

from __future__ import annotations

import os
import subprocess

from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean
from yantra.base.output import whole_file, write_text
from yantra.base.text import count
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.draw.dot import dot_text
from yantra.tracing.inspect.draw.graphml import graphml_text
from yantra.tracing.inspect.draw.links import Cut
from yantra.tracing.inspect.draw.picture import boxes, drawing
from yantra.tracing.inspect.surveyed import Seen

FORMATS = ("dot", "svg", "pdf", "graphml")
TIME_LIMIT_S = 60.0


def format_of(path: str) -> str:
    suffix = os.path.splitext(path)[1].removeprefix(".").lower()
    if suffix not in FORMATS:
        listed = ", ".join(f".{name}" for name in FORMATS)
        hint = did_you_mean(suffix, FORMATS) if suffix else ""
        raise ConfigError(path, f"expected a name that ends in one of {listed}{hint}")
    return suffix


def draw(
    trace: Seen,
    path: str,
    part: Cut | None = None,
    *,
    whole: bool = False,
    lanes: bool = False,
    plain: bool = False,
    time_limit_s: float = TIME_LIMIT_S,
) -> str:
    """Draw a trace to `path`; return a description. Options: see `drawing`.

    GraphML needs all of the trace. Raises ConfigError when graphviz is missing, UnsupportedError
    when it takes too long.
    """
    form = format_of(path)
    if form == "graphml":
        if part is not None and part != Cut():
            raise ConfigError(path, "GraphML holds whole traces; draw a part as .dot, .svg or .pdf")
        assert isinstance(trace, Trace)
        write_text(path, graphml_text(trace))
        return count(len(trace), "node")
    picture = drawing(trace, part, whole=whole, lanes=lanes, plain=plain)
    text = dot_text(picture)
    if form == "dot":
        write_text(path, text)
    else:
        _lay_out(text, form, path, time_limit_s)
    drawn = f"{boxes(len(picture.boxes))}, {count(len(picture.edges), 'edge')}"
    return "; ".join([drawn, *picture.notes])


def _lay_out(text: str, form: str, path: str, time_limit_s: float) -> None:
    try:
        done = subprocess.run(
            ["dot", f"-T{form}"],
            input=text.encode(),
            capture_output=True,
            timeout=time_limit_s,
            check=False,
        )
    except (FileNotFoundError, PermissionError):
        raise ConfigError(
            path,
            f"{form.upper()} needs graphviz, whose program dot is not on PATH; install it "
            "(Debian: apt-get install graphviz) or write a .dot file",
        ) from None
    except subprocess.TimeoutExpired:
        raise UnsupportedError(
            f"{path}: graphviz did not lay out the graph in {time_limit_s:g} s; draw without "
            "--full, or a part of it (--nodes, --around), or write a .dot file"
        ) from None
    if done.returncode != 0 or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = said[0] if said else f"exit status {done.returncode} and no picture"
        raise ConfigError(path, f"graphviz failed: {reason}")
    with whole_file(path) as name, open(name, "wb") as file:
        file.write(done.stdout)
