"""
Random structured programs that commit groups, rotate their tokens and wait; and the enumeration of all their runs.

The programs consist of `test.commit`, which returns a token of the queue in its attribute, `test.wait`, at which an age
is asked for, `scf` ops around them, and calls. A run is a choice of every branch and of every trip count that is not
constant, up to `MOST_TRIPS`. `ages_by_enumeration` executes all runs and takes the least age at each wait, without any
dataflow analysis.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tileas_xdsl.analysis.induction import static_trip_count

MOST_TRIPS = 3
MOST_RUNS = 600
TOKEN = "!async.token"
HEAD = """
func.func private @next(%t: !async.token) -> !async.token {
  %n = "test.commit"() {queue = 0} : () -> !async.token
  func.return %n : !async.token
}
func.func private @same(%t: !async.token, %u: !async.token) -> (!async.token, !async.token) {
  %n = "test.commit"() {queue = 1} : () -> !async.token
  func.return %u, %t : !async.token, !async.token
}
"""


class TooManyRunsError(Exception):
    """The program has too many runs to enumerate."""


class _Writer:
    """Writes one program. Each method returns the tokens that may be used after the text that it wrote."""

    def __init__(self, seed: int, queues: int) -> None:
        self.random = random.Random(seed)
        self.queues = queues
        self.lines: list[str] = []
        self.names = 0

    def program(self) -> str:
        tokens = [self.commit(), self.commit()]
        self.block(tokens, depth=0, budget=[4])
        body = "\n".join(self.lines)
        signature = "%c: i1, %i: index, %lb: index, %ub: index, %step: index"
        constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(4))
        return f"{HEAD}func.func @f({signature}) {{\n{constants}\n{body}\nfunc.return\n}}"

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def commit(self) -> str:
        name = self.name()
        queue = self.random.randrange(self.queues)
        self.lines.append(f'{name} = "test.commit"() {{queue = {queue}}} : () -> {TOKEN}')
        return name

    def wait(self, token: str) -> None:
        self.lines.append(f'"test.wait"({token}) : ({TOKEN}) -> ()')

    def block(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        known = list(tokens)
        for _ in range(self.random.randint(1, 3)):
            kinds = ["commit", "wait", "wait", "call", "swap"]
            if depth < 2 and budget[0] > 0:
                kinds += ["for", "for", "if", "while", "switch", "place"]
            kind = self.random.choice(kinds)
            if kind in ("for", "if", "while", "switch", "place"):
                budget[0] -= 1
            known += getattr(self, f"write_{kind}")(known, depth, budget)
        self.wait(self.random.choice(known))
        return known

    def some(self, tokens: Sequence[str]) -> list[str]:
        return [self.random.choice(tokens) for _ in range(2)]

    def write_commit(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        return [self.commit()]

    def write_wait(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        self.wait(self.random.choice(tokens))
        return []

    def write_call(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        name = self.name()
        self.lines.append(f"{name} = func.call @next({self.random.choice(tokens)}) : ({TOKEN}) -> {TOKEN}")
        return [name]

    def write_swap(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        name, (a, b) = self.name(), self.some(tokens)
        self.lines.append(f"{name}:2 = func.call @same({a}, {b}) : ({TOKEN}, {TOKEN}) -> ({TOKEN}, {TOKEN})")
        return [f"{name}#0", f"{name}#1"]

    def write_for(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        name, a, b = self.name(), self.name(), self.name()
        first, second = self.some(tokens)
        bounds = self.random.choice(["%lb to %ub step %step", "%c0 to %c2 step %c1", "%lb to %ub step %step"])
        self.lines.append(
            f"{name}:2 = scf.for %i{self.names} = {bounds} iter_args({a} = {first}, {b} = {second}) "
            f"-> ({TOKEN}, {TOKEN}) {{"
        )
        self.end([*tokens, a, b], depth, budget, "scf.yield")
        self.lines.append("}")
        return [f"{name}#0", f"{name}#1"]

    def end(self, tokens: Sequence[str], depth: int, budget: list[int], terminator: str) -> None:
        inner = self.block(tokens, depth + 1, budget)
        first, second = self.some([*inner, *inner[len(tokens) - 2 :]])
        self.lines.append(f"{terminator} {first}, {second} : {TOKEN}, {TOKEN}")

    def write_while(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        name, a, b, c, d = (self.name() for _ in range(5))
        first, second = self.some(tokens)
        types = f"({TOKEN}, {TOKEN})"
        self.lines.append(f"{name}:2 = scf.while ({a} = {first}, {b} = {second}) : {types} -> {types} {{")
        self.end([*tokens, a, b], depth, budget, "scf.condition(%c)")
        self.lines.append(f"}} do {{\n^bb0({c}: {TOKEN}, {d}: {TOKEN}):")
        self.end([*tokens, c, d], depth, budget, "scf.yield")
        self.lines.append("}")
        return [f"{name}#0", f"{name}#1"]

    def write_if(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        if self.random.random() < 0.3:
            self.lines.append("scf.if %c {")
            self.block(tokens, depth + 1, budget)
            self.lines += ["scf.yield", "}"]
            return []
        name = self.name()
        self.lines.append(f"{name}:2 = scf.if %c -> ({TOKEN}, {TOKEN}) {{")
        self.end(tokens, depth, budget, "scf.yield")
        self.lines.append("} else {")
        self.end(tokens, depth, budget, "scf.yield")
        self.lines.append("}")
        return [f"{name}#0", f"{name}#1"]

    def write_switch(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        name = self.name()
        self.lines.append(f"{name}:2 = scf.index_switch %i -> {TOKEN}, {TOKEN}")
        for head in ("case 0 {", "default {"):
            self.lines.append(head)
            self.end(tokens, depth, budget, "scf.yield")
            self.lines.append("}")
        return [f"{name}#0", f"{name}#1"]

    def write_place(self, tokens: Sequence[str], depth: int, budget: list[int]) -> list[str]:
        name = self.name()
        self.lines.append(f"{name}:2 = scf.execute_region -> ({TOKEN}, {TOKEN}) {{")
        self.end(tokens, depth, budget, "scf.yield")
        self.lines.append("}")
        return [f"{name}#0", f"{name}#1"]


def flow_program(seed: int) -> str:
    """The text of the program of this seed, with a function `@f`."""
    return _Writer(seed, queues=1 + seed % 2).program()


# Runs -----------------------------------------------------------------------------------------------------------------


class _Choices:
    """
    The choices of one run, in lexicographic order of runs: those of the run before, with the last one that has another
    alternative advanced, and first alternatives after it.
    """

    def __init__(self) -> None:
        self.taken: list[tuple[int, int]] = []
        self.next = 0

    def choose(self, among: int) -> int:
        if self.next == len(self.taken):
            self.taken.append((0, among))
        self.next += 1
        return self.taken[self.next - 1][0]

    def advance(self) -> bool:
        """Prepare the next run; False when there is none."""
        while self.taken and self.taken[-1][0] + 1 == self.taken[-1][1]:
            self.taken.pop()
        if not self.taken:
            return False
        choice, among = self.taken.pop()
        self.taken.append((choice + 1, among))
        self.next = 0
        return True


Group = tuple[int, int]
"""A group: its queue, and how many were committed to that queue before."""


class _Run:
    def __init__(self, module: ModuleOp, choices: _Choices) -> None:
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
        self.choices = choices
        self.committed: dict[int, int] = {}
        self.ages: dict[Operation, int] = {}

    def block(self, block: Block, values: dict[SSAValue, Group]) -> list[Group | None]:
        """Run a block; returns the groups of the values that its terminator hands on."""
        for op in block.ops:
            match op:
                case scf.YieldOp() | func.ReturnOp():
                    return [values.get(operand) for operand in op.operands]
                case scf.ConditionOp():
                    return [values.get(operand) for operand in op.args]
                case _:
                    self.bind(values, op.results, self.results(op, values))
        return []

    @staticmethod
    def bind(values: dict[SSAValue, Group], names: Sequence[SSAValue], groups: Sequence[Group | None]) -> None:
        values.update((name, group) for name, group in zip(names, groups, strict=True) if group is not None)

    def results(self, op: Operation, values: dict[SSAValue, Group]) -> list[Group | None]:
        passed = [values.get(operand) for operand in op.operands]
        match op:
            case scf.ForOp():
                return self.loop(op, values)
            case scf.WhileOp():
                return self.while_loop(op, values)
            case scf.IfOp() | scf.IndexSwitchOp():
                region = op.regions[self.choices.choose(len(op.regions))]
                return self.block(region.block, values) if region.blocks else []
            case scf.ExecuteRegionOp():
                return self.block(op.region.block, values)
            case func.CallOp():
                body = self.functions[op.callee.string_value()].body.block
                inner: dict[SSAValue, Group] = {}
                self.bind(inner, body.args, passed)
                return self.block(body, inner)
            case _ if op.attributes.get("queue") is not None:
                queue = op.attributes["queue"]
                assert isinstance(queue, IntegerAttr)
                number = self.committed.get(queue.value.data, 0)
                self.committed[queue.value.data] = number + 1
                return [(queue.value.data, number)]
            case _ if op.operands and passed[0] is not None and not op.results:
                queue_id, number = passed[0]
                age = self.committed[queue_id] - number - 1
                self.ages[op] = min(age, self.ages.get(op, age))
                return []
            case _:
                return [None] * len(op.results)

    def loop(self, op: scf.ForOp, values: dict[SSAValue, Group]) -> list[Group | None]:
        trips = static_trip_count(op)
        trips = self.choices.choose(MOST_TRIPS + 1) if trips is None else trips
        carried = [values.get(value) for value in op.iter_args]
        for _ in range(trips):
            self.bind(values, op.body.block.args[1:], carried)
            carried = self.block(op.body.block, values)
        return carried

    def while_loop(self, op: scf.WhileOp, values: dict[SSAValue, Group]) -> list[Group | None]:
        carried = [values.get(value) for value in op.arguments]
        for trip in range(MOST_TRIPS + 1):
            self.bind(values, op.before_region.block.args, carried)
            carried = self.block(op.before_region.block, values)
            if trip == MOST_TRIPS or self.choices.choose(2) == 0:
                break
            self.bind(values, op.after_region.block.args, carried)
            carried = self.block(op.after_region.block, values)
        return carried


def runs(module: ModuleOp) -> Iterator[dict[Operation, int]]:
    """For each run of `@f`, the least age at each wait that it comes to."""
    choices = _Choices()
    for _ in range(MOST_RUNS):
        run = _Run(module, choices)
        run.block(run.functions["f"].body.block, {})
        yield run.ages
        if not choices.advance():
            return
    raise TooManyRunsError


def ages_by_enumeration(module: ModuleOp) -> dict[Operation, int]:
    """The least age at each wait over all runs of `@f`. Raises `TooManyRunsError`."""
    least: dict[Operation, int] = {}
    for ages in runs(module):
        for op, age in ages.items():
            least[op] = min(age, least.get(op, age))
    return least
