"""BurstGPT: four months of requests to ChatGPT and GPT-4, with sessions in later releases.

Requests with a response of 0 tokens failed. Source: github.com/HPMLL/BurstGPT; Wang et al.,
"BurstGPT", KDD 2025.
"""

from __future__ import annotations

from yantra.serving.requests.forms.form import Form


class BurstGPT(Form):
    """A row a request; times are seconds."""

    needs = {  # noqa: RUF012
        "arrival_ns": ("Timestamp",),
        "prompt": ("Request tokens",),
        "output": ("Response tokens",),
    }
    may = {"session": ("Session ID",)}  # noqa: RUF012
    fails = True


PLUGIN = BurstGPT
