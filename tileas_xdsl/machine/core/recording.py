"""
Asynchronous scopes whose body is ordinary code (`async_queue.scope`): recorded at issue, performed later.

Control flow, predicates and addresses are evaluated by the issuing thread at issue. Data loads, arithmetic on the
loaded values and data stores are recorded in order, as a list of actions, which run when the work is performed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Operation

from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import facts_of
from tileas_xdsl.machine.core.memory import View

if TYPE_CHECKING:
    from tileas_xdsl.machine.core.code import Step


class Execution(Protocol):
    """What is asked here of an execution."""

    with_data: bool

    def read(self, view: View) -> Any: ...

    def write(self, view: View, value: Any) -> None: ...


class Deferred:
    """A value that exists once the recorded work has been performed."""

    __slots__ = ("actual", "compute", "inputs")

    def __init__(self, compute: Callable[..., Any], inputs: Sequence[Any] = ()) -> None:
        self.compute = compute
        self.inputs = inputs
        self.actual: Any = None

    def act(self) -> None:
        """Compute the value from what the inputs have become."""
        self.actual = self.compute(*map(concrete, self.inputs))

    def peek(self) -> Any:
        """The value as it would come out now, without doing anything."""
        return self.compute(*(i.peek() if isinstance(i, Deferred) else i for i in self.inputs))


def concrete(value: Any) -> Any:
    """What a deferred value has become; any other value itself."""
    return value.actual if isinstance(value, Deferred) else value


class Recording:
    """The actions of one asynchronous scope, in program order."""

    def __init__(self, machine: Execution, op: Operation) -> None:
        self.machine = machine
        self.op = op
        self.touches: list[Touch] = []
        self.actions: list[Callable[[], None]] = []

    def load(self, view: View, proxy: Proxy) -> Any:
        self.touches.append(Touch(view, False, proxy))
        if not self.machine.with_data:
            return self.machine.read(view)
        machine = self.machine
        return self._defer(Deferred(lambda: machine.read(view)))

    def store(self, view: View, value: Any, proxy: Proxy) -> None:
        self.touches.append(Touch(view, True, proxy))
        machine = self.machine
        self.actions.append(lambda: machine.write(view, concrete(value)))

    def apply(self, step: Step, operands: list[Any], agent: object) -> Deferred:
        """Record `op`, which depends on deferred values alone."""
        return self._defer(Deferred(lambda *inputs: step.function(agent, step.op, *inputs), operands))

    def combine(self, compute: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """The deferred result of `compute` on `inputs`."""
        return self._defer(Deferred(compute, inputs))

    def then(self, compute: Callable[[Any], Any], value: Any) -> Any:
        """`compute(value)`: deferred if `value` is."""
        return self.combine(compute, [value]) if isinstance(value, Deferred) else compute(value)

    def _defer(self, deferred: Deferred) -> Deferred:
        self.actions.append(deferred.act)
        return deferred

    def operand_for(self, op: Operation, operand: Any) -> Any:
        """The operand as `op` takes it: deferred if `op` only stores it, otherwise its value now."""
        if not isinstance(operand, Deferred) or facts_of(op).stores_data:
            return operand
        return self.resolve_now(operand)

    def resolve_now(self, deferred: Deferred) -> Any:
        """The value as the issuing thread sees it now, for an address or a branch."""
        return deferred.peek()

    def read_now(self) -> None:
        """With `capture=issue`: perform the recorded loads now; only the stores are left for later."""
        loads = [action for action in self.actions if getattr(action, "__func__", None) is Deferred.act]
        self.actions = [action for action in self.actions if action not in loads]
        for load in loads:
            load()

    def perform(self) -> None:
        """Run all recorded actions, in order."""
        for action in self.actions:
            action()
