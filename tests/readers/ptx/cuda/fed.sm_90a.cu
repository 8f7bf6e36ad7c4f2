// One warp brings tiles by bulk copies, four add them up: a ring of three slots with an mbarrier for each side.
#include <cstdint>

constexpr int SLOTS = 3, CONSUMERS = 128, BYTES = 4 * CONSUMERS;

__device__ uint32_t place(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void wait(uint64_t *barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
      ::"r"(place(barrier)), "r"(parity) : "memory");
}

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32) fed(const float *source, float *sums, int n) {
  __shared__ alignas(128) float ring[SLOTS][CONSUMERS];
  __shared__ uint64_t full[SLOTS], empty[SLOTS];
  const int t = threadIdx.x;
  if (t == 0)
    for (int s = 0; s < SLOTS; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&full[s])) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(&empty[s])), "r"(CONSUMERS) : "memory");
    }
  __syncthreads();
  if (t >= CONSUMERS) {
    if (t > CONSUMERS) return;
    for (int k = 0; k < n; ++k) {
      const int s = k % SLOTS;
      wait(&empty[s], (k / SLOTS & 1) ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(&full[s])), "r"(BYTES) : "memory");
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
          ::"r"(place(ring[s])), "l"(source + k * CONSUMERS), "r"(BYTES), "r"(place(&full[s])) : "memory");
    }
    return;
  }
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    const int s = k % SLOTS;
    wait(&full[s], k / SLOTS & 1);
    sum += ring[s][CONSUMERS - 1 - t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(&empty[s])) : "memory");
  }
  sums[t] = sum;
}
