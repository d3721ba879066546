"""Traces that behave as the recorded ones and hide what computes: between levels 3 and 4 of
`obfuscate`.

`redraw` pours the work of each lane into new pieces and the calls of each group into new calls; the
numbers of both are the same for every architecture. `fingerprint` is the attack that it is held
against.
"""
