"""One training step of each device: a schedule's order filled with the passes of its chunks.

A pass is drafted from a `StageWork` (`draft.py`), gets what the plan adds (`gather.py`,
`reduce.py`, `offload.py`), is encoded once (`yantra.chakra.passes`) and copied for every
micro-batch (`device.py`); `finish.py` adds what happens once per step.
"""
