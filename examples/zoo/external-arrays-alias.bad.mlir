// Two external shared arrays that are one
//
// kind: race
// level: nvvm bulk copies
// between: nvvm.cp.async.bulk.global.shared.cta, llvm.store
// mirrors: JuliaGPU/CUDA.jl#555
// happened: Kernels of CUDA.jl that asked for two dynamic shared arrays got one. Both began at its first byte, and stores
//   to the second overwrote the first.
// wrong: All external arrays of shared memory begin where the dynamic shared memory of the launch begins (CUDA C++
//   Programming Guide, __shared__). The copy engine still reads the tile when the flag is stored over it.
// says: nothing that orders the two
// fix: One array, and the flag behind the tile.

llvm.mlir.global external @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x f32>
llvm.mlir.global external @flag() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x f32>

func.func @write_back(%out: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 1>} {
  %bytes = arith.constant 128 : i32
  %one = arith.constant 1.0 : f32
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %flag = llvm.mlir.addressof @flag : !llvm.ptr<3>
  nvvm.cp.async.bulk.global.shared.cta %out, %tile, %bytes : <1>, <3>
  nvvm.cp.async.bulk.commit.group
  llvm.store %one, %flag : f32, !llvm.ptr<3>
  nvvm.cp.async.bulk.wait_group 0
  func.return
}
