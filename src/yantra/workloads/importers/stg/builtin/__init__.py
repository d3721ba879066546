"""The modules of STG's models in our own words, without a checkout of STG.

Each file says what one block computes and how its tensors are sharded. Nodes are the same as from
the sheets.
"""
