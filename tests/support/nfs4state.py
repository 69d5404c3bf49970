# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens, share reservations and byte-range locks of NFSv4 (RFC 7530 sections 9 and 16, RFC 8881
section 18): every call returns its status, so that tests can compare two servers."""
import collections
import select
import time

from nfs3 import name_bytes
from nfs4 import CLOSE, DELAY, GETFH, OPEN, OPEN_CONFIRM, PUTFH, READ, WRITE, Client, bitmap
from xdr import opaque, u32, u64

LOCK, LOCKT, LOCKU, OPEN_DOWNGRADE, SETATTR = 12, 13, 14, 21, 34
READ_ACCESS, WRITE_ACCESS, BOTH = 1, 2, 3
READ_LT, WRITE_LT, WRITEW_LT = 1, 2, 4
TO_THE_END = (1 << 64) - 1
NOTHING, NONSENSE = b'', b'nonsense' * 2       # a handle and a stateid where there is none
BYPASS = b'\xff' * 16                   # reads in spite of reservations
DENIED = 10010
STALE_CLIENTID, STALE_STATEID, BAD_STATEID, BAD_SEQID, BADXDR, RESOURCE, NOFILEHANDLE, MOVED = (
    10022, 10023, 10025, 10026, 10036, 10018, 10020, 10019)
# after these the sequence number of an owner of minor version 0 is not used up (RFC 7530 9.1.7)
UNCOUNTED = {STALE_CLIENTID, STALE_STATEID, BAD_STATEID, BAD_SEQID, BADXDR, RESOURCE, NOFILEHANDLE,
             MOVED, 70, 10001}

Open = collections.namedtuple('Open', 'status handle stateid delegation')
Lock = collections.namedtuple('Lock', 'status stateid conflict')


class Owner:
    """An open owner or a lock owner."""

    def __init__(self, name):
        self.name, self.seqid = name_bytes(name), 0


class Holder(Client):
    """A client with state.  delays counts what was answered DELAY and asked again."""

    def __init__(self, *args, **kw):
        self.delays = 0
        super().__init__(*args, **kw)

    def seqid(self, owner):
        return u32(owner.seqid if self.minor == 0 else 0)

    def sequenced(self, owners, build, fh, *after, patient=True):
        """(status, Reader) of PUTFH and the operation that build() makes for the owners' numbers;
        patient: asks again after DELAY."""
        end = time.monotonic() + self.patience
        while True:
            status, r = self.once(u32(PUTFH) + opaque(fh), build(), *after)
            if status not in UNCOUNTED:
                for owner in owners:
                    owner.seqid += 1
            if status != DELAY or not patient or time.monotonic() > end:
                return status, r
            self.delays += 1
            select.select([], [], [], 0.05)

    # ---- opens ----------------------------------------------------------------------------------

    def claim(self, owner, fh, claim, access, deny, create=None):
        """OPEN; claim: the end of its arguments.  Confirms where that is wanted."""
        how = u32(0) if create is None else u32(1) + u32(0) + create
        status, r = self.sequenced([owner], lambda: u32(OPEN) + self.seqid(owner) + u32(access) +
                                   u32(deny) + self.clientid + opaque(owner.name) + how + claim,
                                   fh, u32(GETFH))
        if status:
            return Open(status, NOTHING, NONSENSE, None)
        handle, stateid, confirm, delegation = self.opened(r)
        if confirm:
            status, r = self.sequenced([owner], lambda: u32(OPEN_CONFIRM) + stateid +
                                       self.seqid(owner), handle)
            r.at += 16
            stateid = r.fixed(16)
        return Open(status, handle, stateid, delegation)

    def open_as(self, owner, directory, name, access=BOTH, deny=0, create=None):
        """create: attributes (nfs4state.attributes()) of an unchecked creation."""
        return self.claim(owner, directory, u32(0) + opaque(name_bytes(name)), access, deny, create)

    def reclaim(self, owner, fh, access=BOTH, deny=0):
        """OPEN with CLAIM_PREVIOUS."""
        return self.claim(owner, fh, u32(1) + u32(0), access, deny)

    def downgrade(self, owner, fh, stateid, access, deny=0):
        """(status, stateid)"""
        status, r = self.sequenced([owner], lambda: u32(OPEN_DOWNGRADE) + stateid +
                                   self.seqid(owner) + u32(access) + u32(deny), fh)
        return self.new_stateid(status, r, OPEN_DOWNGRADE)

    def close_state(self, owner, fh, stateid):
        return self.sequenced([owner], lambda: u32(CLOSE) + self.seqid(owner) + stateid, fh)[0]

    def new_stateid(self, status, r, op):
        if status:
            return status, NONSENSE
        r.at += 8
        self.skip(r, op)
        return status, r.fixed(16)

    # ---- locks ----------------------------------------------------------------------------------

    def conflict(self, r):
        """Of a LOCK or LOCKT that was denied."""
        r.at += 8 + 8
        offset, length, kind = r.u64(), r.u64(), r.u32()
        r.at += 8
        return offset, length, kind, r.opaque()

    def lock(self, opened, open_owner, owner, kind, offset, length, held=None, reclaim=False):
        """LOCK, never asked again.  held: the lock owner's stateid of the file, if it has one."""
        head = u32(LOCK) + u32(kind) + u32(reclaim) + u64(offset) + u64(length)
        if held:
            status, r = self.sequenced([owner], lambda: head + u32(0) + held + self.seqid(owner),
                                       opened.handle, patient=False)
        else:
            status, r = self.sequenced(
                [open_owner, owner], lambda: head + u32(1) + self.seqid(open_owner) +
                opened.stateid + self.seqid(owner) + self.clientid + opaque(owner.name),
                opened.handle, patient=False)
        if status == DENIED:
            return Lock(status, held or NONSENSE, self.conflict(r))
        return Lock(*self.new_stateid(status, r, LOCK), None)

    def test(self, fh, owner, kind, offset, length):
        """LOCKT: (status, conflict)."""
        status, r = self.once(u32(PUTFH) + opaque(fh), u32(LOCKT) + u32(kind) + u64(offset) +
                              u64(length) + self.clientid + opaque(owner.name))
        return status, self.conflict(r) if status == DENIED else None

    def unlock(self, fh, owner, stateid, offset, length):
        """LOCKU: (status, stateid)."""
        status, r = self.sequenced([owner], lambda: u32(LOCKU) + u32(WRITE_LT) + self.seqid(owner) +
                                   stateid + u64(offset) + u64(length), fh, patient=False)
        return self.new_stateid(status, r, LOCKU)

    # ---- what is done by a stateid --------------------------------------------------------------

    def patiently(self, fh, op):
        return self.sequenced((), lambda: op, fh)

    def read_as(self, fh, stateid, offset, count):
        """(status, data)"""
        status, r = self.patiently(fh, u32(READ) + stateid + u64(offset) + u32(count))
        if status:
            return status, None
        r.at += 8 + 8 + 4
        return status, r.opaque()

    def whole(self, fh, stateid, block=1 << 20):
        """(status, data) of a file to its end."""
        parts, offset = [], 0
        while True:
            status, data = self.read_as(fh, stateid, offset, block)
            if status or not data:
                return status, b''.join(parts)
            parts.append(data)
            offset += len(data)

    def write_as(self, fh, stateid, offset, data, stable=2):
        return self.patiently(fh, u32(WRITE) + stateid + u64(offset) + u32(stable) +
                              opaque(data))[0]

    def resize(self, fh, stateid, size):
        """SETATTR of the size."""
        return self.patiently(fh, u32(SETATTR) + stateid + attributes(size=size))[0]


def attributes(mode=None, size=None):
    numbers, values = [], b''
    if size is not None:
        numbers, values = numbers + [4], values + u64(size)
    if mode is not None:
        numbers, values = numbers + [33], values + u32(mode)
    return bitmap(numbers) + opaque(values)

