"""
Remove marks and waits of `rocdl` that order nothing, and keep every wait exactly as long as it was.

    load X; asyncmark                     load X; asyncmark
    load Y; asyncmark              ->     load Y
    wait.asyncmark 1                      wait.asyncmark 0
    use X                                 use X

Source: LLVM, "AMDGPU Asynchronous Operations", section "Optimization".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tileas_xdsl.transforms.marks.rocdl_elide_marks.elide import elide_marks
from tileas_xdsl.transforms.marks.rocdl_elide_marks.inline import callees_first, inline_marked_calls


@dataclass(frozen=True)
class ROCDLElideMarksPass(ModulePass):
    """
    Remove marks and waits that order nothing.

    Rewrites:

    - A wait for at most N marks goes if on every path at most N marks are outstanding there. (LLVM's document says "a
      `wait.asyncmark` that is not dominated by any `asyncmark`", which is not the same: the wait of `if c { load; mark
      }; wait 0` blocks.)
    - A mark goes if no wait of the function can be reached from it. (LLVM's document says "an `asyncmark` which is not
      post-dominated by any `wait.asyncmark`", which is not the same either: the mark of `load; mark; if c { wait 0; use
      }` is needed.)
    - A mark that no wait is for goes, and so does one before which nothing was issued since another mark. The waits
      that counted them get lower counts: as many fewer as there are on every path; where paths differ, the marks stay.
      Which transfers a wait completes is the same before and after.
    - With `inline-calls`, calls of functions with marks are inlined. Their marks become the caller's, which would
      lengthen its waits: a wait is raised by the marks of others that came behind the one that it is for. Afterwards
      nobody could tell whose mark is whose, so the pass that repairs the waits is the pass that inlines.

    Requires: nothing. Refuses: nothing. Functions with marks in the regions of other threads are left alone; so are
    calls of functions that call themselves or have several blocks.
    """

    name = "rocdl-elide-marks"

    inline_calls: bool = field(
        default=False,
        metadata={"help": "inline calls of functions with marks, and keep waits as long as they were"},
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in callees_first(op):
            if self.inline_calls:
                inline_marked_calls(function, op)
            elide_marks(function)
