#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree may be anywhere: scripts run, and a program is built, where others have their trees, in a name with a
space, and in a mount below what cases cover.

    test_places.py BUILD
"""
import os
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TREE + '/tests/support')
from sandbox import CLONE_NEWNS, MS_BIND, MS_REC, check, keep_mounts_private, libc, sh     # noqa: E402

SCRIPTS = ('integration/test_discover.py drafts', 'integration/test_quota.py',
           'integration/test_failover.py two_volumes_have_doors_of_their_own')
PLACES = '/srv/quickmigrate', '/home/u ser/x', '/var/lib/misc'


def runs_from(place, build):
    """In a mount namespace of its own."""
    check(libc.unshare(CLONE_NEWNS))
    keep_mounts_private()
    tree = os.open(TREE, os.O_PATH)
    if not os.path.isdir(place):
        top = '/' + place.split('/')[1]
        sh('mount', '-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', top)
        os.makedirs(place)
    check(libc.mount(f'/proc/self/fd/{tree}'.encode(), place.encode(), None, MS_BIND | MS_REC, None))
    os.chdir(place)
    failed = []
    for script in SCRIPTS:
        path, *cases = script.split()
        if subprocess.call([f'{place}/tests/{path}', '--build', build, *cases]):
            failed.append(f'{place}: {script}')
    with tempfile.TemporaryDirectory(prefix='b uild') as new:
        if subprocess.call(['cmake', '--preset', 'default', '-G', 'Ninja', '-B', new], stdout=subprocess.DEVNULL) or \
                subprocess.call(['cmake', '--build', new, '--target', 'migrate-guard'], stdout=subprocess.DEVNULL):
            failed.append(f'{place}: a build')
    print('\n'.join(failed), flush=True)
    return len(failed)


def main():
    build = os.path.relpath(sys.argv[1], TREE)
    failed = 0
    for place in PLACES:
        child = os.fork()
        if child == 0:
            os._exit(runs_from(place, build))
        failed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    return failed


if __name__ == '__main__':
    sys.exit(main())
