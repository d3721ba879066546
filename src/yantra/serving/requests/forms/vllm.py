"""Logs of requests to vLLM and engines like it: a row of CSV, or an object a line, for each."""

from __future__ import annotations

from yantra.serving.requests.forms.form import Form


class VLLM(Form):
    """A row a request; times are seconds, or dates."""

    needs = {  # noqa: RUF012
        "arrival_ns": ("arrival_s", "arrival_time", "arrived_at", "start_time", "timestamp"),
        "prompt": ("input_tokens", "prompt_tokens", "input_len", "prompt_len", "num_prompt_tokens"),
        "output": (
            "output_tokens",
            "completion_tokens",
            "output_len",
            "generation_tokens",
            "num_generation_tokens",
        ),
    }
    may = {  # noqa: RUF012
        "limit": ("max_tokens",),
        "priority": ("priority",),
        "user": ("user",),
        "adapter": ("adapter", "lora", "lora_name"),
        "session": ("session", "session_id"),
    }
    measures = {  # noqa: RUF012
        "queue_s": ("queue_s", "queue_time"),
        "ttft_s": ("ttft_s", "ttft"),
        "tpot_s": ("tpot_s", "tpot"),
        "end_to_end_s": ("end_to_end_s", "e2e_s", "e2e_latency", "latency"),
    }
    fails = True


PLUGIN = VLLM
