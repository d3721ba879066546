"""Divisors of integers."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    found, left, prime = [1], number, 2
    while left > 1:
        if prime * prime > left:
            prime = left
        power, more = 1, found
        while left % prime == 0:
            left //= prime
            power *= prime
            more = more + [divisor * power for divisor in found]
        found = more
        prime += 1
    return tuple(sorted(found))
