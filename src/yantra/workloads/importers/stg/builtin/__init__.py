"""The modules of STG's models in our own words, for use without a checkout of STG.

Each file says what one block computes and how its tensors are sharded. They differ from the sheets
in form only: the nodes made of them are the same.
"""
