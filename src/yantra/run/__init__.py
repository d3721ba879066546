"""What runs a model: whole or folded, once or many times, and why a run cannot end."""
