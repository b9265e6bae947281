/* Stands in for libnvidia-cfg.so.1 of a driver: the three functions that nvidia-persistenced calls, with one GPU. */
#include <stdlib.h>

typedef struct { int domain, bus, slot, function; } Device;

int nvCfgGetPciDevices(int *count, Device **devices) {
  *count = 1;
  *devices = calloc(1, sizeof(Device));
  (*devices)[0].bus = 3;
  return 1;
}

int nvCfgOpenPciDevice(int domain, int bus, int slot, int function, void **handle) {
  *handle = malloc(1);
  return 1;
}

int nvCfgCloseDevice(void *handle) {
  free(handle);
  return 1;
}
