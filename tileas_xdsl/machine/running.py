"""
Run a function on numbers: `run(module, function, args)`.

The machine computes what the IR says under the order that is asked for, and notices races and deadlocks while it does
so. A correctly synchronised program gives the same numbers under every order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from tileas_xdsl.machine.arguments import (
    apart_from_grid,
    argument_at,
    argument_names,
    bind_arguments,
    find_function,
    object_behind,
    threads_given,
)
from tileas_xdsl.machine.core.asynchronous_work import Event
from tileas_xdsl.machine.core.calling import execute_to_mistake
from tileas_xdsl.machine.core.deadline import Deadline, TimeUpError
from tileas_xdsl.machine.core.execution import Machine
from tileas_xdsl.machine.core.memory import View
from tileas_xdsl.machine.core.observer import NOBODY, AnyObserver
from tileas_xdsl.machine.core.opaque_numbers import Grid
from tileas_xdsl.machine.core.orders import Eager, Lazy, Order, Random
from tileas_xdsl.machine.core.trace import Trace
from tileas_xdsl.machine.core.violations import Violation
from tileas_xdsl.machine.parts.programs import (
    extents_given,
    first_block,
    next_block,
    shuffled_blocks,
    takes_programs_over,
)
from tileas_xdsl.tabular import Tabular, table_html

ORDERS = ("eager", "lazy", "random", "timed")


def make_order(name: str, seed: int, target: str = "generic") -> Order:
    """The order called `name`; raises `ValueError` naming the choices, also where no cycles of `target` are known."""
    match name:
        case "eager":
            return Eager()
        case "lazy":
            return Lazy()
        case "random":
            return Random(seed)
        case "timed":
            from tileas_xdsl.machine.time.simulated_time import Timed
            from tileas_xdsl.targets.cycles import timing_table

            return Timed(timing_table(target))
        case _:
            raise ValueError(f"unknown order '{name}': choose one of {', '.join(ORDERS)}")


@dataclass
class Outcome(Tabular):
    """What a run left behind."""

    results: tuple[Any, ...]
    """What the function returned: numbers and arrays."""
    arrays: dict[str, NDArray[Any]]
    """The final contents of each array argument, by name."""
    violations: tuple[Violation, ...]
    """Races and the like that the run came across, oldest first."""
    trace: Trace = field(repr=False)
    machine: Machine = field(repr=False)
    out_of_time: TimeUpError | None = None
    """Where the run was when its time was up, if that ended it; `arrays` then hold what they held by then."""

    def __repr__(self) -> str:
        wrong = "".join(f", {violation.kind}" for violation in self.violations)
        late = ", out of time" if self.out_of_time is not None else ""
        return f"Outcome(results={self.results!r}, arrays={self.arrays!r}{wrong}{late})"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each array argument: its shape, type, and the span of its numbers."""
        return [array_row(name, array) for name, array in self.arrays.items()]

    def to_dict(self) -> dict[str, Any]:
        """Results and arrays as lists, and the violations."""
        return {
            "results": [each.tolist() if isinstance(each, np.ndarray) else each for each in self.results],
            "arrays": {name: array.tolist() for name, array in self.arrays.items()},
            "violations": [violation.sentence for violation in self.violations],
            "finished": self.finished,
        }

    def _repr_html_(self) -> str:
        wrong = "".join(f"<p>{escape(violation.sentence)}</p>" for violation in self.violations)
        return f"<b>results: {escape(str(self.results))}</b>{wrong}{table_html(self.rows())}"

    @property
    def finished(self) -> bool:
        """Whether the program came to its end; false if it got stuck, or the time was up."""
        return self.out_of_time is None and not any(violation.stuck for violation in self.violations)


def array_row(name: str, array: NDArray[Any]) -> dict[str, Any]:
    """What a table says of an array."""
    span = (array.min().item(), array.max().item()) if array.size else (None, None)
    return {"array": name, "shape": list(array.shape), "type": array.dtype.name, "least": span[0], "most": span[1]}


def run(
    module: Operation,
    function: str | None,
    args: Mapping[str, Any] | Sequence[Any] = (),
    *,
    order: str = "lazy",
    seed: int = 0,
    capture: str = "completion",
    target: str = "generic",
    threads: int | None = None,
    programs: Sequence[int] | None = None,
    observer: AnyObserver = NOBODY,
    timeout: float | None = None,
) -> Outcome:
    """
    Run `function` of `module` on `args`.

    `args` maps argument names (or numbers, as strings) to arrays and numbers, and ids and extents of the grid
    (`ctaid.x`) to numbers, without which it is block 0 of 1; a sequence gives arguments by position, None
    standing for the default. `order` is `eager`, `lazy`, `random` (with `seed`) or `timed` (with the cycles of
    `target`; `simulation.timed_run` says what came of them); `capture` is `completion` or `issue`; `threads` threads
    run a function that does not say so itself (None: one); `observer` watches. `programs` are the extents of a grid of
    programs (None: 1): a block is started for each program that none before it has taken over, in the order of their
    numbers (`random`: in an order by chance, unless blocks take programs over), and the outcome has the results and the
    machine of the last block. A mistake of the program ends the run, and is among the violations.
    After `timeout` seconds of processor time (None: never) the run ends where it is.

    Raises `ValueError` for an order or a target that does not exist, `ArgumentError` for arguments that do not fit,
    `UnsupportedError` for ops without a meaning.
    """
    op, body = find_function(module, function)
    names = argument_names(body)
    if not isinstance(args, Mapping):
        args = {str(number): value for number, value in enumerate(args) if value is not None}
    numbers, args = apart_from_grid(op, args)
    values = bind_arguments(body, args, with_data=True)
    extents = extents_given(op, programs, numbers)
    shuffled = shuffled_blocks(extents, numbers, seed) if order == "random" and not takes_programs_over(op) else None
    grid: Grid | None = first_block(extents, numbers) if shuffled is None else next(shuffled)
    deadline = Deadline.after(timeout)
    violations: dict[object, Violation] = {}
    machine, results, out_of_time = None, (), None
    while grid is not None and not violations:
        machine = Machine(
            make_order(order, seed, target),
            capture=capture,
            threads=threads_given(threads),
            observer=observer,
            deadline=deadline,
        )
        machine.grid = grid
        try:
            results = execute_to_mistake(machine, op, values)
            machine.end_grid()
        except TimeUpError as error:
            out_of_time = error
        violations = machine.violations
        later = next_block(machine) if shuffled is None else next(shuffled, None)
        grid = later if out_of_time is None else None
    assert machine is not None, "there is a program"
    given = {argument_at(body, name).index: value for name, value in args.items()}
    contents = [contents_of(value, given.get(index)) for index, value in enumerate(values)]
    arrays = {name: array for name, array in zip(names, contents, strict=True) if array is not None}
    return Outcome(results, arrays, tuple(violations.values()), machine.trace, machine, out_of_time)


def contents_of(value: Any, given: Any = None) -> NDArray[Any] | None:
    """
    What the memory behind an argument holds now, in the shape and type of what was `given` for it; None for a value
    that names no memory.
    """
    value = value.payload if isinstance(value, Event) else value
    array = value if isinstance(value, View) else getattr(value, "array", None)
    if isinstance(array, View):
        return array.array().copy()
    base = object_behind(value)
    if base is None:
        return None
    contents = base.whole().array().copy()
    if given is None:
        return contents
    like = np.asarray(given)
    if _is_read_otherwise(contents.dtype, like.dtype) and contents.nbytes == like.nbytes:
        contents = contents.view(like.dtype)
    return contents.reshape(like.shape)


def _is_read_otherwise(held: np.dtype[Any], given: np.dtype[Any]) -> bool:
    """Whether the same bytes are of a type that is wider, or an integer with or without a sign."""
    return held.itemsize != given.itemsize or (held != given and held.kind in "iu" and given.kind in "iu")
