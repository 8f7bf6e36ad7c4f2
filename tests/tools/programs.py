"""Small asynchronous programs for `tileas run` and `tileas check`: one a model, right and wrong."""

from __future__ import annotations

QUEUE = """
func.func @queue(%n: index, %src: memref<8xf32>, %dst: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %x = memref.load %src[%i] : memref<8xf32>
        memref.store %x, %tile[%c0] : memref<1xf32, 3>
      }
    }
    async_queue.wait 0, IN_FLIGHT
    %y = memref.load %tile[%c0] : memref<1xf32, 3>
    memref.store %y, %dst[%i] : memref<8xf32>
  }
  async_queue.wait 0, 0
  func.return
}
"""

TASKS = """
func.func @tasks(%a: memref<1xi32>, %b: memref<1xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %token = async.execute {
    memref.store %one, %a[%c0] : memref<1xi32>
    async.yield
  }
  AWAIT
  %x = memref.load %a[%c0] : memref<1xi32>
  memref.store %x, %b[%c0] : memref<1xi32>
  async.await %token : !async.token
  func.return %x : i32
}
"""

MARKS = """
llvm.func @marks(%src: !llvm.ptr<1>, %lds: !llvm.ptr<3>) {
  rocdl.load.async.to.lds %src, %lds, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  rocdl.wait.asyncmark OUTSTANDING
  %x = llvm.load %lds : !llvm.ptr<3> -> i32
  llvm.store %x, %src : i32, !llvm.ptr<1>
  rocdl.wait.asyncmark 0
  llvm.return
}
"""

BARRIER = """
func.func @barrier(%src: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %bar: !llvm.ptr<3>) {
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 64 : i32
  %zero = arith.constant 0 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
  FENCE
  nvvm.mbarrier.arrive.expect_tx %bar, %EXPECTED : !llvm.ptr<3>, i32
  nvvm.cp.async.bulk.shared.cluster.global %tile, %src, %bar, %bytes : !llvm.ptr<3>, <1>
  nvvm.mbarrier.try_wait.parity %bar, %zero, %ticks : !llvm.ptr<3>, i32, i32
  %x = llvm.load %tile : !llvm.ptr<3> -> i32
  llvm.store %x, %tile : i32, !llvm.ptr<3>
  func.return
}
"""

CALL = """
func.func private @elsewhere(memref<8xf32>)
func.func @caller(%src: memref<8xf32>, %dst: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  async_queue.commit 0 {
    async_queue.scope {
      %x = memref.load %src[%c0] : memref<8xf32>
      memref.store %x, %dst[%c0] : memref<8xf32>
    }
  }
  func.call @elsewhere(%dst) : (memref<8xf32>) -> ()
  async_queue.wait 0, 0
  func.return
}
"""


def queue(in_flight: int) -> str:
    """A copy through a one-element tile; safe only where nothing may be in flight."""
    return QUEUE.replace("IN_FLIGHT", str(in_flight))


def tasks(*, awaited: bool) -> str:
    """A task writes, the function reads; safe only where it awaits the task first."""
    return TASKS.replace("AWAIT", "async.await %token : !async.token" if awaited else "")


def marks(outstanding: int) -> str:
    """A transfer, a mark and a wait; safe only where no mark may be outstanding."""
    return MARKS.replace("OUTSTANDING", str(outstanding))


def barrier(*, fenced: bool = True, expected: str = "bytes") -> str:
    """One bulk copy behind an mbarrier; wrong without the fence of its initialisation, or expecting other bytes."""
    return BARRIER.replace("FENCE", "nvvm.fence.mbarrier.init" if fenced else "").replace("EXPECTED", expected)
