/* Prints the prefix that it was compiled for, and a path below it. An installer
 * has to have written the environment's own prefix over the placeholder. */
#include <stdio.h>

/* volatile: the compiler must not know the strings' lengths. */
static const char *volatile prefix = PREFIX;
static const char *volatile data = PREFIX "/share/hpcenv-demo";

int main(void)
{
	printf("%s\n%s\n", prefix, data);
	return 0;
}
