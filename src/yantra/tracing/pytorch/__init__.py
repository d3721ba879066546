"""PyTorch traces: host and device traces read, linked, and made into Chakra graphs."""
