#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What smbd knows of inodes that it has seen before."""
import os
import re
import signal
import sys
import time

from door import CTIME, MTIME, ROOT, TEXT, World, content, open_status
import sandbox
from fake import FILLED, RANGE
from harness import case, expect, main, same
from sandbox import BASE, Process, wait_for

CALLS = 'getxattr,fgetxattr,name_to_handle_at'


def looks(world, work):
    """The server's looks at records during work()."""
    pids = world.server.processes()
    trace, name = f'{BASE}/trace', f'strace{time.monotonic_ns()}'
    argv = [part for pid in pids for part in ('-p', pid)]
    tracer = Process(name, ['strace', '-f', *argv, '-o', trace, '-e', f'trace={CALLS}'])
    log = f'{sandbox.LOGS}/{name}.log'
    wait_for('strace attaches', lambda: open(log).read().count('attached') >= len(pids),
             process=tracer)
    work()
    tracer.stop(signal.SIGINT)
    with open(trace) as lines:
        return re.findall(r'(?:\w*getxattr\(.*"security\.migrate"|name_to_handle_at).*', lines.read())


def age(path):
    """Seconds since the inode changed."""
    return time.time() - os.stat(path).st_ctime


def await_age(*paths):
    """What changed just now is looked at each time: that it is old is what is waited for."""
    for path in paths:
        wait_for(f'{path} has not changed for a while', lambda path=path: age(path) > 2.5)


def begin(args, fs=None):
    def fill(world):
        world.fake.directory(world.path('dir'), state=FILLED, mtime=MTIME, ctime=CTIME)
        os.chmod(world.path('dir'), 0o777)
        world.normal('dir/file', TEXT)
        os.utime(world.path('dir'), ns=(MTIME, MTIME))
    return World(args, fill, fs=fs)


@case()
def are_not_looked_at_again(args):
    """A whole file in a filled directory, opened anew each time."""
    world = begin(args)
    session = world.session()
    await_age(ROOT, world.path('dir'), world.path('dir/file'))

    def work():
        for _ in range(3):
            same(open_status(session, 'dir\\file'), 'SUCCESS', 'open')
    work()
    same(looks(world, work), [], 'looks')
    os.chmod(world.path('dir/file'), 0o600)
    os.chmod(world.path('dir/file'), 0o666)
    expect(looks(world, work), 'what has changed is not looked at')


@case()
def are_looked_at_while_they_change(args):
    """What changes twice within a tick of the clock has one ctime."""
    world = begin(args)
    session = world.session()

    def work():
        same(open_status(session, 'dir\\file'), 'SUCCESS', 'open')
    while True:
        os.chmod(world.path('dir/file'), 0o600)
        os.chmod(world.path('dir/file'), 0o666)
        work()
        found = looks(world, work)
        if age(world.path('dir/file')) < 1:         # else the machine was slow
            break
    expect(found, 'a file that has just changed is not looked at again')


@case()
def a_stub_in_place_of_a_whole_file(args):
    """With its inode's number, which ext4 gives again at once."""
    world = begin(args, 'ext4')
    session = world.session()
    path = world.path('dir/file')
    await_age(world.path('dir'), path)
    same(content(session, 'dir\\file'), TEXT, 'content')
    number, other = os.stat(path).st_ino, bytes(reversed(TEXT))
    os.unlink(path)
    world.file('dir/file', other)
    same(os.stat(path).st_ino, number, 'number of the new inode')
    same(content(session, 'dir\\file'), other, 'content of the stub')
    same(len(world.fake.requests(RANGE)), 1, 'requests')


if __name__ == '__main__':
    sys.exit(main())
