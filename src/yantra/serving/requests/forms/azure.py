"""Azure's traces of LLM inference, 2023 and 2024: dates, tokens in, tokens out.

Source: github.com/Azure/AzurePublicDataset; Patel et al., "Splitwise", ISCA 2024; Stojkovic et al.,
"DynamoLLM", HPCA 2025.
"""

from __future__ import annotations

from yantra.serving.requests.forms.form import Form


class Azure(Form):
    """A row a request."""

    needs = {  # noqa: RUF012
        "arrival_ns": ("TIMESTAMP",),
        "prompt": ("ContextTokens",),
        "output": ("GeneratedTokens",),
    }


PLUGIN = Azure
