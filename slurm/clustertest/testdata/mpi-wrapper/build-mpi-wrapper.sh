#!/bin/sh
# build-mpi-wrapper.sh -c MPICC -o DIR: compiles the wrapper beside this script.
set -eu
cc=mpicc
while getopts c:o: opt; do
	case $opt in
	c) cc=$OPTARG ;;
	o) out=$OPTARG ;;
	*) exit 2 ;;
	esac
done
here=$(dirname "$0")
mkdir -p "$out/lib" "$out/bin"
"$cc" -shared -fPIC -Wl,-rpath,"$out/lib" -o "$out/lib/libmpi_wrapper.so.1" "$here/src/wrapper.c"
ln -s libmpi_wrapper.so.1 "$out/lib/libmpi_wrapper.so"
gcc -o "$out/bin/mpi-hello" "$here/src/hello.c" -ldl
