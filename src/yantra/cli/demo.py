"""`yantra demo`: runs the examples and shows for each where the time goes."""

from __future__ import annotations

import json
import sys
from shutil import which
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from yantra.base.errors import InternalError
from yantra.cli.command import WithExamples, json_option
from yantra.cli.show import show

if TYPE_CHECKING:
    from yantra.demo import Example
    from yantra.result import Result

_WIDTH = 80
_SHOWN_AS_JSON = ("ranks", "dimensions")


@click.command(
    cls=WithExamples,
    examples=[
        "yantra demo",
        "yantra demo --json",
    ],
)
@json_option
def command(as_json: bool) -> int:
    """Run four examples; two have an answer published for ASTRA-sim."""
    from yantra.demo import examples
    from yantra.export.json import document
    from yantra.run.simulate import simulate

    forms = []
    for number, example in enumerate(examples(), start=1):
        result = simulate(example.scenario)
        _check(example, result)
        if as_json:
            about = {"title": example.title, "astra_sim_ns": example.astra_sim_ns}
            forms.append(about | {"result": document(result, _SHOWN_AS_JSON)})
            continue
        sys.stdout.write(f"{number}. {example.title}\n{_wrapped(example.about)}\n\n")
        sys.stdout.flush()
        show(result)
        sys.stdout.write(f"{_closing(example, result)}\n\n")
    sys.stdout.write(json.dumps(forms, indent=1) + "\n" if as_json else _next())
    return 0


def _next() -> str:
    """Return what to type next, also where yantra is not on the path."""
    is_ours = sys.argv[0].endswith("yantra")
    program = "yantra" if which("yantra") else sys.argv[0] if is_ours else "python -m yantra"
    return f"""Next: the best plan of a model, and a page with model, plan and cluster
  {program} plan --model llama3-8b --ranks 64 --cluster hgx-h100 --global-batch 256
  {program} ui --browser
Five pages to start from, ten minutes each: docs/start/README.md
"""


def _check(example: Example, result: Result) -> None:
    finish = set(result.ranks.values("finish_ns"))
    if example.astra_sim_ns is not None and finish != {example.astra_sim_ns}:
        raise InternalError(
            f"{example.title}: the ranks finish at {sorted(finish)} ns, "
            f"but ASTRA-sim reports {example.astra_sim_ns}"
        )


def _closing(example: Example, result: Result) -> str:
    if example.astra_sim_ns is not None:
        return f"ASTRA-sim reports {example.astra_sim_ns} ns for every rank: equal"
    busy = sum(result.ranks.values("communication_ns"))
    hidden = busy - sum(result.ranks.values("exposed_communication_ns"))
    return f"{100 * hidden / busy:.0f} % of the communication runs behind compute"


def _wrapped(text: str) -> str:
    return "\n".join(wrap(text, _WIDTH))
