/* A libcuda for tests, without a GPU: memory is the computer's own, and the kernel `scale` is a function here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK 0
#define INVALID 1
#define NO_DEVICE 100
#define INVALID_CONTEXT 201
#define NOT_FOUND 500

#define OUT_OF_MEMORY 2
#define ILLEGAL_ADDRESS 700

static int64_t most_shared = 48 * 1024;
static __thread void *current;

/* What goes wrong: the environment says it. */
static int mood(const char *what) {
  const char *said = getenv("TILEAS_STAND_IN");
  return said && !strcmp(said, what);
}

/* NVIDIA's bindings ask for each function by its name, which here has `_v2` behind it or not. */
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  char second[128];
  (void)version, (void)flags;
  snprintf(second, sizeof second, "%s_v2", name);
  Dl_info here;
  dladdr((void *)&most_shared, &here);
  void *self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *function = dlsym(self, second);
  if (!*function) *function = dlsym(self, name);
  if (status) *status = *function ? 0 : 1;
  return *function ? OK : NOT_FOUND;
}
int cuDriverGetVersion(int *version) { *version = 13000; return OK; }

int cuInit(unsigned flags) { return flags ? INVALID : OK; }
int cuDeviceGet(int *device, int number) {
  *device = number;
  return number || mood("no device") ? NO_DEVICE : OK;
}
/* The attributes of an H200 that are asked for: its compute capability, threads and shared memory of a block, its cache,
   multiprocessors. */
int cuDeviceGetAttribute(int *number, int attribute, int device) {
  int major = mood("another chip") ? 10 : 9, shared = mood("small") ? 1000 : 232448;
  *number = attribute == 75 ? major : attribute == 76 ? 0 : attribute == 1 ? 1024 : attribute == 97 ? shared : attribute == 38 ? 50 << 20 : attribute == 16 ? 132 : -1;
  return device || *number < 0 ? INVALID : OK;
}
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "a stand-in %d", device); return OK; }
int cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = (void *)1; return OK; }
int cuCtxSetCurrent(void *context) { current = context; return context ? OK : INVALID; }
int cuThreadExchangeStreamCaptureMode(int *mode) {
  static int now;
  int before = now;
  now = *mode;
  *mode = before;
  return OK;
}
int cuCtxGetCurrent(void **context) { *context = current; return OK; }
int cuCtxSynchronize(void) { return mood("fault") ? ILLEGAL_ADDRESS : OK; }
int cuGetErrorString(int status, const char **text) {
  *text = status == NOT_FOUND         ? "named symbol not found"
          : status == NO_DEVICE       ? "no CUDA-capable device is detected"
          : status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                      : "invalid argument";
  return OK;
}

int cuModuleLoadDataEx(void **module, const char *image, unsigned count, int *options, void **values) {
  if (strstr(image, "nonsense")) {
    if (count == 2 && options[0] == 5) snprintf(values[0], (size_t)values[1], "line 1: syntax error");
    return INVALID;
  }
  *module = (void *)image;
  return OK;
}
int cuModuleLoadData(void **module, const char *image) { return cuModuleLoadDataEx(module, image, 0, NULL, NULL); }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module;
  *function = !strcmp(name, "scale") ? (void *)1 : !strcmp(name, "map") ? (void *)2 : NULL;
  return *function ? OK : NOT_FOUND;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  (void)function;
  if (attribute != 8) return INVALID;
  most_shared = value;
  return OK;
}
int cuMemAlloc_v2(uint64_t *address, size_t size) {
  if (mood("out of memory")) return OUT_OF_MEMORY;
  *address = (uint64_t)aligned_alloc(256, (size + 255) / 256 * 256);
  return OK;
}
int cuMemFree_v2(uint64_t address) { free((void *)address); return OK; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) { memcpy((void *)to, from, size); return OK; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { memcpy(to, (void *)from, size); return OK; }

/* The map is what it was made of: address, rank, shape, box, swizzle. */
int cuTensorMapEncodeTiled(uint64_t *map, int type, unsigned rank, uint64_t address, uint64_t *shape, uint64_t *strides,
                           uint32_t *box, uint32_t *steps, int interleave, int swizzle, int l2, int fill) {
  if (!current) return INVALID_CONTEXT;
  if ((uint64_t)map % 64 || interleave || l2 != 2 || fill || type != 7 || steps[0] != 1) return INVALID;
  if (rank == 2 && strides[0] != shape[0] * 4) return INVALID;
  uint64_t words[] = {address, rank, shape[0], shape[1], box[0], box[1], swizzle};
  memcpy(map, words, sizeof words);
  return OK;
}

/* scale(src, rows, out, rows, n): out = 2 * src, 8 floats a row, n rows. map(map, out): out = the words of the map, and
   the shared memory of the launch. */
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  if (!current) return INVALID_CONTEXT;
  if ((stream && stream != (void *)0x77) || extra || gx * gy * gz == 0 || bx * by * bz == 0 || shared > most_shared) return INVALID;
  if (function == (void *)2) {
    const uint64_t *map = parameters[0];
    float *out = *(float **)parameters[1];
    for (int k = 1; k < 7; ++k) out[k - 1] = (float)map[k];
    out[6] = (float)shared;
    return OK;
  }
  const float *src = *(float **)parameters[0];
  float *out = *(float **)parameters[2];
  int64_t rows = *(int64_t *)parameters[1], n = *(int64_t *)parameters[4];
  if (n > rows || rows != *(int64_t *)parameters[3]) return INVALID;
  for (int64_t k = 0; k < n * 8; ++k) out[k] = 2 * src[k];
  return OK;
}

int cuEventCreate(void **event, unsigned flags) { *event = (void *)1; return flags ? INVALID : OK; }
int cuEventRecord(void *event, void *stream) { return event && !stream ? OK : INVALID; }
int cuEventSynchronize(void *event) { return event ? OK : INVALID; }
int cuEventElapsedTime(float *time, void *first, void *last) { *time = 5.0f; return first && last ? OK : INVALID; }
