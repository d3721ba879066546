"""The scenario itself, as text to copy, and the versions that made the result."""

from __future__ import annotations

import platform
import sys

from yantra.errors import UnsupportedError
from yantra.export.report.markup import Html, element, facts, join
from yantra.export.report.run import Run
from yantra.scenario import text


def section(run: Run) -> Html:
    """Return the scenario and the versions."""
    from yantra import __version__

    scenario = run.result.model.scenario
    try:
        written, about = text.to_yaml(scenario), "Save it as scenario.yaml and run"
        command = "yantra run scenario.yaml --report report.html"
    except UnsupportedError as error:
        written, command = repr(scenario), ""
        about = f"There is no scenario file to write ({error}). The value in Python is"
    versions = [
        ("Yantra", __version__),
        ("Python", platform.python_version()),
        ("system", sys.platform),
    ]
    return join(
        [
            element("p", about, element("code", f" {command}") if command else None, ":"),
            element(
                "div",
                element("button", "Copy", type="button", class_="copy"),
                element("pre", written, id="scenario-text", tabindex=0),
                class_="copied",
            ),
            facts(versions),
        ]
    )
