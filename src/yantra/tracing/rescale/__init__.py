"""A recorded training step at other sizes of its plan, its batch or its model.

What changes is derived from what was recorded: copies of ranks, operators counted again by their
new shapes, repeated layers and micro-batches. What the recording does not determine is refused.
"""
