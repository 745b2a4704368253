/* What a program that is not compiled against the site's MPI needs of it. */
int wrapped_start(int *argc, char ***argv, int *rank, int *size);
int wrapped_sum(int mine, int *all);
int wrapped_end(void);
