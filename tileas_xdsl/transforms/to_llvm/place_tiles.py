"""
Give every tile of shared memory that is no slot of a ring its bytes.

    %a = tiled_load %x[%i, %j] -> smem         %a = alloc_tensor {nv_tileas.place = {number = 0, offset = 0, ..}}
                                        ->     %done = async.tiled_load %x[%i, %j], %a
                                               async.wait %done

    scf.for iter_args(%now = %first) {         %pool = alloc_tensor {stages = 2, nv_tileas.place = {.., slots = 2}}
      %next = tiled_load .. -> smem            scf.for iter_args(%slot = %c0) {
      convert_layout %now               ->       %other = arith.select (%slot == 0), 1, 0
      scf.yield %next                            async.tiled_load .., (view %pool[%other]); async.wait
    }                                            convert_layout (view %pool[%slot])
                                                 scf.yield %other

Which names belong together, for how long their tiles are read, and what may share bytes: `analysis/threads/places.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.analysis.pipeline_root import PipelineRoots
from tileas_xdsl.analysis.target import model_of_target
from tileas_xdsl.analysis.threads.drained import Drained
from tileas_xdsl.analysis.threads.filling import filled_with
from tileas_xdsl.analysis.threads.liveness import Liveness
from tileas_xdsl.analysis.threads.places import (
    PLACE,
    Apart,
    Place,
    Turns,
    Web,
    beginning,
    packed_with_rings,
    place_of,
    turns_of,
    webs_of,
)
from tileas_xdsl.analysis.threads.products import QUEUE, Underway, product_ages, tokens_in_scope
from tileas_xdsl.analysis.threads.registers import blocks_of
from tileas_xdsl.analysis.threads.tiles import tile_of
from tileas_xdsl.diagnostics import op_name, refuse
from tileas_xdsl.dialects.nv_tileas.classified import ProduceOp
from tileas_xdsl.dialects.nv_tileas.structure import AllocTensorOp
from tileas_xdsl.dialects.nv_tileas.tokens import AsyncWaitOp
from tileas_xdsl.targets.chips import DEFAULT_NAME
from tileas_xdsl.transforms.to_llvm.placing.explicit import make_loads_explicit, stage_operands
from tileas_xdsl.transforms.to_llvm.placing.slots_in_turn import drop_unread, take_turns


@dataclass(frozen=True)
class PlaceTilesPass(ModulePass):
    """
    Give tiles in shared memory their places.

    Rewrites:

    - A synchronous load into shared memory becomes an allocation, a load that goes on by itself, and the wait for it.
    - What is put into tiles that no op reads is dropped.
    - An operand of wgmma in registers that cannot stay there is copied into shared memory in front of the product.
    - An allocation says by `nv_tileas.place` which bytes are its own: the number of the place, its offset in the shared
      memory of the kernel, the bytes of a slot, and how many slots it has. Places begin at multiples of the period of
      the swizzle of their tiles.
    - Where a loop hands tiles on, so that several are read at a time, they take turns in the slots of one allocation.
      Loops and branches then hand on the number of the slot. A tile takes a slot that no live one has.
    - A product of wgmma that may still be reading what a tile takes the place of is waited for in front of it. The wait
      behind a loop, which stands in a branch that is taken if the loop has turns, comes in front of the branch.

    A function that has places already stays as it is.

    Requires: every tile has a layout to the bit. Slots of rings are those of their pipelines, which still are ops
    (`convert-pipeline-to-nvvm` comes later).
    Refuses: a loop that hands on several tiles at a time, some of which lie in slots of a ring; a place that a product
    is still reading, of which no token is at hand to wait for.

    Choices: tiles of the same size share bytes where one is over when the other begins; tiles of other sizes only where
    the shared memory would not do that there is for a block. Where that is too much still, tiles lie in the slots of
    the rings, if all of these are empty for good by then. A place that is shared costs a barrier.
    """

    name = "tileas-place-tiles"

    compute_capability: str = field(default=DEFAULT_NAME, metadata={"help": "the target, where the IR names none"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [each for each in op.ops if isinstance(each, func.FuncOp) and _has_tiles(each)]
        functions = [each for each in functions if not any(map(place_of, each.walk()))]
        placed = [self._placed(function) for function in functions]
        for function, made in zip(functions, placed, strict=True):
            Rewriter.replace_op(function, made)

    def _placed(self, function: func.FuncOp) -> func.FuncOp:
        """The function with places. Raises `RefusedError`; the function itself stays as it is."""
        limit = self._bytes_of_block(function) - _bytes_of_rings(function)
        made = function.clone()
        make_loads_explicit(made)
        stage_operands(made)
        drop_unread(made)
        wait_for_products_on_all_paths(made)
        webs = webs_of(made)
        liveness = Liveness(name for web in webs for name in web.names)
        underway = Underway(made)
        turns = [turns_of(web, liveness) for web in webs]
        for web, own in zip(webs, turns, strict=True):
            _refuse_slots_of_rings(web, own)
        waits = [wait for web in webs for wait in _waits(web, underway)]
        sizes = [
            Place.of(number, web.tile, own.slots) for number, (web, own) in enumerate(zip(webs, turns, strict=True))
        ]
        places = packed_with_rings(sizes, Apart(webs, liveness, underway), limit, _over_rings(made, webs, turns))
        for point, token in waits:
            Rewriter.insert_op(AsyncWaitOp(token), InsertPoint.before(point))
        for web, own, place in zip(webs, turns, places, strict=True):
            _give_place(made, web, own, place)
        return made

    def _bytes_of_block(self, function: func.FuncOp) -> int:
        """What a block may take of the shared memory of a multiprocessor."""
        return model_of_target(function, self.compute_capability).shared_among(blocks_of(function)).shared_bytes


def _over_rings(function: func.FuncOp, webs: Sequence[Web], turns: Sequence[Turns]) -> list[int]:
    """The numbers of the webs that may lie in the slots of the rings, since these are empty by then."""
    drained = Drained(function)
    alone = (number for number, own in enumerate(turns) if own.slots == 1)
    return [number for number in alone if all(drained.at(beginning(maker)) for maker in webs[number].makers)]


def _has_tiles(function: func.FuncOp) -> bool:
    return any(op_name(inner).startswith("nv_tile") for inner in function.walk())


def _bytes_of_rings(function: func.FuncOp) -> int:
    """What the slots of the pipelines take: each the tiles that some op fills it with."""
    slots: dict[Hashable, int] = {}
    roots = PipelineRoots()
    for op in function.body.walk():
        if isinstance(op, ProduceOp) and (ring := roots.of_op(op)) is not None:
            tiles = [tile_of(value.type) for value in filled_with(op)]
            slots[ring.key] = (ring.depth or 1) * sum(tile.bytes for tile in tiles if tile is not None)
    return sum(slots.values())


def _give_place(function: func.FuncOp, web: Web, turns: Turns, place: Place) -> None:
    if place.slots > 1:
        take_turns(function, web, turns, place)
        return
    for maker in web.makers:
        maker.attributes[PLACE] = place.attribute


# Products under way ---------------------------------------------------------------------------------------------------


def wait_for_products_on_all_paths(function: func.FuncOp) -> None:
    """
    Wait for the products of a loop in a loop also where it had no turn, and so no product: the next turn of the outer
    one then finds none that goes on.
    """
    ages = product_ages(function)
    for op in list(function.walk()):
        branch = op.parent_op()
        if (
            isinstance(op, AsyncWaitOp)
            and isinstance(branch, scf.IfOp)
            and branch.true_region.block.first_op is op
            and not branch.false_region.blocks
            and isinstance(branch.parent_op(), scf.ForOp | scf.WhileOp)
            and (age := ages.age(op.token, op)) is not None
            and age.queue == QUEUE
        ):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(branch))


def _waits(web: Web, underway: Underway) -> Iterator[tuple[Operation, SSAValue]]:
    """Where a tile begins that a product may still be reading another one of the web, and the token to wait for."""
    readers = set(web.products)
    for maker in web.makers:
        point = beginning(maker)
        products = readers & underway.at(point)
        if not products:
            continue
        token = underway.last_wait(products, point, tokens_in_scope(point))
        if token is None:
            words = "takes the place of a tile that a product may still be reading, and no token of it is at hand"
            refuse(maker, words, "wait for the product in the iteration that starts it")
        yield point, token


# Refusals -------------------------------------------------------------------------------------------------------------


def _refuse_slots_of_rings(web: Web, turns: Turns) -> None:
    foreign = web.foreign
    if turns.slots > 1 and foreign is not None:
        maker: AllocTensorOp = web.makers[0]
        words = f"makes a tile that loops hand on beside '%{foreign.name_hint}', which lies in a slot of a ring"
        refuse(maker, words, "bring the tile of the ring into registers, by nv_tileas.convert_layout")
