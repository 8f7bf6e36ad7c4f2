// Each thread stores a row that another one has written
//
// kind: race
// level: nvvm bulk groups
// between: llvm.store, nvvm.cp.async.bulk.global.shared.cta
// mirrors: NVIDIA (PTX ISA, cp.async.bulk)
// happened: A bulk copy is started by one thread, and each thread of a block can start one for its row. It reads what
//   the other threads have written only if a barrier stands between, beside the fence between the proxies.
// wrong: The fence is there and the barrier is not: a row is read while another warp writes it.
// says: nvvm.cp.async.bulk.global.shared.cta
// fix: Let the threads meet behind the fence.

func.func @rows(%dst: !llvm.ptr<1>, %stage: !llvm.ptr<3>) attributes {nvvm.reqntid = array<i32: 64>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %threads = arith.constant 64 : i32
  %bytes = arith.constant 16 : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %next = arith.addi %tid, %c1 : i32
  %turned = arith.remsi %next, %threads : i32
  %other = llvm.getelementptr %stage[%turned] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x i32>
  %row = llvm.getelementptr %stage[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x i32>
  %out = llvm.getelementptr %dst[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x i32>
  llvm.store %tid, %other : i32, !llvm.ptr<3>
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.cp.async.bulk.global.shared.cta %out, %row, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0
  func.return
}
