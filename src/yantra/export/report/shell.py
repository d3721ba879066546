"""The shell of a page: head, theme, navigation, style and scripts, in one file without network.

    Page(title="...", header=..., sections=[Section("id", "Title", "lead", body)], scripts=[...],
         styles=[...], data={...}, columns=Columns())
    render(page) -> str

`scripts` and `styles` name files of `parts`, after the shell's. Scripts are modules, joined in the
order given: imports come first, the last starts the page (`setUpTheme`, `setUpTables`, ...).

A Content-Security-Policy allows only the page's own script and style, by their hashes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

from yantra.base.output import HALVES
from yantra.export.report.columns import Columns
from yantra.export.report.markup import Html, element, join
from yantra.result import parts

_SHELL_SCRIPTS = (
    "dom.js",
    "format.js",
    "data.js",
    "theme.js",
    "download.js",
    "tables.js",
    "copy.js",
)
_SHELL_STYLES = ("shell.css",)
_VENDORED = {"uplot.js": "uPlot"}  # others' scripts as they are, and the name that each makes
CHARTS = ("tooltip.js", "svg_context.js", "uplot.js", "chart.js")
"""Scripts of a page with charts, which also has the style `uplot.css`."""
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


class Section(NamedTuple):
    """A part of the page, with a place in the navigation and a line, `lead`."""

    id: str
    title: str
    lead: str
    body: Html


class Page(NamedTuple):
    title: str
    header: Html
    sections: Sequence[Section]
    scripts: Sequence[str] = ()
    styles: Sequence[str] = ()
    data: Mapping[str, Any] | None = None
    columns: Columns | None = None
    connects: bool = False  # to the server that it comes from


def render(page: Page) -> str:
    style = "\n".join([*map(part, (*_SHELL_STYLES, *page.styles)), parts.styles()])
    script = _joined((*_SHELL_SCRIPTS, *page.scripts))
    head = [
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content=_policy(script, style, page.connects),
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="Yantra"),
        element("title", page.title),
        element("style", Html(style)),
    ]
    body = [
        element("a", "Skip to the content", href="#content", class_="skip"),
        _bar(page),
        element("main", page.header, *map(_section, page.sections), id="content"),
        _without_scripts(),
        *_data(page),
        element("script", Html(script), type="module"),
    ]
    whole = element("html", element("head", *head), "\n", element("body", *body), lang="en")
    return f"<!doctype html>\n{whole}\n"


def part(name: str) -> str:
    return (files("yantra.export.report") / "parts" / name).read_text(encoding="utf-8")


def as_json(value: Any) -> Html:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text.encode(errors="replace").decode())


def _joined(names: Sequence[str]) -> str:
    parts = ["const modules = {};"]
    for name in names:
        text = part(name)
        if name in _VENDORED:
            made = _VENDORED[name]
            parts.append(f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {made} }};\n}})();')
            continue
        exports = ", ".join(found[1] for found in _EXPORT.findall(text))
        body = _EXPORT.sub(r"\1", _IMPORT.sub(r'const \1 = modules["\2"];', text))
        parts.append(f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();')
    return "\n".join(parts)


def _policy(script: str, style: str, connects: bool) -> str:
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src '{_hash(script)}'; style-src '{_hash(style)}'"
        + ("; connect-src 'self'" if connects else "")
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode(errors=HALVES)).digest()).decode('ascii')}"


def _bar(page: Page) -> Html:
    links = [
        element("li", element("a", section.title, href=f"#{section.id}"))
        for section in page.sections
    ]
    return element(
        "header",
        element("h1", page.title),
        element("nav", element("ul", *links), aria_label="Sections"),
        element("button", "Dark", type="button", id="theme", aria_pressed="false"),
        class_="bar-top",
    )


def _section(section: Section) -> Html:
    return element(
        "section",
        element("h2", section.title, id=f"{section.id}-title"),
        element("p", section.lead, class_="lead") if section.lead else None,
        section.body,
        id=section.id,
        aria_labelledby=f"{section.id}-title",
    )


def _without_scripts() -> Html:
    text = (
        "Scripts are off: the tables are all here, but timeline and charts need the script that "
        "this file carries."
    )
    return element("noscript", element("p", text, class_="note"))


def _data(page: Page) -> list[Html]:
    columns = page.columns or Columns()
    packed = columns.packed()
    about = {
        "page": dict(page.data or {}),
        "columns": columns.directory(),
        "texts_at": columns.size,
    }
    return [
        element("script", as_json(about), type="application/json", id="page-data"),
        element("script", Html(packed), type="text/plain", id="page-columns"),
    ]


__all__ = ["CHARTS", "Page", "Section", "as_json", "join", "part", "render"]
