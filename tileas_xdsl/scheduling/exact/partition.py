"""Who may run what: a producer, rules of the lowering, values that stay, and no two names for one partition."""

from __future__ import annotations

from itertools import pairwise

from tileas_xdsl.scheduling.exact.groups import RuleGroup, RuleKind
from tileas_xdsl.scheduling.exact.problem import Rule, Together
from tileas_xdsl.scheduling.exact.variables import Variables


def add_partition(of: Variables) -> None:
    """All constraints on agents; none where there is one."""
    if len(of.agents) == 1:
        return
    if of.problem.has_producer and of.query.keeps(RuleGroup(RuleKind.PRODUCER)):
        _add_producer(of)
    if of.query.keeps(RuleGroup(RuleKind.STAY)):
        for value in of.problem.values:
            if value.move is None:
                _keep_together(of, (value.definition, *(read.op for read in value.uses)))
    for rule in of.problem.rules:
        if of.query.keeps(RuleGroup(RuleKind.RULE, rule.name)):
            _add_rule(of, rule)
    _break_symmetry(of)


def _add_producer(of: Variables) -> None:
    for op, spec in enumerate(of.problem.ops):
        on_producer = of.runs_on[op][0]
        of.model.clause(on_producer if spec.varying_latency else ~on_producer)


def _keep_together(of: Variables, ops: tuple[str, ...]) -> None:
    for one, other in pairwise(ops):
        of.model.clause(~of.apart(one, other))


def _add_rule(of: Variables, rule: Rule) -> None:
    if isinstance(rule, Together):
        _keep_together(of, rule.ops)
    else:
        compute = of.used[1:] if of.problem.has_producer else of.used
        of.model.at_most(of.model.total(compute), rule.count)


def _break_symmetry(of: Variables) -> None:
    """An agent is used only if the one before it holds an earlier op; a producer is first by its ops."""
    first = 1 if of.problem.has_producer else 0
    for agent in of.agents[first + 1 :]:
        for op, choice in enumerate(of.runs_on):
            of.model.clause(*(earlier[agent - 1] for earlier in of.runs_on[:op]), ~choice[agent])
    for before, after in pairwise(of.used):
        of.model.clause(~after, before)
