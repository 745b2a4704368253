/* Tasks as slurmstepd makes them, for the node's tests. */
#ifndef TASKS_H
#define TASKS_H

#include <sys/types.h>

/* slurmstepd up to its first task; pin NULL = none. */
void begin(const char *pin);
/* One task. It exits 0 if its environment afterwards has want (NAME=VALUE, or
 * NAME with any value; "" = anything), else 99. */
pid_t start_task(int local, const char *want);
/* So many tasks at once; the exit code they share, 128 + signal, or -1. */
int run_tasks(int count, const char *want);
/* What the tasks wrote on stderr since the last begin. */
const char *said(void);
bool said_once(const char *text);

#endif
