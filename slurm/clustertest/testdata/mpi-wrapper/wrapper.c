#include <mpi.h>

#include "wrapper.h"

int wrapped_start(int *argc, char ***argv, int *rank, int *size)
{
	int err = MPI_Init(argc, argv);

	if (err == MPI_SUCCESS)
		err = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	if (err == MPI_SUCCESS)
		err = MPI_Comm_size(MPI_COMM_WORLD, size);
	return err;
}

int wrapped_sum(int mine, int *all)
{
	return MPI_Allreduce(&mine, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int wrapped_end(void)
{
	return MPI_Finalize();
}
