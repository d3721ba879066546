"""Times of kernels are the same bits on any number of threads of numpy's BLAS."""

from __future__ import annotations

import os
import subprocess
import sys

_ASK = """
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.space import PlanSpace
from yantra.workloads.models.catalogue import find

model, machine = find("llama3-8b"), Machine("hgx-h100", 4, stack="unknown")
columns = PlanSpace(ranks=4, global_batch=16, sequence=1024).columns(model)
print(ClosedForm(model, machine, 1024).judge(columns, 16).time_ns.tobytes().hex())
"""


def test_python_and_the_command_which_has_one_thread_give_the_same_bits() -> None:
    one, several = (
        subprocess.run(
            [sys.executable, "-c", _ASK],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
        for threads in ("1", "4")
    )
    assert one == several and len(one) > 1000
