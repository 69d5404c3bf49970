#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs do to files through the kernel's SMB client, in a guest: on a share of stubs as on a
plain one."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, main          # noqa: E402
from pair import Pair                   # noqa: E402
from programs import HERE, fill, names  # noqa: E402

# These need a mount without locks, locks that nobody must obey, and open files that can be replaced.
NOT_BY_SMB = 'database', 'locks_of_ranges', 'replaced_while_open'


@case(guest=True)
def programs(args):
    pair = Pair(args.build, lambda root: fill(root, args.random), 'smb')
    pair.run([HERE + '/guest/cifs.sh', *(name for name in names() if name not in NOT_BY_SMB)], 900)
    pair.finish()


if __name__ == '__main__':
    sys.exit(main())
