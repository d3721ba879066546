"""Measured steps of NeMo-RL 0.5, and the question that each is.

What neither table nor recipe states: prompts of OpenMathInstruct-2 count as 100 tokens of the whole
length, a reward as 15 ms of a worker (math-verify 0.8.0 on 1,000 to 5,700 tokens: 6 to 28 ms of an
EPYC), and DAPO keeps the share of groups with which a round of `multiplier` steps has those of a
step in the mean.
"""

from __future__ import annotations

import csv
from os import path as paths
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.documents import read_text
from yantra.rl.question import made

if TYPE_CHECKING:
    from yantra.rl.question import Question

ROWS = paths.join(paths.dirname(__file__), "nemo_rl_0_5.csv")
_PROMPT = 100
_REWARD_S = 0.015
_ROUNDS = 11  # dynamic_sampling_max_gen_batches is 10, and it gives up behind one more
_DTYPES = {"fp8": "fp8_block"}
_AXES = ("tp", "cp", "ep", "pp")


class Row(NamedTuple):
    """A measured step, as the table and the recipe have it."""

    given: dict[str, str]

    @property
    def model(self) -> str:
        """Its name."""
        return self.given["model"]

    @property
    def seconds(self) -> float:
        """Measured, of a step."""
        return float(self.given["seconds"])

    @property
    def title(self) -> str:
        """Model, cluster, type of numbers, algorithm, mode."""
        names = ("model", "cluster", "dtype", "algorithm", "mode")
        return " ".join(self.given[name] for name in names)

    def question(self) -> Question:
        """The question whose answer is the step's time."""
        of = self.given
        cap, score = int(of["cap"]), int(of["score_batch"])
        dtype = _DTYPES.get(of["dtype"], of["dtype"])
        generate: dict[str, Any] = {
            "tp": int(of["generate_tp"]),
            "dtype": dtype,
            "gpu_memory_utilization": float(of["memory"]),
        }
        if of["eager"] != "0":
            generate["enforce_eager"] = True
        rounds: dict[str, Any] = {}
        if (over := int(of["multiplier"])) > 1:
            rounds = {"filtered": 1 - 1 / over, "oversampling": over, "most_rounds": _ROUNDS}
        train: dict[str, Any] = {name: int(of[name]) for name in _AXES}
        return made(
            of["model"], of["cluster"], gpus=int(of["gpus"]), prompts=int(of["prompts"]),
            generations=int(of["generations"]), mode=of["mode"], algorithm=of["algorithm"],
            lengths=f"mean={int(of['mean']) - _PROMPT},cap={cap - _PROMPT}", prompt_tokens=_PROMPT,
            generate=generate, train={**train, "recompute": of["recompute"], "dtype": dtype},
            train_batch=int(of["train_batch"]), micro_tokens=cap, score_tokens=cap * score,
            reward_s=_REWARD_S, reward_workers=int(of["workers"]), packing=of["packing"] == "1",
            async_engine=of["async_engine"] == "1", **rounds,
        )  # fmt: skip


def rows(path: str = ROWS) -> list[Row]:
    """Return the measured steps."""
    lines = [line for line in read_text(path).splitlines() if not line.startswith("#")]
    return [Row(line) for line in csv.DictReader(lines)]
