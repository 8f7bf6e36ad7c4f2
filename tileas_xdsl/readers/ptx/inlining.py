"""
Calls of functions of the same text: a body stands wherever it is called, with registers and labels of its own.

    st.param.b32 [param0], %r1;              mov.b32 param0, %r1;
    call.uni (retval0), f, (param0);         the body of f, in which ret goes on behind it
    ld.param.b32 %r2, [retval0];             mov.b32 %r2, retval0;

What is passed is a register for each place in a parameter and each width (PTX ISA, "Kernel and Function Parameters"). A
place that is read with another width than it is written with is a number that nobody knows. Calls of functions that
have no body here stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tileas_xdsl.readers.ptx.operands import Group, Name, operands_of
from tileas_xdsl.readers.ptx.syntax import BITS, Function, Instruction, Label, Module, Place, Register, Scope

ADDRESS = r"\[\s*(?P<name>[\w$%]+)\s*(?:\+\s*(?P<offset>\d+)\s*)?\]"
STORED = re.compile(rf"\s*{ADDRESS}\s*,\s*(?P<numbers>.*)", re.DOTALL)
LOADED = re.compile(rf"\s*(?P<numbers>.*?)\s*,\s*{ADDRESS}\s*", re.DOTALL)
MOST_STATEMENTS = 1_000_000
"""Of a kernel with the functions that it calls."""
HELD, BEHIND = "%held", "$behind"
"""Names of a register that is passed, and of the label behind a call, where they are used."""


def with_bodies(module: Module, kernel: Function) -> Function:
    """`kernel` with the bodies of the functions of `module` that it calls. Raises `PtxError`."""
    functions = {function.name: function for function in module.functions if function.body}
    if not any(_called(item, functions) for item in kernel.body):
        return kernel
    whole = replace(kernel, body=[], variables=[], targets={})
    _Inlining(functions, whole).add(kernel, {})
    return whole


def _called(item: Instruction | Label, functions: Mapping[str, Function]) -> Function | None:
    """The function that `item` calls, if its body is known."""
    if isinstance(item, Label) or item.words[0] != "call":
        return None
    name = next((operand.name for operand in operands_of(item) if isinstance(operand, Name)), "")
    return functions.get(name)


@dataclass(eq=False)
class _Passed:
    """A parameter of a call, or its result: a register for each place and width."""

    registers: dict[tuple[int, int], Register] = field(default_factory=dict[tuple[int, int], Register])

    def at(self, offset: int, bits: int) -> Register:
        return self.registers.setdefault((offset, bits), Register(f"{HELD}+{offset}", bits))


@dataclass(eq=False)
class _Body:
    """One body where it is called; None: that of the kernel."""

    call: Instruction | None = None
    scopes: dict[Scope, Scope] = field(default_factory=dict[Scope, Scope])
    labels: dict[Label, Label] = field(default_factory=dict[Label, Label])

    def label(self, label: Label) -> Label:
        return label if self.call is None else self.labels.setdefault(label, Label(label.name, label.line))

    def instruction(self, item: Instruction) -> Instruction:
        if self.call is None:
            return item
        return replace(item, scope=self._scope(item.scope), place=_within(item.place, self.call.place))

    def _scope(self, scope: Scope) -> Scope:
        if scope not in self.scopes:
            parent = None if scope.parent is None else self._scope(scope.parent)
            registers = {name: Register(name, each.bits) for name, each in scope.registers.items()}
            labels = {name: self.label(each) for name, each in scope.labels.items()}
            self.scopes[scope] = Scope(parent, registers, scope.families, labels)
        return self.scopes[scope]


def _within(place: Place | None, call: Place | None) -> Place | None:
    """`place`, in a body that is called at the place `call`."""
    if place is None or call is None:
        return place or call
    return replace(place, inlined_at=_within(place.inlined_at, call))


class _Inlining:
    """Fills `whole`, a kernel without a body."""

    def __init__(self, functions: Mapping[str, Function], whole: Function) -> None:
        self.functions = functions
        self.whole = whole
        self.open: list[Function] = []
        """Functions whose bodies are being put in, the outermost first."""

    def add(self, function: Function, passed: Mapping[str, _Passed], call: Instruction | None = None) -> None:
        """The body of `function`, which `call` calls and gives `passed`."""
        held = {each.name: _Passed() for each in function.variables if each.space == "param"} | dict(passed)
        known = {variable.name for variable in self.whole.variables}
        self.whole.variables += [each for each in function.variables if each.name not in known]
        self.whole.targets |= function.targets
        body, end = _Body(call), Label(BEHIND, function.line)
        self.open.append(function)
        for item in function.body:
            if isinstance(item, Label):
                self.whole.body.append(body.label(item))
            else:
                self._add_instruction(body.instruction(item), held, end if call is not None else None)
        self.open.pop()
        if call is not None:
            self.whole.body.append(end)

    def _add_instruction(self, item: Instruction, held: Mapping[str, _Passed], end: Label | None) -> None:
        called = _called(item, self.functions)
        if called is not None:
            self._add_call(item, called, held)
        elif item.words[0] == "ret" and end is not None:
            self.whole.body.append(_branch(item, end, item.guard))
        elif item.words[:2] in (("st", "param"), ("ld", "param")):
            self.whole.body += _moves(item, held)
        else:
            self.whole.body.append(item)
        if len(self.whole.body) > MOST_STATEMENTS:
            raise item.error(f"makes more than {MOST_STATEMENTS:,} statements of the kernel, with what it calls")

    def _add_call(self, item: Instruction, called: Function, held: Mapping[str, _Passed]) -> None:
        if called in self.open:
            raise item.error(f"calls '{called.name[:60]}', which calls itself; recursion is not read")
        over = Label(BEHIND, item.line)
        if item.guard is not None:
            negated = item.guard.removeprefix("!") if item.guard.startswith("!") else f"!{item.guard}"
            self.whole.body.append(_branch(item, over, negated))
        self.add(called, dict(self._passed(item, called, held)), item)
        self.whole.body.append(over)

    def _passed(
        self, item: Instruction, called: Function, held: Mapping[str, _Passed]
    ) -> Iterator[tuple[str, _Passed]]:
        """Each parameter and result of `called`, and what it is where it is called."""
        operands = operands_of(item)
        place = next(number for number, operand in enumerate(operands) if isinstance(operand, Name))
        for given, wanted in ((operands[:place], called.results), (operands[place + 1 :], called.parameters)):
            names = [part for group in given if isinstance(group, Group) for part in group.parts]
            if len(names) != len(wanted):
                raise item.error(f"passes {len(names)} of the {len(wanted)} parameters of '{called.name[:60]}'")
            for name, parameter in zip(names, wanted, strict=True):
                if not isinstance(name, Name) or name.name not in held:
                    raise item.error("passes what is no variable in .param; such calls are not read")
                yield parameter.name, held[name.name]


def _branch(item: Instruction, label: Label, guard: str | None) -> Instruction:
    """A branch to `label` in place of `item`."""
    return replace(item, scope=Scope(item.scope, labels={BEHIND: label}), words=("bra",), text=BEHIND, guard=guard)


def _moves(item: Instruction, held: Mapping[str, _Passed]) -> Iterator[Instruction]:
    """What `ld.param` and `st.param` are: moves from and to registers; of a parameter of the kernel the item itself."""
    is_load = item.words[0] == "ld"
    match = (LOADED if is_load else STORED).fullmatch(item.text)
    if match is None or match["name"] not in held:
        yield item
        return
    text, name, offset = match["numbers"], match["name"], match["offset"]
    kind = next(word for word in reversed(item.words) if word in BITS)
    narrow = BITS[kind] == 8
    move = ("cvt", f"{kind[0] if kind[0] == 's' else 'u'}16", "s8" if kind[0] == "s" else "u8")
    for number, part in enumerate(text.strip().strip("{}").split(",")):
        register = held[name].at(int(offset or 0) + number * BITS[kind] // 8, max(BITS[kind], 16))
        scope = Scope(item.scope, registers={HELD: register})
        moved = (part.strip(), HELD) if is_load else (HELD, part.strip())
        yield replace(item, scope=scope, words=move if narrow else ("mov", f"b{BITS[kind]}"), text=", ".join(moved))
