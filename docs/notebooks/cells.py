"""The notebooks of docs/notebooks, one per person: Markdown, which ends as a
sentence does, and code, whose last line is shown."""

from __future__ import annotations

NOTEBOOKS: dict[str, tuple[str, ...]] = {
    "choose-a-cluster": (
        "# Platform architect: which plan, which machine?",
        'import yantra\n\nyantra.plan("llama3-8b", ranks=16, cluster="hgx-h100", global_batch=64)',
        "What the same plan takes on another machine, with its interval:",
        "step = dict(ranks=16, tp=2, zero=1, global_batch=64)\n"
        'h100 = yantra.predict("llama3-8b", cluster="hgx-h100", **step)\n'
        'gb200 = yantra.predict("llama3-8b", cluster="gb200-nvl72", **step)\ngb200',
        "Do the intervals tell the two apart?",
        "yantra.explain.compare(h100.result, gb200.result)",
        "Next: [prices and studies](../guides/plan-a-job.md).",
    ),
    "study-networks": (
        "# Researcher: which algorithm on which fabric?",
        "import yantra\nfrom yantra.chakra import CollectiveType, TraceBuilder\n\n"
        "trace = TraceBuilder()\ntrace.collective(CollectiveType.ALL_REDUCE, 64 << 20)\n"
        'ring = yantra.Dimension(kind="ring", size=8, bytes_per_ns=50.0, latency_ns=500.0)\n\n\n'
        "def run(algorithm):\n"
        "    return yantra.simulate(\n        yantra.Scenario(\n"
        "            workload=yantra.Traces(traces=(trace.build(),) * 8),\n"
        "            topology=yantra.Topology(dimensions=(ring,)),\n"
        "            collectives=yantra.Collectives(all_reduce=(algorithm,)),\n"
        '            network="store_and_forward",\n        )\n    )\n\n\n'
        '{name: f"{run(name).makespan_ns / 1e6:.3f} ms" for name in ("ring", "direct")}',
        "Where the time of one goes:",
        'run("direct")',
        "Exact, so without an interval. Next: [packets](../concepts/packet-network.md).",
    ),
    "a-pytorch-job": (
        "# PyTorch engineer: what does a step wait for?",
        'import yantra\n\nstep = dict(ranks=16, cluster="hgx-h100", tp=4, pp=2, global_batch=8)\n'
        'before = yantra.predict("llama3-8b", **step)\nbefore',
        "Why:",
        "yantra.explain.explain(before.result)",
        "Two chunks of layers a device:",
        'after = yantra.predict("llama3-8b", vpp=2, **step)\n'
        "yantra.explain.compare(before.result, after.result)",
        "Next: [your own recording](../reference/asking.md).",
    ),
    "serve-requests": (
        "# Inference owner: do replicas keep the promise?",
        "import yantra\nfrom yantra.serving import Objective\n\n"
        'requests = "poisson:rate=20/s,count=300,isl=2000,osl=300,seed=1"\n'
        'two = yantra.serve("llama3-8b", "hgx-h100", requests, replicas=2)\ntwo',
        "Requests a second with a first token in a second:",
        'four = yantra.serve("llama3-8b", "hgx-h100", requests, replicas=4)\n'
        'promise = [Objective("ttft", 99.0, 1.0)]\n'
        "[round(said.goodput(promise), 1) for said in (two, four)]",
        "Next: [your engine's log](../reference/serving.md).",
    ),
    "post-training": (
        "# RL engineer: should the same GPUs generate and train?",
        "from yantra.rl.answer import answered, lines\nfrom yantra.rl.question import made\n\n"
        'step = dict(model="llama3-8b", cluster="hgx-h100", gpus=8, prompts=32, generations=8)\n'
        'step |= dict(lengths="mean=400,cap=2048", prompt_tokens=100, generate={}, train={})\n\n\n'
        "def step_of(mode):\n    said = [*lines(answered(made(mode=mode, **step)))]\n"
        '    print("\\n".join(said[:3]))\n\n\nstep_of("sync")',
        "Half of them generate the samples of the next step:",
        'step_of("one-off")',
        "Next: [modes](../reference/post-training.md#modes).",
    ),
}
