# SPDX-License-Identifier: GPL-3.0-or-later
"""A control group of this machine's that limits the memory of processes of the run, of version 1 or 2,
whichever has the memory controller."""
import contextlib
import os
import signal
import tempfile

from sandbox import Failure, wait_for

# What a limit is called, and what of its statistics no process can be made to give back.
V1 = 'memory.limit_in_bytes', ('total_rss', 'total_shmem')
V2 = 'memory.max', ('anon', 'shmem')


def hierarchy():
    """(where, names)"""
    with open('/proc/self/mounts') as mounts:
        for _, where, kind, options, *_ in (line.split(' ') for line in mounts):
            if kind == 'cgroup' and 'memory' in options.split(','):
                return where, V1
            if kind == 'cgroup2':
                with contextlib.suppress(OSError), open(where + '/cgroup.subtree_control') as on:
                    if 'memory' in on.read().split():
                        return where, V2
    raise Failure('no control group of this machine limits memory')


class MemoryGroup:
    """Removed when it is left; what is in it then is killed."""

    def __enter__(self):
        top, (self.limit_name, self.kept) = hierarchy()
        try:
            self.path = tempfile.mkdtemp(prefix='quickmigrate-', dir=top)
        except OSError as error:
            raise Failure(f'no control group can be made here: {error}') from None
        for name, value in (('memory.swap.max', 0), ('memory.swappiness', 0)):  # nothing is swapped
            if os.path.exists(f'{self.path}/{name}'):
                self.put(name, value)
        return self

    def __exit__(self, *_):
        def empty():
            pids = self.get('cgroup.procs').split()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            return not pids
        wait_for('the control group is empty', empty)
        os.rmdir(self.path)

    def get(self, name):
        with open(f'{self.path}/{name}') as file:
            return file.read()

    def put(self, name, value):
        with open(f'{self.path}/{name}', 'w') as file:
            file.write(str(value))

    def add(self, *pids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                self.put('cgroup.procs', pid)

    def limit(self, more):
        """More than it has now, in bytes; None: there is none."""
        stat = dict(line.split() for line in self.get('memory.stat').splitlines())
        used = sum(int(stat[name]) for name in self.kept)
        self.put(self.limit_name, used + more if more else {V1[0]: -1}.get(self.limit_name, 'max'))

    def killed(self):
        """How many processes of it the kernel has ended for their memory."""
        found = [line for name in ('memory.oom_control', 'memory.events') if os.path.exists(f'{self.path}/{name}')
                 for line in self.get(name).splitlines()]
        return next(int(line.split()[1]) for line in found if line.startswith('oom_kill '))
