"""A library of traces: recipes, and a manifest of what they give; data is made when asked for."""
