#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the new server itself, which open what is not here yet without a file server, see it or
an error, and never a hole."""
import errno
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import guarded                                                          # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Failure, sh, volume, wait_for                 # noqa: E402
from servers import NEW, OLD, VOLUME, Stalled                           # noqa: E402

SIZE = (1 << 20) + 12345


def content(name, size=SIZE):
    return (name.encode() * (size // len(name) + 1))[:size]


def make(path, data, mode=0o644):
    with open(path, 'wb') as file:
        file.write(data)
    os.chmod(path, mode)


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def fill(root):
    for directory in 'abc':
        os.mkdir(f'{root}/{directory}')
        for n in range(20):
            make(f'{root}/{directory}/{n}', content(f'{directory}{n}'))


@case()
def thin(args):
    migration, guard = guarded.begin(args, fill)
    same(sorted(os.listdir(NEW)), ['.migrate', 'a', 'b', 'c'], 'the root')
    same(len(os.listdir(f'{NEW}/a')), 20, 'names')
    same(read(f'{NEW}/a/0'), content('a0'), 'a file')
    os.truncate(f'{NEW}/a/1', 5)
    same(read(f'{NEW}/a/1'), content('a1')[:5], 'a file that was cut')
    make(f'{NEW}/a/2', b'new')
    same(sh('cp', f'{NEW}/a/3', BASE + '/copy'), '', 'cp')
    same(read(BASE + '/copy'), content('a3'), 'a copy')
    migration.crawl()
    same(read(f'{NEW}/a/1'), content('a1')[:5], 'a file that was cut')
    same(read(f'{NEW}/a/2'), b'new', 'a file that was written')
    same(read(f'{NEW}/b/7'), content('b7'), 'a file')


if __name__ == '__main__':
    sys.exit(main())
