"""What kernels of recorded operators do: operations, bytes, sizes and element types."""
