"""Meanings of records' fields on Python's pages, by an extension of griffe.

They are the descriptions of `yantra.base.fields`, `MEANINGS` and options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import click
import griffe

from yantra.base.fields import Field, Section
from yantra.base.records import Record
from yantra.chakra.schema import Kind
from yantra.cli.workload import infer
from yantra.scenario.layout import DOCUMENT
from yantra.scenario.quirk_stories import STORIES
from yantra.scenario.types import Scenario
from yantra.workloads.plan.fields import MEANINGS


class FieldDocs(griffe.Extension):
    """Gives fields a docstring if they have none."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        for name, meaning in meanings().get(cls.path, {}).items():
            field = cls.members.get(name)
            if field is not None and not field.is_alias and field.docstring is None:
                field.docstring = griffe.Docstring(_sentence(meaning), parent=field)


@cache
def meanings() -> Mapping[str, Mapping[str, str]]:
    """Return records' field meanings by path."""
    found: dict[str, dict[str, str]] = {
        "yantra.workloads.plan.plan.Plan": dict(MEANINGS),
        "yantra.workloads.serving.plan.InferencePlan": dict(_helps(infer.command)),
    }
    for section in _sections(DOCUMENT, set()):
        of_record = found.setdefault(_path(section.record), {})
        for name, field, meaning in section.entries.values():
            if meaning:
                of_record.setdefault(name, f"{meaning} ({field.expected})")
    found["yantra.scenario.quirks.Quirk"] = {
        quirk.name: f"Upstream {story.upstream}. Without it Yantra {story.yantra}: {story.why}"
        for quirk, story in STORIES.items()
    }
    found["yantra.chakra.schema.Kind"] = {
        kind.name: f"{'a list of values' if kind.is_list else 'one value'} of the type "
        + kind.name.lower().removesuffix("_list")
        for kind in Kind
        if kind is not Kind.NONE
    } | {"NONE": "no value"}
    flat = (found.get(f"yantra.scenario.layout.{one}", {}) for one in ("Document", "Cluster"))
    found[_path(Scenario)] = {name: text for part in flat for name, text in part.items()}
    return found


def _sections(field: Any, seen: set[int]) -> Iterator[Section]:
    if id(field) in seen:
        return
    seen.add(id(field))
    if isinstance(field, Section):
        yield field
    parts = [part for _, part, _ in field.entries.values()] if isinstance(field, Section) else []
    parts += [part for part in vars(field).values() if isinstance(part, Field)]
    for part in parts:
        yield from _sections(part, seen)


def _helps(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield a command's option texts, by field."""
    for option in command.params:
        if isinstance(option, click.Option) and option.name and option.help:
            yield option.name, option.help


def _path(record: type[Record]) -> str:
    return f"{record.__module__}.{record.__qualname__}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
