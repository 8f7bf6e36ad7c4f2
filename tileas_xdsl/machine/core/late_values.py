"""
Late values: results that have a name before they have a value, such as the plain `T` that an `async_region` returns.

The result exists from the issue of the region on, its value from the end of the body on. In between the result may be
passed on: a terminator hands it over, a task captures it, an asynchronous operation takes it as an operand and reads it
when it is performed. Whoever reads the value must know by then that the body has ended. Otherwise the read is reported
like a race, and the execution goes on as if the value had been there in time.

A deferred value that is used too early is a race, like memory whose `alloc` token nobody waited for (`alloc` writes all
of the buffer). The run then goes on as if the value had been there in time, so that one mistake does not hide the next.

Deferred values. Only terminators, asynchronous ops and captures pass one on; the initial value of a loop or the
argument of a call uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from xdsl.ir import Operation

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import AsyncOpInterface
from tileas_xdsl.machine.core.asynchronous_work import AsyncWork, Event
from tileas_xdsl.machine.core.happens_before import Knowledge, Mind, Who
from tileas_xdsl.machine.core.state import OwnPartT
from tileas_xdsl.machine.core.violations import Party, Reporting, Side, Unordered, Violation, ViolationKind


class Reader(Reporting, Protocol):
    """An agent that looks at late values."""

    def part(self, kind: type[OwnPartT]) -> OwnPartT: ...


class LateValue:
    """One result of one execution of `op`, which `maker` (an agent, or a work) will make."""

    __slots__ = ("actual", "maker", "moment", "op", "there")

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.there = Event(f"value of {op_name(op)}")
        """Completes when the value is there. It makes nothing known: knowledge is for tokens to hand over."""
        self.maker: Who | AsyncWork | None = None
        self.moment = 0
        """The maker's moment when it made the value, if it is an agent."""
        self.actual: Any = None

    def put(self, value: Any) -> None:
        """Set the value. A `maker` that is an agent makes it known with its next release."""
        assert self.maker is not None
        self.actual = value
        self.moment = self.maker.moment
        self.there.finish(Knowledge())

    @property
    def made_by(self) -> Who:
        """The agent that makes it, or that issued the work that does."""
        assert self.maker is not None
        return self.maker.issuer if isinstance(self.maker, AsyncWork) else self.maker

    def looked_at(self, agent: Reader) -> None:
        """Called when `agent` looks at the value in an op."""

    def way_out(self, user: Operation) -> str:
        """What would make it right that `user` looks at the value, in words."""
        region = op_name(self.op)
        asynchronous = AsyncOpInterface.of(user)
        waits = asynchronous is not None and asynchronous.async_token is not None
        token = f"token of '{region}', one whose group covers the value"
        return (
            f"a dependency of '{op_name(user)}' on a {token}"
            if waits
            else f"a wait for a {token}, before '{op_name(user)}'"
        )

    def known_to(self, mind: Mind) -> bool:
        """Whether the value was made before whatever `mind` does now."""
        if isinstance(self.maker, AsyncWork):
            return mind.knows_work(self.maker)
        return self.there.complete and mind.knows_moment(self.made_by.number, self.moment)


def first_missing(values: Iterable[Any]) -> LateValue | None:
    """The first of `values` that is not there, or stands for a late value that is not."""
    for value in values:
        while isinstance(value, LateValue):
            if not value.there.complete:
                return value
            value = value.actual
    return None


def when_there(values: Sequence[Any], then: Callable[[], None]) -> None:
    """Call `then` once each of `values`, and each late value that it stands for, is there."""
    missing = first_missing(values)
    if missing is None:
        then()
    else:
        missing.there.when_complete(lambda: when_there(values, then))


def seen_by_agent(value: Any, agent: Reader, op: Operation) -> Any:
    """`value` as `agent` sees it in `op`; if it is late it must be there."""
    while isinstance(value, LateValue):
        if not value.known_to(agent.mind):
            _report(value, agent, agent, op, agent.iteration)
        value.looked_at(agent)
        value = value.actual
    return value


def seen_by_work(value: Any, work: AsyncWork, issuer: Reporting) -> Any:
    """`value` as `work` of `issuer` sees it when it is performed; if it is late it must be there."""
    while isinstance(value, LateValue):
        if not value.known_to(work.mind):
            _report(value, issuer, work, work.op, work.iteration)
        value = value.actual
    return value


def report_missing(value: LateValue, agent: Reporting, op: Operation) -> None:
    """Report that `agent` reads `value` in `op` though it is not there yet."""
    _report(value, agent, agent, op, agent.iteration)


def _report(value: LateValue, agent: Reporting, where: Side, op: Operation, iteration: tuple[int, ...]) -> None:
    maker = value.made_by
    parties = (
        Party(value.op, maker.name, maker.iteration, "returns a value that comes later"),
        Party(op, agent.name, iteration, "looks at it"),
    )
    violation = Violation(
        ViolationKind.RACE,
        f"a value of '{op_name(value.op)}' is used with nothing that orders the use after the value is there",
        parties,
        value.way_out(op),
    )
    agent.report(violation, Unordered(maker, where, parties))
