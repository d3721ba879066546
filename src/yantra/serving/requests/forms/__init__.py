"""The forms of traces of requests, one file each, known by the names of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.registry import Registry

if TYPE_CHECKING:
    from yantra.serving.requests.forms.form import Form

forms: Registry[type[Form]] = Registry(
    "form of requests",
    "yantra.serving.requests.forms",
    "yantra.request_forms",
    base="yantra.serving.requests.forms.form.Form",
)
