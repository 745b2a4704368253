#!/bin/sh
# Where this environment was installed, as its installer wrote it.
echo "hello from @PREFIX@"
