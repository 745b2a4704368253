/*
 * A library that answers as NVIDIA's libnvidia-ml.so.1 does, from a table: the
 * generated table.h, which comes before this file. Functions that the table says
 * are missing are not there; a rule makes a call return a code, hang or crash.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS, UNINITIALIZED, INVALID, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

/* A handle: a GPU, or a part of one. */
struct handle {
	int gpu, part;
};

struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char text[32];
};

struct memory {
	unsigned long long total, free, used;
};

static struct handle handles[FAKE_COUNT + 1][FAKE_PARTS + 1];

static void forever(void)
{
	for (;;)
		pause();
}

/* What the table says of a call; SUCCESS: it is to answer. */
static int rule(const char *call, int gpu)
{
	for (const struct fake_rule *r = rules; r->call; r++) {
		if (strcmp(r->call, call) != 0 || (r->gpu >= 0 && r->gpu != gpu))
			continue;
		switch (r->act) {
		case ACT_HANG:
			forever();
		case ACT_DEAF: {
			sigset_t all;
			sigfillset(&all);
			sigprocmask(SIG_BLOCK, &all, NULL);
			signal(SIGTERM, SIG_IGN);
			forever();
		}
		case ACT_CRASH:
			signal(SIGSEGV, SIG_DFL);
			kill(getpid(), SIGSEGV);
			forever();
		case ACT_EXIT:
			_exit(0);
		case ACT_BLOCK: {
			/* A read that the kernel waits for, whatever signals come. */
			char c;
			int fd = open(FAKE_BLOCK, O_RDONLY);
			if (fd < 0 || read(fd, &c, 1) < 0)
				return 999;
			close(fd);
			return SUCCESS;
		}
		case ACT_SPAWN:
			/* A helper that keeps the pipes open for a while. */
			if (fork() == 0) {
				sleep(40);
				_exit(0);
			}
			return SUCCESS;
		case ACT_NOISE:
			printf("a library should not print this\n");
			fflush(stdout);
			return SUCCESS;
		default:
			return r->act;
		}
	}
	return SUCCESS;
}

#define ENTER(call, gpu)                       \
	do {                                   \
		int ret = rule(call, gpu);     \
		if (ret != SUCCESS)            \
			return ret;            \
	} while (0)

static int text(char *to, unsigned size, const char *from)
{
	if (strlen(from) + 1 > size)
		return INSUFFICIENT_SIZE;
	strcpy(to, from);
	return SUCCESS;
}

#ifndef MISSING_nvmlInit_v2
int nvmlInit_v2(void)
{
	ENTER("nvmlInit_v2", -1);
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlShutdown
int nvmlShutdown(void)
{
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlErrorString
const char *nvmlErrorString(int code)
{
	switch (code) {
	case 9: return "Driver Not Loaded";
	case 15: return "GPU is lost";
	case 16: return "GPU requires reset";
	case 18: return "Driver/library version mismatch";
	}
	return "another error";
}
#endif

#ifndef MISSING_nvmlSystemGetDriverVersion
int nvmlSystemGetDriverVersion(char *to, unsigned size)
{
	ENTER("nvmlSystemGetDriverVersion", -1);
	return text(to, size, FAKE_DRIVER);
}
#endif

#ifndef MISSING_nvmlSystemGetCudaDriverVersion
int nvmlSystemGetCudaDriverVersion(int *to)
{
	ENTER("nvmlSystemGetCudaDriverVersion", -1);
	*to = FAKE_CUDA;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlSystemGetCudaDriverVersion_v2
int nvmlSystemGetCudaDriverVersion_v2(int *to)
{
	ENTER("nvmlSystemGetCudaDriverVersion_v2", -1);
	*to = FAKE_CUDA;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetCount_v2
int nvmlDeviceGetCount_v2(unsigned *to)
{
	ENTER("nvmlDeviceGetCount_v2", -1);
	*to = FAKE_COUNT;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetHandleByIndex_v2
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct handle **to)
{
	if (index >= FAKE_COUNT)
		return INVALID;
	ENTER("nvmlDeviceGetHandleByIndex_v2", (int)index);
	*to = &handles[index][0];
	(*to)->gpu = (int)index;
	(*to)->part = -1;
	return SUCCESS;
}
#endif

#define GPU (gpus[h->gpu])
#define PART (GPU.parts[h->part])

#ifndef MISSING_nvmlDeviceGetName
int nvmlDeviceGetName(struct handle *h, char *to, unsigned size)
{
	ENTER("nvmlDeviceGetName", h->gpu);
	return text(to, size, h->part < 0 ? GPU.name : PART.name);
}
#endif

#ifndef MISSING_nvmlDeviceGetUUID
int nvmlDeviceGetUUID(struct handle *h, char *to, unsigned size)
{
	ENTER("nvmlDeviceGetUUID", h->gpu);
	return text(to, size, h->part < 0 ? GPU.uuid : PART.uuid);
}
#endif

#ifndef MISSING_nvmlDeviceGetMinorNumber
int nvmlDeviceGetMinorNumber(struct handle *h, unsigned *to)
{
	ENTER("nvmlDeviceGetMinorNumber", h->gpu);
	*to = GPU.minor;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetPciInfo_v3
int nvmlDeviceGetPciInfo_v3(struct handle *h, struct pci *to)
{
	ENTER("nvmlDeviceGetPciInfo_v3", h->gpu);
	memset(to, 0, sizeof *to);
	to->domain = GPU.domain;
	to->bus = GPU.bus;
	snprintf(to->text, sizeof to->text, "%08X:%02X:00.0", to->domain, to->bus);
	snprintf(to->legacy, sizeof to->legacy, "%04X:%02X:00.0", to->domain & 0xffff, to->bus & 0xff);
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetCudaComputeCapability
int nvmlDeviceGetCudaComputeCapability(struct handle *h, int *major, int *minor)
{
	ENTER("nvmlDeviceGetCudaComputeCapability", h->gpu);
	*major = GPU.compute / 10;
	*minor = GPU.compute % 10;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetMemoryInfo
int nvmlDeviceGetMemoryInfo(struct handle *h, struct memory *to)
{
	ENTER("nvmlDeviceGetMemoryInfo", h->gpu);
	to->total = h->part < 0 ? GPU.memory : PART.memory;
	to->free = to->total;
	to->used = 0;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetComputeMode
int nvmlDeviceGetComputeMode(struct handle *h, int *to)
{
	ENTER("nvmlDeviceGetComputeMode", h->gpu);
	*to = GPU.mode;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetPersistenceMode
int nvmlDeviceGetPersistenceMode(struct handle *h, int *to)
{
	ENTER("nvmlDeviceGetPersistenceMode", h->gpu);
	*to = GPU.persistence;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetRemappedRows
int nvmlDeviceGetRemappedRows(struct handle *h, unsigned *corr, unsigned *uncorr, unsigned *pending, unsigned *failure)
{
	ENTER("nvmlDeviceGetRemappedRows", h->gpu);
	*corr = GPU.remap[0];
	*uncorr = GPU.remap[1];
	*pending = GPU.remap[2];
	*failure = GPU.remap[3];
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetRetiredPagesPendingStatus
int nvmlDeviceGetRetiredPagesPendingStatus(struct handle *h, int *to)
{
	ENTER("nvmlDeviceGetRetiredPagesPendingStatus", h->gpu);
	*to = GPU.retire;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetTotalEccErrors
int nvmlDeviceGetTotalEccErrors(struct handle *h, int type, int counter, unsigned long long *to)
{
	ENTER("nvmlDeviceGetTotalEccErrors", h->gpu);
	if (type != 1 || counter < 0 || counter > 1)
		return INVALID;
	*to = GPU.ecc[counter];
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetMigMode
int nvmlDeviceGetMigMode(struct handle *h, unsigned *current, unsigned *pending)
{
	ENTER("nvmlDeviceGetMigMode", h->gpu);
	*current = GPU.mig;
	*pending = GPU.mig_pending;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetMaxMigDeviceCount
int nvmlDeviceGetMaxMigDeviceCount(struct handle *h, unsigned *to)
{
	ENTER("nvmlDeviceGetMaxMigDeviceCount", h->gpu);
	*to = FAKE_PARTS;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetMigDeviceHandleByIndex
int nvmlDeviceGetMigDeviceHandleByIndex(struct handle *h, unsigned index, struct handle **to)
{
	ENTER("nvmlDeviceGetMigDeviceHandleByIndex", h->gpu);
	if (index >= FAKE_PARTS)
		return INVALID;
	if (!GPU.parts[index].name)
		return NOT_FOUND;
	*to = &handles[h->gpu][index + 1];
	(*to)->gpu = h->gpu;
	(*to)->part = (int)index;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetGpuInstanceId
int nvmlDeviceGetGpuInstanceId(struct handle *h, unsigned *to)
{
	ENTER("nvmlDeviceGetGpuInstanceId", h->gpu);
	*to = PART.gpu;
	return SUCCESS;
}
#endif

#ifndef MISSING_nvmlDeviceGetComputeInstanceId
int nvmlDeviceGetComputeInstanceId(struct handle *h, unsigned *to)
{
	ENTER("nvmlDeviceGetComputeInstanceId", h->gpu);
	*to = PART.compute;
	return SUCCESS;
}
#endif
