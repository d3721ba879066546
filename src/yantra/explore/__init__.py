"""Which plan, which cluster, and what the next dollar is best spent on.

    from yantra.explore import Constraint, Objective, Space, explore

    space = Space(model="llama3-8b", global_batch=32, clusters=["hgx-h100"], ranks=[8, 16])
    found = explore(space, [Objective("step_time"), Objective("ranks")])

Plans are columns until they are shown: closed forms judge a million a second; the best are then
simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.callable_module import make_callable
from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.explore.pages.explored import Explored, Space, explore
    from yantra.explore.study.objectives import Constraint, Objective
    from yantra.explore.study.study_file import Search
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "pages.explored": "Explored Space explore",
            "study.objectives": "Constraint Objective",
            "study.study_file": "Search",
        },
    )

__all__ = ["Constraint", "Explored", "Objective", "Search", "Space", "explore"]

make_callable(__name__)
