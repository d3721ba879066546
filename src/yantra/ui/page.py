"""The page of `yantra ui`: controls, the answer, the best plans on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from yantra.export.report.markup import Content, Html, element
from yantra.export.report.shell import Page, Section, render
from yantra.ui.controls import ABOUT, CHOICES, OWN, POWERS, Offered, first, names
from yantra.ui.rl_sheet import SHEET as RL
from yantra.ui.serve_sheet import SHEET as SERVE
from yantra.ui.sheets import Sheet

SHEETS = {sheet.name: sheet for sheet in (SERVE, RL)}
"""Pages beside the training's."""

_STYLES = ("report.css", "serve.css", "curves.css", "ui.css")
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
    dials = _Dials(begun, known, ABOUT, POWERS, _EMPTY)
    plan = element("button", "Find the best plans", type="button", id="plan")
    best = Section("plans", "The best plans", "", element("div", _PLANS, id="best"))
    return _page("run", "Yantra", _controls("run", _GROUPS, dials, plan), best)


def html_of(sheet: Sheet, offered: Offered) -> str:
    """The page of a sheet."""
    known = sheet.known(offered)
    dials = _Dials(sheet.begun(offered), known, sheet.about, sheet.powers, sheet.empty)
    title = f"Yantra: {sheet.title.lower()}"
    return _page(sheet.name, title, _controls(sheet.name, sheet.groups, dials))


class _Dials(NamedTuple):
    """Of a page, by the names of its controls."""

    begun: Mapping[str, str]
    known: Mapping[str, Iterable[str]]
    about: Mapping[str, str]
    powers: Mapping[str, tuple[int, int]]
    empty: Mapping[str, str]


def _controls(
    act: str, groups: Mapping[str, tuple[str, ...]], dials: _Dials, more: Html | None = None
) -> Html:
    fields = [
        element(
            "fieldset",
            element("legend", title),
            *[_control(name, dials) for name in inside],
        )
        for title, inside in groups.items()
    ]
    acts = element(
        "div",
        more,
        element("button", "Stop", type="button", id="stop", disabled=True),
        element("button", "Copy the address", type="button", id="share"),
        class_="acts",
    )
    return element(
        "form",
        *fields,
        acts,
        id="controls",
        class_="job",
        aria_label="The job",
        autocomplete="off",
        data_act=act,
    )


def _page(act: str, title: str, controls: Html, *more: Section) -> str:
    status = element("p", "", id="status", class_="note", role="status")
    answer = element("div", status, element("div", id="answer"))
    links = [
        element("strong", text) if name == act else element("a", text, href=path)
        for name, (path, text) in _PAGES.items()
    ]
    nav = element("nav", *links, class_="pages", aria_label="Pages")
    sections = [
        Section("job", "The job", _LEAD, controls),
        Section("run", "The run", "", answer),
        *more,
    ]
    return render(Page(title, nav, sections, _SCRIPTS, _STYLES, connects=True))


_PAGES = {"run": ("/", "Training")}
_PAGES |= {name: (f"/{name}", sheet.title) for name, sheet in SHEETS.items()}
_PLANS = element("p", "Find the best plans to fill this table; a row sets the controls.")


def _control(name: str, dials: _Dials) -> Html:
    begins, known = dials.begun[name], dials.known.get(name)
    if name in dials.powers:
        inside = _number(name, begins, dials)
    elif known is not None:
        inside = _select(name, known, begins, dials)
    elif name.startswith(f"{OWN}_"):
        inside = _text(name, dials)
    else:
        box = element("input", type="text", name=name, value=begins, **_about(name, dials))
        inside = _label(name, dials, box)
    wrong = element("small", id=f"wrong-{name}", class_="wrong")
    is_own = name.startswith(f"{OWN}_")
    return element("div", inside, wrong, class_="dial", id=f"at-{name}", hidden=is_own)


def _about(name: str, dials: _Dials) -> dict[str, str | None]:
    return {
        "title": dials.about[name],
        "placeholder": dials.empty.get(name),
        "aria_describedby": f"wrong-{name}",
        "spellcheck": "false",
    }


def _label(name: str, dials: _Dials, *inside: Content) -> Html:
    shown = element("span", _SHOWN.get(name, name.replace("_", " ")))
    return element("label", shown, *inside, title=dials.about[name])


def _select(name: str, values: Iterable[str], begins: str, dials: _Dials) -> Html:
    options = [
        element("option", _called(name, value), value=value, selected=value == begins)
        for value in values
    ]
    about = _about(name, dials) | {"placeholder": None}
    return _label(name, dials, element("select", *options, name=name, **about))


def _called(name: str, value: str) -> str:
    if not value:
        return _EMPTY[name]
    return "your own text" if value == OWN and name in ("model", "cluster") else value


def _text(name: str, dials: _Dials) -> Html:
    copied = name.removeprefix(f"{OWN}_")
    about = f"Fill the box with the {copied} that was chosen last by name"
    fill = element("button", f"Start from a known {copied}", type="button", data_fills=copied)
    box = element("textarea", name=name, rows=14, cols=40, **_about(name, dials))
    return Html(_label(name, dials, box) + element("span", fill, title=about))


def _number(name: str, value: str, dials: _Dials) -> Html:
    shown = name.replace("_", " ")
    least, most = dials.powers[name]
    about = _about(name, dials)
    box = element("input", type="number", name=name, value=value, min=1, step=1, **about)
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
    return Html(_label(name, dials, box) + slider)
