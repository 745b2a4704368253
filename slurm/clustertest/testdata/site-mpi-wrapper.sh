#!/bin/bash
# A site's build of the wrapper, and what it must not be able to do meanwhile.
set -eux
test "$HPCENV_MPI" = openmpi
# Neither the network, nor the environment's files, nor anybody's home or store.
if (exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null; then exit 11; fi
if python3 -c 'import socket; socket.socket()' 2>/dev/null; then exit 12; fi
if touch "$PREFIX/mine" 2>/dev/null; then exit 13; fi
if [ -e STORE ] || [ -e /home ] || [ -e /etc/passwd ]; then exit 14; fi
tar -xf "$SOURCES/extra.tar.gz"
sh "$PREFIX/mpi-wrapper/build-mpi-wrapper.sh" -c "$HPCENV_COMPILER" -o "$OVERLAY"
cp extra.txt "$OVERLAY/extra.txt"
