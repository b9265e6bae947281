/* Stands in for NVIDIA's libnvidia-ml.so.1 and libcuda.so.1 on a machine without a GPU, so that what binds a driver
 * into a container has one to bind. It knows its version and counts the device files that stand in for GPUs; there is
 * nothing behind them, and CUDA says so. Built with -DDRIVER_VERSION="470.256.02". */
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
