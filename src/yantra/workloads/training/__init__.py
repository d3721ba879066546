"""A training step: stages, passes in the schedule's order, gradients, optimizer, memory."""
