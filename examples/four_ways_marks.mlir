// One program, four ways of saying "not yet" (docs/four-ways.md). This is the way of marks.
//
// `@double` doubles `%n` numbers. They come in through a ring of three slots in LDS, two numbers ahead of the arithmetic. A mark
// closes what was issued before it; a wait for two marks lets what the two youngest close be unfinished. A wait is for one wave,
// so the workgroup meets behind it, and before a slot is filled again.

"memref.global"() <{sym_name = "ring", type = memref<3xf32, 3>, initial_value, sym_visibility = "private", alignment = 16 : i64}> : () -> ()
func.func @double(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %0 = "memref.extract_aligned_pointer_as_index"(%src) : (memref<66xf32>) -> index
  %1 = arith.index_cast %0 : index to i64
  %global = llvm.inttoptr %1 : i64 to !llvm.ptr<1>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %two = arith.constant 2.000000e+00 : f32
  %ring = memref.get_global @ring : memref<3xf32, 3>
  %2 = "memref.extract_aligned_pointer_as_index"(%ring) : (memref<3xf32, 3>) -> index
  %3 = arith.index_cast %2 : index to i64
  %lds = llvm.inttoptr %3 : i64 to !llvm.ptr<3>
  rocdl.global.load.async.lds %global, %lds, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  %4 = llvm.getelementptr %global[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
  %5 = llvm.getelementptr %lds[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
  rocdl.global.load.async.lds %4, %5, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
  rocdl.asyncmark
  scf.for %i = %c0 to %n step %c1 {
    %ahead = arith.addi %i, %c2 : index
    %fill = arith.remui %ahead, %c3 : index
    %use = arith.remui %i, %c3 : index
    rocdl.s.barrier
    %6 = arith.index_cast %ahead : index to i64
    %7 = llvm.getelementptr %global[%6] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %8 = arith.index_cast %fill : index to i64
    %9 = llvm.getelementptr %lds[%8] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    rocdl.global.load.async.lds %7, %9, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
    rocdl.asyncmark
    rocdl.wait.asyncmark 2
    rocdl.s.barrier
    %x = memref.load %ring[%use] : memref<3xf32, 3>
    %y = arith.mulf %x, %two : f32
    memref.store %y, %out[%i] : memref<64xf32>
  }
  rocdl.wait.asyncmark 0
  rocdl.s.barrier
  func.return
}
