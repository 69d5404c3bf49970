# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that changes a migrating volume at random, and a model of what it must hold: a local
copy of the old tree that gets every change as well."""
import errno
import os
import select
import stat
import threading
import time

import nfs3
from harness import expect, same
from xdr import RpcError

KIB = 1 << 10


class Stepper:
    """Runs step() in a thread until an Event is set; finish() waits for it, and raises what went wrong."""

    failure = None

    def thread(self, until):
        def body():
            try:
                while not until.is_set():
                    self.step()
            except BaseException as error:
                self.failure = error
        self.worker = threading.Thread(target=body, daemon=True)
        self.worker.start()

    def finish(self):
        self.worker.join()
        if self.failure:
            raise self.failure


class Mutator(Stepper):
    """connect: makes a client; model: the directory of the copy; leave_out: names in its root that
    are somebody else's.  Survives servers that die in mid-call: it connects again and repeats the
    call, knowing that it may have been done."""

    def __init__(self, connect, model, random, patience=60, leave_out=()):
        self.leave_out = set(leave_out)
        self.connect, self.model, self.random = connect, os.fsencode(model), random
        self.patience = patience
        self.client = connect()
        self.touched = set()            # inodes of the model whose mtime a client's change set
        self.counter = 0
        self.done = 0
        self.repeats = 0
        self.exact_links = False        # true when no name in .migrate counts any more
        self.log = []                   # the last operations, for the reader of a failure
        self.history = {}               # all of them, by the inode of the model
        self.scan()

    def scan(self):
        self.dirs, self.files, self.others = [b''], [], []
        for base, dirs, files in os.walk(self.model):
            below = os.path.relpath(base, self.model)
            prefix = b'' if below == b'.' else below + b'/'
            if not prefix:
                dirs[:] = [name for name in dirs if name not in self.leave_out]
            for name in dirs + files:
                path = prefix + name
                st = os.lstat(self.at(path))
                (self.dirs if stat.S_ISDIR(st.st_mode) else self.files if stat.S_ISREG(st.st_mode)
                 else self.others).append(path)

    def at(self, path):
        return os.path.join(self.model, path)

    def touch(self, *paths):
        for path in paths:
            self.touched.add(os.lstat(self.at(path)).st_ino)

    def any_mtime(self, st):
        """For tree.compare()."""
        return st.st_ino in self.touched

    # ---- calls that survive ---------------------------------------------------------------------

    def ask(self, call, done_already=()):
        """call(client).  done_already: statuses that mean success when the call was repeated."""
        end = time.monotonic() + self.patience
        repeated = False
        while True:
            try:
                return call(self.client)
            except RpcError:
                if time.monotonic() > end:
                    raise
                repeated = True
                self.repeats += 1
                self.reconnect(end)
            except nfs3.NfsError as error:
                if not (repeated and error.status in done_already):
                    raise
                return None

    def reconnect(self, end):
        while True:
            try:
                self.client = self.connect()
                return
            except (OSError, RpcError, nfs3.NfsError):
                if time.monotonic() > end:
                    raise
                select.select([], [], [], 0.02)

    def walk(self, path):
        return self.ask(lambda c: c.walk(path))

    def parent(self, path):
        directory, _, name = path.rpartition(b'/')
        return directory, self.walk(directory)[0], name

    # ---- operations -----------------------------------------------------------------------------

    OPERATIONS = ('read', 'read', 'read', 'write', 'write', 'write', 'truncate', 'mode', 'owner',
                  'times', 'create', 'create', 'mkdir', 'symlink', 'rename', 'rename',
                  'rename_directory', 'unlink', 'rmdir', 'link', 'stat', 'stat', 'listing')

    def step(self):
        name = self.random.choice(self.OPERATIONS)
        self.log.append([name])
        del self.log[:-12]
        getattr(self, 'do_' + name)()
        self.done += 1

    def note(self, path, *what):
        self.log[-1].extend((path, *what))
        if os.path.lexists(self.at(path)):
            self.history.setdefault(os.lstat(self.at(path)).st_ino, []).append(
                (self.done, *self.log[-1]))

    def story(self, path):
        """What was done to an object, for the reader of a failure."""
        return '\n  '.join(map(str, self.history.get(os.lstat(self.at(path)).st_ino, ())))

    def run(self, operations):
        for _ in range(operations):
            self.step()

    def finish(self):
        try:
            super().finish()
        except BaseException:
            print('the last operations:', *self.log, sep='\n  ')
            raise

    def a_file(self):
        return self.random.choice(self.files)

    def new_name(self):
        self.counter += 1
        return b'new %d' % self.counter

    def place(self):
        """A path that does not exist."""
        directory = self.random.choice(self.dirs)
        return (directory + b'/' if directory else b'') + self.new_name()

    def do_read(self):
        path = self.a_file()
        size = os.lstat(self.at(path)).st_size
        offset = self.random.randrange(size + 1)
        count = self.random.choice((1, 100, 4 * KIB, 64 * KIB, 1 << 20))
        self.note(path, offset, count)
        fh, _ = self.walk(path)
        data, _ = self.ask(lambda c: c.read(fh, offset, count))
        with open(self.at(path), 'rb') as file:
            file.seek(offset)
            wanted = file.read(count)
        if data != wanted[:len(data)] or bool(data) != bool(wanted):
            self.differs(path, offset, data, wanted)

    def differs(self, path, offset, data, wanted):
        at = next((i for i, (x, y) in enumerate(zip(data, wanted)) if x != y), len(data))
        until = next((i for i in range(at, len(data)) if data[i:i + 16] == wanted[i:i + 16]),
                     len(data))
        expect(False, f'{path}: wrong from byte {offset + at} to {offset + until}'
               f'{"" if any(data[at:until]) else " (zeros)"}, size in the model '
               f'{os.lstat(self.at(path)).st_size}; done to it:\n  {self.story(path)}')

    def do_write(self):
        path = self.a_file()
        size = os.lstat(self.at(path)).st_size
        offset = self.random.randrange(size + 1 + self.random.choice((0, 0, 100 * KIB)))
        data = self.random.randbytes(self.random.choice((1, 10, 1000, 4 * KIB, 100 * KIB)))
        stable = self.random.choice((nfs3.UNSTABLE, nfs3.UNSTABLE, nfs3.FILE_SYNC))
        self.note(path, offset, len(data), stable)
        fh, _ = self.walk(path)
        self.ask(lambda c: c.write(fh, offset, data, stable))
        if self.random.random() < 0.3:
            self.ask(lambda c: c.commit(fh))
        with open(self.at(path), 'r+b') as file:
            file.seek(offset)
            file.write(data)
        self.touch(path)

    def do_truncate(self):
        path = self.a_file()
        size = os.lstat(self.at(path)).st_size
        size = self.random.choice((0, size // 2, size + 1, size + 70000,
                                   self.random.randrange(size + 1)))
        self.note(path, size)
        fh, _ = self.walk(path)
        self.ask(lambda c: c.setattr(fh, size=size))
        os.truncate(self.at(path), size)
        self.touch(path)

    def do_mode(self):
        path = self.random.choice(self.files + self.dirs[1:])
        mode = self.random.choice((0o600, 0o644, 0o755, 0o1777, 0o400))
        self.note(path, mode)
        fh, _ = self.walk(path)
        self.ask(lambda c: c.setattr(fh, mode=mode))
        os.chmod(self.at(path), mode)

    def do_owner(self):
        path = self.random.choice(self.files + self.dirs[1:])
        uid, gid = self.random.randrange(5000), self.random.randrange(5000)
        self.note(path, uid, gid)
        fh, _ = self.walk(path)
        self.ask(lambda c: c.setattr(fh, uid=uid, gid=gid))
        os.chown(self.at(path), uid, gid)

    def do_times(self):
        path = self.random.choice(self.files + self.dirs[1:])
        ns = self.random.randrange(10**18, 17 * 10**17)
        self.note(path, ns)
        fh, _ = self.walk(path)
        self.ask(lambda c: c.setattr(fh, atime=ns + 1, mtime=ns))
        os.utime(self.at(path), ns=(ns + 1, ns))
        self.touched.discard(os.lstat(self.at(path)).st_ino)

    def do_create(self):
        path = self.place()
        data = self.random.randbytes(self.random.choice((0, 1, 5000, 200 * KIB)))
        self.note(path, len(data))
        directory, parent, name = self.parent(path)
        fh = self.ask(lambda c: c.create(parent, name, mode=0o640))
        self.ask(lambda c: c.write(fh, 0, data))
        with open(self.at(path), 'wb') as file:
            file.write(data)
        os.chmod(self.at(path), 0o640)
        self.inherit(directory, path)
        self.files.append(path)
        self.touch(directory, path)

    def inherit(self, directory, path, is_directory=False):
        """As the kernel does on the new server: the group of a setgid directory (the model's
        directory is the same, but the kernel's rules and umask are not the client's)."""
        st = os.lstat(self.at(directory))
        gid = st.st_gid if st.st_mode & stat.S_ISGID else 0
        os.chown(self.at(path), 0, gid, follow_symlinks=False)
        if is_directory:
            os.chmod(self.at(path), 0o750 | (st.st_mode & stat.S_ISGID))

    def do_mkdir(self):
        path = self.place()
        self.note(path)
        directory, parent, name = self.parent(path)
        self.ask(lambda c: c.mkdir(parent, name, mode=0o750), (nfs3.EXIST,))
        os.mkdir(self.at(path))
        self.inherit(directory, path, True)
        self.dirs.append(path)
        self.touch(directory, path)

    def do_symlink(self):
        path = self.place()
        self.note(path)
        directory, parent, name = self.parent(path)
        self.ask(lambda c: c.symlink(parent, name, b'to ' + name), (nfs3.EXIST,))
        os.symlink(b'to ' + name, self.at(path))
        self.inherit(directory, path)
        self.others.append(path)
        self.touch(directory, path)

    def do_rename(self):
        path = self.a_file()
        target = self.a_file() if self.random.random() < 0.3 else self.place()
        self.note(path, target)
        if os.path.lexists(self.at(target)) and os.path.samefile(self.at(path), self.at(target)):
            return
        directory, parent, name = self.parent(path)
        to_directory, to_parent, to_name = self.parent(target)
        self.ask(lambda c: c.rename(parent, name, to_parent, to_name), (nfs3.NOENT,))
        os.rename(self.at(path), self.at(target))
        self.files.remove(path)
        if target not in self.files:
            self.files.append(target)
        self.touch(directory, to_directory)

    def do_rename_directory(self):
        if len(self.dirs) < 4:
            return
        path, target = self.random.choice(self.dirs[1:]), self.place()
        if (target + b'/').startswith(path + b'/'):
            return
        self.note(path, target)
        directory, parent, name = self.parent(path)
        to_directory, to_parent, to_name = self.parent(target)
        self.ask(lambda c: c.rename(parent, name, to_parent, to_name), (nfs3.NOENT,))
        os.rename(self.at(path), self.at(target))
        self.touch(directory, to_directory)
        if directory != to_directory:
            self.touch(target)              # its ".." was changed
        self.scan()

    def do_unlink(self):
        path = self.a_file()
        self.note(path)
        directory, parent, name = self.parent(path)
        self.ask(lambda c: c.remove(parent, name), (nfs3.NOENT,))
        os.unlink(self.at(path))
        self.files.remove(path)
        self.touch(directory)

    def do_rmdir(self):
        if len(self.dirs) < 2:
            return
        path = self.random.choice(self.dirs[1:])
        self.note(path)
        directory, parent, name = self.parent(path)
        if os.listdir(self.at(path)):
            try:
                self.ask(lambda c: c.rmdir(parent, name))
            except nfs3.NfsError as error:
                same(error.status, nfs3.NOTEMPTY, f'status of an RMDIR of {path}')
            else:
                expect(False, f'{path} was removed and is not empty')
            return
        self.ask(lambda c: c.rmdir(parent, name), (nfs3.NOENT,))
        os.rmdir(self.at(path))
        self.dirs.remove(path)
        self.touch(directory)

    def do_link(self):
        path, target = self.a_file(), self.place()
        self.note(path, target)
        fh, _ = self.walk(path)
        directory, parent, name = self.parent(target)
        self.ask(lambda c: c.link(fh, parent, name), (nfs3.EXIST,))
        os.link(self.at(path), self.at(target))
        self.files.append(target)
        self.touch(directory)

    def do_stat(self):
        path = self.random.choice(self.files + self.dirs + self.others)
        self.note(path)
        _, attr = self.walk(path)
        st = os.lstat(self.at(path))
        same((attr.mode, attr.uid, attr.gid), (stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid),
             f'{path}: mode and owner')
        if not stat.S_ISDIR(st.st_mode):
            same(attr.size, st.st_size, f'{path}: size')
            if self.exact_links:
                self.await_links(path, st.st_nlink)
        if st.st_ino not in self.touched:
            same(attr.mtime, st.st_mtime_ns, f'{path}: mtime')

    def await_links(self, path, wanted):
        """A door may show for a second what it knew of an object with several names before the
        retriever made the last of them."""
        end = time.monotonic() + self.patience
        while (now := self.walk(path)[1].nlink) != wanted and time.monotonic() < end:
            pass
        same(now, wanted, f'{path}: links')

    def do_listing(self):
        path = self.random.choice(self.dirs)
        self.note(path)
        fh, _ = self.walk(path)
        names = self.ask(lambda c: {e[0] for e in c.listing(fh)})
        try:
            wanted = set(os.listdir(self.at(path)))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
            wanted = None
        same(names, wanted, f'names in {path}')
