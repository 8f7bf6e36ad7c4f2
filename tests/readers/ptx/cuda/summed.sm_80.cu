// Rows are summed by shuffles within warps and through shared memory between them, one row after the other.
constexpr int THREADS = 256, WARPS = THREADS / 32;

extern "C" __global__ void __launch_bounds__(THREADS) summed(const float *source, float *sums, int rows, int columns) {
  __shared__ float partial[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (int column = threadIdx.x; column < columns; column += THREADS) sum += source[row * columns + column];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (lane == 0) partial[warp] = sum;
    __syncthreads();
    float total = 0;
    for (int w = 0; w < WARPS; ++w) total += partial[w];
    if (threadIdx.x == 0) sums[row] = total;
    __syncthreads();
  }
}
