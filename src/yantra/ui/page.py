"""The page of `yantra ui`: controls, the answer, the best plans on demand."""

from __future__ import annotations

from collections.abc import Iterable

from yantra.export.report.markup import Content, Html, element
from yantra.export.report.shell import Page, Section, render
from yantra.ui.controls import ABOUT, CHOICES, NUMBERS, OWN, POWERS, Offered, first, names

_STYLES = ("report.css", "ui.css")
_SCRIPTS = ("tooltip.js", "address.js", "controls.js", "answer.js", "ui.js")
_LEAD = (
    "A change runs the step again. The address holds the question: reload it, keep it, send it. "
    "Point at a name to see what it means."
)
_GROUPS = {
    "What is trained": ("model", "own_model", "global_batch", "sequence", "dtype"),
    "On what": (
        "cluster",
        "own_cluster",
        "ranks",
        "stack",
        "network",
        "price",
        "ignore_memory",
    ),
    "How it is split": (
        *("tp", "pp", "vpp", "cp", "ep", "micro_batch"),
        *("zero", "recompute", "schedule", "more"),
    ),
}
_SHOWN = {"more": "more of the plan"}
_EMPTY = {
    "sequence": "usual",
    "schedule": "usual",
    "price": "the cluster's",
    "more": "offload_optimizer=true",
    "own_model": "num_layers: 32\nhidden_size: 4096\n...\nor a config.json of Hugging Face",
    "own_cluster": "title: ...\nsources: ...\ndevice: ...\nhost: ...\nnetwork: ...",
}
"""Shown where a control is empty."""


def html(offered: Offered | None = None) -> str:
    offered = offered or Offered()
    begun, known = first(offered), {**names(offered), **CHOICES}
    groups = [
        element(
            "fieldset",
            element("legend", title),
            *[_control(name, begun[name], known.get(name)) for name in inside],
        )
        for title, inside in _GROUPS.items()
    ]
    controls = element(
        "form",
        *groups,
        element(
            "div",
            element("button", "Find the best plans", type="button", id="plan"),
            element("button", "Stop", type="button", id="stop", disabled=True),
            element("button", "Copy the address", type="button", id="share"),
            class_="acts",
        ),
        id="controls",
        class_="job",
        aria_label="The job",
        autocomplete="off",
    )
    status = element("p", "", id="status", class_="note", role="status")
    answer = element("div", status, element("div", id="answer"))
    sections = [
        Section("job", "The job", _LEAD, controls),
        Section("run", "The run", "", answer),
        Section("plans", "The best plans", "", element("div", _PLANS, id="best")),
    ]
    return render(Page("Yantra", Html(""), sections, _SCRIPTS, _STYLES, connects=True))


_PLANS = element("p", "Find the best plans to fill this table; a row sets the controls.")


def _control(name: str, begins: str, known: Iterable[str] | None) -> Html:
    if name in NUMBERS:
        inside = _number(name, begins)
    elif known is not None:
        inside = _select(name, known, begins)
    elif name.startswith(f"{OWN}_"):
        inside = _text(name)
    else:
        box = element("input", type="text", name=name, value=begins, **_about(name))
        inside = _label(name, box)
    wrong = element("small", id=f"wrong-{name}", class_="wrong")
    is_own = name.startswith(f"{OWN}_")
    return element("div", inside, wrong, class_="dial", id=f"at-{name}", hidden=is_own)


def _about(name: str) -> dict[str, str | None]:
    return {
        "title": ABOUT[name],
        "placeholder": _EMPTY.get(name),
        "aria_describedby": f"wrong-{name}",
        "spellcheck": "false",
    }


def _label(name: str, *inside: Content) -> Html:
    shown = element("span", _SHOWN.get(name, name.replace("_", " ")))
    return element("label", shown, *inside, title=ABOUT[name])


def _select(name: str, values: Iterable[str], begins: str) -> Html:
    options = [
        element("option", _called(name, value), value=value, selected=value == begins)
        for value in values
    ]
    about = _about(name) | {"placeholder": None}
    return _label(name, element("select", *options, name=name, **about))


def _called(name: str, value: str) -> str:
    if not value:
        return _EMPTY[name]
    return "your own text" if value == OWN and name in ("model", "cluster") else value


def _text(name: str) -> Html:
    copied = name.removeprefix(f"{OWN}_")
    about = f"Fill the box with the {copied} that was chosen last by name"
    fill = element("button", f"Start from a known {copied}", type="button", data_fills=copied)
    box = element("textarea", name=name, rows=14, cols=40, **_about(name))
    return Html(_label(name, box) + element("span", fill, title=about))


def _number(name: str, value: str) -> Html:
    shown = name.replace("_", " ")
    least, most = POWERS[name]
    box = element("input", type="number", name=name, value=value, min=1, step=1, **_about(name))
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
    return Html(_label(name, box) + slider)
