# SPDX-License-Identifier: GPL-3.0-or-later
"""An NFSv4 client of minor versions 0, 1 and 2 (RFC 7530, RFC 8881), as small as tests need it,
that shows every status.  It asks again after NFS4ERR_DELAY and counts that."""
import collections
import os
import select
import time

from nfs3 import NfsError, name_bytes
from xdr import Rpc, opaque, u32, u64

NFS = 100003
(ACCESS, CLOSE, COMMIT, CREATE, GETATTR, GETFH, LOOKUP, OPEN, OPEN_CONFIRM, PUTFH, PUTROOTFH, READ,
 READDIR, READLINK, SETCLIENTID, SETCLIENTID_CONFIRM, WRITE, EXCHANGE_ID, CREATE_SESSION, SEQUENCE,
 RECLAIM_COMPLETE) = (3, 4, 5, 6, 9, 10, 15, 18, 20, 22, 24, 25, 26, 27, 35, 36, 38, 42, 43, 53, 58)
DELAY, GRACE = 10008, 10013
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


class Client:
    """Handles are bytes.  One call at a time."""

    def __init__(self, host, minor, export='/export', port=2049, uid=0, gid=0, timeout=60,
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
        sequence = r.u32()
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

    def open(self, directory, name, access=1):
        """Opens an existing file: (handle, stateid).  access: 1 read, 2 write, 3 both."""
        self.open_seqid += 1
        r = self.call(
            u32(PUTFH) + opaque(directory),
            u32(OPEN) + u32(self.open_seqid if self.minor == 0 else 0) + u32(access) + u32(0) +
            self.clientid + opaque(b'owner') + u32(0) + u32(0) + opaque(name_bytes(name)),
            u32(GETFH), what=name)
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
            raise NfsError(0, 'a delegation that was not asked for')
        self.skip(r, GETFH)
        handle = r.opaque()
        if flags & 2:
            self.open_seqid += 1
            r = self.call(u32(PUTFH) + opaque(handle),
                          u32(OPEN_CONFIRM) + stateid + u32(self.open_seqid))
            r.at += 16
            stateid = r.fixed(16)
        return handle, stateid

    def release(self, fh, stateid):
        """CLOSE."""
        self.open_seqid += 1
        self.call(u32(PUTFH) + opaque(fh),
                  u32(CLOSE) + u32(self.open_seqid if self.minor == 0 else 0) + stateid)
