// Where TMA puts the chunks of a box behind each swizzle, and whence it takes them: results/swizzles.json.
//
//     nvcc -arch=sm_90a -o swizzles swizzles.cu -lcuda && ./swizzles
//
// For each width of the swizzle and each width of the rows: the chunk that lies at each place of shared memory behind a
// load (-1: what was there before), and the place that a store takes each chunk of the box from.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int ROWS = 16, CHUNK = 16, WIDTH = 256, HEIGHT = 64, SHARED = 16384, SPREAD = 2048;
constexpr uint8_t BEFORE = 0xEE;

__global__ void load(const __grid_constant__ CUtensorMap map, uint8_t* out, int bytes) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t barrier;
  for (int i = threadIdx.x; i < SHARED; i += blockDim.x) memory[i] = BEFORE;
  uint32_t b = (uint32_t)__cvta_generic_to_shared(&barrier), s = (uint32_t)__cvta_generic_to_shared(memory);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  asm volatile("fence.proxy.async;");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];" ::"r"(s),
        "l"(&map), "r"(0), "r"(b)
        : "memory");
    int done = 0;
    while (!done)
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;}"
                   : "=r"(done)
                   : "r"(b)
                   : "memory");
  }
  __syncthreads();
  for (int i = threadIdx.x; i < SHARED; i += blockDim.x) out[i] = memory[i];
}

__global__ void store(const __grid_constant__ CUtensorMap map) {
  extern __shared__ __align__(1024) uint8_t memory[];
  for (int i = threadIdx.x; i < SHARED; i += blockDim.x) memory[i] = (uint8_t)(i / CHUNK);
  asm volatile("fence.proxy.async;");
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t s = (uint32_t)__cvta_generic_to_shared(memory);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %1}], [%2];" ::"l"(&map), "r"(0), "r"(s)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

int main() {
  cuInit(0);
  cudaFree(0);
  uint8_t *global, *out;
  cudaMalloc(&global, WIDTH * HEIGHT);
  cudaMalloc(&out, SHARED);
  const int widths[] = {0, 32, 64, 128};
  const CUtensorMapSwizzle kinds[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B,
                                      CU_TENSOR_MAP_SWIZZLE_128B};
  for (int w = 0; w < 4; w++)
    for (int row = CHUNK; row <= 128; row *= 2) {
      std::vector<uint8_t> array(WIDTH * HEIGHT), held(SHARED);
      for (int r = 0; r < HEIGHT; r++)
        for (int c = 0; c < WIDTH; c++) array[r * WIDTH + c] = (uint8_t)(r * 8 + c / CHUNK);
      cudaMemcpy(global, array.data(), array.size(), cudaMemcpyHostToDevice);
      cuuint64_t extents[] = {WIDTH, HEIGHT}, strides[] = {WIDTH};
      cuuint32_t box[] = {(cuuint32_t)row, ROWS}, steps[] = {1, 1};
      CUtensorMap map;
      CUresult error = cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, global, extents, strides, box, steps,
                                              CU_TENSOR_MAP_INTERLEAVE_NONE, kinds[w], CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      printf("swizzle %d row %d %s\n", widths[w], row, error ? "refused" : "");
      if (error) continue;
      load<<<1, 128, SHARED>>>(map, out, row * ROWS);
      cudaMemcpy(held.data(), out, SHARED, cudaMemcpyDeviceToHost);
      for (int i = 0; i < SPREAD; i += CHUNK) printf(" %d", held[i] == BEFORE && held[i + 1] == BEFORE ? -1 : held[i]);
      store<<<1, 128, SHARED>>>(map);
      cudaMemcpy(array.data(), global, array.size(), cudaMemcpyDeviceToHost);
      printf("\n stored from");
      for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < row; c += CHUNK) printf(" %d", array[r * WIDTH + c]);
      printf("\n");
    }
}
