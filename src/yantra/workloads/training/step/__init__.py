"""One training step of each device: a schedule's order filled with its chunks' passes.

A pass is drafted (`draft.py`), extended as the plan asks (`gather.py`, `reduce.py`, `offload.py`),
encoded once (`yantra.chakra.passes`) and copied for every micro-batch (`device.py`); `finish.py`
adds what happens once per step.
"""
