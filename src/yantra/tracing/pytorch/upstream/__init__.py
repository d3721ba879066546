"""What upstream Chakra's linker and converter do, defects included, for comparison with it."""
