// Rows come by cp.async, three in flight, through the pipeline primitives of CUDA.
#include <cuda_pipeline.h>

constexpr int STAGES = 4, THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS) staged(const float4 *source, float4 *sums, int n) {
  __shared__ float4 ring[STAGES][THREADS];
  const int t = threadIdx.x, other = (t + 32) % THREADS;
  for (int k = 0; k < STAGES - 1; ++k) {
    if (k < n) __pipeline_memcpy_async(&ring[k][t], &source[k * THREADS + t], sizeof(float4));
    __pipeline_commit();
  }
  float4 sum = {0, 0, 0, 0};
  for (int k = 0; k < n; ++k) {
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();  // what other threads have copied, and the slot that is filled next
    const int next = k + STAGES - 1;
    if (next < n) __pipeline_memcpy_async(&ring[next % STAGES][t], &source[next * THREADS + t], sizeof(float4));
    __pipeline_commit();
    const float4 row = ring[k % STAGES][other];
    sum.x += row.x, sum.y += row.y, sum.z += row.z, sum.w += row.w;
  }
  sums[t] = sum;
}
