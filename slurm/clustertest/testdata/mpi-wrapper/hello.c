/* Opens the wrapper that MPI_WRAPPER names, as Legate opens its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int start_fn(int *, char ***, int *, int *);
typedef int sum_fn(int, int *);
typedef int end_fn(void);

int main(int argc, char **argv)
{
	const char *name = getenv("MPI_WRAPPER");
	const char *node = getenv("SLURMD_NODENAME");
	int rank, size, sum;
	void *lib = name ? dlopen(name, RTLD_NOW | RTLD_GLOBAL) : NULL;

	if (!lib) {
		fprintf(stderr, "MPI_WRAPPER=%s: %s\n", name ? name : "", name ? dlerror() : "not set");
		return 1;
	}
	start_fn *start = (start_fn *)dlsym(lib, "wrapped_start");
	sum_fn *add = (sum_fn *)dlsym(lib, "wrapped_sum");
	end_fn *end = (end_fn *)dlsym(lib, "wrapped_end");
	if (!start || !add || !end || start(&argc, &argv, &rank, &size) || add(rank + 1, &sum) || end())
		return 1;
	printf("rank %d of %d on %s, sum %d, wrapper %s\n", rank, size, node ? node : "?", sum, name);
	return 0;
}
