// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix=GENERIC

// A layout conversion before and after MaterializeConvertLayout. The quoted spelling of layouts is
// read, the plain one printed.
#smem = #nv_tileas.layout<"smem", "">
#sw = #nv_tileas.layout<"smem", "swizzled">
#bv = #nv_tileas.layout<"smem", "byte_view">
#wa = #nv_tileas.layout<"rmem", "wgmma_a">

func.func @layouts(%ta: !nv_tileas.token, %b: tensor<64x128xf16, #wa>, %acc: tensor<128x128xf32>) {
  %a_smem = "nv_tileas.async.pipeline.consume_one"(%ta) ({}) : (!nv_tileas.token) -> tensor<128x64xf16, #smem>
  %a_frag = "nv_tileas.convert_layout"(%a_smem) : (tensor<128x64xf16, #smem>) -> tensor<128x64xf16, #wa>
  %c = "nv_tileas.dot"(%a_frag, %b, %acc) : (tensor<128x64xf16, #wa>, tensor<64x128xf16, #wa>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %tmp = "nv_tileas.alloc_tensor"() : () -> tensor<128x64xf16, #sw>
  %v = "nv_tileas.view"(%a_smem) : (tensor<128x64xf16, #smem>) -> tensor<128x64xf16, #bv>
  "nv_tileas.copy"(%v, %tmp) <{atom_descriptor = #cute<atom "TiledCopy<...>">}> : (tensor<128x64xf16, #bv>, tensor<128x64xf16, #sw>) -> ()
  %f2 = "nv_tileas.convert_layout"(%tmp) <{atom_plan = #nv_tileas.atom_plan<tag = 1, smem = #sw, atom_layout = #wa, atom_descriptor = #cute<atom "TiledCopy<...>">>}> : (tensor<128x64xf16, #sw>) -> tensor<128x64xf16, #wa>
  func.return
}

// CHECK-LABEL:  func.func @layouts(%ta: !nv_tileas.token, %b: tensor<64x128xf16, #nv_tileas.layout<rmem, "wgmma_a">>, %acc: tensor<128x128xf32>) {
// CHECK-NEXT:     %a_smem = nv_tileas.async.pipeline.consume_one %ta : (!nv_tileas.token) -> tensor<128x64xf16, #nv_tileas.layout<smem>>
// CHECK-NEXT:     %a_frag = nv_tileas.convert_layout %a_smem : (tensor<128x64xf16, #nv_tileas.layout<smem>>) -> tensor<128x64xf16, #nv_tileas.layout<rmem, "wgmma_a">>
// CHECK-NEXT:     %c = nv_tileas.dot %a_frag, %b, %acc : (tensor<128x64xf16, #nv_tileas.layout<rmem, "wgmma_a">>, tensor<64x128xf16, #nv_tileas.layout<rmem, "wgmma_a">>, tensor<128x128xf32>) -> tensor<128x128xf32>
// CHECK-NEXT:     %tmp = nv_tileas.alloc_tensor : () -> tensor<128x64xf16, #nv_tileas.layout<smem, "swizzled">>
// CHECK-NEXT:     %v = nv_tileas.view %a_smem : (tensor<128x64xf16, #nv_tileas.layout<smem>>) -> tensor<128x64xf16, #nv_tileas.layout<smem, "byte_view">>
// CHECK-NEXT:     nv_tileas.copy %v, %tmp attributes {atom_descriptor = #cute<atom "TiledCopy<...>">} : (tensor<128x64xf16, #nv_tileas.layout<smem, "byte_view">>, tensor<128x64xf16, #nv_tileas.layout<smem, "swizzled">>) -> ()
// CHECK-NEXT:     %f2 = nv_tileas.convert_layout %tmp attributes {atom_plan = #nv_tileas.atom_plan<tag = 1, smem = #nv_tileas.layout<smem, "swizzled">, atom_layout = #nv_tileas.layout<rmem, "wgmma_a">, atom_descriptor = #cute<atom "TiledCopy<...>">>} : (tensor<128x64xf16, #nv_tileas.layout<smem, "swizzled">>) -> tensor<128x64xf16, #nv_tileas.layout<rmem, "wgmma_a">>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }

// GENERIC:      "nv_tileas.copy"(%v, %tmp) <{atom_descriptor = #cute<atom "TiledCopy<...>">}> : (tensor<128x64xf16, #nv_tileas.layout<smem, "byte_view">>, tensor<128x64xf16, #nv_tileas.layout<smem, "swizzled">>) -> ()
// GENERIC-NEXT: %f2 = "nv_tileas.convert_layout"(%tmp) <{atom_plan = #nv_tileas.atom_plan<tag = 1, smem = #nv_tileas.layout<smem, "swizzled">, atom_layout = #nv_tileas.layout<rmem, "wgmma_a">, atom_descriptor = #cute<atom "TiledCopy<...>">>}> : (tensor<128x64xf16, #nv_tileas.layout<smem, "swizzled">>) -> tensor<128x64xf16, #nv_tileas.layout<rmem, "wgmma_a">>
