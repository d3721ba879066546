"""How far predictions are from published measurements."""
