"""A study as people look at it: a page, and the object that Python gets."""
