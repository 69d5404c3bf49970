# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of test_operations.py: what is done, on a migrating volume and on a plain copy, in a
directory that holds sample() of test_operations.py.  v: a View of one of them.

The cases are in operations_data.py, operations_attributes.py and operations_names.py."""
import random

from doors import MINORS

OLD_TIME = 10**18
KIB = 1 << 10
NOISE = random.Random(5).randbytes(200000)

OPERATIONS = {}         # name: (function, versions)


def operation(*versions):
    """Marks a case.  versions: of NFS that have it; none: all."""
    def mark(function):
        OPERATIONS[function.__name__] = (function, versions or tuple(MINORS))
        return function
    return mark
