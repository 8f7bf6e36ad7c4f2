"""
Proofs in parts: where all counts at once make too many states, the counts of an inner loop are taken apart.

    for %t = 0 to %n
      for %k = 0 to %m            m = 0, m = 1, .. m = 5, and all m >= 6 at once

While an inner loop turns a few times only, agents are in several turns of the outer one at once. So each small count is
a part of its own, and all larger ones are one. Of a count that is computed from an argument (m / 2) the parts are the
values of that count. Parts that still have too many states are taken apart by the next loop, from the inside out. Where
threads count the slots of a ring by comparisons, all counts at once are not even tried.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from tileas_xdsl.checker.decisions import prove
from tileas_xdsl.checker.decisions.graph import TooManyStatesError
from tileas_xdsl.checker.decisions.prove import Attempts, Problem, ProofByDecisions
from tileas_xdsl.checker.proof.outcomes import NoProofError, SuspicionError
from tileas_xdsl.machine.core.loops.open_counts import Known

MOST_ONE_BY_ONE = 32
"""The number of values of a count that are proved one by one."""

Failures = dict[Hashable, NoProofError]
"""Which part was tried with how many states -> why that has failed."""


@dataclass
class Parts:
    """Proves a problem, in parts where that has to be. `failures` are those of earlier attempts, and get more."""

    is_wrong: Callable[[SuspicionError], bool]
    """Whether a suspicion is confirmed. Then there is no proof of anything."""
    time_is_up: Callable[[], bool]
    failures: Failures = field(default_factory=Failures)

    def prove(self, problem: Problem) -> ProofByDecisions:
        """Prove that the function is right. Raises `NoProofError` where there is no proof."""
        term = _to_take_apart(problem)
        if term is not None and problem.counts_in_rounds:
            return self._prove_apart(problem, term)
        try:
            return self._attempt(problem, prove.MANY_STATES if term is None else prove.FEW_STATES)
        except NoProofError as error:
            if not self._may_help(error) or term is None:
                raise
            has_to = isinstance(error, TooManyStatesError) and error.told_apart
            closer = problem.told_apart_more() if has_to else None
        return self._prove_apart(closer or problem, term)

    def _prove_apart(self, problem: Problem, term: Hashable) -> ProofByDecisions:
        """Prove each small value of `term` by itself, and all larger ones at once."""
        least = problem.small_counts
        large = self._prove_large(problem.with_known(term, Known(least)))
        for value in range(least):
            part = replace(problem.with_known(term, Known(value, value)), reach=large.reach)
            try:
                self.prove(part)
            except NoProofError as error:
                raise NoProofError(f"{term} = {value} is not proved: {error}") from None
        return large

    def _prove_large(self, problem: Problem) -> ProofByDecisions:
        try:
            return self._attempt(problem, prove.MANY_STATES)
        except NoProofError as error:
            term = _to_take_apart(problem)
            if not self._may_help(error) or term is None:
                raise
        return self._prove_apart(problem, term)

    def _may_help(self, error: NoProofError) -> bool:
        """Whether there may be a proof in parts where there is none at once."""
        if isinstance(error, SuspicionError):
            return not self.is_wrong(error)
        return isinstance(error, TooManyStatesError)

    def _attempt(self, problem: Problem, attempts: Attempts) -> ProofByDecisions:
        """An attempt that was made before is not made again."""
        key = (frozenset(problem.opened.known.items()), problem.is_told_apart, attempts)
        if (known := self.failures.get(key)) is not None:
            raise known
        try:
            return prove.prove_all_counts(problem, attempts)
        except NoProofError as error:
            if not self.time_is_up():
                self.failures[key] = error.with_traceback(None)
            raise


def _to_take_apart(problem: Problem) -> Hashable | None:
    """The term of the innermost loop of which nothing is known yet, if it has small counts that are few."""
    if problem.small_counts > MOST_ONE_BY_ONE:
        return None
    return next((term for term in problem.opened.inner if term not in problem.opened.known), None)
