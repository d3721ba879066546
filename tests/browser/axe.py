"""axe-core on a page that a browser shows: what those who cannot see or point would miss.

`npm install axe-core` puts it into `node_modules`; AXE_CORE may name another copy. Without it the
tests are skipped. Source: https://github.com/dequelabs/axe-core, rules of WCAG 2.2 and its best
practices.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.browser.chromium import Page

_ROOT = Path(__file__).resolve().parents[2]
_PLACE = _ROOT / "node_modules" / "axe-core" / "axe.min.js"
NEEDS = "axe-core is not installed; npm install axe-core, or set AXE_CORE to its axe.min.js"


def find_axe() -> Path | None:
    path = Path(os.environ.get("AXE_CORE", _PLACE))
    return path if path.is_file() else None


def violations(page: Page) -> list[str]:
    """Return what axe-core finds on a page, a line for each element."""
    script = find_axe()
    assert script is not None
    page.settle()
    page.evaluate(f"{script.read_text(encoding='utf-8')};0")
    found: list[str] = page.evaluate(
        "axe.run(document).then(r => r.violations.flatMap(v => "
        "v.nodes.map(n => `${v.id}: ${n.target.join(' ')}: ${n.failureSummary}`)))"
    )
    return found
