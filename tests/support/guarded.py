# SPDX-License-Identifier: GPL-3.0-or-later
"""A guarded volume: the guard's process, and what systemd does for it."""
import fcntl
import os
import signal
import socket

from sandbox import BASE, Process, wait_for
from servers import NEW, VOLUME, stack

OWN_MOUNTS = ['unshare', '--mount', '--propagation', 'slave', '--']     # PrivateMounts=yes
KEPT = 100                              # the first number of the descriptors that are kept
START = 'export LISTEN_PID=$$; exec 3<&$1 4<&$2; shift 2; exec "$@"'


class Guard:
    """A migrate-guard, and the service manager: what it gave to be kept is given to the next one.
    preserves: also where it was stopped, as systemd 254 does."""

    def __init__(self, migration, *options, preserves=True):
        self.migration, self.options, self.preserves = migration, options, preserves
        self.kept, self.process = {}, None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.setblocking(False)
        self.path = f'{BASE}/notify.{id(self)}'
        self.socket.bind(self.path)

    def listen(self):
        """Takes what there is; whether it is ready."""
        ready = False
        while True:
            try:
                text, fds, _, _ = socket.recv_fds(self.socket, 4096, 4)
            except BlockingIOError:
                return ready
            lines = dict(line.split('=', 1) for line in text.decode().splitlines())
            name = lines.get('FDNAME')
            if 'FDSTORE' in lines:
                if name in self.kept:
                    os.close(self.kept[name])
                self.kept[name] = fcntl.fcntl(fds[0], fcntl.F_DUPFD_CLOEXEC, KEPT)
                os.close(fds[0])
            elif 'FDSTOREREMOVE' in lines and name in self.kept:
                os.close(self.kept.pop(name))
            ready = ready or 'READY' in lines

    def start(self, wait=True):
        argv = [self.migration.program('migrate-guard'), '--config', self.migration.config,
                *self.options, VOLUME]
        names = sorted(self.kept)
        fds = [self.kept[name] for name in names]
        env = {**os.environ, 'NOTIFY_SOCKET': self.path}
        if self.preserves:
            env['FDSTORE'] = '4'
        if fds:
            env.update(LISTEN_FDS=str(len(fds)), LISTEN_FDNAMES=':'.join(names))
            argv = ['bash', '-c', START, 'start', str(fds[0]), str(fds[-1]), *argv]
        self.process = Process('guard', argv, env=env, pass_fds=fds)
        if wait:
            wait_for('the guard is ready', self.listen, process=self.process)
        return self

    def stop(self, number):
        self.process.stop(number)
        self.listen()

    def forget(self):
        """What is kept."""
        self.listen()
        for fd in self.kept.values():
            os.close(fd)
        self.kept.clear()

    def close(self):
        """For good: who waits goes on."""
        if self.process.poll() is None:
            self.stop(signal.SIGKILL)
        self.forget()
        self.socket.close()
        os.unlink(self.path)


class OwnMounts:
    """In place of another host (sandbox.Host): this one, and mounts of its own."""
    prefix, address = OWN_MOUNTS, '127.0.0.1'

    class holder:           # pylint: disable=invalid-name
        pid = 'self'


def begin_with(args, fill, options=(), preserves=True, **settings):
    """(old server, (Migration, Guard)): the retriever has mounts of its own, everybody else has the
    guard."""
    old, migration = stack(args.build, fill, wrapper=OWN_MOUNTS, **settings)
    guard = Guard(migration, *options, preserves=preserves).start()
    if settings.get('guard') != 'strict':
        os.listdir(NEW)                 # as long as it is an empty directory like any other
    migration.attach()
    return old, (migration, guard)


def begin(*args, **kw):
    """(Migration, Guard)"""
    return begin_with(*args, **kw)[1]
