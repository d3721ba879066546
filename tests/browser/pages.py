"""Every page that Yantra writes or serves, by name: a new one joins with a line of PAGES."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.browser.test_study_page import study_html
from tests.reports import packets, shared, step, uneven
from tests.serving.fleets import served, with_ends
from tests.serving.test_page import PROMISES
from tests.synth.synth_jobs import made as made_job
from tests.synth.test_judge import SMALL, WIDE
from tests.unit.test_compare_page import ran
from yantra.cli import main
from yantra.explain import side_by_side
from yantra.export.report import html
from yantra.library.build import build
from yantra.library.families import chosen
from yantra.serving.page import write_page

Maker = Callable[[Path], object]
ADDRESSES = ("", "serve", "rl")
"""Of `yantra ui`."""
_RL = ("--model=llama3-8b", "--cluster=hgx-h100", "--gpus=16", "--prompts=16", "--generations=8",
       "--lengths=mean=300,cap=900")  # fmt: skip
_LIFE = ("--cluster=hgx-h100", "--gpus=64", "--days=54", "--set=lives=40", "--set=price=2 USD/h")
_WORKLOADS = ("width.h1k.l4.tp8", "width.h8k.l4.fsdp16")


def _by(*words: str) -> Maker:
    """A page by a command; "{}" is its folder."""

    def make(path: Path) -> None:
        if name := next((name for name in FILES if any(name in word for word in words)), None):
            FILES[name](path.parent)
        line = [word.replace("{}", str(path.parent)) for word in words]
        assert main([*line, str(path)]) == 0, words

    return make


def _job(folder: Path) -> None:
    job = {"model": "llama3-8b", "plan": {"tp": 2, "pp": 2, "global_batch": 128}}
    (folder / "job.yaml").write_text(json.dumps(job))


def _jobs(folder: Path) -> None:
    for name, settings in (("jobs", SMALL), ("others", WIDE)):
        (folder / name).mkdir()
        made_job("llama3-8b", settings).save(folder / name / "job.yw")


def _suite(folder: Path) -> None:
    build(chosen(_WORKLOADS), str(folder))
    line = ("suite", "select", str(folder), "-k", "2", "-o", str(folder / "suite.json"))
    assert main(line) == 0


FILES = {"job.yaml": _job, "{}/jobs": _jobs, "suite.json": _suite}
"""What makes the files that a command names."""


def _of(text: Callable[[Path], str]) -> Maker:
    return lambda path: path.write_text(text(path.parent))


PAGES: dict[str, Maker] = {
    "uneven": _of(lambda _: html(uneven())),
    "step": _of(lambda _: html(step())),
    "shared": _of(lambda _: html(shared())),
    "packets": _of(lambda _: html(packets())),
    "warned": _of(lambda _: html(step(), ["a file has changed"])),
    "study": _of(study_html),
    "compared": lambda path: side_by_side([ran(50.0), ran(100.0), ran(25.0)]).to_report(path),
    "lacking": lambda path: side_by_side([ran(50.0, record=False), ran(25.0)]).to_report(path),
    "served": lambda path: write_page(with_ends(served(rate=60.0)), path, PROMISES),
    "life": _by("life", "{}/job.yaml", *_LIFE, "--report"),
    "rl": _by("rl", *_RL, "--mode=async", "--staleness=4", "--report"),
    "modes": _by("rl", *_RL, "--compare", "--report"),
    "judge": _by("synth", "judge", "{}/jobs", "{}/jobs", "--others={}/others", "--report"),
    "suite": _by("suite", "run", "{}/suite.json", "--cluster=hgx-h100", "--cluster=hgx-h20",
                 "--report"),
    "plans": _by("plan", "--model=llama3-8b", "--cluster=hgx-h100", "--ranks=8",
                 "--global-batch=16", "--top=2", "-o"),
}  # fmt: skip


def written(folder: Path, name: str) -> Path:
    """Write a page with the files that it is made of, if it is not there yet."""
    path = folder / name / f"{name}.html"
    if not path.exists():
        path.parent.mkdir()
        PAGES[name](path)
    return path
