"""Result -> one HTML file that says why the run takes as long as it does; opens offline.

    write_report(result, "report.html")

`shell` makes the page of sections (`overview`, `timeline`, `path`, ...), which `parts` draw. Only
classes of equal ranks (`classes`) are embedded, so its size follows the distinct ranks.
"""

from __future__ import annotations

from yantra.export.report.page import html, write_report

__all__ = ["html", "write_report"]
