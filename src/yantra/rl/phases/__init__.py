"""Phases of a step: generation, reward, log-probabilities, training, refit, switch; a file each."""
