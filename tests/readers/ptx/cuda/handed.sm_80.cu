// Two groups of warps hand one buffer to and fro by named barriers: full is barrier 1, empty is barrier 2.
constexpr int GROUP = 64;

__device__ void meet(int barrier) { asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory"); }
__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 128;" ::"r"(barrier) : "memory"); }

extern "C" __global__ void __launch_bounds__(2 * GROUP) handed(const int *source, int *target, int n) {
  __shared__ int buffer[GROUP];
  const int t = threadIdx.x % GROUP;
  if (threadIdx.x < GROUP) {
    for (int k = 0; k < n; ++k) {
      meet(2);
      buffer[t] = source[k * GROUP + t];
      arrive(1);
    }
  } else {
    for (int k = 0; k < n; ++k) {
      arrive(2);
      meet(1);
      target[k * GROUP + t] = buffer[GROUP - 1 - t];
    }
  }
}
