"""The documentation's site: its order names every page, and every public name is described."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import yantra
from docs import api_pages, build, command_pages
from tests.cli.tree import EVERY
from tests.docs_site import NEEDS_MKDOCS, built

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def targets(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from targets([below] if isinstance(below, str) else below)


def test_the_order_names_every_page_once() -> None:
    named = list(targets(build.navigation()))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert sorted(pages - set(named)) == [], "name it in the README.md of its folder"
    assert sorted(named) == sorted(pages | set(build.made_pages()))


def test_the_command_pages_have_every_command_option_and_example() -> None:
    text = "".join(command_pages.pages().values())
    for found in EVERY[1:]:
        assert re.search(rf"^#+ {re.escape(found.name)}$", text, re.MULTILINE), found.name
        for example in found.examples:
            assert example in text
        for parameter in found.command.params:
            if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
                assert parameter.opts[-1] in text


def test_the_pages_of_python_have_every_public_name() -> None:
    pages = api_pages.pages()
    described = re.findall(r"^::: (\S+)$", "".join(pages.values()), re.MULTILINE)
    for name in api_pages.MODULES:
        module = import_module(name)
        for public in api_pages.names_of(module):
            path = api_pages.path_of(module, public)
            assert described.count(path) == 1, f"{name}.{public}"
            text = pages[f"{name}.md"]
            assert f"::: {path}\n" in text or f"| `{public}` | [" in text, f"{name}.{public}"


def test_every_public_package_of_yantra_has_a_page() -> None:
    import yantra

    homes = {f"yantra.{home}" for home in yantra._HOMES.values()}
    assert homes | {f"yantra.{home}" for home in yantra._MODULES.values()} <= set(api_pages.MODULES)


def test_what_is_copied_of_a_console_block_is_its_commands() -> None:
    shown = "$ one --a \\\n>     --b\nout > of one\n$ two\n> no command\n"
    assert build.commands_of(shown) == "one --a \\\n    --b\ntwo"


class _Described(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        self._objects: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        classes = (facts.get("class") or "").split()
        if tag not in ("br", "hr", "img", "input", "link", "meta", "path", "wbr"):
            what = next((c for c in ("doc-object", "doc-contents") if c in classes), "")
            self._open.append((tag, what))
            if what == "doc-object":
                self._objects.append("")
        if "doc-heading" in classes and self._objects and not self._objects[-1]:
            self._objects[-1] = facts.get("id") or ""
            self.texts[self._objects[-1]] = ""

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            opened, what = self._open.pop()
            if what == "doc-object":
                self._objects.pop()
            if opened == tag:
                return

    def handle_data(self, data: str) -> None:
        inner = next((what for _, what in reversed(self._open) if what), "")
        if inner == "doc-contents" and self._objects[-1]:
            self.texts[self._objects[-1]] += data.strip()


def undescribed(folder: Path) -> Iterator[str]:
    count = 0
    for page in sorted(folder.glob("*.html")):
        parser = _Described()
        parser.feed(page.read_text(encoding="utf-8"))
        count += len(parser.texts)
        yield from (name for name, text in parser.texts.items() if not text)
    assert count > 900


@NEEDS_MKDOCS
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(
    shared_folder: Path,
) -> None:
    site = built(shared_folder)
    assert site.failure == ""
    described = (site.folder / "api" / "yantra.workloads.html").read_text(encoding="utf-8")
    assert 'id="yantra.workloads.plan.plan.Plan.tp"' in described
    assert "Ranks that share every layer (tensor parallelism)." in described
    assert list(undescribed(site.folder / "api")) == []
    assert list(site.folder.rglob("*.py*")) == []
    pages = list(site.folder.rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//', text), page
        assert not re.search(r'<link[^>]* href="(?:https?:)?//', text), page
        assert 'data-md-component="search-query"' in text
        assert f"Yantra {yantra.__version__}\n" in text and "logo.svg" in text, page
        copied = re.findall(r'<div data-copy="([^"]*)" class="language-console', text)
        assert len(copied) == text.count("language-console highlight")
        assert not any(one.startswith("$") for one in copied)
