/* Stands in for NVIDIA's libnvidia-ml.so.1 in tests of the probe: the signatures are those of NVIDIA's pages
 * (https://docs.nvidia.com/deploy/nvml-api/api/group__nvmlDeviceQueries.html), the two GPUs are made up.
 * -DMISMATCH: nothing can be initialised; -DOLD: without two functions; -DLOST: the second GPU does not answer. */
#include <string.h>

typedef struct { const char *name, *uuid; unsigned long long bytes; int major, minor, persistence; } Gpu;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;

static Gpu gpus[] = {
  {"Tesla P100-PCIE-16GB", "GPU-11111111-2222-3333-4444-555555555555", 17066885120ULL, 6, 0, 1},
  {"Tesla P100-PCIE-16GB", "GPU-66666666-7777-8888-9999-000000000000", 17066885120ULL, 6, 0, 0},
};

static int text(const char *from, char *to, unsigned int length) {
  if (strlen(from) >= length) return 7; /* NVML_ERROR_INSUFFICIENT_SIZE */
  strcpy(to, from);
  return 0;
}

int nvmlInit_v2(void) {
#ifdef MISMATCH
  return 18; /* NVML_ERROR_LIB_RM_VERSION_MISMATCH */
#else
  return 0;
#endif
}

#ifndef OLD
const char *nvmlErrorString(int code) { return code == 18 ? "Driver/library version mismatch" : "GPU is lost"; }
#endif

int nvmlSystemGetDriverVersion(char *version, unsigned int length) { return text("470.256.02", version, length); }
int nvmlSystemGetCudaDriverVersion(int *version) { *version = 11040; return 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Gpu **device) {
#ifdef LOST
  if (index == 1) return 15; /* NVML_ERROR_GPU_IS_LOST */
#endif
  *device = &gpus[index];
  return 0;
}

int nvmlDeviceGetName(Gpu *device, char *name, unsigned int length) { return text(device->name, name, length); }
int nvmlDeviceGetUUID(Gpu *device, char *uuid, unsigned int length) { return text(device->uuid, uuid, length); }
int nvmlDeviceGetMemoryInfo(Gpu *device, nvmlMemory_t *memory) { memory->total = device->bytes; return 0; }
int nvmlDeviceGetPersistenceMode(Gpu *device, int *mode) { *mode = device->persistence; return 0; }
#ifndef OLD
int nvmlDeviceGetCudaComputeCapability(Gpu *device, int *major, int *minor) {
  *major = device->major;
  *minor = device->minor;
  return 0;
}
#endif
