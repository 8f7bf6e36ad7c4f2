"""
How many stages or groups are there, exactly, each time that control comes to an op?

    scf.if %n_ge1 { commit }            one group where 1 <= n, none elsewhere
    scf.for %i = %c0 to %n {
      commit                            one, two in the first turn, then ...
      wait 1                            ... always two
    }
    scf.if %n_ge1 { wait 0 }            one, and never none: the same n decides

Path-insensitive bounds (`analysis/in_flight.py`) mix the calls with few iterations with those with many. Here each is a
*case*: what is known of the numbers that guards and loop bounds compare (`cases.py`), which are linear in the values of
the function (`linear.py`). Paths that a case excludes are not followed, the first turns of a loop are told from the
rest, and where a number is still open, all that it may be is kept (`following.py`).
"""

from tileas_xdsl.analysis.exact_counts.cases import CallCase, Question
from tileas_xdsl.analysis.exact_counts.following import MOST_TURNS, CountClient, Counts, Visit, count
from tileas_xdsl.analysis.exact_counts.guards import Guard, guard_of
from tileas_xdsl.analysis.exact_counts.linear import LinearForm

__all__ = [
    "MOST_TURNS",
    "CallCase",
    "CountClient",
    "Counts",
    "Guard",
    "LinearForm",
    "Question",
    "Visit",
    "count",
    "guard_of",
]
