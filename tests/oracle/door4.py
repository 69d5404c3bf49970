# SPDX-License-Identifier: GPL-3.0-or-later
"""NFSv4.0, 4.1 and 4.2 (RFC 7530, 8881, 7862) as the executor wants it: door3.py's calls, and what
only version 4 has: opens, locks, space, copies."""
import os

import nfs4
from door import Attr, Door
from nfs3 import name_bytes
from nfs4 import (ACCESS, CLOSE, COMMIT, CREATE, GETATTR, GETFH, LOOKUP, OPEN, OPEN_CONFIRM, PUTFH,
                  READ, READDIR, READLINK, SEQUENCE, WRITE)
from xdr import auth_sys, opaque, u32, u64

(LINK, LOCK, LOCKT, LOCKU, OPEN_DOWNGRADE, REMOVE, RENAME, SAVEFH, SETATTR, ALLOCATE, COPY,
 DEALLOCATE, READ_PLUS, SEEK, CLONE) = 11, 12, 13, 14, 21, 28, 29, 32, 34, 59, 60, 62, 68, 69, 71
BLK, CHR, LNK = 3, 4, 5
HANDLE = 19
NO_DELEGATION = 0x0400
STRANGER = 4242, 4242                   # who owns nothing
DENIED = 10010
# after these an owner's sequence number is not used up (RFC 7530 section 9.1.7)
NO_SEQID = (10022, 10023, 10025, 10026, 10036, 10018, 10020, 10019)

WITH_HANDLE = nfs4.bitmap([n for n, _, _ in nfs4.WANTED] + [HANDLE])


def read_attr(r):
    """(Attr, handle or None)"""
    words = [r.u32() for _ in range(r.u32())]
    r.u32()
    got = {}
    wanted = sorted(nfs4.WANTED + ((HANDLE, 'handle', lambda r: r.opaque()),))
    for number, name, decode in wanted:
        if number // 32 < len(words) and words[number // 32] >> number % 32 & 1:
            got[name] = decode(r)
    if got.get('type') not in (BLK, CHR):
        got['rdev'] = None
    return Attr(*(got.get(f) for f in Attr._fields)), got.get('handle')


class Opened:
    """One open of one owner, on one server."""

    def __init__(self, door, owner):
        self.door, self.owner = door, owner
        self.fh = self.stateid = None
        self.seqid = 0
        self.lock = None                # the lock owner's stateid
        self.lock_seqid = 0

    def any_stateid(self):
        return self.lock or self.stateid


class Door4(Door):
    busy_status = (nfs4.DELAY, nfs4.GRACE)

    def connect(self):
        self.client = nfs4.Client(self.server.address, self.minor, port=self.server.port)
        self.root = self.client.root

    def close(self):
        self.client.close()

    def ask(self, who, *ops):
        """ops: bytes.  (status, Reader, number of the results that are there)"""
        client, cred = self.client, auth_sys(*who)

        def once():
            todo = list(ops)
            if client.session:
                todo.insert(0, u32(SEQUENCE) + client.session + u32(client.sequence) + u32(0) * 3)
            r = client.rpc.call(nfs4.NFS, 4, 1, opaque(b'') + u32(client.minor) + u32(len(todo)) +
                                b''.join(todo), cred)
            status = r.u32()
            r.opaque()
            results = r.u32()
            if client.session and results:
                r.u32()
                first = r.u32()
                if first:
                    return first, (r, 0)
                r.at += 16 + 5 * 4
                client.sequence += 1
                results -= 1
            return status, (r, results)
        status, (r, results) = self.patiently(once)
        return status, r, results

    def run(self, who, fh, op, parse, *before, attributes=True, key='object'):
        """PUTFH, op, GETATTR: the result, with parse(Reader, out) called where op succeeded."""
        ops = [*before, u32(PUTFH) + opaque(fh), op]
        if attributes:
            ops.append(u32(GETATTR) + nfs4.ALL)
        status, r, results = self.ask(who, *ops)
        out = self.result(status)
        for n in range(min(results, len(ops))):
            number, each = r.u32(), r.u32()
            if each:
                if number == SETATTR:
                    self.bitmap(r)
                if n != len(ops) - 1 or not attributes:
                    out['failed'] = (number, r)
                else:
                    out['status'] = ('GETATTR', each)
                break
            if number == GETATTR:
                out['seen'].append((key, fh, read_attr(r)[0], None))
            elif number not in (PUTFH, SAVEFH):
                parse(r, out)
        return out

    @staticmethod
    def nothing(_r, _out):
        pass

    @staticmethod
    def change_info(r, out, key='directory'):
        atomic, before, after = r.u32(), r.u64(), r.u64()
        out.setdefault('changes', []).append((key, atomic, before, after))

    @staticmethod
    def bitmap(r):
        for _ in range(r.u32()):
            r.u32()

    # ---- objects ----------------------------------------------------------------------------

    def getattr(self, fh, who):
        status, r, _ = self.ask(who, u32(PUTFH) + opaque(fh), u32(GETATTR) + nfs4.ALL)
        out = self.result(status)
        if not status:
            r.at += 16
            out['seen'].append(('object', fh, read_attr(r)[0], None))
        return out

    def lookup(self, fh, name, who):
        status, r, _ = self.ask(who, u32(PUTFH) + opaque(fh), u32(LOOKUP) +
                                opaque(name_bytes(name)), u32(GETFH), u32(GETATTR) + nfs4.ALL)
        out = self.result(status)
        if not status:
            r.at += 24
            out['fh'] = r.opaque()
            r.at += 8
            out['seen'].append(('object', out['fh'], read_attr(r)[0], None))
        return out

    def walk(self, names, who):
        fh, depth = self.root, 0
        while depth < len(names):
            some = names[depth:depth + 8]
            status, r, results = self.ask(who, u32(PUTFH) + opaque(fh), *(
                u32(LOOKUP) + opaque(name_bytes(n)) for n in some), u32(GETFH))
            if status:
                return status, depth + results - 2, None
            r.at += 8 * (2 + len(some))
            fh = r.opaque()
            depth += len(some)
        return 0, len(names), fh

    def access(self, fh, bits, who):
        def parse(r, out):
            out['access'] = (r.u32(), r.u32())
        return self.run(who, fh, u32(ACCESS) + u32(bits), parse)

    def setattr(self, fh, new, who, guard=None, opened=None):
        def ask(who, stateid, new):
            return self.run(who, fh, u32(SETATTR) + stateid + nfs4.settable(**new),
                            lambda r, out: self.bitmap(r))

        stateid = opened.any_stateid() if opened else nfs4.ANONYMOUS
        out = ask(who, stateid, new)
        if out['status'] == nfs4.BADOWNER:
            # Ganesha 9.14 takes the byte behind a number that it has not met for a part of it.  It
            # meets it, in what it refuses, before another attribute, whose first byte is a zero.
            numbers = {key: new[key] for key in ('uid', 'gid') if key in new}
            ask(STRANGER, nfs4.ANONYMOUS, numbers | {'mtime': 0})
            out = ask(who, stateid, new)
        return out

    def readlink(self, fh, who):
        def parse(r, out):
            out['target'] = r.opaque()
        return self.run(who, fh, u32(READLINK), parse)

    def read(self, fh, offset, count, who, opened=None):
        def parse(r, out):
            out['eof'] = bool(r.u32())
            out['data'] = r.opaque()
        stateid = opened.any_stateid() if opened else nfs4.ANONYMOUS
        return self.run(who, fh, u32(READ) + stateid + u64(offset) + u32(count), parse)

    def write(self, fh, offset, data, stable, who, opened=None):
        def parse(r, out):
            out['count'], out['committed'] = r.u32(), r.u32()
            out['verifier'] = r.fixed(8)
        stateid = opened.any_stateid() if opened else nfs4.ANONYMOUS
        return self.run(who, fh, u32(WRITE) + stateid + u64(offset) + u32(stable) + opaque(data),
                        parse)

    def commit(self, fh, offset, count, who):
        def parse(r, out):
            out['verifier'] = r.fixed(8)
        return self.run(who, fh, u32(COMMIT) + u64(offset) + u32(count), parse)

    # ---- names ------------------------------------------------------------------------------

    def create(self, directory, name, how, new, verifier, who):
        """OPEN with CREATE, and CLOSE."""
        got = self.open(directory, name, 2, 0, who, how, new, verifier)
        opened = got.pop('opened', None)
        if opened:
            got['close'] = self.close_file(opened, who)['status']
        return got

    def make(self, directory, name, what, new, who):
        status, r, results = self.ask(
            who, u32(PUTFH) + opaque(directory), u32(CREATE) + what + opaque(name_bytes(name)) +
            nfs4.settable(**new), u32(GETFH), u32(GETATTR) + nfs4.ALL)
        out = self.result(status)
        if results > 2 or not status:
            r.at += 16
            self.change_info(r, out)
            self.bitmap(r)
        if not status:
            r.at += 8
            out['fh'] = r.opaque()
            r.at += 8
            out['seen'].append(('object', out['fh'], read_attr(r)[0], None))
        return out

    def mkdir(self, directory, name, new, who):
        return self.make(directory, name, u32(2), new, who)

    def symlink(self, directory, name, target, new, who):
        return self.make(directory, name, u32(LNK) + opaque(name_bytes(target)), new, who)

    def mknod(self, directory, name, kind, device, new, who):
        what = u32(kind)
        if kind in (BLK, CHR):
            what += u32(device[0]) + u32(device[1])
        return self.make(directory, name, what, new, who)

    def remove(self, directory, name, who, is_directory=False):
        return self.run(who, directory, u32(REMOVE) + opaque(name_bytes(name)), self.change_info,
                        key='directory')

    def rename(self, directory, name, to, to_name, who):
        def parse(r, out):
            self.change_info(r, out)
            self.change_info(r, out, 'to directory')
        return self.run(who, to, u32(RENAME) + opaque(name_bytes(name)) +
                        opaque(name_bytes(to_name)), parse,
                        u32(PUTFH) + opaque(directory), u32(SAVEFH), key='to directory')

    def link(self, fh, directory, name, who):
        return self.run(who, directory, u32(LINK) + opaque(name_bytes(name)), self.change_info,
                        u32(PUTFH) + opaque(fh), u32(SAVEFH), key='directory')

    def page(self, fh, cookie, verifier, count, plus, who):
        status, r, _ = self.ask(who, u32(PUTFH) + opaque(fh), u32(READDIR) + u64(cookie) +
                                verifier + u32(count) + u32(max(count, 8192)) +
                                (WITH_HANDLE if plus else nfs4.bitmap([20])))
        out = self.result(status)
        if status:
            return out
        r.at += 16
        out['cookies'], out['entries'] = r.fixed(8), []
        while r.u32():
            cookie, name = r.u64(), r.opaque()
            attr, handle = read_attr(r)
            out['entries'].append((name, cookie, attr.fileid, attr if plus else None, handle))
            out['last'] = cookie
        out['eof'] = bool(r.u32())
        return out

    # ---- open files -------------------------------------------------------------------------

    def sequenced(self, opened, got):
        """Counts a request of a 4.0 owner."""
        status = got['status']
        if self.minor == 0 and status not in NO_SEQID:
            opened.seqid += 1
        return got

    def open(self, directory, name, access, deny, who, how=None, new=None, verifier=0):
        """how: None to open what is there, or unchecked, guarded, exclusive.  'opened'."""
        opened = Opened(self, os.urandom(8))
        if how is None:
            kind = u32(0)
        elif how == 'exclusive':
            kind = u32(1) + (u32(2) + u64(verifier) if self.minor == 0 else
                             u32(3) + u64(verifier) + nfs4.settable(**new))
        else:
            kind = u32(1) + u32(how == 'guarded') + nfs4.settable(**new)
        wanted = access | (NO_DELEGATION if self.minor else 0)
        status, r, results = self.ask(
            who, u32(PUTFH) + opaque(directory), u32(OPEN) + u32(opened.seqid) + u32(wanted) +
            u32(deny) + self.client.clientid + opaque(opened.owner) + kind + u32(0) +
            opaque(name_bytes(name)), u32(GETFH), u32(GETATTR) + nfs4.ALL)
        out = self.sequenced(opened, self.result(status))
        if status:
            return out
        r.at += 16
        opened.stateid = r.fixed(16)
        self.change_info(r, out)
        flags = r.u32()
        self.bitmap(r)
        delegation = r.u32()
        if delegation == 3 and r.u32() in (1, 2):
            r.u32()
        out['delegation'] = delegation in (1, 2)
        if out['delegation']:
            return out
        r.at += 8
        opened.fh = out['fh'] = r.opaque()
        r.at += 8
        out['seen'].append(('object', opened.fh, read_attr(r)[0], None))
        if flags & 2:
            def confirmed(r, _out):
                opened.stateid = r.fixed(16)
            got = self.run(who, opened.fh, u32(OPEN_CONFIRM) + opened.stateid + u32(opened.seqid),
                           confirmed, attributes=False)
            out['confirm'] = self.sequenced(opened, got)['status']
        out['opened'] = opened
        return out

    def close_file(self, opened, who):
        return self.sequenced(opened, self.run(who, opened.fh, u32(CLOSE) + u32(opened.seqid) +
                                               opened.stateid, lambda r, out: r.fixed(16),
                                               attributes=False))

    def downgrade(self, opened, access, deny, who):
        def parse(r, _out):
            opened.stateid = r.fixed(16)
        return self.sequenced(opened, self.run(
            who, opened.fh, u32(OPEN_DOWNGRADE) + opened.stateid + u32(opened.seqid) +
            u32(access) + u32(deny), parse))

    def denied(self, got):
        """What is in the way of a lock."""
        _, r = got.pop('failed', (None, None))
        if got['status'] == DENIED:
            got['denied'] = (r.u64(), r.u64(), r.u32())
        return got

    def lock(self, opened, kind, offset, length, who):
        def parse(r, _out):
            opened.lock = r.fixed(16)
        first = opened.lock is None
        lock_owner = opened.owner + b'/lock'
        args = u32(LOCK) + u32(kind) + u32(0) + u64(offset) + u64(length) + u32(first)
        if first:
            args += (u32(opened.seqid) + opened.stateid + u32(0) + self.client.clientid +
                     opaque(lock_owner))
        else:
            args += opened.lock + u32(opened.lock_seqid)
        got = self.run(who, opened.fh, args, parse, attributes=False)
        if self.minor == 0 and got['status'] not in NO_SEQID:
            if first:
                opened.seqid += 1
                opened.lock_seqid = 1 if opened.lock else 0
            else:
                opened.lock_seqid += 1
        return self.denied(got)

    def test_lock(self, fh, owner, kind, offset, length, who):
        return self.denied(self.run(who, fh, u32(LOCKT) + u32(kind) + u64(offset) + u64(length) +
                                    self.client.clientid + opaque(owner), self.nothing,
                                    attributes=False))

    def unlock(self, opened, offset, length, who):
        def parse(r, _out):
            opened.lock = r.fixed(16)
        got = self.run(who, opened.fh, u32(LOCKU) + u32(1) + u32(opened.lock_seqid) +
                       opened.lock + u64(offset) + u64(length), parse, attributes=False)
        if self.minor == 0 and got['status'] not in NO_SEQID:
            opened.lock_seqid += 1
        return got

    # ---- version 4.2 ------------------------------------------------------------------------

    def space(self, fh, offset, length, allocate, who, opened=None):
        stateid = opened.any_stateid() if opened else nfs4.ANONYMOUS
        return self.run(who, fh, u32(ALLOCATE if allocate else DEALLOCATE) + stateid +
                        u64(offset) + u64(length), self.nothing)

    def read_plus(self, fh, offset, count, who, opened=None):
        def parse(r, out):
            out['eof'] = bool(r.u32())
            data = b''
            for _ in range(r.u32()):
                hole, _offset = r.u32(), r.u64()
                data += bytes(r.u64()) if hole else r.opaque()
            out['data'] = data
        stateid = opened.any_stateid() if opened else nfs4.ANONYMOUS
        return self.run(who, fh, u32(READ_PLUS) + stateid + u64(offset) + u32(count), parse)

    def seek(self, fh, offset, hole, who, opened=None):
        def parse(r, out):
            out['eof'], out['offset'] = bool(r.u32()), r.u64()
        stateid = opened.any_stateid() if opened else nfs4.ANONYMOUS
        return self.run(who, fh, u32(SEEK) + stateid + u64(offset) + u32(hole), parse)

    def copy(self, source, target, offset, to, count, clone, who):
        """Of opened files."""
        def parse(r, out):
            if not clone:
                for _ in range(r.u32()):
                    r.fixed(16)
                out['count'], out['committed'] = r.u64(), r.u32()
        args = u32(CLONE if clone else COPY) + source.any_stateid() + target.any_stateid()
        args += u64(offset) + u64(to) + u64(count)
        if not clone:
            args += u32(1) + u32(1) + u32(0)
        return self.run(who, target.fh, args, parse, u32(PUTFH) + opaque(source.fh), u32(SAVEFH))
