# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bench's cases share: a target file system that is made anew, clocks, tables."""
import json
import os
import resource
import statistics
import subprocess
import threading
import time

import sandbox
from sandbox import Failure, sh, volume
from servers import NEW, VOLUME, Migration

MIB = 1 << 20
TICK = os.sysconf('SC_CLK_TCK')
FACTS = {'tables': {}}                   # what --output writes


class Clock:
    """with Clock() as c: ...; c.wall and c.cpu (of children that ended meanwhile), seconds."""

    def __enter__(self):
        self.begun, self.used = time.monotonic(), children()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.monotonic() - self.begun, children() - self.used


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_of(process):
    """Seconds of CPU that a running process has used (proc(5): utime and stime)."""
    with open(f'/proc/{process.pid}/stat') as stat:
        fields = stat.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def peak_rss(process):
    """The most memory that a running process has had resident, MiB."""
    with open(f'/proc/{process.pid}/status') as status:
        for line in status:
            if line.startswith('VmHWM:'):
                return int(line.split()[1]) / 1024
    raise OSError('no VmHWM')


def sync(path):
    sh('sync', '-f', path)


def forget(path):
    """Nothing of the file system there stays in the kernel's caches."""
    device = sh('findmnt', '-no', 'SOURCE', path).strip()
    keep = os.open(device, os.O_RDONLY | os.O_CLOEXEC)      # or the loop device goes
    try:
        sh('umount', path)
        sh('mount', '-o', 'noinit_itable', device, path)
    finally:
        os.close(keep)


class Target:
    """The new server's file system, new and empty; ext4 with inodes of 256 bytes."""

    def __init__(self, size='16G'):
        volume(NEW, size, mkfs=('-I', '256') if sandbox.FS == 'ext4' else ())

    def forget(self):
        forget(NEW)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        sh('umount', NEW)


class Running:
    """with Running(build, source, ...) as migration: a volume on a new target with its retriever
    running, not attached."""

    def __init__(self, build, source, **settings):
        self.target = Target()
        self.migration = Migration(build, source, **settings)
        self.migration.target = self.target

    def __enter__(self):
        self.migration.start_retriever()
        return self.migration

    def __exit__(self, failed, *_):
        if failed:
            return          # the sandbox ends everything
        self.migration.retriever.stop()
        self.target.__exit__()


class Progress:
    """with Progress(migration): what the retriever says of itself meanwhile, once a second, is in
    FACTS, of the last migration: seconds, files and bytes that were found, and that were whole."""

    KEYS = 'files_found', 'files_whole', 'bytes_found', 'bytes_whole'

    def __init__(self, migration):
        self.run = subprocess.Popen([migration.program('migratectl'), '--config', migration.config,
                                     '--watch', '--json', 'status', VOLUME],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.points = []

    def __enter__(self):
        self.begun = time.monotonic()
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        for line in self.run.stdout:
            counters = json.loads(line)['counters']
            self.points.append([time.monotonic() - self.begun, *(counters[key] for key in self.KEYS)])

    def __exit__(self, *_):
        self.run.terminate()
        self.thread.join()
        self.run.wait()
        FACTS['progress'] = self.points


def crawl_all(migration, *options):
    """Runs the crawler to its end."""
    status = migration.start_crawler(*options).wait(1800)
    if status:
        raise Failure(f'the crawler ended with status {status}: {migration.ctl("errors")}')


def median(values):
    return statistics.median(values)


def table(title, heads, rows):
    """Prints rows of strings under their heads, the first columns to the left."""
    FACTS['tables'][title] = [heads, *rows]
    widths = [max(len(str(row[i])) for row in [heads, *rows]) for i in range(len(heads))]
    print(f'\n{title}')
    for row in [heads, ['-' * w for w in widths], *rows]:
        print('  ' + '  '.join(str(v).ljust(w) if i == 0 else str(v).rjust(w)
                               for i, (v, w) in enumerate(zip(row, widths))).rstrip())
    print(flush=True)
