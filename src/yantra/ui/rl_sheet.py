"""The page of `yantra ui` for post-training: as `yantra rl` with lengths of a mean and a cap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.rl.frameworks.find import names as frameworks
from yantra.rl.modes import mode_of, modes
from yantra.ui.sheets import Form, Sheet, number

if TYPE_CHECKING:
    from yantra.rl.answer import Answer

_MOST, _MOST_SAMPLES, _MOST_TOKENS = 131_072, 65_536, 1 << 20


def asked(form: Form) -> Answer:
    """Answer a form. Raises ConfigError and CapacityError."""
    from yantra.rl.answer import answered
    from yantra.rl.question import made
    from yantra.rl.settings import plan_of

    prompts, each = number(form, "prompts", _MOST), number(form, "generations", _MOST)
    if prompts * each > _MOST_SAMPLES:
        problem = (
            f"{prompts * each:,} samples; at most {_MOST_SAMPLES:,} here; yantra rl takes more"
        )
        raise ConfigError("prompts", problem)
    mean, cap = number(form, "mean", _MOST_TOKENS), number(form, "cap", _MOST_TOKENS)
    counts = mode_of(form["mode"]).counts
    return answered(
        made(
            form["model"], form["cluster"], gpus=number(form, "gpus", _MOST), prompts=prompts,
            generations=each, lengths=f"mean={mean},cap={cap}",
            prompt_tokens=number(form, "prompt_tokens", _MOST_TOKENS), mode=form["mode"],
            staleness=number(form, "staleness", _MOST) if counts else None,
            generate=plan_of(form["generate"], "generate"), train=plan_of(form["train"], "train"),
            framework=form["framework"],
        )
    )  # fmt: skip


def answer(form: Form) -> dict[str, Any]:
    """The answer of the page."""
    from yantra.rl.answer import plans, title
    from yantra.rl.page import known, phases, waiting, waits

    found = asked(form)
    return {
        "time": f"{found.seconds:.3g} s",
        "interval": f"{found.low:.3g} to {found.high:.3g} s",
        "said": "a step",
        "ran": title(found.question),
        "bound": waiting(found),
        "lines": [["plans", plans(found.question), ""], *([*pair, ""] for pair in known(found))],
        "gains": [],
        "pictures": {"phases": phases(found), "waits": waits([found])},
        "warnings": [],
    }


def report(form: Form) -> str:
    """The report of `yantra rl --report`."""
    from yantra.rl.page import html

    return html([asked(form)])


SHEET = Sheet(
    name="rl",
    title="Post-training",
    groups={
        "What is trained": ("model", "prompts", "generations", "mean", "cap", "prompt_tokens"),
        "On what": ("cluster", "gpus", "framework"),
        "How": ("mode", "staleness", "generate", "train"),
    },
    first={
        "model": "llama3-8b", "prompts": "64", "generations": "16", "mean": "800", "cap": "4096",
        "prompt_tokens": "128", "cluster": "hgx-h100", "gpus": "16", "framework": "nemo-rl",
        "mode": "sync", "staleness": "1", "generate": "", "train": "",
    },
    about={
        "model": "the policy",
        "prompts": "of a step",
        "generations": "samples of a prompt",
        "mean": "tokens of a sample, in the mean",
        "cap": "the most tokens of a sample",
        "prompt_tokens": "tokens of a prompt",
        "cluster": "the machine",
        "gpus": "of the whole job",
        "framework": "whose parts: engines, refits, controller",
        "mode": "whether generation waits for training, runs beside it, or ahead",
        "staleness": "how far ahead, where the mode counts: async in mini-batches, k-off in steps",
        "generate": "the plan of an engine, such as tp=4,gpus=8; chosen if empty",
        "train": "the plan of the trainer, such as tp=4,pp=2,recompute=full; chosen if empty",
    },
    choices=lambda: {"mode": tuple(modes.names()), "framework": frameworks()},
    powers={
        "prompts": (0, 12), "generations": (0, 8), "mean": (5, 16), "cap": (6, 17),
        "prompt_tokens": (0, 15), "gpus": (0, 13), "staleness": (0, 5),
    },
    empty={"generate": "chosen", "train": "chosen"},
    answer=answer,
    report=report,
    called={"lengths": "mean", "ranks": "gpus"},
)  # fmt: skip
