"""Jobs drawn anew at other settings, by rules that jobs have in common, and judged beside them."""
