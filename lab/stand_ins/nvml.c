/* Stands in for NVIDIA's libnvidia-ml.so.1 on a machine without a GPU: NVIDIA's own programs find in it the GPUs, the
 * driver and the health events of the node that the lab plays. Signatures and structures are those of NVIDIA's pages
 * (https://docs.nvidia.com/deploy/nvml-api/); it keeps to what those programs ask, and there is nothing behind it.
 * Built with -DDRIVER, -DNAME (texts), -DCUDA=10010, -DMAJOR, -DMINOR, -DMIB (of one GPU), -DGPUS={"UUID",PERSISTENT},…
 * As with the real one, a process has the GPUs whose device files it can open: in $GPU_COMMONS_DEV, else in /dev; with
 * -DWITHOUT_FILES it has all. -DXID_FILE is where a line `INDEX XID` is an event.
 * -DMIG: they could be divided.
 * For tests of the probe: -DMISMATCH: nothing can be initialised; -DOLD: without two functions; -DLOST: the second GPU
 * does not answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INVALID_ARGUMENT 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define TIMEOUT 10
#define GPU_IS_LOST 15
#define LIB_RM_VERSION_MISMATCH 18
#define EVENT_XID 8ULL
#ifndef XID_FILE
#define XID_FILE "/nonexistent"
#endif

typedef struct { const char *uuid; int persistence; } Gpu;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } MemoryV2;
typedef struct { char old[16]; unsigned int domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct { Gpu *device; unsigned long long type, data; unsigned int instance, compute; } Event;

static Gpu gpus[] = {GPUS};
static const unsigned int all = sizeof(gpus) / sizeof(*gpus);
static long seen; /* of the file of events: what was there before is past */

static unsigned int number(const Gpu *gpu) { return (unsigned int)(gpu - gpus); }

static int text(const char *from, char *to, unsigned int length) {
  if (strlen(from) >= length) return INSUFFICIENT_SIZE;
  strcpy(to, from);
  return 0;
}

static int is_there(unsigned int minor) {
#ifdef WITHOUT_FILES
  return minor < all;
#else
  char path[512];
  const char *folder = getenv("GPU_COMMONS_DEV");
  snprintf(path, sizeof(path), "%s/nvidia%u", folder ? folder : "/dev", minor);
  return access(path, R_OK | W_OK) == 0;
#endif
}

static int find(unsigned int index, Gpu **device) {
  for (unsigned int at = 0; at < all; at++)
    if (is_there(at) && index-- == 0) return *device = &gpus[at], 0;
  return INVALID_ARGUMENT;
}

int nvmlInit_v2(void) {
#ifdef MISMATCH
  return LIB_RM_VERSION_MISMATCH;
#else
  return 0;
#endif
}
int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned int flags) { return (void)flags, nvmlInit_v2(); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) {
  switch (code) {
  case 0: return "Success";
  case NOT_SUPPORTED: return "Not Supported";
  case TIMEOUT: return "Timeout";
  case GPU_IS_LOST: return "GPU is lost";
  case LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
  default: return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char *version, unsigned int length) { return text(DRIVER, version, length); }
int nvmlSystemGetNVMLVersion(char *version, unsigned int length) { return text(DRIVER, version, length); }
int nvmlSystemGetCudaDriverVersion(int *version) { return *version = CUDA, 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return *version = CUDA, 0; }

int nvmlDeviceGetCount_v2(unsigned int *count) {
  *count = 0;
  for (unsigned int at = 0; at < all; at++) *count += (unsigned int)is_there(at);
  return 0;
}
int nvmlDeviceGetCount(unsigned int *count) { return nvmlDeviceGetCount_v2(count); }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Gpu **device) {
#ifdef LOST
  if (index == 1) return GPU_IS_LOST;
#endif
  return find(index, device);
}
int nvmlDeviceGetHandleByIndex(unsigned int index, Gpu **device) { return nvmlDeviceGetHandleByIndex_v2(index, device); }
int nvmlDeviceGetHandleByUUID(const char *uuid, Gpu **device) {
  for (unsigned int at = 0; at < all; at++)
    if (is_there(at) && strcmp(uuid, gpus[at].uuid) == 0) return *device = &gpus[at], 0;
  return NOT_FOUND;
}

int nvmlDeviceGetName(Gpu *device, char *name, unsigned int length) { return (void)device, text(NAME, name, length); }
int nvmlDeviceGetUUID(Gpu *device, char *uuid, unsigned int length) { return text(device->uuid, uuid, length); }
int nvmlDeviceGetMinorNumber(Gpu *device, unsigned int *minor) { return *minor = number(device), 0; }
int nvmlDeviceGetIndex(Gpu *device, unsigned int *index) {
  *index = 0;
  for (unsigned int at = 0; at < number(device); at++) *index += (unsigned int)is_there(at);
  return 0;
}
int nvmlDeviceGetPersistenceMode(Gpu *device, int *mode) { return *mode = device->persistence, 0; }
int nvmlDeviceGetMemoryInfo(Gpu *device, Memory *memory) {
  unsigned long long total = (unsigned long long)MIB << 20;
  (void)device;
  *memory = (Memory){total, total, 0};
  return 0;
}
int nvmlDeviceGetMemoryInfo_v2(Gpu *device, MemoryV2 *memory) {
  unsigned long long total = (unsigned long long)MIB << 20;
  (void)device;
  *memory = (MemoryV2){memory->version, total, 0, total, 0};
  return 0;
}
int nvmlDeviceGetPciInfo_v3(Gpu *device, Pci *pci) {
  memset(pci, 0, sizeof(*pci));
  pci->bus = number(device) + 1;
  snprintf(pci->old, sizeof(pci->old), "0000:%02X:00.0", pci->bus);
  snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0", pci->bus);
  return 0;
}
int nvmlDeviceGetPciInfo(Gpu *device, Pci *pci) { return nvmlDeviceGetPciInfo_v3(device, pci); }
#ifndef OLD
int nvmlDeviceGetCudaComputeCapability(Gpu *device, int *major, int *minor) {
  (void)device;
  *major = MAJOR;
  *minor = MINOR;
  return 0;
}
#endif

/* None of them is one of several of a board, has a link to another, or is divided. */
int nvmlDeviceGetMigMode(Gpu *device, unsigned int *now, unsigned int *next) {
  (void)device;
#ifdef MIG
  return *now = 0, *next = 0, 0; /* it could be */
#else
  return (void)now, (void)next, NOT_SUPPORTED;
#endif
}
int nvmlDeviceGetMaxMigDeviceCount(Gpu *device, unsigned int *count) { return (void)device, *count = 0, 0; }
int nvmlDeviceIsMigDeviceHandle(Gpu *device, unsigned int *is_mig) { return (void)device, *is_mig = 0, 0; }
int nvmlDeviceGetTopologyCommonAncestor(Gpu *one, Gpu *other, unsigned int *level) {
  return *level = one == other ? 0 : 50, 0; /* NVML_TOPOLOGY_SYSTEM */
}
int nvmlDeviceGetNvLinkState(Gpu *device, unsigned int link, int *state) {
  return (void)device, (void)link, (void)state, NOT_SUPPORTED;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Gpu *device, unsigned int link, Pci *pci) {
  return (void)device, (void)link, (void)pci, NOT_SUPPORTED;
}

int nvmlDeviceGetSupportedEventTypes(Gpu *device, unsigned long long *types) { return (void)device, *types = EVENT_XID, 0; }
int nvmlDeviceRegisterEvents(Gpu *device, unsigned long long types, void *set) {
  return (void)device, (void)types, (void)set, 0;
}
int nvmlEventSetFree(void *set) { return (void)set, 0; }
int nvmlEventSetCreate(void **set) {
  FILE *file = fopen(XID_FILE, "r");
  *set = &seen;
  seen = 0;
  if (!file) return 0;
  fseek(file, 0, SEEK_END);
  seen = ftell(file);
  return fclose(file), 0;
}
int nvmlEventSetWait_v2(void *set, Event *event, unsigned int milliseconds) {
  (void)set;
  for (unsigned int waited = 0; waited <= milliseconds; waited += 100, usleep(100000)) {
    unsigned int index, xid;
    FILE *file = fopen(XID_FILE, "r");
    int found = file && fseek(file, seen, SEEK_SET) == 0 && fscanf(file, "%u %u", &index, &xid) == 2;
    if (found) seen = ftell(file);
    if (file) fclose(file);
    if (found && index < all) {
      *event = (Event){&gpus[index], EVENT_XID, xid, ~0U, ~0U};
      return 0;
    }
  }
  return TIMEOUT;
}
int nvmlEventSetWait(void *set, Event *event, unsigned int wait) { return nvmlEventSetWait_v2(set, event, wait); }
