"""
Agents that hand data to and fro at named barriers (`nvvm.barrier`, `nvvm.barrier.arrive`), turn after turn.

Roles are written once; `warps`, `warps_by_else`, `in_turns`, `agents` and `kernel` make a function of them, in the
manner in which a block gives roles to its warps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NUMBERS = (0, 1, 2, 3, 4, 5, 32, 64, 96, 128, 256)
CONSTANTS = "".join(f"  %c{number} = arith.constant {number} : i32\n" for number in NUMBERS)
POINTERS = "%ring: !llvm.ptr<3>"

STORE = "llvm.store %one, %ring : f32, !llvm.ptr<3>\n"
LOAD = "%v = llvm.load %ring : !llvm.ptr<3> -> f32\n"


def arrive(number: int | str, threads: int) -> str:
    return f"nvvm.barrier.arrive id = {_name(number)} number_of_threads = %c{threads}\n"


def meet(number: int | str, threads: int) -> str:
    return f"nvvm.barrier id = {_name(number)} number_of_threads = %c{threads}\n"


def _name(number: int | str) -> str:
    return number if isinstance(number, str) else f"%c{number}"


def loop(body: str, bound: str = "%n") -> str:
    return f"scf.for %k = %c0 to {bound} step %c1 : i32 {{\n{body}}}\n"


def while_loop(body: str) -> str:
    return f"""%end = scf.while (%k = %c0) : (i32) -> i32 {{
  %more = arith.cmpi slt, %k, %n : i32
  scf.condition(%more) %k : i32
}} do {{
^bb0(%k: i32):
{body}  %next = arith.addi %k, %c1 : i32
  scf.yield %next : i32
}}
"""


# A block of roles -----------------------------------------------------------------------------------------------------


def warps(*roles: str, threads: int = 32, more: str = "") -> str:
    """Each role by `threads` threads, in a branch that asks for their number."""
    return _block(roles, threads, "".join(_branches(roles)), more)


def warps_by_else(*roles: str, threads: int = 32) -> str:
    """The same by branches in the other arm."""

    def from_role(number: int) -> str:
        if number == len(roles) - 1:
            return roles[number]
        condition = f"%is{number} = arith.cmpi eq, %role, %c{number} : i32\n"
        return f"{condition}scf.if %is{number} {{\n{roles[number]}}} else {{\n{from_role(number + 1)}}}\n"

    return _block(roles, threads, from_role(0))


def in_turns(*roles: str, threads: int = 32) -> str:
    """The same in one loop of all, around the branches."""
    return _block(roles, threads, loop("".join(_branches(roles))))


def agents(*roles: str) -> str:
    """Each role by an agent of one thread."""
    body = "}, {\n".join(role.replace(f"%c{32 * len(roles)}", f"%c{len(roles)}") for role in roles)
    ones = ", ".join("1" for _ in roles)
    return f"""func.func @k({POINTERS}, %n: i32) {{
{CONSTANTS}  %one = arith.constant 1.0 : f32
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {ones}>}} {{
{body}  }} : () -> ()
  func.return
}}"""


def kernel(*bodies: str) -> str:
    """An `llvm.func`: a loop of blocks around each body."""
    constants = "".join(f"  %c{number} = llvm.mlir.constant({number} : i32) : i32\n" for number in NUMBERS)
    roles = [
        f"""^role{role}:
  llvm.br ^head{role}(%c0 : i32)
^head{role}(%k{role}: i32):
  %more{role} = llvm.icmp "slt" %k{role}, %n : i32
  llvm.cond_br %more{role}, ^body{role}, ^end
^body{role}:
{body.replace("%v ", f"%v{role} ")}  %next{role} = llvm.add %k{role}, %c1 : i32
  llvm.br ^head{role}(%next{role} : i32)
"""
        for role, body in enumerate(bodies)
    ]
    return f"""llvm.func @k({POINTERS}, %n: i32) attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 64>}} {{
{constants}  %one = llvm.mlir.constant(1.0 : f32) : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %role = llvm.udiv %thread, %c32 : i32
  %first = llvm.icmp "eq" %role, %c0 : i32
  llvm.cond_br %first, ^role0, ^role1
{"".join(roles)}^end:
  llvm.return
}}"""


def _branches(roles: Sequence[str]) -> Sequence[str]:
    return [
        f"%is{number} = arith.cmpi eq, %role, %c{number} : i32\nscf.if %is{number} {{\n{role}}}\n"
        for number, role in enumerate(roles)
    ]


def _block(roles: Sequence[str], threads: int, body: str, more: str = "") -> str:
    size = f"attributes {{nvvm.reqntid = array<i32: {threads * len(roles)}>}}"
    return f"""func.func @k({POINTERS}, %n: i32{more}) {size} {{
{CONSTANTS}  %one = arith.constant 1.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %role = arith.divui %thread, %c{threads} : i32
{body}  func.return
}}"""


# What they do ---------------------------------------------------------------------------------------------------------

FILL = STORE + arrive(1, 64) + meet(2, 64)
"""Hand the cell over at barrier 1, and wait at barrier 2 until it has been read."""
USE = meet(1, 64) + LOAD + arrive(2, 64)

SLOT = """%s = {slot}
%place = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
%full = arith.addi %s, %c1 : i32
%empty = arith.addi %s, %c3 : i32
"""
BY_REMAINDER = SLOT.format(slot="arith.remui %k, %c2 : i32")
BY_MASK = SLOT.format(slot="arith.andi %k, %c1 : i32")
BY_CHOICE = """%bit = arith.andi %k, %c1 : i32
%odd = arith.cmpi eq, %bit, %c1 : i32
%place = llvm.getelementptr %ring[%bit] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
%full = arith.select %odd, %c2, %c1 : i32
%empty = arith.select %odd, %c4, %c3 : i32
"""
BOTH_EMPTY = arrive(3, 64) + arrive(4, 64)
BOTH_DRAINED = meet(3, 64) + meet(4, 64)


def fill_slot(slot: str = BY_REMAINDER) -> str:
    """Wait until the slot of the turn is empty, fill it, hand it over; two barriers for each of two slots."""
    return slot + meet("%empty", 64) + STORE.replace("%ring", "%place") + arrive("%full", 64)


def use_slot(slot: str = BY_REMAINDER) -> str:
    return slot + meet("%full", 64) + LOAD.replace("%ring", "%place") + arrive("%empty", 64)


def take_turns(mine: int, other: int) -> str:
    """Let one warpgroup at a time reach the cell: each tells the other one when it is through."""
    return loop(meet(mine, 256) + STORE + arrive(other, 256))


TILES = "scf.for %t = %c0 to %n step %c1 : i32 {{\n{}}}\n"
ONE_FEWER = "%few = arith.subi %n, %c1 : i32\n"
LESS_ONE_ROUND = loop(
    meet(1, 64) + LOAD + "%last = arith.subi %n, %c1 : i32\n"
    "%more = arith.cmpi slt, %k, %last : i32\nscf.if %more {\n" + arrive(2, 64) + "}\n"
)

RIGHT: Mapping[str, str] = {
    "to and fro": warps(loop(FILL), loop(USE)),
    "in the other arm": warps_by_else(loop(FILL), loop(USE)),
    "in one loop": in_turns(FILL, USE),
    "both meet": warps(loop(STORE + meet(1, 64) + meet(2, 64)), loop(meet(1, 64) + LOAD + meet(2, 64))),
    "by agents": agents(loop(FILL), loop(USE)),
    "in a kernel": kernel(FILL, USE),
    "while": warps(while_loop(FILL), while_loop(USE)),
    "empty at first": warps(loop(meet(2, 64) + STORE + arrive(1, 64)), arrive(2, 64) + loop(USE)),
    "but the last time": warps(loop(meet(2, 64) + STORE + arrive(1, 64)), arrive(2, 64) + LESS_ONE_ROUND),
    "two slots": warps(loop(fill_slot()) + BOTH_DRAINED, BOTH_EMPTY + loop(use_slot())),
    "two slots, not drained": warps(loop(fill_slot()), BOTH_EMPTY + loop(use_slot())),
    "two slots by a mask": warps_by_else(loop(fill_slot(BY_MASK)), BOTH_EMPTY + loop(use_slot(BY_MASK))),
    "two slots by a choice": warps(loop(fill_slot(BY_CHOICE)), BOTH_EMPTY + loop(use_slot(BY_CHOICE))),
    "two slots by agents": agents(loop(fill_slot()), BOTH_EMPTY + loop(use_slot())),
    "two slots, while": warps(while_loop(fill_slot()), BOTH_EMPTY + while_loop(use_slot())),
    "two readers": warps(loop(STORE + arrive(1, 96) + meet(2, 96)), *[loop(meet(1, 96) + LOAD + arrive(2, 96))] * 2),
    "handed on": warps(
        loop(STORE + arrive(1, 64) + meet(3, 64)),
        loop(meet(1, 64) + STORE + arrive(2, 64)),
        loop(meet(2, 64) + LOAD + arrive(3, 64)),
    ),
    "warpgroups in turns": warps(take_turns(1, 2), arrive(1, 256) + take_turns(2, 1), threads=128),
    "warpgroups, drained": warps_by_else(
        take_turns(1, 2) + meet(1, 256), arrive(1, 256) + take_turns(2, 1), threads=128
    ),
    "a nest": warps(TILES.format(loop(FILL, "%c4")), TILES.format(loop(USE, "%c4"))),
    "two counts": warps(TILES.format(loop(FILL, "%m")), TILES.format(loop(USE, "%m")), more=", %m: i32"),
}
"""Right for every trip count."""

WRONG: Mapping[str, tuple[str, int]] = {
    "nothing comes back": (warps(loop(STORE + arrive(1, 64)), loop(meet(1, 64) + LOAD)), 2),
    "not handed over": (warps(loop(STORE + meet(2, 64)), loop(LOAD + arrive(2, 64))), 1),
    "ids swapped": (warps(loop(STORE + arrive(2, 64) + meet(1, 64)), loop(USE)), 2),
    "count of a third warp": (
        warps(loop(STORE + arrive(1, 64) + meet(2, 96)), loop(meet(1, 64) + LOAD + arrive(2, 96))),
        1,
    ),
    "one turn fewer": (warps(loop(FILL), ONE_FEWER + loop(USE, "%few")), 1),
    "never empty": (warps(loop(meet(2, 64) + STORE + arrive(1, 64)), loop(USE)), 1),
    "one slot is never empty": (warps(loop(fill_slot()), arrive(3, 64) + loop(use_slot())), 2),
    "slots not waited for": (
        warps(
            loop(BY_REMAINDER + STORE.replace("%ring", "%place") + arrive("%full", 64)),
            loop(BY_REMAINDER + meet("%full", 64) + LOAD.replace("%ring", "%place")),
        ),
        3,
    ),
    "the other slot": (
        warps(loop(fill_slot()), BOTH_EMPTY + loop(use_slot(SLOT.format(slot="arith.remui %k, %c1 : i32")))),
        2,
    ),
    "one reader counts": (
        warps(loop(STORE + arrive(1, 64) + meet(2, 96)), *[loop(meet(1, 64) + LOAD + arrive(2, 96))] * 2),
        1,
    ),
    "both warpgroups first": (warps(loop(STORE + arrive(2, 256)), take_turns(2, 1), threads=128), 2),
    "in a kernel": (kernel(STORE + arrive(1, 64), meet(1, 64) + LOAD), 2),
    "by agents": (agents(loop(FILL), ONE_FEWER + loop(USE, "%few")), 1),
}
"""Program -> the least trip count at which it is wrong."""
