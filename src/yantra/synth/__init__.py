"""Jobs drawn anew at other settings from what a corpus has in common, and judged beside it.

`observe` measures passes, `fit` solves rules for them, `draw` writes a job by them; a file of rules
(.ysyn) is plain JSON. `attack` and `judge` say what a drawn job gives away, and how it behaves.
"""
