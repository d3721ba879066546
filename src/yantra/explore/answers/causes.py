"""The causes of a step's time; see `closed_form.Judged`."""

from __future__ import annotations

PARTS = ("kernels", "communication", "bubble", "behind")
CAUSES = {
    "kernels": "kernels",
    "communication": "communication in layers",
    "bubble": "bubble and messages",
    "behind": "gradients and optimizer",
}
