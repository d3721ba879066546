"""Published numbers beside Yantra's, on the terminal, as CSV and as a figure; status 1 if any is
further off than a script says.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import figure

_DATA = Path(__file__).resolve().parents[2] / "tests"


class Row(NamedTuple):
    """One published number and ours; `within` is the part of it that they may differ by.

    `reading` is what they may differ by beside that, where a number was read from a figure.
    """

    case: str
    published: float
    ours: float
    within: float
    reading: float = 0.0

    @property
    def deviation(self) -> float:
        return self.ours / self.published - 1

    @property
    def holds(self) -> bool:
        return abs(self.ours - self.published) <= self.within * self.published + self.reading


def published(name: str) -> Iterator[dict[str, str]]:
    with open(_DATA / name, encoding="utf-8") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def show(
    name: str, title: str, unit: str, rows: Sequence[Row], panels: Sequence[figure.Panel]
) -> int:
    parser = argparse.ArgumentParser(description=f"{title}: published beside simulated.")
    parser.add_argument("folder", nargs="?", default=".", help="where NAME.csv and NAME.svg go")
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    width = max(len(row.case) for row in rows)
    print(f"{title}\n\n{'':{width}}  {'published':>14}  {'Yantra':>14}  off by")
    for row in rows:
        mark = "" if row.holds else f"  more than {row.within:.2%}"
        print(
            f"{row.case:{width}}  {row.published:>14,.3f}  {row.ours:>14,.3f}  "
            f"{row.deviation:+.3%}{mark}"
        )
    wrong = sum(not row.holds for row in rows)
    print(f"\n{len(rows)} numbers in {unit}, {wrong} further off than they may be")
    with open(os.path.join(folder, f"{name}.csv"), "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["case", "published", "yantra", "deviation"])
        table.writerows((row.case, row.published, row.ours, row.deviation) for row in rows)
    figure.write(os.path.join(folder, f"{name}.svg"), title, panels)
    return 1 if wrong else 0
