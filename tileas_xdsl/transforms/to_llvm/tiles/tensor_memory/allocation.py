"""The columns of a function: allocated by its first warp, and given back when all have come to the end."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, func, llvm, scf
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation, SSAValue

from tileas_xdsl.analysis.threads.columns import ColumnsOf, allocated
from tileas_xdsl.analysis.threads.liveness import agent_of
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.layout import layout_of
from tileas_xdsl.dialects.nv_tileas.memory import AsyncTiledLoadOp
from tileas_xdsl.dialects.nv_tileas.tma import TiledTmaStoreOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.dialects.nvvm.barrier import Barrier0Op
from tileas_xdsl.dialects.nvvm.fence import FenceMbarrierInitOp
from tileas_xdsl.dialects.nvvm.mbarrier import MBarrierInitOp
from tileas_xdsl.dialects.nvvm.tcgen05 import Tcgen05AllocOp, Tcgen05DeallocOp, Tcgen05RelinquishAllocPermitOp
from tileas_xdsl.dialects.upstream import pointer_type
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads
from tileas_xdsl.transforms.to_llvm.warps import Warps, warps_of_agents

SPACE = 6
"""Of pointers into tensor memory."""
ADDRESS_BYTES, BARRIER_BYTES = 4, 8


def lies_in_tensor_memory(type_: Attribute) -> bool:
    """Whether a tile of this type does."""
    layout = layout_of(type_)
    return layout is not None and layout.space.data == "tmem"


@dataclass
class TensorMemory:
    """The tensor memory of a function under way."""

    count: int
    """How many columns are allocated."""
    columns: ColumnsOf
    barriers: dict[AsyncWaitOp, int]
    """Where in shared memory the barrier of each wait for a product lies."""
    address: SSAValue
    """Of the first column, an i32."""


def begin(function: func.FuncOp, threads: Threads) -> TensorMemory | None:
    """Allocate the columns of a function, and make the barriers of its waits for products; None where it has none."""
    count = allocated(function)
    if not count:
        return None
    place = threads.memory.place(ADDRESS_BYTES, "the address of tensor memory")
    barriers = {
        wait: threads.memory.place(BARRIER_BYTES, "the barrier of a product", BARRIER_BYTES)
        for wait in _waits_for_products(function)
    }
    slot = threads.at_shared(place)

    def allocate() -> None:
        threads.insert(Tcgen05AllocOp(slot, threads.number(count)))
        threads.insert(Tcgen05RelinquishAllocPermitOp())

    def make_barriers() -> None:
        for wait, start in barriers.items():
            arrivals = 1 + (_team_of(wait, threads).threads if is_repeated(wait) else 0)
            threads.insert(MBarrierInitOp(threads.at_shared(start), threads.number(arrivals)))
        threads.insert(FenceMbarrierInitOp())

    threads.when(threads.compare(threads.warp, "eq", 0), allocate)
    if barriers:
        threads.when(threads.compare(threads.thread, "eq", 0), make_barriers)
    threads.insert(Barrier0Op())
    address = threads.result(llvm.LoadOp(slot, i32))
    address.name_hint = "columns"
    return TensorMemory(count, ColumnsOf(function), barriers, address)


def end(threads: Threads, memory: TensorMemory) -> None:
    """Give the columns back, when all have come to the end."""
    threads.insert(Barrier0Op())

    def give_back() -> None:
        threads.insert(Tcgen05DeallocOp(pointer_to(threads, memory, 0), threads.number(memory.count)))

    threads.when(threads.compare(threads.warp, "eq", 0), give_back)


def _team_of(op: Operation, threads: Threads) -> Warps:
    """The warps that run an op of the function."""
    agent = agent_of(op)
    if agent is None:
        return threads.team.warps
    switch = agent.parent
    assert isinstance(switch, AgentSwitchOp)
    return warps_of_agents(switch)[list(switch.bodies).index(agent)]


def _waits_for_products(function: func.FuncOp) -> list[AsyncWaitOp]:
    """The waits of a function for products, not for loads or for stores by TMA."""
    waits = [op for op in function.body.walk() if isinstance(op, AsyncWaitOp)]
    return [op for op in waits if not isinstance(op.token.owner, AsyncTiledLoadOp | TiledTmaStoreOp)]


def is_repeated(op: Operation) -> bool:
    """Whether an op stands in a loop."""
    around = op.parent_op()
    while around is not None and not isinstance(around, scf.ForOp | scf.WhileOp):
        around = around.parent_op()
    return around is not None


def pointer_to(threads: Threads, memory: TensorMemory, column: int, own: SSAValue | None = None) -> SSAValue:
    """The pointer to a column, of lane 0 or of the lanes that are `own` to the warp."""
    address = memory.address if own is None else own
    number = threads.compute(arith.AddiOp, address, column) if column else address
    return threads.result(llvm.IntToPtrOp.create(operands=[number], result_types=[pointer_type(SPACE)]))


def memory_of(threads: Threads) -> TensorMemory:
    """The tensor memory of the function under way, which has some."""
    assert isinstance(threads.tensor, TensorMemory)
    return threads.tensor
