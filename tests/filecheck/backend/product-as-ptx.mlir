// A matrix product becomes PTX that says what its schedule said: two mbarriers a slot, one full and one empty; products
// that are waited for by their age; one fence of registers for each group of them, one when the barriers are made, and
// one between proxies, where the threads have written what TMA stores. From three stages on all say the same: no more
// slots than three of A and three of B are asked for.

// RUN: tileas compile %examples/gemm_loop.mlir --target sm_90a --strategy warp-specialize --num-stages 1 -o %t.AGENTS1.ptx
// RUN: filecheck %s --check-prefix AGENTS1 --input-file %t.AGENTS1.ptx
// RUN: tileas compile %examples/gemm_loop.mlir --target sm_90a --strategy warp-specialize --num-stages 2 -o %t.AGENTS2.ptx
// RUN: filecheck %s --check-prefix AGENTS2 --input-file %t.AGENTS2.ptx
// RUN: tileas compile %examples/gemm_loop.mlir --target sm_90a --strategy warp-specialize --num-stages 6 -o %t.AGENTS6.ptx
// RUN: filecheck %s --check-prefix AGENTS6 --input-file %t.AGENTS6.ptx
// RUN: tileas compile %examples/gemm_loop.mlir --target sm_90a --strategy unspecialize --num-stages 1 -o %t.ONE1.ptx
// RUN: filecheck %s --check-prefix ONE1 --input-file %t.ONE1.ptx
// RUN: tileas compile %examples/gemm_loop.mlir --target sm_90a --strategy unspecialize --num-stages 2 -o %t.ONE2.ptx
// RUN: filecheck %s --check-prefix ONE2 --input-file %t.ONE2.ptx
// RUN: tileas compile %examples/gemm_loop.mlir --target sm_90a --strategy unspecialize --num-stages 6 -o %t.ONE6.ptx
// RUN: filecheck %s --check-prefix ONE6 --input-file %t.ONE6.ptx

// AGENTS1-COUNT-4: mbarrier.init.shared.b64
// AGENTS1-NOT: mbarrier.init
// AGENTS1: fence.mbarrier_init.release.cluster
// AGENTS1: bar.sync 0
// (the producer)
// AGENTS1: mbarrier.try_wait.parity
// AGENTS1: mbarrier.arrive.expect_tx
// AGENTS1: cp.async.bulk.tensor.2d.shared
// AGENTS1: mbarrier.try_wait.parity
// AGENTS1: mbarrier.arrive.expect_tx
// AGENTS1-COUNT-2: cp.async.bulk.tensor.2d.shared
// (the consumer: no product is under way when it gives its slots back)
// AGENTS1-COUNT-2: mbarrier.try_wait.parity
// AGENTS1: wgmma.fence.sync.aligned
// AGENTS1-COUNT-8: wgmma.mma_async.sync.aligned
// AGENTS1: wgmma.commit_group
// AGENTS1: wgmma.wait_group.sync.aligned 0
// AGENTS1-COUNT-2: mbarrier.arrive.shared
// (the result)
// AGENTS1-NOT: wgmma
// AGENTS1-NOT: fence
// AGENTS1: bar.sync 2, 128
// AGENTS1: fence.proxy.async.shared::cta
// AGENTS1-NOT: fence
// AGENTS1: bar.sync 2, 128
// AGENTS1-COUNT-16: cp.async.bulk.tensor.2d.global
// AGENTS1: cp.async.bulk.commit_group
// AGENTS1: cp.async.bulk.wait_group
// AGENTS1-NOT: fence

// AGENTS2-COUNT-8: mbarrier.init.shared.b64
// AGENTS2-NOT: mbarrier.init
// AGENTS2: fence.mbarrier_init.release.cluster
// AGENTS2: bar.sync 0
// (the producer)
// AGENTS2: mbarrier.try_wait.parity
// AGENTS2: mbarrier.arrive.expect_tx
// AGENTS2: cp.async.bulk.tensor.2d.shared
// AGENTS2: mbarrier.try_wait.parity
// AGENTS2: mbarrier.arrive.expect_tx
// AGENTS2-COUNT-2: cp.async.bulk.tensor.2d.shared
// (the consumer)
// AGENTS2-COUNT-2: mbarrier.try_wait.parity
// AGENTS2: wgmma.fence.sync.aligned
// AGENTS2-COUNT-8: wgmma.mma_async.sync.aligned
// AGENTS2: wgmma.commit_group
// AGENTS2: wgmma.wait_group.sync.aligned 0
// AGENTS2-COUNT-2: mbarrier.arrive.shared
// (the result)
// AGENTS2-NOT: wgmma
// AGENTS2-NOT: fence
// AGENTS2: bar.sync 2, 128
// AGENTS2: fence.proxy.async.shared::cta
// AGENTS2-NOT: fence
// AGENTS2: bar.sync 2, 128
// AGENTS2-COUNT-16: cp.async.bulk.tensor.2d.global
// AGENTS2: cp.async.bulk.commit_group
// AGENTS2: cp.async.bulk.wait_group
// AGENTS2-NOT: fence

// AGENTS6-COUNT-12: mbarrier.init.shared.b64
// AGENTS6-NOT: mbarrier.init
// AGENTS6: fence.mbarrier_init.release.cluster
// AGENTS6: bar.sync 0
// (the producer)
// AGENTS6: mbarrier.try_wait.parity
// AGENTS6: mbarrier.arrive.expect_tx
// AGENTS6: cp.async.bulk.tensor.2d.shared
// AGENTS6: mbarrier.try_wait.parity
// AGENTS6: mbarrier.arrive.expect_tx
// AGENTS6-COUNT-2: cp.async.bulk.tensor.2d.shared
// (the consumer: the first product, and in the loop one goes on while the one before is waited for)
// AGENTS6-COUNT-2: mbarrier.try_wait.parity
// AGENTS6: wgmma.fence.sync.aligned
// AGENTS6-COUNT-8: wgmma.mma_async.sync.aligned
// AGENTS6: wgmma.commit_group
// AGENTS6-COUNT-2: mbarrier.try_wait.parity
// AGENTS6: wgmma.fence.sync.aligned
// AGENTS6-COUNT-8: wgmma.mma_async.sync.aligned
// AGENTS6: wgmma.commit_group
// AGENTS6: wgmma.wait_group.sync.aligned 1
// AGENTS6-COUNT-2: mbarrier.arrive.shared
// (behind the loop)
// AGENTS6: wgmma.wait_group.sync.aligned 0
// AGENTS6-COUNT-2: mbarrier.arrive.shared
// (the result)
// AGENTS6-NOT: wgmma
// AGENTS6-NOT: fence
// AGENTS6: bar.sync 2, 128
// AGENTS6: fence.proxy.async.shared::cta
// AGENTS6-NOT: fence
// AGENTS6: bar.sync 2, 128
// AGENTS6-COUNT-16: cp.async.bulk.tensor.2d.global
// AGENTS6: cp.async.bulk.commit_group
// AGENTS6: cp.async.bulk.wait_group
// AGENTS6-NOT: fence

// ONE1-COUNT-8: mbarrier.init.shared.b64
// ONE1-NOT: mbarrier.init
// ONE1: fence.mbarrier_init.release.cluster
// ONE1: bar.sync 0
// (wait for a fill, multiply, and fill the slot of the next)
// ONE1-COUNT-2: mbarrier.try_wait.parity
// ONE1: wgmma.fence.sync.aligned
// ONE1-COUNT-8: wgmma.mma_async.sync.aligned
// ONE1: wgmma.commit_group
// ONE1: wgmma.wait_group.sync.aligned 0
// ONE1-COUNT-2: mbarrier.arrive.shared
// ONE1: mbarrier.try_wait.parity
// ONE1: mbarrier.arrive.expect_tx
// ONE1: cp.async.bulk.tensor.2d.shared
// ONE1: mbarrier.try_wait.parity
// ONE1: mbarrier.arrive.expect_tx
// ONE1-COUNT-2: cp.async.bulk.tensor.2d.shared
// (the result)
// ONE1-NOT: wgmma
// ONE1-NOT: fence
// ONE1: bar.sync 0
// ONE1: fence.proxy.async.shared::cta
// ONE1-NOT: fence
// ONE1: bar.sync 0
// ONE1-COUNT-16: cp.async.bulk.tensor.2d.global
// ONE1: cp.async.bulk.commit_group
// ONE1: cp.async.bulk.wait_group
// ONE1-NOT: fence

// ONE2-COUNT-8: mbarrier.init.shared.b64
// ONE2-NOT: mbarrier.init
// ONE2: fence.mbarrier_init.release.cluster
// ONE2: bar.sync 0
// (the first fill)
// ONE2: mbarrier.try_wait.parity
// ONE2: mbarrier.arrive.expect_tx
// ONE2: cp.async.bulk.tensor.2d.shared
// ONE2: mbarrier.try_wait.parity
// ONE2: mbarrier.arrive.expect_tx
// ONE2-COUNT-2: cp.async.bulk.tensor.2d.shared
// (give back, fill and multiply)
// ONE2: wgmma.wait_group.sync.aligned 0
// ONE2-COUNT-2: mbarrier.arrive.shared
// ONE2: mbarrier.try_wait.parity
// ONE2: mbarrier.arrive.expect_tx
// ONE2: cp.async.bulk.tensor.2d.shared
// ONE2-COUNT-2: mbarrier.try_wait.parity
// ONE2: wgmma.fence.sync.aligned
// ONE2-COUNT-8: wgmma.mma_async.sync.aligned
// ONE2: wgmma.commit_group
// ONE2: mbarrier.try_wait.parity
// ONE2: mbarrier.arrive.expect_tx
// ONE2-COUNT-2: cp.async.bulk.tensor.2d.shared
// ONE2-COUNT-2: mbarrier.try_wait.parity
// ONE2: wgmma.fence.sync.aligned
// ONE2-COUNT-8: wgmma.mma_async.sync.aligned
// ONE2: wgmma.commit_group
// ONE2: wgmma.wait_group.sync.aligned 0
// ONE2-COUNT-2: mbarrier.arrive.shared
// (the result)
// ONE2-NOT: wgmma
// ONE2-NOT: fence
// ONE2: bar.sync 0
// ONE2: fence.proxy.async.shared::cta
// ONE2-NOT: fence
// ONE2: bar.sync 0
// ONE2-COUNT-16: cp.async.bulk.tensor.2d.global
// ONE2: cp.async.bulk.commit_group
// ONE2: cp.async.bulk.wait_group
// ONE2-NOT: fence

// ONE6-COUNT-12: mbarrier.init.shared.b64
// ONE6-NOT: mbarrier.init
// ONE6: fence.mbarrier_init.release.cluster
// ONE6: bar.sync 0
// (the first fills)
// ONE6: mbarrier.try_wait.parity
// ONE6: mbarrier.arrive.expect_tx
// ONE6: cp.async.bulk.tensor.2d.shared
// ONE6: mbarrier.try_wait.parity
// ONE6: mbarrier.arrive.expect_tx
// ONE6-COUNT-2: cp.async.bulk.tensor.2d.shared
// ONE6: mbarrier.try_wait.parity
// ONE6: mbarrier.arrive.expect_tx
// ONE6: cp.async.bulk.tensor.2d.shared
// ONE6: mbarrier.try_wait.parity
// ONE6: mbarrier.arrive.expect_tx
// ONE6-COUNT-2: cp.async.bulk.tensor.2d.shared
// (the first product)
// ONE6-COUNT-2: mbarrier.try_wait.parity
// ONE6: wgmma.fence.sync.aligned
// ONE6-COUNT-8: wgmma.mma_async.sync.aligned
// ONE6: wgmma.commit_group
// (in the loop one goes on while the one before is waited for)
// ONE6-COUNT-2: mbarrier.try_wait.parity
// ONE6: wgmma.fence.sync.aligned
// ONE6-COUNT-8: wgmma.mma_async.sync.aligned
// ONE6: wgmma.commit_group
// ONE6: wgmma.wait_group.sync.aligned 1
// ONE6-COUNT-2: mbarrier.arrive.shared
// ONE6: mbarrier.try_wait.parity
// ONE6: mbarrier.arrive.expect_tx
// ONE6: cp.async.bulk.tensor.2d.shared
// ONE6: mbarrier.try_wait.parity
// ONE6: mbarrier.arrive.expect_tx
// ONE6-COUNT-2: cp.async.bulk.tensor.2d.shared
// (behind the loop)
// ONE6-COUNT-2: mbarrier.try_wait.parity
// ONE6: wgmma.fence.sync.aligned
// ONE6-COUNT-8: wgmma.mma_async.sync.aligned
// ONE6: wgmma.commit_group
// ONE6: wgmma.wait_group.sync.aligned 0
// ONE6-COUNT-2: mbarrier.arrive.shared
// ONE6: wgmma.wait_group.sync.aligned 0
// ONE6-COUNT-2: mbarrier.arrive.shared
// (the result)
// ONE6-NOT: wgmma
// ONE6-NOT: fence
// ONE6: bar.sync 0
// ONE6: fence.proxy.async.shared::cta
// ONE6-NOT: fence
// ONE6: bar.sync 0
// ONE6-COUNT-16: cp.async.bulk.tensor.2d.global
// ONE6: cp.async.bulk.commit_group
// ONE6: cp.async.bulk.wait_group
// ONE6-NOT: fence
