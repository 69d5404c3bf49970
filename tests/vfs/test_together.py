#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data of a migrating volume through smbd with a real retriever and an old NFS server: every byte
is compared with what it must be."""
import os
import random
import signal
import sys
import threading

from data import close, copy_chunks, ok, patched, read, resume_key, set_size, write, zero
from door import fid_of, opened, status_is
import sandbox
import smb2
import smbd
import tree
from harness import case, expect, main, same
from sandbox import BASE, wait_for
from servers import NEW, VOLUME, Stalled, stack

MIB = 1 << 20
FILES = 12


def content(n):
    """Of file number n on the old server: some are large, some have holes."""
    source = random.Random(n)
    size = (0, 5000, 70000, 3 * MIB, 1, 300000)[n % 6] + source.randrange(3000)
    data = bytearray(source.randbytes(size))
    for _ in range(source.randrange(3)):
        start = source.randrange(size + 1)
        end = min(size, start + source.randrange(100000))
        data[start:end] = bytes(end - start)
    return bytes(data)


def fill(root):
    for n in range(FILES):
        with open(f'{root}/file{n}', 'wb') as out:
            data = content(n)
            for start in range(0, len(data), 4096):
                if any(data[start:start + 4096]):
                    out.seek(start)
                    out.write(data[start:start + 4096])
            out.truncate(len(data))
        os.chown(f'{root}/file{n}', *smbd.USERS['alice'][:2])


def begin(args, hold=30, **settings):
    old, migration = stack(args.build, settings.pop('fill', fill), **settings)
    migration.attach()
    migration.start_smbd(settings={'migrate:hold': hold})
    return old, migration


class Writer:
    """Changes files as it likes and compares what it reads with its model."""

    def __init__(self, session, source, files):
        self.session, self.random = session, source
        self.models = {n: content(n) for n in files}
        self.fids = {n: opened(session, f'file{n}') for n in files}
        self.failure, self.done = None, 0

    def step(self):
        n = self.random.choice(list(self.models))
        getattr(self, self.random.choice(('read', 'read', 'write', 'write', 'size', 'zero', 'copy',
                                          'flush', 'reopen')))(n)
        self.done += 1

    def a_range(self, n, largest=100000):
        size = len(self.models[n])
        start = self.random.randrange(size + 1)
        return start, min(size, start + self.random.randrange(largest))

    def read(self, n):
        start, _ = self.a_range(n)
        length = self.random.randrange(1, 200000)
        same(read(self.session, self.fids[n], start, length), self.models[n][start:start + length],
             f'file{n}, {length} bytes at {start}')

    def write(self, n):
        start = self.random.randrange(len(self.models[n]) + 10000)
        data = self.random.randbytes(self.random.randrange(1, 100000))
        write(self.session, self.fids[n], start, data, self.random.randrange(2))
        self.models[n] = patched(self.models[n], start, data)

    def size(self, n):
        size = self.random.randrange(len(self.models[n]) + 20000)
        ok(set_size(self.session, self.fids[n], size), 'SET_INFO')
        self.models[n] = self.models[n][:size].ljust(size, b'\0')

    def zero(self, n):
        start, end = self.a_range(n)
        ok(zero(self.session, self.fids[n], start, end), 'ZERO_DATA')
        model = self.models[n]
        self.models[n] = model[:start] + bytes(end - start) + model[end:]

    def copy(self, n):
        start, end = self.a_range(n)
        to = self.random.choice(list(self.models))
        at = self.random.randrange(len(self.models[to]) + 1)
        if start == end or to == n and at < end and start < at + end - start:
            return
        reply, key = resume_key(self.session, self.fids[n])
        ok(reply, 'REQUEST_RESUME_KEY')
        ok(copy_chunks(self.session, key, self.fids[to], (start, at, end - start)), 'COPYCHUNK')
        self.models[to] = patched(self.models[to], at, self.models[n][start:end])

    def flush(self, n):
        ok(self.session.ask(smb2.flush(self.fids[n])), 'FLUSH')

    def reopen(self, n):
        close(self.session, self.fids[n])
        how = self.random.choice((smb2.OPEN, smb2.OPEN, smb2.OPEN_IF, smb2.OVERWRITE))
        self.fids[n] = opened(self.session, f'file{n}', disposition=how)
        if how == smb2.OVERWRITE:
            self.models[n] = b''

    def compare(self):
        for n, model in self.models.items():
            got = b''.join(read(self.session, self.fids[n], at, MIB)
                           for at in range(0, len(model) + 1, MIB))
            same(got, model, f'file{n} through smbd')
            close(self.session, self.fids[n])

    def thread(self, stop):
        def body():
            try:
                while not stop.is_set():
                    self.step()
            except BaseException as error:
                self.failure = error
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        return thread


def finished(migration, writers):
    """The crawler brings the rest; then the new tree has what the models have."""
    for writer in writers:
        writer.compare()
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')
    for writer in writers:
        for n, model in writer.models.items():
            with open(f'{NEW}/file{n}', 'rb') as file:
                same(file.read(), model, f'file{n} in the new tree')


@case()
def changes_at_random(args):
    """One after another, by two clients, with files of their own; the retriever goes away."""
    _, migration = begin(args)
    writers = [Writer(migration.smbd.session('alice'), random.Random(args.seed + n),
                      range(n, FILES, 2)) for n in range(2)]
    for n in range(3000 if args.long else 400):
        writers[n % 2].step()
        if n % 70 == 69:
            migration.retriever.stop(signal.SIGKILL)
            migration.start_retriever()
    finished(migration, writers)


@case()
def killed_in_mid_write(args):
    """The retriever, at any time, while two clients change things."""
    _, migration = begin(args, hold=120)
    writers = [Writer(migration.smbd.session('alice'), random.Random(args.seed + 7 + n),
                      range(n, FILES, 2)) for n in range(2)]
    stop = threading.Event()
    threads = [writer.thread(stop) for writer in writers]
    for n in range(40 if args.long else 5):
        goal = sum(writer.done for writer in writers) + args.random.randrange(3, 20)
        wait_for('some are done', lambda: any(writer.failure for writer in writers) or
                 sum(writer.done for writer in writers) >= goal, 120)
        migration.retriever.stop(signal.SIGKILL)
        migration.start_retriever()
    stop.set()
    for thread, writer in zip(threads, writers):
        thread.join()
        if writer.failure:
            raise writer.failure
    finished(migration, writers)


@case()
def the_old_server_stands_still(args):
    """What is missing cannot be read, everything else goes on; then all of it is right."""
    def some(root):
        fill(root)
        with open(root + '/other', 'wb') as out:
            out.write(b'other' * 20000)
        os.chown(root + '/other', *smbd.USERS['alice'][:2])
    old, migration = begin(args, hold=5, fill=some)
    s = migration.smbd.session('alice')
    whole, large = 1, 3
    model, fid, here = content(large), opened(s, f'file{large}'), opened(s, f'file{whole}')
    other = opened(s, 'other')
    same(read(s, here, 0, MIB), content(whole), 'content')
    with Stalled(old):
        mids = [s.start(smb2.read(fid, n * 65536, 65536))[0] for n in range(4)]
        same(read(s, here, 0, MIB), content(whole), 'content of what is here')
        for mid in mids:
            status_is(s.connection.wait(mid), smb2.IO_TIMEOUT, 'READ of what is missing')
        write(s, fid, 100000, b'n' * 100000, flags=1)
        model = patched(model, 100000, b'n' * 100000)
        same(read(s, fid, 100000, 100000), b'n' * 100000, 'what was written')
        ok(zero(s, fid, MIB, MIB + 5000), 'ZERO_DATA')
        model = patched(model, MIB, bytes(5000))
        ok(set_size(s, fid, len(model) - 1000), 'SET_INFO')
        model = model[:-1000]
        ok(s.ask(smb2.flush(fid)), 'FLUSH')
        status_is(resume_key(s, other)[0], smb2.IO_TIMEOUT, 'REQUEST_RESUME_KEY')
        same(read(s, here, 0, MIB), content(whole), 'content of what is here')
    for at in range(0, len(model), MIB):
        wait_for('it answers again', lambda at=at: s.ask(smb2.read(fid, at, MIB)).status !=
                 smb2.IO_TIMEOUT)
        same(read(s, fid, at, MIB), model[at:at + MIB], f'content at {at}')
    migration.crawl()
    with open(f'{NEW}/file{large}', 'rb') as file:
        same(file.read(), model, 'the new tree')


@case()
def a_copied_file_system(args):
    """A copy of the new file system, as of a backup: what is missing in it is an error."""
    def some(root):
        with open(root + '/file', 'wb') as out:
            out.write(b'data' * 50000)
        os.chown(root + '/file', *smbd.USERS['alice'][:2])
    _, migration = begin(args, hold=5, fill=some, size='64M', fs='ext4')   # which mounts both
    fid = opened(migration.smbd.session('alice'), 'file')       # so that its stub is there
    expect(fid, 'no file')
    sandbox.sh('sync', '-f', NEW)
    device = sandbox.sh('findmnt', '-n', '-o', 'SOURCE', NEW).strip()
    sandbox.sh('dd', f'if={device}', f'of={BASE}/image', 'bs=1M', 'conv=sparse', 'status=none')
    os.mkdir(BASE + '/copy')
    sandbox.sh('mount', '-o', 'ro,noload,loop', BASE + '/image', BASE + '/copy')
    migration.smbd.configure({'copy': (BASE + '/copy', smbd.layer(VOLUME, migration.socket))})
    migration.smbd.restart()
    s = migration.smbd.session('alice', share='copy')
    reply = s.ask(smb2.create('file', access=smb2.READ_DATA))
    if not reply.status:
        reply = s.ask(smb2.read(fid_of(reply), 0, MIB))
    expect(reply.failed, 'it can be read')
    same(smb2.name_of(reply.status), 'IO_DEVICE_ERROR', 'status')


if __name__ == '__main__':
    sys.exit(main())
