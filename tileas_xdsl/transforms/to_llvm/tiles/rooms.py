"""
Where the tiles of conversions lie in shared memory, and when the room of one is free for another.

    %x = alloc_tensor                        room 0
    copy %held, %x; %y = convert_layout %x
    %z = alloc_tensor                        room 0 again: nobody reads %x any more

A conversion begins with a meeting of the threads, so what matters is the order of the ops alone. A tile goes on under
other names: out of an arm of a branch, and from one turn of a loop to the next. It is in use until the last op that
knows it by any name, and throughout a loop that hands it on, since the next turn begins with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tileas_xdsl.dialects.nv_tileas.compute import AsyncDotOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp, CopyOp
from tileas_xdsl.transforms.to_llvm.tiles.shared_memory import SharedMemory

LOOP_NUMBERS = 3
"""Operands of a loop in front of what it hands on: two bounds and a step."""


@dataclass(frozen=True)
class Travels:
    """Where a tile goes, under whatever name."""

    users: tuple[Operation, ...]
    """Ops that read or write it, and for a product that goes on by itself the waits for it."""
    carried: tuple[tuple[scf.ForOp, int], ...]
    """Loops that hand it on to their next turn, each with the number of the value that it is there."""


def travels(value: SSAValue) -> Travels:
    """Follow a tile through branches and loops. Linear in its uses."""
    seen: set[SSAValue] = set()
    users: dict[Operation, None] = {}
    carried: dict[tuple[scf.ForOp, int], None] = {}
    names = [value]
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        for use in name.uses:
            op, parent = use.operation, use.operation.parent_op()
            if isinstance(op, scf.YieldOp) and isinstance(parent, scf.IfOp):
                names.append(parent.results[use.index])
            elif isinstance(op, scf.YieldOp) and isinstance(parent, scf.ForOp):
                carried[parent, use.index] = None
                names += _names_in(parent, use.index)
            elif isinstance(op, scf.ForOp):
                names += _names_in(op, use.index - LOOP_NUMBERS)
            else:
                users[op] = None
                names += [op.done] if isinstance(op, AsyncDotOp) else []
    return Travels(tuple(users), tuple(carried))


def _names_in(loop: scf.ForOp, number: int) -> list[SSAValue]:
    return [loop.results[number], loop.body.block.args[number + 1]]


def comes_before(op: Operation, other: Operation) -> bool:
    """Whether `op`, or what it stands in, is over when `other` begins, in each turn of the loops around both."""
    later: Operation | None = other
    while later is not None:
        block = later.parent_block()
        own = None if block is None else block.find_ancestor_op_in_block(op)
        if own is not None:
            return own is not later and own.is_before_in_block(later)
        later = later.parent_op()
    return False


# Rooms ----------------------------------------------------------------------------------------------------------------


@dataclass
class Room:
    """A part of shared memory, and the tiles that lie there in turn."""

    start: int
    size: int
    tiles: list[AllocTensorOp] = field(default_factory=list[AllocTensorOp])

    def is_free_for(self, op: AllocTensorOp) -> bool:
        """Whether its last tile is over when `op` begins, and `op` is over when a loop comes back to an earlier one."""
        last = travels(self.tiles[-1].tensor)
        over = (*last.users, *(loop for loop, _ in last.carried))
        handed_on = [loop for loop, _ in travels(op.tensor).carried]
        comes_back = any(loop.is_ancestor(tile) for loop in handed_on for tile in self.tiles)
        return not comes_back and all(comes_before(user, op) for user in over)


def room_for(op: AllocTensorOp, size: int, rooms: list[Room], memory: SharedMemory) -> int:
    """The offset of a tile of so many bytes: that of a room which is free, or of a new one."""
    room = next((room for room in rooms if room.size == size and room.is_free_for(op)), None)
    if room is None:
        room = Room(memory.place(size, "a conversion of layouts"), size)
        rooms.append(room)
    room.tiles.append(op)
    return room.start


def is_overwritten(op: AllocTensorOp) -> bool:
    """
    Whether a loop that holds `op` still reads the tile of one turn when the next turn stores its own: they lie in the
    same place.
    """
    stores = [use.operation for use in op.tensor.uses if isinstance(use.operation, CopyOp)]
    for loop, number in travels(op.tensor).carried:
        if not loop.is_ancestor(op):
            continue
        next_turn = travels(loop.body.block.args[number + 1])
        if any(other is loop for other, _ in next_turn.carried):
            return True
        readers = [user for user in next_turn.users if loop.is_ancestor(user)]
        if not all(comes_before(reader, store) for reader in readers for store in stores):
            return True
    return False
