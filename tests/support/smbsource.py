# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of an old SMB server ask of a migration from it."""
import contextlib
import os
import re
import stat
import subprocess

import smbd
import tree
from harness import expect, same
from sandbox import BASE, wait_for
from servers import NEW, OLD, VOLUME, Migration, volume

SECRET = BASE + '/secret'
PROXY_PORT = 4450


def password(text=smbd.PASSWORD, mode=0o600):
    with open(SECRET, 'w') as out:
        os.fchmod(out.fileno(), mode)
        out.write(text + '\n')
    return SECRET


def put(path, data):
    with open(path, 'wb') as out:
        out.write(data)
    os.utime(path, ns=(10 ** 18, 10 ** 18 + len(data) * 1000))


def begin(migration):
    migration.start_retriever()
    migration.attach()
    migration.start_server()


def world(args, make, settings=None, new=None, prepare=None, server=None, **hooks):
    """make: the old tree; settings: of the old share; server: of its smbd, which prepare is called with;
    new: what volume() is told of the new file system; hooks: of a Proxy that stands between."""
    volume(OLD)
    volume(NEW, **(new or {}))
    make(OLD)
    old = smbd.old_smbd(OLD, settings=settings, **(server or {}))
    if prepare:
        prepare(old)
    where = old.address
    if hooks:
        import smbproxy                 # it needs impacket
        where = f'127.0.0.1:{smbproxy.Proxy(old, PROXY_PORT, **hooks).port}'
    migration = Migration(args.build, f'smb://root@{where}/old', smb_password_file=password(), smb_modes='open')
    begin(migration)
    return old, migration


class Same(tree.Comparison):
    """Modes and owners are what the descriptors make of them: another test's."""

    def attributes(self, a, b, path):
        if a.st_mtime_ns // 100 != b.st_mtime_ns // 100:
            self.say(path, f'mtime {b.st_mtime_ns}, not {a.st_mtime_ns}')
        if stat.S_ISDIR(a.st_mode):
            return
        if a.st_size != b.st_size or a.st_nlink != b.st_nlink:
            self.say(path, f'size {b.st_size}, links {b.st_nlink}; not {a.st_size}, {a.st_nlink}')
        if b.st_blocks * 512 > a.st_blocks * 512 + 64 * 1024:
            self.say(path, f'takes {b.st_blocks * 512} bytes, not {a.st_blocks * 512}')


def no_differences():
    comparison = Same()
    fds = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (OLD, NEW)]
    comparison.directory(*fds)
    for fd in fds:
        os.close(fd)
    same(comparison.differences, [], 'differences')
    return comparison


def finish(migration):
    same(migration.status()['state'], 'whole', 'state after the crawl')
    same(int(migration.status()['errors']), 0, 'errors')
    migration.ctl('verify')
    same(tree.records(NEW), [], 'objects with a record')
    migration.ctl('finalize')
    return no_differences()


def refusal(migration, status=None):
    """The one line with which the retriever ends, and with this status if one is given."""
    done = subprocess.run([migration.program('migrate-retriever'), '--config', migration.config,
                           VOLUME], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120)
    expect(done.returncode != 0, 'the retriever starts')
    if status is not None:
        same(done.returncode, status, f'status with {done.stderr!r}')
    lines = [line for line in done.stderr.splitlines() if line]
    same(len(lines), 1, f'lines of {done.stderr!r}')
    return lines[0]


def workers(migration):
    """{pid: the fields of /proc/PID/status} of the retriever's workers."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError), open(f'/proc/{pid}/status') as file:
            fields = dict(line.split(':\t', 1) for line in file.read().splitlines()
                          if ':\t' in line)
            if int(fields['PPid']) == migration.retriever.pid and fields['State'][0] not in 'ZX':
                found[int(pid)] = fields
    return found


def is_own_user(fields):
    """Whether the ids in /proc/PID/status are one user's and group's, who is neither root nor anybody
    whom files may belong to."""
    ids = set(fields['Uid'].split() + fields['Gid'].split())
    return len(ids) == 1 and not ids & {'0', '65534'}


def reaches(pid):
    """What a process has open beside its error output, in words."""
    found = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd') if fd != '2']
    return {re.sub(r'\[\d+\]', '', target) for target in found}


def confined_workers(migration, least=1):
    """The workers once there are so many and each is confined: one that has just been forked is the
    retriever still."""
    found = {}

    def confined():
        found.clear()
        found.update(workers(migration))
        return len(found) >= least and all(fields['Seccomp'].strip() == '2' for fields in found.values())
    wait_for('every worker has its system calls filtered', confined)
    return found
