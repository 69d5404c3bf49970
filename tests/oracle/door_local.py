# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of the server's machine: door3.py's calls by system calls on the public path, with the
user's ids.  Handles are the kernel's, as NFS has them; statuses are errno, but for door.STALE.

It does as programs do that go down from the top: it lists a directory before it looks for a name in it,
changes it, or removes it.  `change` of an Attr says whether the object was unfinished before it was
asked for."""
import contextlib
import ctypes
import errno
import os
import stat
import threading

from door import Attr, Door

libc = ctypes.CDLL(None, use_errno=True)
SETGROUPS = {'x86_64': 116, 'aarch64': 159}[os.uname().machine]
NFS_STALE = 70
TYPES = {stat.S_IFREG: 1, stat.S_IFDIR: 2, stat.S_IFBLK: 3, stat.S_IFCHR: 4, stat.S_IFLNK: 5,
         stat.S_IFSOCK: 6, stat.S_IFIFO: 7}
KINDS = {3: stat.S_IFBLK, 4: stat.S_IFCHR, 6: stat.S_IFSOCK, 7: stat.S_IFIFO}
HANDLE_MAX, HEAD = 128, 8
EMPTY_PATH = 0x1000


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), '')
    return result


def handle_of(fd):
    """As bytes: struct file_handle."""
    handle, mount = ctypes.create_string_buffer(HEAD + HANDLE_MAX), ctypes.c_int()
    ctypes.c_uint.from_buffer(handle).value = HANDLE_MAX
    check(libc.name_to_handle_at(fd, b'', handle, ctypes.byref(mount), EMPTY_PATH))
    return handle.raw[:HEAD + ctypes.c_uint.from_buffer(handle).value]


@contextlib.contextmanager
def user(who):
    """This thread's, as far as the file system is concerned."""
    def become(uid, gid, groups):
        array = (ctypes.c_uint * len(groups))(*groups)
        check(libc.syscall(SETGROUPS, len(groups), array))
        libc.setfsgid(gid)
        libc.setfsuid(uid)
    become(*who)
    try:
        yield
    finally:
        become(0, 0, ())


def by_fd(fd):
    return f'/proc/self/fd/{fd}'


def unfinished(fd):
    try:
        return bool(os.getxattr(by_fd(fd), 'security.migrate'))
    except OSError:
        return False


class Local:
    """A tree of this machine, in place of a server."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.root = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def close(self):
        os.close(self.root)


class DoorLocal(Door):
    def connect(self):
        self.root = handle_of(self.server.root)

    def close(self):
        pass

    @contextlib.contextmanager
    def opened(self, fh):
        fd = check(libc.open_by_handle_at(self.server.root, fh, os.O_PATH | os.O_CLOEXEC |
                                          os.O_NOFOLLOW))
        try:
            yield fd
        finally:
            os.close(fd)

    def ask(self, call):
        """{'status', 'seen'} and what call(out) puts into it; what may be the reason why it waits is
        ended after a while."""
        out = self.result(0)
        timer = threading.Timer(0.5, self.unblock)
        timer.start()
        try:
            call(out)
        except OSError as error:
            out['status'] = NFS_STALE if error.errno == errno.ESTALE else error.errno
        finally:
            timer.cancel()
            timer.join()
        return out

    @staticmethod
    def attr(fd):
        was = unfinished(fd)
        st = os.fstat(fd)
        kind = TYPES[stat.S_IFMT(st.st_mode)]
        rdev = (os.major(st.st_rdev), os.minor(st.st_rdev)) if kind in (3, 4) else None
        return Attr(kind, stat.S_IMODE(st.st_mode), st.st_nlink, st.st_uid, st.st_gid, st.st_size,
                    st.st_blocks * 512, rdev, st.st_ino, st.st_atime_ns, st.st_mtime_ns,
                    st.st_ctime_ns, was)

    def see(self, out, what, fd):
        out['seen'].append((what, handle_of(fd), self.attr(fd), None))

    @staticmethod
    def names(fd):
        """Those of a directory, which is filled for this."""
        return [name for name in os.listdir(by_fd(fd)) if name != '.migrate']

    def child(self, directory, name):
        """A descriptor of it, after a look at what there is."""
        self.names(directory)
        return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)

    # ---- objects ----------------------------------------------------------------------------

    def getattr(self, fh, who):
        def call(out):
            with self.opened(fh) as fd:
                self.see(out, 'object', fd)
        return self.ask(call)

    def lookup(self, fh, name, who):
        def call(out):
            with self.opened(fh) as directory:
                fd = self.child(directory, name)
                try:
                    with user(who):             # may it search there
                        os.stat(name, dir_fd=directory, follow_symlinks=False)
                    out['fh'] = handle_of(fd)
                    self.see(out, 'object', fd)
                finally:
                    os.close(fd)
        return self.ask(call)

    def setattr(self, fh, new, who, guard=None, opened=None):
        def call(out):
            with self.opened(fh) as fd:
                try:
                    if 'atime' in new or 'mtime' in new:        # as touch(1) does; the new mode may forbid it
                        with contextlib.suppress(OSError):
                            os.close(os.open(by_fd(fd), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))
                    with user(who):
                        self.set_all(fd, new)
                finally:
                    self.see(out, 'object', fd)
        return self.ask(call)

    @staticmethod
    def set_all(fd, new):
        path = by_fd(fd)
        if 'size' in new:
            os.truncate(path, new['size'])
        if 'uid' in new or 'gid' in new:
            os.chown(path, new.get('uid', -1), new.get('gid', -1))
        if 'mode' in new:
            os.chmod(path, new['mode'])
        if 'atime' in new or 'mtime' in new:
            set_times(path, new.get('atime'), new.get('mtime'))

    def readlink(self, fh, who):
        def call(out):
            with self.opened(fh) as fd:
                self.see(out, 'object', fd)
                out['target'] = os.fsencode(os.readlink('', dir_fd=fd))
        return self.ask(call)

    def with_file(self, fh, who, flags, use):
        """use(descriptor, out) with the file open."""
        def call(out):
            with self.opened(fh) as fd:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise IsADirectoryError(errno.EISDIR, '')
                with user(who):
                    file = os.open(by_fd(fd), flags | os.O_CLOEXEC)
                    try:
                        use(file, out)
                    finally:
                        os.close(file)
                self.see(out, 'object', fd)
        return self.ask(call)

    def read(self, fh, offset, count, who, opened=None):
        def use(file, out):
            out['data'] = os.pread(file, count, offset)
            out['count'] = len(out['data'])
            out['eof'] = offset + out['count'] >= os.fstat(file).st_size
        return self.with_file(fh, who, os.O_RDONLY, use)

    def write(self, fh, offset, data, stable, who, opened=None):
        def use(file, out):
            out['count'] = os.pwrite(file, data, offset)
            if stable:
                os.fsync(file)
        return self.with_file(fh, who, os.O_WRONLY, use)

    def commit(self, fh, offset, count, who):
        return self.with_file(fh, who, os.O_RDONLY, lambda file, out: os.fsync(file))

    # ---- names ------------------------------------------------------------------------------

    def make(self, directory, name, who, make):
        """make(descriptor of the directory)"""
        def call(out):
            with self.opened(directory) as fd:
                self.names(fd)
                try:
                    with user(who):
                        make(fd)
                    made = self.child(fd, name)
                    out['fh'] = handle_of(made)
                    self.see(out, 'object', made)
                    os.close(made)
                finally:
                    self.see(out, 'directory', fd)
        return self.ask(call)

    def create(self, directory, name, how, new, verifier, who):
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | (
            os.O_EXCL if how != 'unchecked' else os.O_TRUNC if new.get('size') == 0 else 0)

        def make(fd):
            file = os.open(name, flags, new.get('mode', 0o644) & 0o777, dir_fd=fd)
            os.close(file)
        return self.make(directory, name, who, make)

    def mkdir(self, directory, name, new, who):
        return self.make(directory, name, who,
                         lambda fd: os.mkdir(name, new['mode'], dir_fd=fd))

    def symlink(self, directory, name, target, new, who):
        return self.make(directory, name, who, lambda fd: os.symlink(target, name, dir_fd=fd))

    def mknod(self, directory, name, kind, device, new, who):
        return self.make(directory, name, who, lambda fd: os.mknod(
            name, KINDS[kind] | new['mode'], os.makedev(*device or (0, 0)), dir_fd=fd))

    def look_into(self, directory, name):
        """What is there is a directory: it is listed, before it is removed."""
        self.names(directory)
        with contextlib.suppress(OSError):
            fd = self.child(directory, name)
            try:
                self.names(fd)
            finally:
                os.close(fd)

    def remove(self, directory, name, who, is_directory=False):
        def call(out):
            with self.opened(directory) as fd:
                self.look_into(fd, name)
                try:
                    with user(who):
                        (os.rmdir if is_directory else os.unlink)(name, dir_fd=fd)
                finally:
                    self.see(out, 'directory', fd)
        return self.ask(call)

    def rename(self, directory, name, to, to_name, who):
        def call(out):
            with self.opened(directory) as source, self.opened(to) as target:
                self.names(source)
                self.look_into(target, to_name)
                try:
                    with user(who):
                        os.rename(name, to_name, src_dir_fd=source, dst_dir_fd=target)
                finally:
                    self.see(out, 'directory', source)
                    self.see(out, 'to directory', target)
        return self.ask(call)

    def link(self, fh, directory, name, who):
        def call(out):
            with self.opened(fh) as fd, self.opened(directory) as target:
                self.names(target)
                try:                            # as link(2) does: a symbolic link is not followed
                    with user(who):
                        os.link(by_fd(fd), name, dst_dir_fd=target)
                finally:
                    self.see(out, 'object', fd)
                    self.see(out, 'directory', target)
        return self.ask(call)

    def page(self, fh, cookie, verifier, count, plus, who):
        """All at once; 'entries': (name, cookie, fileid, Attr or None, handle or None)."""
        def call(out):
            with self.opened(fh) as fd:
                with user(who):
                    names = [os.fsencode(name) for name in self.names(fd)]
                self.see(out, 'directory', fd)
                out.update(cookies=b'', eof=True, entries=[])
                for name in names:
                    made = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=fd) if plus else None
                    attr = made and self.attr(made)
                    out['entries'].append((name, 0, attr and attr.fileid, attr,
                                           made and handle_of(made)))
                    if made:
                        os.close(made)
        return self.ask(call)


def set_times(path, atime, mtime):
    """None: as it is."""
    NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2        # pylint: disable=invalid-name
    values = []
    for value in (atime, mtime):
        values += {None: [0, OMIT], 'now': [0, NOW]}.get(value) or [*divmod(value, 10**9)]
    times = (ctypes.c_long * 4)(*values)
    check(libc.utimensat(-100, path.encode(), times, 0))
