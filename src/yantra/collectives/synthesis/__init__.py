"""What a fabric allows at best: bounds on collectives that no schedule can beat."""
