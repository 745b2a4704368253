#!/bin/sh
echo /tmp/orv/bin/python
