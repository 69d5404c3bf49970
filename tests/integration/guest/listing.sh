#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# listing.sh DIRECTORY - what find and stat say of every object, but of ./desk; directories' sizes
# are a file system's own affair.
set -euo pipefail
cd "$1"
find . -path ./desk -prune -o \( -type d -printf '%p %y %m %U %G - %T@\n' \
	-o -printf '%p %y %m %U %G %s %n %T@ %l\n' \) | LC_ALL=C sort
