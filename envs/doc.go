// Package envs is the room for what an environment is: lock files (lockfile),
// conda packages (conda), prefixes (materialize), compiled Python sources
// (bytecode), what a shell must set (activation), what Python's packaging
// standards say (python), the project's manifest (project; pyproject), whether a lock has
// what it asks for (satisfy) and what its tasks run (task), what its
// programs and libraries ask of a node (elf), which driver runs which CUDA (cuda), what a project that is used from
// its source tree adds for one user (editable), and the engine that
// goes from a lock to published environments (prepare). It knows nothing of Slurm.
package envs
