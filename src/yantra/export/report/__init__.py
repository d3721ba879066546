"""Result -> one HTML file that says why the run takes as long as it does; opens offline.

    write_report(result, "report.html")

Python gathers (`overview`, `timeline`, `path`, ... each a section), `shell` makes the page, the
files in `parts` draw it. Ranks that do the same at the same times are one class (`classes`); only
classes are embedded, so the size of a report follows the number of different ranks.
"""

from __future__ import annotations

from yantra.export.report.page import html, write_report

__all__ = ["html", "write_report"]
