// RUN: xdsl-opt %s -p 'tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize schedule-strategy=none}' | filecheck %s --check-prefix=NONE
// RUN: xdsl-opt %s -p 'tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize schedule-strategy=serial}' | filecheck %s --check-prefix=SERIAL
// RUN: xdsl-opt %s -p 'tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize schedule-strategy=cost-based}' | filecheck %s --check-prefix=AGENTS
// RUN: xdsl-opt %s -p 'tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize schedule-strategy=fast}' | filecheck %s --check-prefix=AGENTS
// RUN: xdsl-opt %s -p 'tileir{compute-capability=sm_90 pipeline-strategy=warp-specialize schedule-strategy=default}' | filecheck %s --check-prefix=AGENTS
// RUN: xdsl-opt %s -p 'tileir{compute-capability=sm_80 pipeline-strategy=warp-specialize schedule-strategy=default}' | filecheck %s --check-prefix=SERIAL
// RUN: xdsl-opt %s -p 'tileas-materialize-async,tileas-prepare-for-scheduling{compute-capability=sm_90},tileas-generate-schedule{compute-capability=sm_90},tileas-assign-buffers{compute-capability=sm_90},tileas-materialize-schedule{compute-capability=sm_90 use-AUS=true}' | filecheck %s --check-prefix=AUS
// RUN: not xdsl-opt %s -p 'tileas-materialize-schedule{compute-capability=sm_90}' 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: xdsl-opt %s -p 'tileas-materialize-schedule{compute-capability=sm_90 use-aus=true}' | filecheck %s --check-prefix=BIT

// Where TileAS' dispatcher sends a loop, by the strategy of its schedule.
#smem = #nv_tileas.layout<smem>
func.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %product = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %at = nv_tileaa.tiled_load %a[%c0, %k] : (memref<?x?xf16>, index, index) -> tensor<128x64xf16, #smem>
    %bt = nv_tileaa.tiled_load %b[%k, %c0] : (memref<?x?xf16>, index, index) -> tensor<64x128xf16, #smem>
    %sum = nv_tileaa.dot %at, %bt, %acc : (tensor<128x64xf16, #smem>, tensor<64x128xf16, #smem>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %sum : tensor<128x128xf32>
  }
  nv_tileaa.tiled_store %c[%c0, %c0], %product : (memref<?x?xf32>, tensor<128x128xf32>, index, index) -> ()
  func.return
}

// The driver is torn down, the pass succeeds, and the loop stays synchronous.
// NONE-LABEL: @gemm
// NONE-NOT:     pass_status
// NONE-NOT:     agent_switch
// NONE:         scf.for
// NONE-NOT:     stage =
// NONE:         {nv_tileas.schedule = {strategy = "none"}}

// The driver for one agent, with one stage: nothing is peeled.
// SERIAL-LABEL: @gemm
// SERIAL-SAME:    nv_tileas.agents = {agents = 1 : i32
// SERIAL-NOT:     pass_status
// SERIAL-NOT:     agent_switch
// SERIAL-NOT:     scf.if
// SERIAL:         scf.for
// SERIAL:         strategy = "serial"
// SERIAL-NOT:     scf.for

// AGENTS-LABEL: @gemm
// AGENTS-SAME:    nv_tileas.agents = {agents = 2 : i32
// AGENTS-NOT:     pass_status
// AGENTS:         agent_switch

// One agent was asked for: the loop keeps its stages.
// AUS-LABEL: @gemm
// AUS-NOT:     pass_status
// AUS-NOT:     agent_switch
// AUS:         scf.for
// AUS:         stage = 1 : i32, iter_offset = -1 : i32

// Without an analysis TileAS' pass sets its bit and fails, and the driver lifts that to an error.
// MISSING: error: 'func.func' op has loops without a schedule, so tileas-materialize-schedule cannot make agents of them

// BIT-LABEL: @gemm
// BIT-SAME:    pass_status = {"tileas-materialize-schedule" = 4 : i32}
