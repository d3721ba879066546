"""Models: by name, from other programs' descriptions, and the blocks they are made of."""
