#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest, as this machine's kernel may know no such file system: names that differ in case alone are one
in the root, on ext4 in what was copied there too.  It is found before anything is made, and said.

    folding.py BUILD FS
"""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'support'))
import sandbox                                                          # noqa: E402
from sandbox import BASE, LOGS, sh                                      # noqa: E402
from servers import NEW, OLD, VOLUME, Migration                         # noqa: E402

MKFS = {'ext4': ['mkfs.ext4', '-q', '-F', '-b', '4096', '-O', 'casefold', '-E', 'encoding=utf8'],
        'xfs': ['mkfs.xfs', '-q', '-f', '-n', 'version=ci']}


def expect(truth, what):
    if not truth:
        raise sandbox.Failure(what)


def refused(migration, *command):
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, *command, VOLUME],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    said = done.stderr + done.stdout
    expect(done.returncode and 'differ in case' in said and 'chattr +F' in said, f'{command}: {done}')


def refused_by_all(migration, commands):
    before = os.listdir(NEW)
    migration.start_retriever()
    for command in commands:
        refused(migration, *command)
    expect(os.listdir(NEW) == before, f'{os.listdir(NEW)}, not {before}')
    migration.retriever.stop()


def main(build, fs):
    disk, = glob.glob('/dev/[uv]*d[ab]')
    sh('ip', 'link', 'set', 'lo', 'up')
    for directory in (LOGS, OLD, NEW):
        os.makedirs(directory, exist_ok=True)
    for name in ('Makefile', 'makefile', 'caf\u00e9', 'cafe\u0301'):
        with open(f'{OLD}/{name}', 'w') as out:
            out.write(name)
    sh(*MKFS[fs], disk)
    sh('mount', disk, NEW)
    if fs == 'ext4':
        os.rmdir(NEW + '/lost+found')
        sh('chattr', '+F', NEW)
    migration = Migration(build, f'file://{OLD}')
    refused_by_all(migration, (['attach'], ['--adopt', 'attach'], ['copy'], ['check']))
    sh('cp', '-a', OLD + '/.', NEW)
    refused_by_all(migration, [['--adopt', 'attach']])


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except (sandbox.Failure, subprocess.SubprocessError, OSError) as failure:
        print(failure)
        sandbox.show_logs()
        sys.exit(1)
