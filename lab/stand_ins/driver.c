/* Stands in for NVIDIA's libnvidia-ml.so.1 and libcuda.so.1 on a machine without a GPU, so that what binds a driver
 * into a container has one to bind. It knows its version and counts the device files that stand in for GPUs; there is
 * nothing behind them, and CUDA says so: a program gets "driver version is insufficient" only if it is, and "no
 * CUDA-capable device" otherwise. Built with -DDRIVER_VERSION="470.256.02" -DCUDA=11040. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NVML_ERROR_INSUFFICIENT_SIZE 7
#define CUDA_ERROR_NO_DEVICE 100

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }

int nvmlSystemGetDriverVersion(char *version, unsigned int length) {
  if (length < sizeof(DRIVER_VERSION)) return NVML_ERROR_INSUFFICIENT_SIZE;
  memcpy(version, DRIVER_VERSION, sizeof(DRIVER_VERSION));
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count) {
  char path[32];
  for (*count = 0; *count < 64; ++*count) {
    snprintf(path, sizeof(path), "/dev/nvidia%u", *count);
    if (access(path, F_OK) != 0) break;
  }
  return 0;
}

int cuInit(unsigned int flags) {
  (void)flags;
  return CUDA_ERROR_NO_DEVICE;
}

int cuDriverGetVersion(int *version) {
  *version = CUDA;
  return 0;
}

/* CUDA 11.3 and later look everything up by this, itself included: all else answers as cuInit does. */
int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags, void *found) {
  (void)version, (void)flags, (void)found;
  if (strcmp(name, "cuGetProcAddress") == 0) *function = cuGetProcAddress;
  else if (strcmp(name, "cuDriverGetVersion") == 0) *function = cuDriverGetVersion;
  else *function = cuInit;
  return 0;
}
