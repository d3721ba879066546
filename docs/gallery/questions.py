"""The questions of the gallery: commands, and the file that is the picture of their answer.

`python -m docs.pictures NAME` makes a picture anew; where `made` is empty it is of what the last
command prints. `python -m docs.generate` writes the page.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """What is asked, and the shell's lines that answer."""

    name: str
    asks: str
    commands: tuple[str, ...]
    made: str = ""

    @property
    def picture(self) -> str:
        """Return the file's name in docs/gallery."""
        return f"{self.name}.{'png' if self.made.endswith('.html') else 'svg'}"


_FLOWS = (
    "yantra network flows --workload websearch --load 0.4 --topology leaf_spine --set leaves=2"
    " --set ranks_per_leaf=4 --set spines=2 --set bandwidth=100Gb/s --set latency=1us"
    " --set duration=3ms --network packet --set preset={0} -o {0}.csv"
)
_RL = (
    "yantra rl --model llama3-8b --cluster hgx-h100 --gpus 8 --prompts 32 --generations 8"
    " --lengths lognormal:mean=400,sigma=0.9,cap=2048 --set prompt_tokens=100 --compare"
)
_STUDY = (
    "printf 'model: llama3-8b\\nglobal_batch: 64\\nclusters: [hgx-h100, hgx-b200, mi300x]\\n"
    "ranks: [8, 16, 32]\\nobjectives: [step_time, usd_per_million_tokens]\\n' > study.yaml"
)
_MOE = "yantra workload train --model qwen3-30b-a3b --ep 8 --dp 16 --zero 1 --global-batch 64"
_405B = (
    "yantra workload train --model llama3-405b --tp 8 --cp 2 --pp 16 --vpp 8 --dp 64 --zero 1"
    " --shard 2 --global-batch 2048 --embedding-as-layer --loss-as-layer -o big.yw"
)
_SERVE = (
    "yantra serve --model llama3-8b --cluster hgx-h100 --prefill '1x tp=1' --decode '2x tp=1'"
    " --requests poisson:rate=20/s,count=500,isl=2000,osl=300,seed=1 --report pools.html"
)
_STRAGGLER = "{ranks: 3, slower: 1.5, at: 0 s, for: 10 s}"

QUESTIONS = (
    Question(
        "moe",
        "Why is my mixture of experts slow?",
        (f"{_MOE} -o moe.yw", "yantra run moe.yw --cluster hgx-h200 --report moe.html"),
        "moe.html",
    ),
    Question(
        "llama-405b",
        "What do 16,384 GPUs do in a step of Llama 3 405B?",
        (_405B, "yantra run big.yw --cluster hgx-h100 --report big.html"),
        "big.html",
    ),
    Question(
        "controls",
        "DCQCN or HPCC?",
        (
            _FLOWS.format("hpcc95"),
            _FLOWS.format("dcqcn"),
            "yantra plot fct hpcc95.csv dcqcn.csv -o fct.svg",
        ),
        "fct.svg",
    ),
    Question(
        "cuts",
        "Which cut bounds a fabric?",
        ("yantra topology show rail_optimised --bounds '1 GiB'",),
    ),
    Question(
        "rails",
        "Rails or a fat tree?",
        (
            "yantra collective bench rail_optimised fat_tree --sizes 64MiB"
            " --algorithms ring,direct,rail_rings",
        ),
    ),
    Question("pools", "Should prefill and decode be apart?", (_SERVE,), "pools.html"),
    Question(
        "straggler",
        "What does one slow GPU cost?",
        (
            "yantra workload train --model llama3-8b --tp 2 --dp 8 --zero 1 --global-batch 16"
            " -o step.yw",
            "yantra run step.yw --cluster hgx-h100 --report slow.html"
            f" --set 'cluster.failures=[{_STRAGGLER}]'",
        ),
        "slow.html",
    ),
    Question(
        "machines",
        "B200 or MI355X?",
        (
            "yantra workload train --model llama3-8b --dp 8 --zero 1 --global-batch 64 -o step.yw",
            "yantra run step.yw --cluster hgx-b200 -o b200.json",
            "yantra run step.yw --cluster mi355x -o mi355x.json",
            "yantra compare b200.json mi355x.json --report machines.html",
        ),
        "machines.html",
    ),
    Question(
        "spares",
        "What does a spare host buy?",
        (
            "printf 'model: llama3-8b\\nplan: {tp: 2, pp: 2, zero: 1, global_batch: 2048}\\n'"
            " > job.yaml",
            "yantra life job.yaml --cluster hgx-h100 --gpus 1024 --days 30 --set lives=100",
        ),
    ),
    Question(
        "share",
        "May I share a trace?",
        (
            "yantra workload train --model llama3-8b --n-layer 4 --tp 2 --dp 2 -o small.yw",
            "yantra workload expand small.yw -o traces",
            "yantra trace share 'traces/workload.{rank}.et' --key secret -o safe",
        ),
    ),
    Question(
        "front",
        "Which cluster for the money?",
        (
            _STUDY,
            "yantra explore run study.yaml -o study",
            "yantra plot front study -o front.svg",
        ),
        "front.svg",
    ),
    Question("modes", "Must post-training be synchronous?", (_RL,)),
)


def page() -> str:
    """Return docs/gallery/README.md."""
    parts = [
        "# Gallery\n\nTwelve questions and what answers them. `python -m docs.pictures` makes all "
        "pictures again by these lines.\n"
    ]
    for one in QUESTIONS:
        lines = "\n".join(one.commands)
        shown = f"![Answer: {one.name}]({one.picture})"
        parts.append(f"## {one.asks}\n\n```sh\n{lines}\n```\n\n{shown}\n")
    return "\n".join(parts)
