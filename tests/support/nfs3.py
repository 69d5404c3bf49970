# SPDX-License-Identifier: GPL-3.0-or-later
"""An NFSv3 client (RFC 1813) that a test can look into: raw handles, every status, many calls at
once.  It asks again after NFS3ERR_JUKEBOX, as the kernel's client does, and counts that."""
import collections
import select
import time

from xdr import REPLY_TIME, Rpc, opaque, port_of, u32, u64

NFS, MOUNT = 100003, 100005
(NULL, GETATTR, SETATTR, LOOKUP, ACCESS, READLINK, READ, WRITE, CREATE, MKDIR, SYMLINK, MKNOD,
 REMOVE, RMDIR, RENAME, LINK, READDIR, READDIRPLUS, FSSTAT, FSINFO, PATHCONF, COMMIT) = range(22)
NOENT, IO, EXIST, STALE, NOTEMPTY, JUKEBOX = 2, 5, 17, 70, 66, 10008
REG, DIR, BLK, CHR, LNK, SOCK, FIFO = range(1, 8)
UNSTABLE, DATA_SYNC, FILE_SYNC = range(3)
ACCESS_MODIFY, ACCESS_EXTEND, ACCESS_DELETE = 4, 8, 16

Attr = collections.namedtuple(
    'Attr', 'type mode nlink uid gid size used rdev fsid fileid atime mtime ctime')


class NfsError(Exception):
    def __init__(self, status, what=''):
        super().__init__(f'NFS status {status} {what}')
        self.status = status


def status_of(call, *args, **kw):
    """The status of a call that fails at last; 0 of one that does not."""
    try:
        call(*args, **kw)
    except NfsError as error:
        return error.status
    return 0


def read_time(r):
    return r.u32() * 10**9 + r.u32()


def read_attr(r):
    return Attr(r.u32(), r.u32(), r.u32(), r.u32(), r.u32(), r.u64(), r.u64(),
                (r.u32(), r.u32()), r.u64(), r.u64(), read_time(r), read_time(r), read_time(r))


def post_attr(r):
    return read_attr(r) if r.u32() else None


def skip_wcc(r):
    if r.u32():
        r.at += 24
    return post_attr(r)


def sattr(mode=None, uid=None, gid=None, size=None, atime=None, mtime=None):
    """atime, mtime: ns."""
    out = b''.join(u32(1) + u32(v) if v is not None else u32(0) for v in (mode, uid, gid))
    out += u32(1) + u64(size) if size is not None else u32(0)
    for t in (atime, mtime):
        out += u32(2) + u32(t // 10**9) + u32(t % 10**9) if t is not None else u32(0)
    return out


class Client:
    """One mount.  Handles are bytes; names bytes or str."""

    def __init__(self, host, path, port=None, mount_port=None, uid=0, gid=0, timeout=REPLY_TIME,
                 patience=60):
        self.patience = patience            # seconds of asking again after JUKEBOX
        self.jukebox = 0
        mount = Rpc(host, mount_port or port_of(host, MOUNT, 3), timeout=timeout)
        reply = mount.call(MOUNT, 3, 1, opaque(path.encode()))
        status = reply.u32()
        mount.close()
        if status:
            raise NfsError(status, f'mount {path}')
        self.root = reply.opaque()
        self.rpc = Rpc(host, port or port_of(host, NFS, 3), uid, gid, timeout)

    def close(self):
        self.rpc.close()

    def start(self, proc, args):
        return self.rpc.start(NFS, 3, proc, args)

    def once(self, proc, args):
        """(status, Reader behind it), whatever the status."""
        reply = self.rpc.call(NFS, 3, proc, args)
        return reply.u32(), reply

    def call(self, proc, args, what=''):
        """The reply of a call that succeeded at last."""
        end = time.monotonic() + self.patience
        while True:
            status, reply = self.once(proc, args)
            if status == 0:
                return reply
            if status != JUKEBOX or time.monotonic() > end:
                raise NfsError(status, what)
            self.jukebox += 1
            select.select([], [], [], 0.05)

    # ---- procedures -----------------------------------------------------------------------

    def getattr(self, fh):
        return read_attr(self.call(GETATTR, opaque(fh)))

    def access(self, fh, wanted):
        """Those of the wanted bits (RFC 1813 section 3.3.4) that the server would allow."""
        reply = self.call(ACCESS, opaque(fh) + u32(wanted))
        post_attr(reply)
        return reply.u32()

    def setattr(self, fh, **new):
        self.call(SETATTR, opaque(fh) + sattr(**new) + u32(0))

    def lookup(self, fh, name):
        """(handle, Attr)"""
        reply = self.call(LOOKUP, opaque(fh) + opaque(name_bytes(name)), name)
        return reply.opaque(), post_attr(reply)

    def walk(self, path, start=None):
        """(handle, Attr) of a path below the mount's root, one LOOKUP a level."""
        fh, attr = start or self.root, None
        for name in name_bytes(path).split(b'/'):
            if name:
                fh, attr = self.lookup(fh, name)
        return fh, attr or self.getattr(fh)

    def readlink(self, fh):
        reply = self.call(READLINK, opaque(fh))
        post_attr(reply)
        return reply.opaque()

    @staticmethod
    def read_args(fh, offset, count):
        return opaque(fh) + u64(offset) + u32(count)

    @staticmethod
    def read_reply(reply):
        """(data, eof) of a READ's reply behind its status."""
        post_attr(reply)
        reply.u32()
        eof = reply.u32()
        return reply.opaque(), bool(eof)

    def read(self, fh, offset, count):
        return self.read_reply(self.call(READ, self.read_args(fh, offset, count)))

    def read_all(self, fh, block=1 << 20):
        parts, offset = [], 0
        while True:
            data, eof = self.read(fh, offset, block)
            parts.append(data)
            offset += len(data)
            if eof:
                return b''.join(parts)
            if not data:
                raise NfsError(IO, 'empty READ before the end')

    def write(self, fh, offset, data, stable=UNSTABLE):
        at = 0
        while at < len(data):
            part = data[at:at + (1 << 20)]
            reply = self.call(WRITE, opaque(fh) + u64(offset + at) + u32(len(part)) +
                              u32(stable) + opaque(part))
            skip_wcc(reply)
            at += reply.u32()

    def commit(self, fh):
        self.call(COMMIT, opaque(fh) + u64(0) + u32(0))

    def made(self, reply, directory, name):
        fh = reply.opaque() if reply.u32() else None
        post_attr(reply)
        return fh or self.lookup(directory, name)[0]

    def create(self, directory, name, guarded=False, **new):
        reply = self.call(CREATE, opaque(directory) + opaque(name_bytes(name)) + u32(guarded) +
                          sattr(**new), name)
        return self.made(reply, directory, name)

    def mkdir(self, directory, name, **new):
        reply = self.call(MKDIR, opaque(directory) + opaque(name_bytes(name)) + sattr(**new), name)
        return self.made(reply, directory, name)

    def symlink(self, directory, name, target):
        reply = self.call(SYMLINK, opaque(directory) + opaque(name_bytes(name)) + sattr() +
                          opaque(name_bytes(target)), name)
        return self.made(reply, directory, name)

    def remove(self, directory, name):
        self.call(REMOVE, opaque(directory) + opaque(name_bytes(name)), name)

    def rmdir(self, directory, name):
        self.call(RMDIR, opaque(directory) + opaque(name_bytes(name)), name)

    def rename(self, directory, name, to_directory, to_name):
        self.call(RENAME, opaque(directory) + opaque(name_bytes(name)) + opaque(to_directory) +
                  opaque(name_bytes(to_name)), name)

    def link(self, fh, directory, name):
        self.call(LINK, opaque(fh) + opaque(directory) + opaque(name_bytes(name)), name)

    def listing(self, fh, plus=True, count=1 << 16):
        """Yields (name, fileid, Attr or None, handle or None), without . and ..; one call at a
        time, so a caller may stop early."""
        cookie, verifier, eof = 0, bytes(8), False
        while not eof:
            args = opaque(fh) + u64(cookie) + verifier + u32(count)
            reply = (self.call(READDIRPLUS, args + u32(count)) if plus
                     else self.call(READDIR, args))
            post_attr(reply)
            verifier = reply.fixed(8)
            while reply.u32():
                fileid, name, cookie = reply.u64(), reply.opaque(), reply.u64()
                attr = handle = None
                if plus:
                    attr = post_attr(reply)
                    handle = reply.opaque() if reply.u32() else None
                if name not in (b'.', b'..'):
                    yield name, fileid, attr, handle
            eof = bool(reply.u32())


def name_bytes(name):
    return name if isinstance(name, bytes) else name.encode('utf-8', 'surrogateescape')


def alive(host, port, program=NFS, version=3):
    """Whether the program's NULL procedure is answered."""
    try:
        rpc = Rpc(host, port, timeout=2)
        try:
            rpc.call(program, version, NULL)
            return True
        finally:
            rpc.close()
    except Exception:       # whatever it is, it is not answering
        return False


