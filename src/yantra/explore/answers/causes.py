"""The causes that a step's time is told by; see `closed_form.Judged`."""

from __future__ import annotations

PARTS = ("kernels", "communication", "bubble", "behind")
CAUSES = {
    "kernels": "kernels",
    "communication": "communication in layers",
    "bubble": "bubble and messages",
    "behind": "gradients and optimizer",
}
