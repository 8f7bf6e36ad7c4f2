"""
Tensor memory: its allocation, products that add to it, and copies between it and registers.

    at the beginning                        the first warp: tcgen05.alloc, relinquish_alloc_permit; barrier; the address
    %sum, %done = async.dot %a, %b, %c      one thread: tcgen05.mma for each step along K
    async.wait %done                        that thread: tcgen05.commit %bar; all: mbarrier.try_wait; tcgen05.fence
    %held = copy %sum : tmem -> rmem        each warp its lanes: tcgen05.ld, tcgen05.wait <load>
    copy %held : rmem -> tmem               each warp its lanes: tcgen05.st, tcgen05.wait <store>
    at the end                              barrier; the first warp: tcgen05.dealloc

A product that adds to a tile of zeros does not add: nothing is stored for these.

(PTX ISA, "TensorCore 5th Generation Family Instructions"; the order of accesses is what tileas-order-accesses has
inserted.)
"""

from __future__ import annotations

from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.allocation import begin, end, lies_in_tensor_memory
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.copies import no_copy, put, take
from tileas_xdsl.transforms.to_llvm.tiles.tensor_memory.products import await_products, multiply, no_product

__all__ = [
    "await_products",
    "begin",
    "end",
    "lies_in_tensor_memory",
    "multiply",
    "no_copy",
    "no_product",
    "put",
    "take",
]
