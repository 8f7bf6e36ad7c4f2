// sm_90a: tiles of 64x64 f16 from one tensor to another by TMA, through a ring of two stages; one warp brings the tiles, another takes them away
module attributes {llvm.target_triple = "nvptx64-nvidia-cuda"} {
  llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.mlir.global internal @empty() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.func internal @wait(%bar: !llvm.ptr<3>, %parity: i32) attributes {always_inline} {
    llvm.br ^spin
  ^spin:
    %done = nvvm.mbarrier.try_wait %bar, %parity : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %done, ^exit, ^spin
  ^exit:
    llvm.return
  }
  llvm.func @tma_copy(%from: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>, llvm.align = 64 : i64, nvvm.grid_constant},
                      %to: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>, llvm.align = 64 : i64, nvvm.grid_constant},
                      %tiles: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %bytes = llvm.mlir.constant(8192 : i32) : i32
    %ticks = llvm.mlir.constant(1000000 : i32) : i32
    %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
    %full = llvm.mlir.addressof @full : !llvm.ptr<3>
    %empty = llvm.mlir.addressof @empty : !llvm.ptr<3>
    %tid = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
    %warp = llvm.lshr %tid, %c5 : i32
    %first = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %first, ^init, ^start
  ^init:
    %full1 = llvm.getelementptr %full[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %empty1 = llvm.getelementptr %empty[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %full1, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty1, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^start
  ^start:
    nvvm.barrier0
    %brings = llvm.icmp "eq" %warp, %c0 : i32
    %one = nvvm.elect.sync -> i1
    llvm.cond_br %one, ^agents, ^done
  ^agents:
    llvm.cond_br %brings, ^load(%c0, %c0, %c1 : i32, i32, i32), ^store(%c0, %c0, %c0 : i32, i32, i32)
  ^load(%i: i32, %stage: i32, %parity: i32):
    %more = llvm.icmp "slt" %i, %tiles : i32
    llvm.cond_br %more, ^fill, ^done
  ^fill:
    %free = llvm.getelementptr %empty[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    llvm.call @wait(%free, %parity) : (!llvm.ptr<3>, i32) -> ()
    %ready = llvm.getelementptr %full[%stage] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %offset = llvm.mul %stage, %bytes : i32
    %slot = llvm.getelementptr %smem[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %wide = llvm.addrspacecast %slot : !llvm.ptr<3> to !llvm.ptr<7>
    %column = llvm.mul %i, %c64 : i32
    nvvm.mbarrier.arrive.expect_tx %ready, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %wide, %from, %ready, box[%column, %c0] : !llvm.ptr<7>, !llvm.ptr
    %i1 = llvm.add %i, %c1 : i32
    %next = llvm.xor %stage, %c1 : i32
    %wraps = llvm.xor %parity, %stage : i32
    llvm.br ^load(%i1, %next, %wraps : i32, i32, i32)
  ^store(%k: i32, %slot_number: i32, %phase: i32):
    %left = llvm.icmp "slt" %k, %tiles : i32
    llvm.cond_br %left, ^drain, ^end
  ^drain:
    %arrived = llvm.getelementptr %full[%slot_number] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.try_wait.parity %arrived, %phase, %ticks : !llvm.ptr<3>, i32, i32
    %place = llvm.mul %slot_number, %bytes : i32
    %tile = llvm.getelementptr %smem[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %where = llvm.mul %k, %c64 : i32
    nvvm.cp.async.bulk.tensor.global.shared.cta %to, %tile, box[%where, %c0] : !llvm.ptr, <3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
    %given_back = llvm.getelementptr %empty[%slot_number] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.arrive %given_back : !llvm.ptr<3>
    %k1 = llvm.add %k, %c1 : i32
    %other = llvm.xor %slot_number, %c1 : i32
    %turns = llvm.xor %phase, %slot_number : i32
    llvm.br ^store(%k1, %other, %turns : i32, i32, i32)
  ^end:
    nvvm.cp.async.bulk.wait_group 0
    llvm.br ^done
  ^done:
    llvm.return
  }
}
