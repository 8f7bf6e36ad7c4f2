"""
Edits of a Python file that may repair a mistake in its kernels, which are in Gluon: each adds, moves or corrects one
piece of synchronisation near the lines of the mistake.

    cp.wait_group(STAGES - 1)                    ->   cp.wait_group(STAGES - 2)          a count too many
    tma.async_load(desc, [row, col], bar, tile)       tma.async_load(desc, [row, col], bar, tile)
    tile.load(layout)                            ->   mbarrier.wait(bar, phase)          a wait that is missing
                                                      tile.load(layout)

They are guesses, as those for IR (`checker.verdict.edits`): `checker.verdict.repairing` tries them. Functions of Gluon
have the names that the file gives them, and no import is added.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from typing import TypeAlias

from xdsl.ir import Operation

from tileas_xdsl.checker.verdict.repairing import Lines
from tileas_xdsl.dialects.triton import ttng
from tileas_xdsl.machine.core.violations import Violation, ViolationKind

Gap: TypeAlias = tuple[int, int]
"""A place for a statement: the line, counted from 1, in front of which it goes, and its indentation."""

COUNTS = {"wait_group": "num_outstanding", "store_wait": "pendings", "warpgroup_mma_wait": "num_outstanding"}
"""A wait -> its parameter that says how many may stay unfinished, the first one."""
COPIES = ("async_load", "async_copy_global_to_shared", "buffer_load_to_shared", "global_load_to_shared")
"""Functions that copy into shared memory: with an mbarrier (TMA), or in groups."""
STORES = ("async_store", "async_copy_shared_to_global", "async_atomic_add", "async_atomic_min", "async_atomic_max")
BARRIER_OF_COPY = 2
"""Which argument of a copy by TMA is its mbarrier."""
ON_BARRIERS = ("wait", "arrive", "expect", "tcgen05_commit")
"""Functions whose first argument is an mbarrier."""
SYNCHRONISES = (*COUNTS, "wait", "arrive", "expect", "commit_group", "tcgen05_commit", "fence_async_shared")
READS = ("load", *COUNTS, "wait", "fence_async_shared", "warpgroup_mma", "tcgen05_mma")
"""Functions after which an agent may be done with what it was handed."""


@dataclass(frozen=True)
class Party:
    """The class of an op of a violation, and its line of the file."""

    line: int
    op: type[Operation]


@dataclass(frozen=True)
class Case:
    """A violation, with the lines of its parties and of its witness that are in the file."""

    file: Python
    violation: Violation
    parties: Sequence[Party]
    about: Sequence[int]

    @property
    def lines(self) -> list[int]:
        """All lines of the mistake, those of the parties first."""
        return list(dict.fromkeys([*(party.line for party in self.parties), *self.about]))

    @property
    def calls(self) -> list[ast.Call]:
        """The calls in kernels, those on the lines of the mistake first."""
        rank = {line: number for number, line in enumerate(self.lines)}
        return sorted(self.file.calls, key=lambda call: rank.get(call.lineno, len(rank)))

    def calls_of(self, *names: str) -> list[ast.Call]:
        return [call for call in self.calls if name_of(call) in names]


class Python:
    """The text of a file, and the functions in it that Triton compiles."""

    def __init__(self, text: str) -> None:
        """Raises `SyntaxError`."""
        self.lines = text.split("\n")
        self.tree = ast.parse(text)

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        every = (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef))
        return [each for each in every if any("jit" in ast.unparse(mark) for mark in each.decorator_list)]

    @cached_property
    def calls(self) -> list[ast.Call]:
        """The calls in these functions, in their order."""
        found = (node for function in self.functions for node in ast.walk(function) if isinstance(node, ast.Call))
        return sorted(found, key=lambda call: (call.lineno, call.col_offset))

    def function_at(self, line: int) -> ast.FunctionDef | None:
        return next((each for each in self.functions if each.lineno <= line <= (each.end_lineno or 0)), None)

    def around(self, line: int) -> list[ast.stmt]:
        """The statements of a function that `line` is in, the innermost first."""
        function, found = self.function_at(line), list[ast.stmt]()
        block = [] if function is None else function.body
        while True:
            inner = next((each for each in block if each.lineno <= line <= (each.end_lineno or 0)), None)
            if inner is None:
                return found
            found.insert(0, inner)
            block = [each for each in ast.iter_child_nodes(inner) if isinstance(each, ast.stmt)]

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements beside `statement`, itself included."""
        for node in ast.walk(self.tree):
            for field in ("body", "orelse"):
                block = getattr(node, field, None)
                if isinstance(block, list) and statement in block:
                    return block  # pyright: ignore[reportUnknownVariableType]
        return [statement]

    def known_in(self, function: ast.FunctionDef) -> set[str]:
        """The names that may be used in `function`."""
        arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        stored = (node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _is_stored(node))
        return {*(each.arg for each in arguments), *stored, *self._names_of_the_file}

    @cached_property
    def _names_of_the_file(self) -> set[str]:
        statements = [each for each in self.tree.body if not isinstance(each, ast.FunctionDef | ast.ClassDef)]
        nodes = (node for each in statements for node in ast.walk(each))
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and _is_stored(node)}
        return stored | set(self.imported.values())

    @cached_property
    def imported(self) -> dict[str, str]:
        """What is imported from a module -> its name in the file."""
        froms = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return {alias.name: alias.asname or alias.name for node in froms for alias in node.names}

    def named(self, function: str, *modules: str) -> str | None:
        """How the file may write `function` of one of these modules; None if it imports none of them."""
        if function in self.imported:
            return self.imported[function]
        return next((f"{self.imported[each]}.{function}" for each in modules if each in self.imported), None)


def name_of(call: ast.Call) -> str:
    """`store_wait` of `tma.store_wait(0)`."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _beside(call: ast.Call, name: str) -> str:
    """`tma.store_wait` for `name`, beside `tma.async_store(...)`."""
    match call.func:
        case ast.Attribute(value=module):
            return f"{ast.unparse(module)}.{name}"
        case _:
            return name


def argument_of(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """The argument at `place`, which may be given by its name."""
    if len(call.args) > place:
        return call.args[place]
    return next((each.value for each in call.keywords if each.arg == name), None)


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def edits(text: str, violation: Violation, parties: Sequence[Party], about: Sequence[int]) -> Iterator[Lines]:
    """
    What may repair `violation` in the file that holds `text`, the likeliest first, each edit once. `about` are lines of
    its witness. Nothing for a file that does not parse.
    """
    try:
        case = Case(Python(text), violation, parties, about)
    except SyntaxError:
        return
    known: set[Lines] = set()
    first, *others = (generator(case) for generator in GENERATORS[violation.kind])
    for edit in chain(first, _in_turn(others)):
        if edit not in known and edit[1] != edit[2]:
            known.add(edit)
            yield edit


def _in_turn(sources: Sequence[Iterator[Lines]]) -> Iterator[Lines]:
    """What the sources give: one of each, and so on, for a long one shall not hide the others."""
    return (edit for row in zip_longest(*sources) for edit in row if edit is not None)


# Places and texts -----------------------------------------------------------------------------------------------------


def gaps(file: Python, lines: Iterable[int]) -> Iterator[Gap]:
    """Before and after the statement on each line, and before and after those around it."""
    for line in lines:
        for statement in file.around(line):
            yield statement.lineno, statement.col_offset
            if not isinstance(statement, ast.Return):
                yield (statement.end_lineno or statement.lineno) + 1, statement.col_offset


def ends(file: Python, lines: Iterable[int]) -> Iterator[Gap]:
    """The ends of the blocks around each line, the innermost first."""
    for line in lines:
        for statement in file.around(line):
            last = file.block_of(statement)[-1]
            end = last.lineno if isinstance(last, ast.Return) else (last.end_lineno or last.lineno) + 1
            yield end, statement.col_offset


def inserted(places: Iterable[Gap], statements: Iterable[Sequence[str]]) -> Iterator[Lines]:
    """Each of the `statements`, of one line or more, at each of the places."""
    known = list(dict.fromkeys(places))
    for lines in statements:
        for line, margin in known:
            yield line, (), tuple(f"{' ' * margin}{each}" for each in lines)


def replaced(file: Python, node: ast.expr, new: str) -> Iterator[Lines]:
    """Another expression instead of `node`, which stands on one line."""
    if node.end_lineno != node.lineno or node.end_col_offset is None:
        return
    old = file.lines[node.lineno - 1]
    data = old.encode()
    after = data[: node.col_offset] + new.encode() + data[node.end_col_offset :]
    yield node.lineno, (old,), (after.decode(),)


def _less(node: ast.expr, by: int) -> str:
    """`STAGES - 2` for `STAGES - 1`, by 1; by -1 it is more."""
    match node:
        case ast.Constant(value=int(number)):
            return str(number - by)
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(number))):
            rest, by = left, by + number
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int(number))):
            rest, by = left, by - number
        case _:
            rest = node
    text = ast.unparse(rest)
    if isinstance(rest, ast.IfExp | ast.Compare | ast.BoolOp | ast.Lambda):
        text = f"({text})"
    return text if by == 0 else f"{text} {'-' if by > 0 else '+'} {abs(by)}"


def _other_phase(text: str) -> str:
    """`phase ^ 1` for `phase`, and the other way round."""
    match ast.parse(text, mode="eval").body:
        case ast.Constant(value=int(number)):
            return str(1 - number)
        case ast.BinOp(left=left, op=ast.BitXor(), right=ast.Constant(value=1)):
            return ast.unparse(left)
        case ast.IfExp() | ast.Compare() | ast.BoolOp() | ast.BinOp(op=ast.BitOr()):
            return f"({text}) ^ 1"
        case _:
            return f"{text} ^ 1"


# What may be corrected ------------------------------------------------------------------------------------------------


def weaker_counts(case: Case) -> Iterator[Lines]:
    """A wait that leaves fewer works unfinished: one fewer, or none."""
    for call in case.calls_of(*COUNTS):
        count = argument_of(call, 0, COUNTS[name_of(call)])
        if count is not None and not (isinstance(count, ast.Constant) and count.value == 0):
            yield from replaced(case.file, count, _less(count, 1))
            yield from replaced(case.file, count, "0")


def other_parities(case: Case) -> Iterator[Lines]:
    """A wait for the other phase."""
    for call in case.calls_of("wait"):
        phase = argument_of(call, 1, "phase")
        if phase is not None:
            yield from replaced(case.file, phase, _other_phase(ast.unparse(phase)))


def arrival_counts(case: Case) -> Iterator[Lines]:
    """An mbarrier that is made for another number of arrivals."""
    instead = case.violation.instead
    for call in case.calls_of("init"):
        count = argument_of(call, 1, "count")
        if count is not None:
            yield from () if instead is None else replaced(case.file, count, str(instead))
            yield from replaced(case.file, count, _less(count, -1))
            if not (isinstance(count, ast.Constant) and count.value == 1):
                yield from replaced(case.file, count, _less(count, 1))


def bytes_of_copies(case: Case) -> Iterator[Lines]:
    """An mbarrier that expects the bytes of the copies that its function issues for it."""
    for call in case.calls_of("expect"):
        bytes_, barrier = argument_of(call, 1, "bytes_per_cta"), argument_of(call, 0, "mbarrier")
        function = case.file.function_at(call.lineno)
        if bytes_ is None or barrier is None or function is None:
            continue
        copies = [each for each in case.file.calls if case.file.function_at(each.lineno) is function]
        copies = [each for each in copies if name_of(each) in COPIES and _is_for(each, barrier)]
        if copies:
            sizes = [f"{ast.unparse(each.args[0])}.block_type.nbytes" for each in copies]
            yield from replaced(case.file, bytes_, " + ".join(sizes))


def _is_for(copy: ast.Call, barrier: ast.expr) -> bool:
    own = argument_of(copy, BARRIER_OF_COPY, "barrier")
    return own is not None and ast.unparse(own) == ast.unparse(barrier)


# What may be inserted -------------------------------------------------------------------------------------------------


def waits_for_groups(case: Case) -> Iterator[Lines]:
    """A wait for all groups of the kind that one of the parties issues."""
    later = [party.line for party in case.parties[-1:]]
    lines = [party.line for party in case.parties]
    # What is not waited for at the end is waited for there.
    last = list(ends(case.file, lines))[::-1] if case.violation.kind is ViolationKind.UNDRAINED else []
    places = [*last, *gaps(case.file, later), *gaps(case.file, lines), *ends(case.file, lines)]
    for party in case.parties:
        for call in case.file.calls:
            if call.lineno == party.line and party.op is not ttng.AsyncTMACopyGlobalToLocalOp:
                yield from inserted(places, _waits_beside(call, case.file))


def _waits_beside(call: ast.Call, file: Python) -> Sequence[Sequence[str]]:
    """What waits for all of the work of a call, without and with what closes its group."""
    name = name_of(call)
    if name in STORES:
        return [[f"{_beside(call, 'store_wait')}(pendings=0)"]]
    if name in COPIES:
        wait = f"{_beside(call, 'wait_group')}(0)"
        return [[wait], [f"{_beside(call, 'commit_group')}()", wait]]
    statement = next(iter(file.around(call.lineno)), None)
    if name == "warpgroup_mma" and isinstance(statement, ast.Assign):
        result = ast.unparse(statement.targets[0])
        return [[f"{result} = {_beside(call, 'warpgroup_mma_wait')}(0, deps=({result},))"]]
    return []


def waits_at_barriers(case: Case) -> Iterator[Lines]:
    """A wait at an mbarrier: behind what signals it, before the later party, before the earlier one."""
    wait = case.file.named("wait", "mbarrier")
    if wait is None or not case.parties:
        return
    lines = [party.line for party in case.parties]
    before = [gap for line in reversed(lines) for gap in [*_expected(case, line), *list(gaps(case.file, [line]))[:1]]]
    for barrier, signals in _barriers(case).items():
        for place in dict.fromkeys([*signals, *before]):
            function = case.file.function_at(place[0])
            known = set[str]() if function is None else case.file.known_in(function)
            if function is not None and _names_in(ast.parse(barrier)) <= known:
                for phase in _phases(case, function, known):
                    yield from inserted([place], [[f"{wait}({barrier}, {phase})"]])


def _expected(case: Case, line: int) -> Iterator[Gap]:
    """Before what says how many bytes the copy on `line` brings."""
    function = case.file.function_at(line)
    copies = [call for call in case.file.calls if call.lineno == line and name_of(call) in COPIES]
    for call in case.file.calls:
        if name_of(call) == "expect" and case.file.function_at(call.lineno) is function:
            if any(_is_for(copy, call.args[0]) for copy in copies if call.args):
                yield from list(gaps(case.file, [call.lineno]))[:1]


def _barriers(case: Case) -> dict[str, list[Gap]]:
    """
    How the kernels name mbarriers -> where each has just been signalled. Those for which no agent waits are first, then
    those on the lines of the mistake.
    """
    found: dict[str, list[Gap]] = {}
    for call in case.calls:
        barrier = barrier_of(call)
        if barrier is not None:
            signalled = found.setdefault(barrier, [])
            is_signal = name_of(call) in (*COPIES, "tcgen05_commit")
            signalled += list(gaps(case.file, [call.lineno]))[1:2] if is_signal else []
    waited = {barrier for call in case.calls_of("wait") for barrier in _names_of_barrier(case, call)}
    return dict(sorted(found.items(), key=lambda each: each[0] in waited))


def barrier_of(call: ast.Call) -> str | None:
    """The mbarrier that a call is about."""
    name = name_of(call)
    if name in COPIES and len(call.args) > BARRIER_OF_COPY + 1:
        return ast.unparse(call.args[BARRIER_OF_COPY])
    return ast.unparse(call.args[0]) if call.args and name in ON_BARRIERS else None


def _names_of_barrier(case: Case, call: ast.Call) -> Iterator[str]:
    """The mbarrier of a call as it stands there, and what it was before it got a name in the function."""
    barrier, function = barrier_of(call), case.file.function_at(call.lineno)
    if barrier is None or function is None:
        return
    yield barrier
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == barrier:
            yield ast.unparse(node.value)


def _phases(case: Case, function: ast.FunctionDef, known: set[str]) -> list[str]:
    """What waits name as their phase: first in `function`, then elsewhere; and what is called phase there."""
    waits = [call for call in case.file.calls if name_of(call) == "wait"]
    waits.sort(key=lambda call: case.file.function_at(call.lineno) is not function)
    said = [phase for call in waits if (phase := argument_of(call, 1, "phase")) is not None]
    stored = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and "phase" in node.id]
    texts = list(dict.fromkeys([*(ast.unparse(each) for each in said if _names_in(each) <= known), *stored]))
    return list(dict.fromkeys([*texts, *map(_other_phase, texts)]))


def arrivals(case: Case) -> Iterator[Lines]:
    """An arrival at the mbarrier that an agent waits for, or a commit of products, by another agent or later on."""
    signalled = {barrier for call in case.calls if name_of(call) != "wait" for barrier in _names_of_barrier(case, call)}
    waited = [call for call in case.calls_of("wait") if call.lineno in case.lines and call.args]
    waited.sort(key=lambda call: barrier_of(call) in signalled)
    arrive, commit = case.file.named("arrive", "mbarrier"), case.file.named("tcgen05_commit", "blackwell")
    for wait in waited:
        barrier = wait.args[0]
        for function in case.file.functions:
            calls = [call for call in case.file.calls if case.file.function_at(call.lineno) is function]
            if not _names_in(barrier) <= case.file.known_in(function):
                continue
            products = [call.lineno for call in calls if name_of(call) == "tcgen05_mma"]
            if commit is not None:
                after = [gap for line in products for gap in list(gaps(case.file, [line]))[1:2]]
                yield from inserted(after, [[f"{commit}({ast.unparse(barrier)})"]])
            lines = [call.lineno for call in calls if name_of(call) in READS and call is not wait]
            after = [gap for line in reversed(lines) for gap in list(gaps(case.file, [line]))[1:2]]
            if arrive is not None:
                places = [*after, *ends(case.file, lines)]
                yield from inserted(places, [[f"{arrive}({ast.unparse(barrier)}, count=1)"]])


def fences(case: Case) -> Iterator[Lines]:
    """A fence between the proxies: near the parties, and before the arrivals of their functions."""
    fence = case.file.named("fence_async_shared", "hopper", "blackwell")
    fence = fence or case.file.named("nvidia.hopper.fence_async_shared", "language")
    if fence is None:
        return
    lines = [party.line for party in case.parties]
    functions = [case.file.function_at(line) for line in lines]
    arriving = [call for call in case.calls_of("arrive") if case.file.function_at(call.lineno) in functions]
    before = [gap for call in arriving for gap in list(gaps(case.file, [call.lineno]))[:1]]
    yield from inserted([*gaps(case.file, lines), *before], [[f"{fence}()"]])


# Phases ---------------------------------------------------------------------------------------------------------------


def toggles(case: Case) -> Iterator[Lines]:
    """A phase that changes after the wait for it, in a loop in which it stays what it was."""
    for call in case.calls_of("wait"):
        phase = argument_of(call, 1, "phase")
        statements = case.file.around(call.lineno)
        loop = next((each for each in statements if isinstance(each, ast.For | ast.While)), None)
        if not isinstance(phase, ast.Name) or loop is None:
            continue
        if any(isinstance(node, ast.Name) and node.id == phase.id and _is_stored(node) for node in ast.walk(loop)):
            continue
        lines = [call.lineno]
        yield from inserted([*list(gaps(case.file, lines))[1:2], *ends(case.file, lines)], [[f"{phase.id} ^= 1"]])


def phases_of_loops(case: Case) -> Iterator[Lines]:
    """The first phase is set before a loop, and not in each of its iterations."""
    waited = (argument_of(call, 1, "phase") for call in case.calls_of("wait"))
    names = {phase.id for phase in waited if isinstance(phase, ast.Name)}
    loops = [node for each in case.file.functions for node in ast.walk(each) if isinstance(node, ast.For | ast.While)]
    for loop in loops:
        for statement in loop.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()) if name in names:
                    own = statement.end_lineno or statement.lineno
                    before = tuple(case.file.lines[loop.lineno - 1 : own])
                    first = f"{' ' * loop.col_offset}{ast.unparse(statement)}"
                    yield loop.lineno, before, (first, *before[: statement.lineno - own - 1])
                case _:
                    pass


def moves(case: Case) -> Iterator[Lines]:
    """A call of the mistake that synchronises, past its neighbours, up to `FAR` statements."""
    for call in case.calls_of(*SYNCHRONISES):
        statement = next(iter(case.file.around(call.lineno)), None)
        if call.lineno not in case.lines or not isinstance(statement, ast.Expr) or statement.value is not call:
            continue
        block = case.file.block_of(statement)
        here = block.index(statement)
        for far in range(1, FAR + 1):
            if here - far >= 0:
                yield _moved(case.file, block[here - far], statement, statement)
            if here + far < len(block):
                yield _moved(case.file, statement, block[here + far], statement)


def _moved(file: Python, first: ast.stmt, last: ast.stmt, moved: ast.stmt) -> Lines:
    """The lines from `first` to `last`, with the first statement moved to the end, or the last one to the front."""
    start, end = first.lineno - 1, last.end_lineno or last.lineno
    before = tuple(file.lines[start:end])
    own = tuple(file.lines[moved.lineno - 1 : moved.end_lineno])
    if moved is first:
        return start + 1, before, (*before[len(own) :], *own)
    return start + 1, before, (*own, *before[: len(before) - len(own)])


FAR = 3
"""How many statements a call is moved past."""

Generator: TypeAlias = Callable[[Case], Iterator[Lines]]
GENERATORS: dict[ViolationKind, Sequence[Generator]] = {
    ViolationKind.RACE: (
        weaker_counts,
        toggles,
        phases_of_loops,
        bytes_of_copies,
        waits_for_groups,
        waits_at_barriers,
        other_parities,
        moves,
    ),
    ViolationKind.MISSING_FENCE: (fences, moves),
    ViolationKind.PHASE: (
        bytes_of_copies,
        toggles,
        phases_of_loops,
        other_parities,
        arrival_counts,
        arrivals,
        waits_at_barriers,
        moves,
    ),
    ViolationKind.DEADLOCK: (bytes_of_copies, arrival_counts, other_parities, toggles, arrivals, moves),
    ViolationKind.UNDRAINED: (waits_for_groups, weaker_counts, waits_at_barriers, moves),
    ViolationKind.ABSENT: (moves,),
    ViolationKind.SLOT: (moves,),
    ViolationKind.MALFORMED: (moves,),
}
"""Kind of a violation -> what to try: all that the first one proposes, then one edit of each other in turn."""
