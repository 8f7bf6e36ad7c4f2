// Bytes that are expected after the arrival that hands over
//
// kind: phase
// level: nvvm mbarriers
// between: nvvm.mbarrier.try_wait.parity, nvvm.cp.async.bulk.shared.cluster.global
// mirrors: NVIDIA (PTX ISA, mbarrier.expect_tx), NVIDIA/cccl#358
// happened: PTX has expect_tx apart from an arrival, and a phase is complete as soon as no arrival is pending and no
//   byte is outstanding. The library libcu++ gives CUDA C++ an arrival that expects bytes as well. Its review had
//   the documentation say that the two counts change in one step; with two operations they do not.
// wrong: The loader expects the bytes, and the reader arrives; nothing orders the two. Where the reader comes first,
//   the phase is complete before anybody expects a byte, and the reader takes the tile that is not there.
// says: passes on phase 0
// fix: The loader arrives itself, with the bytes.

func.func @load(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %full: !llvm.ptr<3>,
    %empty: !llvm.ptr<3>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 16 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    // The loader: waits until the tile has been read, and fills it again.
    scf.for %k = %c0 to %n step %c1 : i32 {
      %bit = arith.andi %k, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %line = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
      nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.expect_tx %full, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %tile, %line, %full, %bytes : !llvm.ptr<3>, <1>
    }
  }, {
    // The reader: adds up what has come.
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.arrive %full : !llvm.ptr<3>
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %tile : !llvm.ptr<3> -> f32
      %next = arith.addf %acc, %v : f32
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
      scf.yield %next : f32
    }
    llvm.store %sum, %out : f32, !llvm.ptr<1>
  } : () -> ()
  func.return
}
