"""Commands with upstream Chakra's names and flags."""
