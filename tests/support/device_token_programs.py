"""
Random programs of device copies by token (`nvgpu`): groups in straight lines, loops that rotate tokens through their
`iter_args`, branches that choose a token, copies that read less than they write.

Each is `@f(%n, %b, %src, %out)`. Who reads a row waits for its group first, unless a wait was left out on purpose.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from tests.support.lines import Lines
from tests.support.mlir import mlir_opt

TOKEN = "!nvgpu.device.async.token"
SOURCE = "memref<64x4xf32>"
ROWS_OF_A_LOOP = 16
"""The rows of `%out` that a loop may write; those behind `FREE` are for the reads of straight lines."""
FREE = 48


@dataclass
class Group:
    """A group that somebody may wait for: its token, and the rows that its copies fill."""

    token: str
    rows: list[tuple[str, str]] = field(default_factory=list)
    """(the text up to the indices, the type) of each row."""


@dataclass(frozen=True)
class DeviceProgram:
    text: str
    waits_left_out: int
    merges: bool
    """Whether some token is chosen by a branch, so that a count has to be right for two groups."""


class Generator(Lines):
    def __init__(self, seed: int, *, mistakes: bool, counts: bool) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.mistakes = mistakes
        self.counts = counts
        self.lines += [f"%c{number} = arith.constant {number} : index" for number in range(17)]
        self.free_row = FREE
        self.loops = 0
        self.left_out = 0
        self.merges = False
        self.groups: list[Group] = []

    # Pieces -----------------------------------------------------------------------------------------------------------

    def buffer(self, slots: int) -> tuple[str, str]:
        kind = f"memref<{slots}x4xf32, 3>"
        return self.value("buffer", f"memref.alloc() : {kind}"), kind

    def copy(self, buffer: str, kind: str, slot: str, row: str) -> str:
        count, start = self.random.choice([(4, 0), (4, 0), (2, 2), (1, 3)])
        read = self.random.choice(["", "", f", %c{self.random.randint(0, count)}"])
        hint = " {bypassL1}" if count == 4 and self.random.random() < 0.2 else ""
        indices = f"%src[{row}, %c{start}], {buffer}[{slot}, %c{start}]"
        return self.value("copy", f"nvgpu.device_async_copy {indices}, {count}{read}{hint} : {SOURCE} to {kind}")

    def group(self, copies: list[str]) -> str:
        return self.value("group", f"nvgpu.device_async_create_group {', '.join(copies)} {{}}".replace("  ", " "))

    def wait(self, token: str, *, may_be_left_out: bool = True) -> None:
        if self.mistakes and may_be_left_out and self.random.random() < 0.25:
            self.left_out += 1
            return
        count = ""
        if self.counts and self.random.random() < 0.2:
            count = f" {{numGroups = {self.random.choice([0, 0, 0, 1, 1, 2])} : i32}}"
        self.lines.append(f"nvgpu.device_async_wait {token}{count}")

    def read(self, place: str, kind: str, out_row: str) -> None:
        column = self.random.randint(0, 3)
        value = self.value("x", f"memref.load {place}, %c{column}] : {kind}")
        self.lines.append(f"memref.store {value}, %out[{out_row}, %c{column}] : {SOURCE}")

    def next_row(self) -> str:
        self.free_row += 1
        return f"%at{self.free_row - 1}"

    # Straight lines ---------------------------------------------------------------------------------------------------

    def straight(self) -> None:
        """A group of up to three copies; a few groups later somebody may wait for it."""
        group = Group("")
        copies: list[str] = []
        for buffer, kind in [self.buffer(1) for _ in range(self.random.randint(0, 3))]:
            copies.append(self.copy(buffer, kind, "%c0", f"%c{self.random.randint(0, 16)}"))
            group.rows.append((f"{buffer}[%c0", kind))
        group.token = self.group(copies)
        self.groups.append(group)
        while self.groups and self.random.random() < 0.4:
            self.consume(self.groups.pop(self.random.randrange(len(self.groups))))

    def consume(self, group: Group) -> None:
        self.wait(group.token)
        for place, kind in group.rows:
            if self.free_row < 64:
                self.read(place, kind, self.next_row())

    # Branches ---------------------------------------------------------------------------------------------------------

    def branch(self) -> None:
        """One of two groups is waited for: by `scf.if`, by `arith.select`, or by a group that one path makes."""
        if len(self.groups) < 2:
            return
        self.merges = True
        first, second = self.random.sample(self.groups, 2)
        match self.random.choice(["if", "select", "commit"]):
            case "if":
                token = self.name("chosen")
                self.lines.append(
                    f"{token} = scf.if %b -> ({TOKEN}) {{ scf.yield {first.token} : {TOKEN} }} "
                    f"else {{ scf.yield {second.token} : {TOKEN} }}"
                )
            case "select":
                token = self.value("chosen", f"arith.select %b, {first.token}, {second.token} : {TOKEN}")
            case _:
                self.lines.append("scf.if %b {")
                self.group([])
                self.lines.append("}")
                token = first.token
        self.wait(token, may_be_left_out=False)

    # Loops ------------------------------------------------------------------------------------------------------------

    def loop(self) -> None:
        """Rows travel through a ring, `ahead` iterations ahead; the tokens of the iterations ahead are carried."""
        if self.loops == FREE // ROWS_OF_A_LOOP:
            return
        first_row = ROWS_OF_A_LOOP * self.loops
        self.loops += 1
        ahead, parts = self.random.randint(1, 3), self.random.randint(1, 2)
        slots = ahead + self.random.randint(1, 2)
        lower, step = self.random.choice([(0, 1), (0, 1), (1, 1), (2, 2)])
        rings = [self.buffer(slots) for _ in range(parts)]
        carried = [[self.fill(ring, f"%c{s}", f"%c{s}") for ring in rings] for s in range(ahead)]
        tokens = [token for row in carried for token in row]
        names = [self.name("a") for _ in tokens]
        result = self.name("last")
        types = ", ".join([TOKEN] * len(tokens))
        inits = ", ".join(f"{name} = {token}" for name, token in zip(names, tokens, strict=True))
        bound = self.value("bound", f"arith.muli %n, %c{step} : index")
        bound = self.value("bound", f"arith.addi {bound}, %c{lower} : index")
        i = self.name("i")
        header = f"scf.for {i} = %c{lower} to {bound} step %c{step} iter_args({inits}) -> ({types}) {{"
        self.lines.append(f"{result}:{len(tokens)} = {header}")
        k = self.value("k", f"arith.subi {i}, %c{lower} : index")
        k = self.value("k", f"arith.divui {k}, %c{step} : index")
        fresh = self.turn(rings, names[:parts], k, ahead, slots, first_row)
        self.lines.append(f"scf.yield {', '.join([*names[parts:], *fresh])} : {types}")
        self.lines.append("}")
        self.drain([f"{result}#{number}" for number in range(len(tokens))])

    def turn(
        self, rings: list[tuple[str, str]], oldest: list[str], k: str, ahead: int, slots: int, first_row: int
    ) -> list[str]:
        """One iteration: fill the slots for iteration `k + ahead`, then use those of `k`, or the other way round."""
        row = self.value("ahead", f"arith.addi {k}, %c{ahead} : index")
        slot = self.value("slot", f"arith.remui {row}, %c{slots} : index")
        here = self.value("here", f"arith.remui {k}, %c{slots} : index")
        base = self.value("base", f"arith.constant {first_row} : index")
        out = self.value("row", f"arith.addi {k}, {base} : index")
        late = self.random.random() < 0.3
        fresh = [] if late else [self.fill(ring, slot, row) for ring in rings]
        for (buffer, kind), token in zip(rings, oldest, strict=True):
            self.wait(token)
            self.read(f"{buffer}[{here}", kind, out)
        return fresh or [self.fill(ring, slot, row) for ring in rings]

    def fill(self, ring: tuple[str, str], slot: str, row: str) -> str:
        return self.group([self.copy(*ring, slot, row)])

    def drain(self, tokens: list[str]) -> None:
        """Groups finish in order, so the youngest would do."""
        for token in tokens if self.random.random() < 0.5 else tokens[-1:]:
            self.wait(token, may_be_left_out=False)

    # The whole --------------------------------------------------------------------------------------------------------

    def program(self) -> str:
        for piece in self.random.choices([self.straight, self.loop, self.branch], [6, 3, 2], k=7):
            piece()
        for group in self.groups:
            self.consume(group)
        self.wait(self.group([]), may_be_left_out=False)
        rows = [f"%at{number} = arith.constant {number} : index" for number in range(FREE, 64)]
        body = "\n".join([*rows, *self.lines])
        return f"func.func @f(%n: index, %b: i1, %src: {SOURCE}, %out: {SOURCE}) {{\n{body}\nfunc.return\n}}"


def device_program(seed: int, *, mistakes: bool = False, counts: bool = False) -> DeviceProgram:
    """The program of `seed`; with `mistakes`, one that may lack waits; with `counts`, some waits have `numGroups`."""
    generator = Generator(seed, mistakes=mistakes, counts=counts)
    text = generator.program()
    return DeviceProgram(text, generator.left_out, generator.merges)


# As mlir-opt lowers them ----------------------------------------------------------------------------------------------

CAST = re.compile(r"(%[\w]+) = builtin\.unrealized_conversion_cast (%[\w]+) : (memref<.*>) to !llvm\.struct<.*")
POINTER = re.compile(r"(%[\w]+) = llvm\.extractvalue (%[\w]+)\[1\] : !llvm\.struct<\((ptr(?:<\d+>)?), .*")
SPACE_CAST = re.compile(r"llvm\.addrspacecast (%[\w]+ : \S+ to \S+)")


def lowered_by_mlir(text: str) -> str:
    """
    `text` after `--convert-nvgpu-to-nvvm`, which works on what stands in a `gpu.module`.

    It leaves memrefs beside the descriptors that stand for them, of which it takes the pointers: the machine, which has
    no descriptors, is given the pointers of the memrefs themselves.
    """
    lowered = mlir_opt(f"gpu.module @kernels {{\n{text}\n}}", "--convert-nvgpu-to-nvvm")
    memrefs = {cast[1]: (cast[2], cast[3]) for cast in CAST.finditer(lowered)}

    def pointer(match: re.Match[str]) -> str:
        memref, kind = memrefs[match[2]]
        place = f"%place{match[1][1:]}"
        return (
            f'{place} = "memref.extract_aligned_pointer_as_index"({memref}) : ({kind}) -> index\n'
            f"{place}_i = builtin.unrealized_conversion_cast {place} : index to i64\n"
            f"{match[1]} = llvm.inttoptr {place}_i : i64 to !llvm.{match[3]}"
        )

    lowered = SPACE_CAST.sub(r"builtin.unrealized_conversion_cast \1", POINTER.sub(pointer, lowered))
    start, end = lowered.index("func.func"), lowered.rindex("}", 0, lowered.rindex("}"))
    return lowered[start:end]
