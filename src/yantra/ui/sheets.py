"""Pages of the server beside the training's: what is served, and post-training.

A sheet has controls, and answers a form of them; one more page is one more sheet. A form cannot
ask for files: requests and lengths are numbers here, engines and modes those with a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, YantraError, expected_got
from yantra.base.whole_numbers import whole
from yantra.fabric import clusters
from yantra.ui.controls import MOST_TEXT, Offered, check_known
from yantra.workloads.models import catalogue

Form = Mapping[str, str]


class Sheet(NamedTuple):
    """Controls by group, with their first values, meanings and choices."""

    name: str
    title: str
    groups: Mapping[str, tuple[str, ...]]
    first: Mapping[str, str]
    about: Mapping[str, str]
    choices: Callable[[], Mapping[str, tuple[str, ...]]]
    powers: Mapping[str, tuple[int, int]]
    """Powers of two of the sliders of whole numbers."""
    empty: Mapping[str, str]
    """Shown where a control may be empty."""
    answer: Callable[[Form], dict[str, Any]]
    report: Callable[[Form], str]
    called: Mapping[str, str] = {}
    """Controls by the names that errors of the commands give them."""

    def known(self, offered: Offered) -> dict[str, tuple[str, ...]]:
        """Values of the controls that have a list."""
        return {
            "model": tuple(dict.fromkeys((*offered.models, *catalogue.names()))),
            "cluster": tuple(dict.fromkeys((*offered.clusters, *clusters.names()))),
            **self.choices(),
        }

    def begun(self, offered: Offered) -> dict[str, str]:
        """First values."""
        given = (("model", offered.models), ("cluster", offered.clusters))
        return {**self.first, **{name: values[0] for name, values in given if values}}

    def read(self, form: Any, offered: Offered) -> dict[str, str]:
        """A form (anything), completed. Raises ConfigError with the control's name."""
        if not isinstance(form, dict):
            raise ConfigError("form", expected_got("an object", form))
        found = self.begun(offered)
        for name, value in form.items():
            if name not in found:
                expected = ", ".join(found)
                raise ConfigError(name, f"no control has this name; expected one of {expected}")
            if not isinstance(value, str):
                raise ConfigError(name, expected_got("a text", value))
            if len(value) > MOST_TEXT:
                problem = f"expected at most {MOST_TEXT} characters, got {len(value)}"
                raise ConfigError(name, problem)
            found[name] = value.strip()
        for name, values in self.known(offered).items():
            if found[name] not in values:
                if name not in ("model", "cluster"):
                    raise ConfigError(
                        name, expected_got(f"one of {', '.join(values)}", found[name])
                    )
                check_known(name, found[name])
        return found

    def place(self, error: YantraError) -> str:
        """The control that an error is of, if one is."""
        if type(error) is not ConfigError:
            return ""
        for word in error.where.replace("--set ", "--").replace(":", " ").split():
            name = word.removeprefix("--").replace("-", "_")
            name = self.called.get(name, name)
            if name in self.first:
                return name
        return ""


def number(form: Form, name: str, most: int) -> int:
    """A whole number from 1. Raises ConfigError."""
    found = whole(form[name])
    if found is None or not 1 <= found <= most:
        raise ConfigError(name, expected_got(f"a whole number from 1 to {most:,}", form[name]))
    return found
