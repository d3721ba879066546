"""Which plan, which cluster, and what the next dollar is best spent on.

    from yantra.explore import Constraint, Objective, Space, explore

    space = Space(model="llama3-8b", global_batch=32, clusters=["hgx-h100"], ranks=[8, 16])
    found = explore(space, [Objective("step_time"), Objective("ranks")])

Plans are columns and never objects until they are shown: a search judges a million of them a second
by closed forms, then simulates the best again, exactly.
"""

from __future__ import annotations

from yantra.base.callable_module import make_callable
from yantra.base.late import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yantra.explore.explored import Explored, Space, explore
    from yantra.explore.objectives import Constraint, Objective
    from yantra.explore.study_file import Search
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "explored": "Explored Space explore",
            "objectives": "Constraint Objective",
            "study_file": "Search",
        },
    )

__all__ = ["Constraint", "Explored", "Objective", "Search", "Space", "explore"]

make_callable(__name__)
