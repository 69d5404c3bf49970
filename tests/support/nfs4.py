# SPDX-License-Identifier: GPL-3.0-or-later
"""An NFSv4 client of minor versions 0, 1 and 2 (RFC 7530, RFC 8881), as small as tests need it,
that shows every status.  It asks again after NFS4ERR_DELAY and counts that."""
import collections
import os
import select
import time

from nfs3 import NfsError, name_bytes
from xdr import REPLY_TIME, Rpc, opaque, u32, u64

NFS = 100003
(ACCESS, CLOSE, COMMIT, CREATE, GETATTR, GETFH, LINK, LOOKUP, LOOKUPP, OPEN, OPEN_CONFIRM,
 OPEN_DOWNGRADE, PUTFH, PUTROOTFH, READ, READDIR, READLINK, REMOVE, RENAME, SAVEFH, SETATTR,
 SETCLIENTID, SETCLIENTID_CONFIRM, WRITE, EXCHANGE_ID, CREATE_SESSION, SEQUENCE,
 RECLAIM_COMPLETE) = (3, 4, 5, 6, 9, 10, 11, 15, 16, 18, 20, 21, 22, 24, 25, 26, 27, 28, 29, 32, 34,
                      35, 36, 38, 42, 43, 53, 58)
# RFC 7862 and RFC 8276
(ALLOCATE, COPY, DEALLOCATE, IO_ADVISE, READ_PLUS, SEEK, CLONE, GETXATTR, SETXATTR, LISTXATTRS,
 REMOVEXATTR) = (59, 60, 62, 63, 68, 69, 71, 72, 73, 74, 75)
DELAY, GRACE, IS_SYMLINK, BADOWNER = 10008, 10013, 10029, 10039
UNCHECKED, GUARDED, EXCLUSIVE, EXCLUSIVE4_1 = range(4)
BLK, CHR, LNK, SOCK, FIFO, DIR = 3, 4, 5, 6, 7, 2      # nfs_ftype4
DATA, HOLE = 0, 1                                      # data_content4
ANONYMOUS = bytes(16)

Attr = collections.namedtuple('Attr', 'type change size fileid mode nlink uid gid rdev used atime '
                                      'ctime mtime')


def read_time(r):
    return r.i64() * 10**9 + r.u32()


def read_id(r):
    return int(r.opaque())


# in the order of their numbers (RFC 7530 section 5.6), which is the order on the wire
WANTED = ((1, 'type', lambda r: r.u32()), (3, 'change', lambda r: r.u64()),
          (4, 'size', lambda r: r.u64()), (20, 'fileid', lambda r: r.u64()),
          (33, 'mode', lambda r: r.u32()), (35, 'nlink', lambda r: r.u32()),
          (36, 'uid', read_id), (37, 'gid', read_id),
          (41, 'rdev', lambda r: (r.u32(), r.u32())), (45, 'used', lambda r: r.u64()),
          (47, 'atime', read_time), (52, 'ctime', read_time), (53, 'mtime', read_time))


def bitmap(numbers):
    words = [0, 0]
    for n in numbers:
        words[n // 32] |= 1 << n % 32
    return u32(2) + u32(words[0]) + u32(words[1])


ALL = bitmap(n for n, _, _ in WANTED)


def read_attr(r):
    words = [r.u32() for _ in range(r.u32())]
    r.u32()
    values = dict.fromkeys(Attr._fields)
    for number, name, decode in WANTED:
        if number // 32 < len(words) and words[number // 32] >> number % 32 & 1:
            values[name] = decode(r)
    return Attr(**values)


def settable(mode=None, uid=None, gid=None, size=None, atime=None, mtime=None):
    """A fattr4 to set.  atime, mtime: ns, or 'now' for the server's time."""
    def time_how(t):
        return u32(0) if t == 'now' else u32(1) + u64(t // 10**9) + u32(t % 10**9)

    given = [(n, v) for n, v in (
        (4, size is not None and u64(size)), (33, mode is not None and u32(mode)),
        (36, uid is not None and opaque(b'%d' % uid)),
        (37, gid is not None and opaque(b'%d' % gid)),
        (48, atime is not None and time_how(atime)),
        (54, mtime is not None and time_how(mtime))) if v]
    return bitmap(n for n, _ in given) + opaque(b''.join(v for _, v in given))


class Client:
    """Handles are bytes.  One call at a time."""

    def __init__(self, host, minor, export='/export', port=2049, uid=0, gid=0, timeout=REPLY_TIME,
                 patience=60, owner=None, reclaims=False):
        """owner: (name, verifier) of a client that was there before; reclaims: it will say itself
        when it has reclaimed what it had."""
        self.minor, self.patience = minor, patience
        self.session = None
        self.rpc = Rpc(host, port, uid, gid, timeout)
        self.owner, self.verifier = owner or (os.urandom(16), os.urandom(8))
        self.begin()
        if minor and not reclaims:
            self.reclaim_complete()
        self.open_seqid = 0
        self.root, self.root_attr = self.walk_from(u32(PUTROOTFH), export)

    def close(self):
        self.rpc.close()

    # ---- compounds ------------------------------------------------------------------------------

    def once(self, *ops):
        """(status, Reader behind the compound's header).  The operations' results follow: their
        number and status, then what they say.  SEQUENCE is added and taken off."""
        ops = list(ops)
        if self.session:
            ops.insert(0, u32(SEQUENCE) + self.session + u32(self.sequence) + u32(0) * 3)
        r = self.rpc.call(NFS, 4, 1, opaque(b'') + u32(self.minor) + u32(len(ops)) + b''.join(ops))
        status = r.u32()
        r.opaque()
        results = r.u32()
        if self.session and results:
            assert r.u32() == SEQUENCE
            first = r.u32()
            if first:
                return first, r
            r.at += 16 + 5 * 4
            self.sequence += 1
        return status, r

    def call(self, *ops, what=''):
        end = time.monotonic() + self.patience
        while True:
            status, r = self.once(*ops)
            if status == 0:
                return r
            if status not in (DELAY, GRACE) or time.monotonic() > end:
                raise NfsError(status, what)
            select.select([], [], [], 0.05)

    @staticmethod
    def skip(r, op):
        """Over a result's number and status."""
        got = r.u32(), r.u32()
        assert got == (op, 0), got

    def begin(self):
        if self.minor == 0:
            r = self.call(u32(SETCLIENTID) + self.verifier + opaque(self.owner) + u32(0x40000000) +
                          opaque(b'tcp') + opaque(b'127.0.0.1.0.0') + u32(0))
            self.skip(r, SETCLIENTID)
            self.clientid = r.fixed(8)
            verifier = r.fixed(8)
            self.call(u32(SETCLIENTID_CONFIRM) + self.clientid + verifier)
            return
        r = self.call(u32(EXCHANGE_ID) + self.verifier + opaque(self.owner) + u32(0) * 3)
        self.skip(r, EXCHANGE_ID)
        self.clientid = r.fixed(8)
        sequence, _, protection, _ = r.u32(), r.u32(), r.u32(), r.u64()
        assert protection == 0, 'its state is not protected'
        r.opaque()
        self.scope = r.opaque()         # what is reclaimed may be of any server with the same
        channel = u32(0) + u32(1 << 21) * 2 + u32(4096) + u32(32) + u32(8) + u32(0)
        r = self.call(u32(CREATE_SESSION) + self.clientid + u32(sequence) + u32(0) + channel * 2 +
                      u32(0x40000000) + u32(1) + u32(0))
        self.skip(r, CREATE_SESSION)
        self.session, self.sequence = r.fixed(16), 1

    def reclaim_complete(self):
        self.call(u32(RECLAIM_COMPLETE) + u32(0))

    # ---- what tests do --------------------------------------------------------------------------

    def walk_from(self, start, path):
        names = [n for n in name_bytes(path).split(b'/') if n]
        while True:
            some, names = names[:8], names[8:]
            r = self.call(start, *(u32(LOOKUP) + opaque(n) for n in some), u32(GETFH),
                          u32(GETATTR) + ALL, what=path)
            r.at += 8 * (1 + len(some))
            self.skip(r, GETFH)
            handle = r.opaque()
            self.skip(r, GETATTR)
            if not names:
                return handle, read_attr(r)
            start = u32(PUTFH) + opaque(handle)

    def walk(self, path, start=None):
        """(handle, Attr) of a path below the export, in one compound."""
        return self.walk_from(u32(PUTFH) + opaque(start or self.root), path)

    def getattr(self, fh):
        r = self.call(u32(PUTFH) + opaque(fh), u32(GETATTR) + ALL)
        r.at += 16
        return read_attr(r)

    def listing(self, fh, count=1 << 16):
        """Yields (name, Attr)."""
        cookie, verifier, eof = 0, bytes(8), False
        while not eof:
            r = self.call(u32(PUTFH) + opaque(fh), u32(READDIR) + u64(cookie) + verifier +
                          u32(count // 4) + u32(count) + ALL)
            r.at += 8
            self.skip(r, READDIR)
            verifier = r.fixed(8)
            while r.u32():
                cookie, name = r.u64(), r.opaque()
                yield name, read_attr(r)
            eof = bool(r.u32())

    def readlink(self, fh):
        r = self.call(u32(PUTFH) + opaque(fh), u32(READLINK))
        r.at += 16
        return r.opaque()

    def read(self, fh, offset, count, stateid=ANONYMOUS):
        """(data, eof)"""
        r = self.call(u32(PUTFH) + opaque(fh), u32(READ) + stateid + u64(offset) + u32(count))
        r.at += 16
        eof = r.u32()
        return r.opaque(), bool(eof)

    def read_all(self, fh, stateid=ANONYMOUS, block=1 << 20):
        parts, offset = [], 0
        while True:
            data, eof = self.read(fh, offset, block, stateid)
            parts.append(data)
            offset += len(data)
            if eof:
                return b''.join(parts)
            if not data:
                raise NfsError(5, 'empty READ before the end')

    def write(self, fh, offset, data, stateid=ANONYMOUS, stable=2):
        r = self.call(u32(PUTFH) + opaque(fh), u32(WRITE) + stateid + u64(offset) + u32(stable) +
                      opaque(data))
        r.at += 16
        return r.u32()

    def open(self, directory, name, access=1, how=u32(0), owner=b'owner', deny=0):
        """Opens a file: (handle, stateid).  access: 1 read, 2 write, 3 both.  how: an openflag4;
        creating() makes one."""
        end = time.monotonic() + self.patience
        while True:
            self.open_seqid += 1
            status, r = self.once(
                u32(PUTFH) + opaque(directory),
                u32(OPEN) + u32(self.open_seqid if self.minor == 0 else 0) + u32(access) +
                u32(deny) + self.clientid + opaque(owner) + how + u32(0) + opaque(name_bytes(name)),
                u32(GETFH))
            if status == 0:
                break
            # not by call(): with the same number it would be answered with the same DELAY
            if status not in (DELAY, GRACE) or time.monotonic() > end:
                raise NfsError(status, name)
            select.select([], [], [], 0.05)
        handle, stateid, confirm, delegation = self.opened(r)
        if not handle:
            raise NfsError(0, f'a delegation that was not asked for: {delegation}')
        if confirm:
            self.open_seqid += 1
            r = self.call(u32(PUTFH) + opaque(handle),
                          u32(OPEN_CONFIRM) + stateid + u32(self.open_seqid))
            r.at += 16
            stateid = r.fixed(16)
        return handle, stateid

    def opened(self, r):
        """The reply of PUTFH, OPEN, GETFH behind its status: (handle, stateid, whether it is to be
        confirmed, kind of delegation); an empty handle with a delegation, which is not read."""
        r.at += 8
        self.skip(r, OPEN)
        stateid = r.fixed(16)
        r.at += 4 + 16
        flags = r.u32()
        words = r.u32()
        r.at += 4 * words
        delegation = r.u32()
        if delegation == 3:             # none, and why: contention and resource add a boolean
            why = r.u32()
            r.at += 4 if why in (1, 2) else 0
        elif delegation:
            return b'', stateid, False, delegation
        self.skip(r, GETFH)
        return r.opaque(), stateid, bool(flags & 2), delegation

    @staticmethod
    def creating(how=UNCHECKED, verifier=None, **new):
        """An openflag4 that creates.  verifier: 8 bytes, for the exclusive modes."""
        if how == EXCLUSIVE:
            return u32(1) + u32(how) + verifier
        return u32(1) + u32(how) + (verifier if how == EXCLUSIVE4_1 else b'') + settable(**new)

    def release(self, fh, stateid):
        """CLOSE."""
        self.open_seqid += 1
        self.call(u32(PUTFH) + opaque(fh),
                  u32(CLOSE) + u32(self.open_seqid if self.minor == 0 else 0) + stateid)

    def at(self, fh, *ops, what=''):
        """A Reader behind the first operation's number and status, with fh as the current handle;
        the results of further operations follow."""
        r = self.call(u32(PUTFH) + opaque(fh), *ops, what=what)
        r.at += 16
        return r

    def setattr(self, fh, stateid=ANONYMOUS, **new):
        self.at(fh, u32(SETATTR) + stateid + settable(**new))

    def access(self, fh, wanted):
        r = self.at(fh, u32(ACCESS) + u32(wanted))
        r.u32()
        return r.u32()

    def make(self, directory, name, kind, data=b'', **new):
        """CREATE; the new handle.  data: a symbolic link's target, two u32 of a device."""
        r = self.at(directory, u32(CREATE) + u32(kind) + data + opaque(name_bytes(name)) +
                    settable(**new), u32(GETFH), what=name)
        r.at += 4 + 16
        words = r.u32()
        r.at += 4 * words
        self.skip(r, GETFH)
        return r.opaque()

    def remove(self, directory, name):
        self.at(directory, u32(REMOVE) + opaque(name_bytes(name)), what=name)

    def rename(self, directory, name, to_directory, to_name):
        self.at(directory, u32(SAVEFH), u32(PUTFH) + opaque(to_directory),
                u32(RENAME) + opaque(name_bytes(name)) + opaque(name_bytes(to_name)), what=name)

    def link(self, fh, directory, name):
        self.at(fh, u32(SAVEFH), u32(PUTFH) + opaque(directory),
                u32(LINK) + opaque(name_bytes(name)), what=name)

    def commit(self, fh, offset=0, count=0):
        self.at(fh, u32(COMMIT) + u64(offset) + u32(count))

    def lookupp(self, fh):
        r = self.at(fh, u32(LOOKUPP), u32(GETFH))
        self.skip(r, GETFH)
        return r.opaque()

    # ---- minor version 2 ------------------------------------------------------------------------

    def allocate(self, fh, stateid, offset, length):
        self.at(fh, u32(ALLOCATE) + stateid + u64(offset) + u64(length))

    def deallocate(self, fh, stateid, offset, length):
        self.at(fh, u32(DEALLOCATE) + stateid + u64(offset) + u64(length))

    def seek(self, fh, stateid, offset, what):
        """(eof, offset)"""
        r = self.at(fh, u32(SEEK) + stateid + u64(offset) + u32(what))
        return bool(r.u32()), r.u64()

    def copy(self, fh, stateid, to, to_stateid, offset, to_offset, length):
        self.at(fh, u32(SAVEFH), u32(PUTFH) + opaque(to),
                u32(COPY) + stateid + to_stateid + u64(offset) + u64(to_offset) + u64(length) +
                u32(1) + u32(1) + u32(0))

    def clone(self, fh, stateid, to, to_stateid, offset, to_offset, length):
        self.at(fh, u32(SAVEFH), u32(PUTFH) + opaque(to),
                u32(CLONE) + stateid + to_stateid + u64(offset) + u64(to_offset) + u64(length))

    def read_plus(self, fh, stateid, offset, count):
        """The result's bytes."""
        r = self.at(fh, u32(READ_PLUS) + stateid + u64(offset) + u32(count))
        return bytes(r.data[r.at:])

    def io_advise(self, fh, stateid, offset, length, hints):
        self.at(fh, u32(IO_ADVISE) + stateid + u64(offset) + u64(length) + u32(1) + u32(hints))

    def getxattr(self, fh, name):
        return self.at(fh, u32(GETXATTR) + opaque(name_bytes(name))).opaque()

    def setxattr(self, fh, name, value, option=0):
        self.at(fh, u32(SETXATTR) + u32(option) + opaque(name_bytes(name)) + opaque(value))

    def removexattr(self, fh, name):
        self.at(fh, u32(REMOVEXATTR) + opaque(name_bytes(name)))

    def listxattrs(self, fh, count=1 << 16):
        r = self.at(fh, u32(LISTXATTRS) + u64(0) + u32(count))
        r.u64()
        return [r.opaque() for _ in range(r.u32())]
