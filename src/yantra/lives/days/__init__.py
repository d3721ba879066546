"""A scheduler's day: jobs of a public trace, one after the other and beside each other."""
