"""Which plan, which cluster, and what the next dollar is best spent on.

Plans are columns and never objects until they are shown: a search judges a million of them a second
by closed forms, then simulates the best again, exactly.
"""
