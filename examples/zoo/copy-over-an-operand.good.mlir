// The good twin of copy-over-an-operand.bad.mlir: the product is waited for before its operand is overwritten.

llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 4 : i64} : i32
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<32768 x i8>
llvm.mlir.global internal @done() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>

llvm.func @product() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %columns = llvm.mlir.constant(128 : i32) : i32
  %ticks = llvm.mlir.constant(1000 : i32) : i32
  %none = llvm.mlir.constant(0 : i8) : i8
  %swizzle = llvm.mlir.constant(2 : i8) : i8
  %adds = llvm.mlir.constant(true) : i1
  %relative = llvm.mlir.constant(false) : i1
  // 128 x 32 elements of D.
  %shape = llvm.mlir.constant(134742032 : i32) : i32
  %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %done = llvm.mlir.addressof @done : !llvm.ptr<3>
  %copied = llvm.getelementptr %done[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
  nvvm.tcgen05.alloc %slot, %columns : !llvm.ptr<3>, i32
  nvvm.tcgen05.relinquish_alloc_permit
  %address = llvm.load %slot : !llvm.ptr<3> -> i32
  %sum = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  %further = llvm.add %address, %c64 : i32
  %a = llvm.inttoptr %further : i32 to !llvm.ptr<6>
  %where = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
  %start = llvm.lshr %where, %c4 : i32
  %b = nvvm.tcgen05.mma_smem_desc(%start, %c1, %c64, %none, %relative, %swizzle) : (i32, i32, i32, i8, i1, i8) -> i64
  %zeros = arith.constant dense<0> : vector<8xi32>
  nvvm.tcgen05.st %a, %zeros {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<8xi32>
  nvvm.tcgen05.wait <store>
  %elected = nvvm.elect.sync -> i1
  scf.if %elected {
    nvvm.mbarrier.init %done, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %copied, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.tcgen05.mma %sum, %a, %b, %shape, %adds {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
    nvvm.tcgen05.commit %done : !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %done, %c0, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.cp %a, %b {shape = #nvvm.tcgen05_cp_shape<shape_128x256b>}
    nvvm.tcgen05.mma %sum, %a, %b, %shape, %adds {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
    nvvm.tcgen05.commit %copied : !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %copied, %c0, %ticks : !llvm.ptr<3>, i32, i32
  }
  nvvm.tcgen05.dealloc %sum, %columns : !llvm.ptr<6>, i32
  llvm.return
}
