"""The page of `yantra ui`: controls above, the answer below, the best plans on demand."""

from __future__ import annotations

from collections.abc import Iterable

from yantra.export.report.markup import Html, element
from yantra.export.report.shell import Page, Section, render
from yantra.fabric import clusters
from yantra.ui.jobs import CHOICES, NUMBERS, POWERS
from yantra.workloads.models import catalogue

_FIRST = {
    "model": "llama3-8b",
    "cluster": "hgx-h100",
    "zero": "1",
    "recompute": "none",
    "dtype": "bf16",
}
_STYLES = ("report.css", "ui.css")
_LEAD = "A change runs the step again. The ranks that tp, pp and cp leave are replicas (dp)."


def html() -> str:
    """Return the page."""
    controls = element(
        "form",
        _select("model", catalogue.names()),
        _select("cluster", clusters.names()),
        *[_number(name, value) for name, value in NUMBERS.items()],
        *[_select(name, values) for name, values in CHOICES.items()],
        element("button", "Find the best plans", type="button", id="plan"),
        element("button", "Stop", type="button", id="stop", disabled=True),
        id="controls",
        class_="controls job",
        aria_label="The job",
    )
    status = element("p", "", id="status", class_="note", role="status")
    answer = element("div", status, element("div", id="answer"))
    sections = [
        Section("job", "The job", _LEAD, controls),
        Section("run", "The run", "", answer),
        Section("plans", "The best plans", "", element("div", _PLANS, id="best")),
    ]
    scripts = ("tooltip.js", "ui.js")
    return render(Page("Yantra", Html(""), sections, scripts, _STYLES, connects=True))


_PLANS = element("p", "Find the best plans to fill this table; a row sets the controls.")


def _select(name: str, values: Iterable[str]) -> Html:
    options = [
        element("option", value, value=value, selected=value == _FIRST[name]) for value in values
    ]
    return element("label", name.replace("_", " "), element("select", *options, name=name))


def _number(name: str, value: str) -> Html:
    """Return a box for any number, and a slider over powers of two that sets it."""
    shown = name.replace("_", " ")
    least, most = POWERS[name]
    box = element(
        "input",
        type="number",
        name=name,
        value=value,
        min=1,
        step=1,
        placeholder="usual" if name == "sequence" else None,
    )
    slider = element(
        "input",
        type="range",
        min=least,
        max=most,
        value=int(value).bit_length() - 1 if value else (least + most + 1) // 2,
        data_sets=name,
        aria_label=f"{shown}, by powers of two",
        aria_valuetext=value or "usual",
    )
    return element("div", element("label", shown, box), slider, class_="dial")
