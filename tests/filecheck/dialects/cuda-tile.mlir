// RUN: xdsl-opt --split-input-file %s | filecheck %s
// RUN: xdsl-opt --split-input-file %s | xdsl-opt --split-input-file | filecheck %s

// A loop that carries a tile, views with padding, tokens; names have no prefix inside, and `%1:3` are three results.
// CHECK:      cuda_tile.module @sums {
// CHECK-NEXT:   entry @row_sums(%X: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<default = {occupancy = 2}> {
cuda_tile.module @sums {
  entry @row_sums(%X: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<default = {occupancy = 2}> {
    %start = make_token : token
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<64xf32>
    // CHECK: %id:3 = get_tile_block_id : tile<i32>
    %id:3 = get_tile_block_id : tile<i32>
    // CHECK: %array = make_tensor_view %X, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %array = make_tensor_view %X, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %view = make_partition_view %array : partition_view<tile=(64), padding_value = zero, tensor_view<?xf32, strides=[1]>>
    // CHECK: %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%before = %none) -> (tile<64xf32>) {
    %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%before = %none) -> (tile<64xf32>) {
      %x:2 = load_view_tko weak %view[%i] token = %start : partition_view<tile=(64), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
      // CHECK: addf %before, %x#0 flush_to_zero : tile<64xf32>
      %after = addf %before, %x#0 flush_to_zero : tile<64xf32>
      continue %after : tile<64xf32>
    }
    // CHECK:      reduce %sum dim=0 identities=[0.000000e+00 : f32] : tile<64xf32> -> tile<f32>
    // CHECK-NEXT: (%a: tile<f32>, %b: tile<f32>) {
    %total = reduce %sum dim=0 identities=[0.0 : f32] : tile<64xf32> -> tile<f32> (%a: tile<f32>, %b: tile<f32>) {
      %c = addf %a, %b : tile<f32>
      yield %c : tile<f32>
    }
    // CHECK: assert
    %fine = cmpf equal ordered %total, %total : tile<f32> -> tile<i1>
    assert %fine, "a number" : tile<i1>
    return
  }
}

// -----

// A loop that ends by itself, and a kernel that returns early.
// CHECK: cuda_tile.module @control {
cuda_tile.module @control {
  entry @k(%limit: tile<i32>, %go: tile<i1>) {
    // CHECK:      if %go {
    // CHECK-NEXT:   return
    // CHECK-NEXT: }
    if %go {
      return
    }
    %one = constant <i32: 1> : tile<i32>
    // CHECK: loop iter_values(%n = %one) : tile<i32> -> tile<i32> {
    %last = loop iter_values(%n = %one) : tile<i32> -> tile<i32> {
      %more = cmpi less_than %n, %limit, signed : tile<i32> -> tile<i1>
      // CHECK:      if %more {
      // CHECK-NEXT: } else {
      // CHECK-NEXT:   break %n : tile<i32>
      if %more {
      } else {
        break %n : tile<i32>
      }
      %next = addi %n, %one overflow<no_wrap> : tile<i32>
      continue %next : tile<i32>
    }
    return
  }
}
