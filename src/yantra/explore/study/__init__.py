"""A study: its file, trials, objectives, and journal."""
