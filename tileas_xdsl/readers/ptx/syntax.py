"""
What a PTX text consists of, after parsing (PTX ISA, "Syntax", "State Spaces, Types, and Variables").

    Module
      variables            arrays in shared memory, and others
      files                names behind the numbers of `.file`
      kernels              `.entry`; `functions`: `.func`
        parameters
        body               instructions and labels in order; nested scopes are resolved to `Scope`s

Operands stay text until `operands.py` reads them: a file may hold many kernels of which one is asked for. `Symbols` has
the names that the instructions of a kernel see beside registers and labels. A `PtxError` says why a text cannot be read
as PTX.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


class PtxError(Exception):
    """One sentence about the line `line` (from 1 on; None: about the file)."""

    def __init__(self, line: int | None, message: str) -> None:
        self.line = line
        super().__init__(message)


def is_ptx(text: str) -> bool:
    """Whether the first statement of `text` is `.version`, as PTX demands it."""
    return re.match(r"(?:\s+|//[^\n]*+|/\*.*?\*/)*+\.version\b", text, re.DOTALL) is not None


BITS: Mapping[str, int] = {
    "pred": 1,
    **{f"{kind}{bits}": bits for kind in "busf" for bits in (8, 16, 32, 64)},
    "b128": 128,
    **{name: 16 for name in ("bf16", "e4m3x2", "e5m2x2")},
    **{name: 32 for name in ("f16x2", "bf16x2", "tf32", "u16x2", "s16x2")},
    "f32x2": 64,
}
"""Type -> the bits that a value of it has (PTX ISA, "Fundamental Types")."""


@dataclass(eq=False, slots=True)
class Register:
    """A variable of a thread: `bits` wide, 1 for a predicate. Floats are their bits."""

    name: str
    bits: int
    type: object = None
    """Of a tuple of registers, which has no bits, that of its value in MLIR."""


@dataclass(eq=False, slots=True)
class Label:
    """A place in a body."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a source: the number of the file, the line and the column; what it is inlined at."""

    file: int
    line: int
    column: int
    inlined_at: Place | None = None


@dataclass(eq=False)
class Scope:
    """The names between two braces; those around them are seen, too."""

    parent: Scope | None
    registers: dict[str, Register] = field(default_factory=dict[str, Register])
    families: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Prefix -> (number, bits): `.reg .b32 %r<4>` declares %r0 to %r3."""
    labels: dict[str, Label] = field(default_factory=dict[str, Label])

    def register(self, name: str) -> Register | None:
        """The register `name` as it is seen here."""
        scope: Scope | None = self
        while scope is not None:
            if (found := scope._own_register(name)) is not None:
                return found
            scope = scope.parent
        return None

    def _own_register(self, name: str) -> Register | None:
        found = self.registers.get(name)
        if found is None and self.families:
            prefix = name.rstrip("0123456789")
            count, bits = self.families.get(prefix, (0, 0))
            digits = name[len(prefix) :]
            if digits and int(digits) < count:
                found = self.registers[name] = Register(name, bits)
        return found

    def label(self, name: str) -> Label | None:
        """The label `name` as it is seen here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None


@dataclass(eq=False, slots=True)
class Instruction:
    """`@guard opcode.modifiers operands;`"""

    line: int
    scope: Scope
    guard: str | None
    """The name of the predicate, with `!` in front where it is negated."""
    words: tuple[str, ...]
    """The opcode and its modifiers, between the dots."""
    text: str
    """The operands."""
    place: Place | None

    @property
    def name(self) -> str:
        """As it is written, without operands."""
        return ".".join(self.words)

    def error(self, message: str) -> PtxError:
        """An error at this instruction."""
        return PtxError(self.line, f"'{self.name}' {message}")


@dataclass(frozen=True)
class Targets:
    """`name: .branchtargets a, b;`: where `brx.idx` may go."""

    labels: tuple[str, ...]


@dataclass(frozen=True)
class Variable:
    """An array in a state space: `.shared .align 16 .b8 name[1024]`."""

    name: str
    space: str
    size: int
    """In bytes; 0 for `name[]`."""
    alignment: int
    line: int


@dataclass(frozen=True)
class Parameter:
    """What a launch passes: a number, or an array of bytes."""

    name: str
    number: int
    size: int
    """In bytes."""
    is_array: bool


Extents = tuple[int, ...]


@dataclass(eq=False)
class Function:
    """A kernel (`.entry`) or a function (`.func`) with its body."""

    name: str
    line: int
    is_kernel: bool
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...] = ()
    block: Extents | None = None
    """`.reqntid`"""
    most_threads: Extents | None = None
    """`.maxntid`"""
    cluster: Extents | None = None
    """`.reqnctapercluster`"""
    body: list[Instruction | Label] = field(default_factory=list["Instruction | Label"])
    targets: dict[str, Targets] = field(default_factory=dict[str, Targets])
    variables: list[Variable] = field(default_factory=list[Variable])


@dataclass(eq=False)
class Module:
    """A text of PTX."""

    version: str
    target: str = ""
    variables: list[Variable] = field(default_factory=list[Variable])
    functions: list[Function] = field(default_factory=list[Function])
    files: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def kernels(self) -> list[Function]:
        """The functions that a host can launch, in order."""
        return [function for function in self.functions if function.is_kernel]


@dataclass(frozen=True)
class Symbols:
    """The variables of a module and a kernel, and the parameters of the kernel."""

    module: Module
    function: Function

    def variable(self, name: str, user: Instruction) -> Variable:
        """The variable `name`. Raises `PtxError` where there is none."""
        for variable in (*self.function.variables, *self.module.variables):
            if variable.name == name:
                return variable
        raise user.error(f"names '{name}', which is declared nowhere")

    def parameter(self, name: str) -> Parameter | None:
        """The parameter `name` of the kernel."""
        return next((each for each in self.function.parameters if each.name == name), None)

    @property
    def shared(self) -> list[Variable]:
        """The arrays in shared memory that this kernel can name."""
        return [each for each in (*self.function.variables, *self.module.variables) if each.space == "shared"]
