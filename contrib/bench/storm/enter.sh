#!/bin/bash
# enter.sh PROJECT ARGUMENTS…: starts Python in a project's prefix as pixi and conda
# do: the manifest and the lock are found and read, then the prefix's own records of
# it, then activation runs what packages left for it. Only the files that every entry
# has to read are read; pixi's program lies elsewhere.
project=$1
shift
prefix=$project/.pixi/envs/default
for file in "$project/pixi.toml" "$project/pixi.lock" "$project/.pixi/config.toml" "$prefix/conda-meta/pixi" "$prefix/conda-meta/state"; do
	if [ -e "$file" ]; then
		: "$(<"$file")"
	fi
done
for file in "$prefix"/etc/conda/env_vars.d/*.json; do
	if [ -e "$file" ]; then
		: "$(<"$file")"
	fi
done
export CONDA_PREFIX=$prefix
for file in "$prefix"/etc/conda/activate.d/*.sh; do
	if [ -e "$file" ]; then
		# shellcheck disable=SC1090 # what packages left
		. "$file"
	fi
done
exec "$prefix/bin/python3" "$@"
