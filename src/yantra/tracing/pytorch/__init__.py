"""PyTorch traces: read, linked and made into Chakra graphs."""
