"""How far steps of post-training are from measured ones."""
