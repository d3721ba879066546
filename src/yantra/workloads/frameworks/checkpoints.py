"""Checkpoints that files name by their ids, or by a path that ends with one."""

from __future__ import annotations

from yantra.base.notes import note
from yantra.workloads.models import hub, zoo
from yantra.workloads.models.transformer import Transformer


def sizes_of_id(model: str) -> Transformer | None:
    """The sizes of a checkpoint, None where they are not known."""
    found = zoo.get(model) if zoo.is_known(model) else None
    if found is None and (known := hub.find(model)) is not None:
        found = known.model
    return found if isinstance(found, Transformer) else None


def named_in(text: str, where: str) -> hub.Checkpoint | None:
    """The checkpoint of an id, path or variable; a note says which by its name alone."""
    found = hub.find(text, of_any_owner=True)
    if found is not None and hub.find(text) is None:
        note(f"{where}: {text} taken as {found.id}, by its name")
    return found


def is_named(text: str, doubt: str) -> bool:
    """Whether a path behind a variable that is not set ends with a checkpoint's name."""
    return "does not set" in doubt and text.startswith("/") and bool(_found(text))


def _found(text: str) -> hub.Checkpoint | None:
    return hub.find(hub.stored(text).id, of_any_owner=True)
