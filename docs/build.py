"""mkdocs' hooks: the order of pages, and pages made of code.

The order follows the lists in the folders' README.md; a page in none is an error. Links out of
`docs/` are turned to the site.
"""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import yantra
from docs import api_pages, command_pages

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
_LINK = re.compile(r"\]\(([\w./-]+\.md)\)")
_GROUP = re.compile(r"^(?:([A-Z][^\n]*):$|[*] \[([^\]]+)\]\(([\w./-]+\.md)\))", re.MULTILINE)
_CONSOLE = re.compile(r'<div (class="language-console highlight">)(.*?</div>)', re.DOTALL)
_EMPTY_HEAD = re.compile(r"<th([^>]*)></th>")
_LICENSE = "license.md"

Nav = list[Any]


def on_config(config: Any) -> Any:
    """Set the order of pages, and the version in their foot."""
    config["nav"] = navigation()
    config["copyright"] = f"Yantra {yantra.__version__}"
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, text in made_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    markdown = re.sub(r"\]\((?:\.\./)+CHANGELOG\.md\)", "](../changelog.md)", markdown)
    return re.sub(r"\]\((?:\.\./)+README\.md", "](../index.md", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Let the copy button copy commands alone;

    empty table heads become cells, for screen readers.
    """
    return _EMPTY_HEAD.sub(r"<td\1></td>", _CONSOLE.sub(_with_copy, html))


def on_post_page(output: str, **_: Any) -> str:
    """Name the search box for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def _with_copy(block: re.Match[str]) -> str:
    shown = unescape(re.sub(r"<[^>]+>", "", block[2]))
    text = escape(commands_of(shown), quote=True).replace("\n", "&#10;")
    return f'<div data-copy="{text}" {block[1]}{block[2]}'


def commands_of(shown: str) -> str:
    """Return a console block's commands."""
    commands = []
    goes_on = False
    for line in shown.splitlines():
        if line.startswith("$ ") or (goes_on and line.startswith("> ")):
            commands.append(line[2:])
            goes_on = line.endswith("\\")
        else:
            goes_on = False
    return "\n".join(commands)


def made_pages() -> dict[str, str]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")
    license_text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    return {
        "index.md": readme.replace("](LICENSE)", f"]({_LICENSE})"),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        _LICENSE: f"# License\n\n```text\n{license_text}```\n",
        **{f"commands/{name}": text for name, text in command_pages.pages().items()},
        **{f"api/{name}": text for name, text in api_pages.pages().items()},
    }


def navigation() -> Nav:
    return [
        {"Yantra": ["index.md", {"Changes": "changelog.md"}, {"License": _LICENSE}]},
        {"Start": _listed("start")},
        {"Gallery": ["gallery/README.md"]},
        {"Tutorial": _listed("tutorial")},
        {"Concepts": _listed("concepts")},
        {"Guides": sorted(f"guides/{page.name}" for page in (DOCS / "guides").glob("*.md"))},
        {"Reference": ["reference/README.md", *_grouped(DOCS / "reference" / "README.md")]},
        {"Commands": [f"commands/{name}" for name in command_pages.pages()]},
        {"Python": [f"api/{name}" for name in api_pages.pages()]},
        {"Internals": [*_internals(), {"Decisions": _listed("decisions")}]},
    ]


def _internals() -> Nav:
    pages = sorted(f"internals/{page.name}" for page in (DOCS / "internals").glob("*.md"))
    pages.append("STYLE.md")
    return sorted(pages, key=lambda page: page != "internals/ARCHITECTURE.md")


def _listed(folder: str) -> Nav:
    """Return a folder's listing page, and its pages in order."""
    text = (DOCS / folder / "README.md").read_text(encoding="utf-8")
    pages = [name for name in _LINK.findall(text) if "/" not in name]
    return [f"{folder}/{name}" for name in ("README.md", *dict.fromkeys(pages))]


def _grouped(page: Path) -> Nav:
    """Return the groups of a page: a line `Simulating:`, then a list."""
    groups: dict[str, Nav] = {}
    title = ""
    for head, name, target in _GROUP.findall(page.read_text(encoding="utf-8")):
        if head:
            title = head
        else:
            groups.setdefault(title, []).append({name: f"{page.parent.name}/{target}"})
    return [{title: pages} for title, pages in groups.items()]
