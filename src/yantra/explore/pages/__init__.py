"""A study's page, and its object in Python."""
