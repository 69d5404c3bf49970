# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages of this commit, built once for all tests of a build directory."""
import fcntl
import os
import re
import subprocess

from sandbox import Failure
from servers import REPO

# What dpkg and its triggers write for any package.
OF_DPKG = re.compile(r'/var/(lib/dpkg|cache|log)/|/etc/ld\.so\.cache|/usr/share/man/.*cat|'
                     r'/var/lib/(systemd|apt|man-db)')


def build(directory):
    """Of a clean tree.  Returns the directory."""
    log = directory + '.log'
    with open(log, 'w') as out:
        status = subprocess.run([REPO + '/packaging/build', directory], stdin=subprocess.DEVNULL,
                                stdout=out, stderr=out).returncode
    if status:
        with open(log) as text:
            raise Failure('packaging/build:\n' + text.read()[-3000:])
    return directory


def packages(build_directory):
    """Their directory."""
    directory = os.path.join(os.path.abspath(build_directory), 'packages')
    commit = subprocess.run(['git', '-c', 'safe.directory=*', '-C', REPO, 'rev-parse', 'HEAD'],
                            stdout=subprocess.PIPE, check=True, text=True).stdout
    with open(directory + '.commit', 'a+') as made:
        fcntl.flock(made, fcntl.LOCK_EX)
        made.seek(0)
        if made.read() != commit or not os.path.isdir(directory):
            build(directory)
            made.truncate(0)
            made.write(commit)
    return directory
