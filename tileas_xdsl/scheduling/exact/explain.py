"""
Why there is no schedule: a set of constraints that none meets, of which each is needed, in numbers.

A deletion filter: leave out one group of constraints after the other, and for good if there is still no schedule. What
remains is irreducible. Of several such sets the order of the groups decides which is found. (Assumptions of the solver
would be faster, but their cores are wrong with presolve: google/or-tools issue 5141.)
"""

from __future__ import annotations

from collections.abc import Callable

from tileas_xdsl.scheduling.exact.agents import register_budgets, round_warps
from tileas_xdsl.scheduling.exact.bounds import bounds_of
from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind, groups_of
from tileas_xdsl.scheduling.exact.problem import ExactProblem
from tileas_xdsl.scheduling.exact.result import BindingConflict
from tileas_xdsl.scheduling.exact.solver import Answer
from tileas_xdsl.scheduling.exact.variables import Query

Ask = Callable[[Query], Answer]
"""Solves a query; a limit that is met is `Answer.UNKNOWN`."""


def explain(query: Query, ask: Ask) -> BindingConflict:
    """The conflict of a query that was refuted."""
    dropped: set[RuleGroup] = set()
    irreducible = True
    for group in groups_of(query.problem, query.agents):
        answer = ask(Query(query.problem, query.ii, query.agents, frozenset({*dropped, group})))
        if answer is Answer.INFEASIBLE:
            dropped.add(group)
        irreducible &= answer is not Answer.UNKNOWN
    kept = tuple(group for group in groups_of(query.problem, query.agents) if group not in dropped)
    texts = tuple(_text(query, group) for group in kept)
    return BindingConflict(query.ii, query.agents, kept, texts or ("the dependences of one iteration",), irreducible)


def _text(query: Query, group: RuleGroup) -> str:
    match group.kind:
        case RuleKind.SLOT:
            return _slot_text(query, group.name)
        case RuleKind.BYTES:
            return _bytes_text(query.problem, group.name)
        case RuleKind.REGISTERS:
            return pool_text(query.problem, group.name) if group.name else _register_text(query)
        case RuleKind.ISSUE:
            return _issue_text(query)
        case RuleKind.CARRIED:
            return _carried_text(query.problem)
        case RuleKind.STAY | RuleKind.PRODUCER | RuleKind.STAGES | RuleKind.QUEUES | RuleKind.BARRIERS | RuleKind.WARPS:
            return group.kind.value
        case RuleKind.RULE:
            return f"rule '{group.name}'"


def _slot_text(query: Query, name: str) -> str:
    slot = query.problem.slot(name)
    rows = [(op.name, sum(it.rows * it.amount for it in op.uses if it.slot == name)) for op in query.problem.ops]
    asked = [f"{op} {demand}" for op, demand in rows if demand]
    return f"{slot}: {_and(asked)} of {query.ii * slot.capacity} rows"


def _bytes_text(problem: ExactProblem, name: str) -> str:
    """What one copy of each ring takes: the least that there can be."""
    space = next(space for space in problem.machine.spaces if space.name == name)
    rings = [ring for ring in problem.rings if ring.space == name]
    least = sum(ring.bytes * ring.min_copies for ring in rings)
    copies = sorted({ring.min_copies for ring in rings})
    each = "1 copy" if copies == [1] else f"{'-'.join(map(str, copies))} copies"
    taken = f" beside {space.static} static ones" if space.static else ""
    names = _and([ring.name for ring in rings]) or "moved values"
    return f"{name} memory: {names} with {each} each are {least} of {space.bytes} bytes{taken}"


def _register_text(query: Query) -> str:
    problem = query.problem
    own = (it for it in problem.values if it.pool is None)
    asked = [f"{it.name} {it.words}" for it in (*own, *problem.constants) if it.words]
    return f"registers: {_and(asked)} words of {_largest_budget(query)}"


def pool_text(problem: ExactProblem, name: str) -> str:
    """The words that are asked of a pool of registers, and how many there are."""
    pool = next(pool for pool in problem.machine.pools if pool.name == name)
    asked = [f"{it.name} {it.words}" for it in problem.values if it.pool == name and it.words]
    beside = f" beside {pool.kept} that are kept" if pool.kept else ""
    return f"registers of {name}: {_and(asked) or 'no values'} words of {pool.words}{beside}"


def _largest_budget(query: Query) -> int:
    """What a computing agent has when there are `query.agents`, each with the warps that its ops need."""
    warps = max(round_warps(op.min_warps) for op in query.problem.ops)
    producer = min(round_warps(op.min_warps) for op in query.problem.ops)
    agents = (producer if query.problem.has_producer else warps, *(warps for _ in range(query.agents - 1)))
    return max(register_budgets(query.problem, agents) or (0,))


def _issue_text(query: Query) -> str:
    asked = [f"{op.name} {op.issue}" for op in query.problem.ops if op.issue]
    agents = "one agent" if query.agents == 1 else f"{query.agents} agents"
    return f"in-order issue: {_and(asked)} on {agents} of {query.ii} cycles"


def _carried_text(problem: ExactProblem) -> str:
    cycle = bounds_of(problem).cycle
    if cycle is not None:
        return str(cycle)
    return "carried dependences: " + _and([f"{it.source} -> {it.sink}" for it in problem.dependences if it.distance])


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
