#!/bin/sh
# The texts of our own kernels: tests/readers/ptx/kernels/make_own.sh, from the root of the checkout.
OUT=$(dirname "$0")
one() {
  tileas compile "tests/kernels/$2" --target "$3" --strategy warp-specialize --no-check -o "$OUT/$1.$3.ptx"
}
one gemm_agents gemm_64x64x16.mlir sm_80
one gemm gemm_64x128x32.mlir sm_90a
one chain queues/chain_of_three_agents.mlir sm_90a
