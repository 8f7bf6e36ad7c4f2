// RUN: xdsl-opt %s -p tileas-materialize-convert-layout | filecheck %s

#rows = #nv_tileas.layout<rmem, blocked<[1, 8], [4, 8], [4, 1], order = [1, 0]>>
#wider = #nv_tileas.layout<rmem, blocked<[1, 8], [8, 4], [2, 2], order = [1, 0]>>
#acc = #nv_tileas.layout<rmem, mma<m64n64k16, operand = acc, warps = 4>>
#a = #nv_tileas.layout<rmem, mma<m64n64k16, operand = a, warps = 4>>

// Elements go to another warp: through shared memory.
func.func @staged(%x: tensor<64x64xf16, #rows>) -> tensor<64x64xf16, #wider> {
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf16, #rows>) -> tensor<64x64xf16, #wider>
  func.return %y : tensor<64x64xf16, #wider>
}
// CHECK-LABEL: func.func @staged
// CHECK-NEXT:    %0 = nv_tileas.alloc_tensor : () -> tensor<64x64xf16, #nv_tileas.layout<smem, linear<offset = {{.*}}>>>
// CHECK-NEXT:    %1 = nv_tileas.view %x
// CHECK-NEXT:    nv_tileas.copy %1, %0 attributes {atom_descriptor = #cute<atom "st.shared 16 bytes">}
// CHECK-NEXT:    %y = nv_tileas.convert_layout %0 attributes {atom_plan = #nv_tileas.atom_plan<tag = 1, smem = #nv_tileas.layout<smem, {{.*}}>, atom_layout = #nv_tileas.layout<rmem, blocked<[1, 8], [8, 4], [2, 2], order = [1, 0]>>, atom_descriptor = #cute<atom "ld.shared 16 bytes">>}
// CHECK-NEXT:    func.return %y

// Each thread has what it needs: registers are renamed.
func.func @renamed(%x: tensor<64x64xf16, #acc>) -> tensor<64x64xf16, #a> {
  %y = nv_tileas.convert_layout %x : (tensor<64x64xf16, #acc>) -> tensor<64x64xf16, #a>
  func.return %y : tensor<64x64xf16, #a>
}
// CHECK-LABEL: func.func @renamed
// CHECK-NEXT:    %y = nv_tileas.convert_layout %x attributes {atom_plan = #nv_tileas.atom_plan<tag = 0, atom_layout = #nv_tileas.layout<rmem, mma<m64n64k16, operand = a, warps = 4>>, atom_descriptor = #cute<atom "mov">>}
// CHECK-NEXT:    func.return %y
