// Regions of `async_region`: two matrix products side by side, and their sum with a bias on a device.
//
// The first two regions need nothing from each other. The third waits for both; what it starts are transfers to the
// device, a launch that waits for all of them, and a transfer back. The region yields the token of that last transfer,
// so it is complete only when the transfer is. The result is a memref that may be used once a token of the region says so.

func.func @dots(%a: memref<8x4xf32>, %b: memref<4x8xf32>, %c: memref<4x8xf32>, %bias: memref<8xf32>)
    -> (memref<8x8xf32>, !async.token) {
  %zero = arith.constant 0.0 : f32
  %first, %left = async_region.region -> memref<8x8xf32> {
    %m = memref.alloc() : memref<8x8xf32>
    linalg.fill ins(%zero : f32) outs(%m : memref<8x8xf32>)
    linalg.matmul ins(%a, %b : memref<8x4xf32>, memref<4x8xf32>) outs(%m : memref<8x8xf32>)
    async_region.yield %m : memref<8x8xf32>
  }
  %second, %right = async_region.region -> memref<8x8xf32> {
    %m = memref.alloc() : memref<8x8xf32>
    linalg.fill ins(%zero : f32) outs(%m : memref<8x8xf32>)
    linalg.matmul ins(%a, %c : memref<8x4xf32>, memref<4x8xf32>) outs(%m : memref<8x8xf32>)
    async_region.yield %m : memref<8x8xf32>
  }
  %done, %sum = async_region.region [%first, %second] -> memref<8x8xf32> {
    %out, %there = async_region.alloc : memref<8x8xf32, 3>
    %x, %x_there = async_region.alloc : memref<8x8xf32, 3>
    %x_moved = async_region.copy [%x_there] %left to %x : memref<8x8xf32> to memref<8x8xf32, 3>
    %y, %y_there = async_region.alloc : memref<8x8xf32, 3>
    %y_moved = async_region.copy [%y_there] %right to %y : memref<8x8xf32> to memref<8x8xf32, 3>
    %z, %z_there = async_region.alloc : memref<8xf32, 3>
    %z_moved = async_region.copy [%z_there] %bias to %z : memref<8xf32> to memref<8xf32, 3>
    %added = async_region.launch [%there, %x_moved, %y_moved, %z_moved]
        (%x as %p: memref<8x8xf32, 3>, %y as %q: memref<8x8xf32, 3>, %z as %r: memref<8xf32, 3>,
         %out as %o: memref<8x8xf32, 3>) {
      linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                         affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%p, %q, %r : memref<8x8xf32, 3>, memref<8x8xf32, 3>, memref<8xf32, 3>) outs(%o : memref<8x8xf32, 3>) {
      ^bb0(%u: f32, %v: f32, %w: f32, %old: f32):
        %uv = arith.addf %u, %v : f32
        %uvw = arith.addf %uv, %w : f32
        linalg.yield %uvw : f32
      }
      async_region.yield
    }
    %host, %host_there = async_region.alloc : memref<8x8xf32>
    %back = async_region.copy [%added, %host_there] %out to %host : memref<8x8xf32, 3> to memref<8x8xf32>
    async_region.yield %host : memref<8x8xf32> after [%back]
  }
  func.return %sum, %done : memref<8x8xf32>, !async.token
}
