# SPDX-License-Identifier: GPL-3.0-or-later
"""SMB (tests/support/smb2.py) as the executor wants it: a door is one client with one connection,
on which several users have sessions, and what replies say is taken apart into what compare_smb.py
compares."""
import collections
import select
import struct
import time

import smb2
import smbd
from sandbox import wait_for

# dos: attributes; None where a reply does not tell.  Times in ns.
Attr = collections.namedtuple('Attr', 'dos size used fileid btime atime mtime ctime nlink change',
                              defaults=(None,) * 10)
EPOCH = 116444736000000000              # NTTIME of 1970
USERS = tuple(smbd.USERS)               # of execute.IDENTITIES
LEASE = 'lease'
HOLD = 0.9                              # seconds: somewhat less than the shortest hold


def ns(nttime):
    return (nttime - EPOCH) * 100


def nttime(ns_):
    return ns_ // 100 + EPOCH


def key_of(fileid):
    """What stands for a handle in 'seen'."""
    return None if fileid is None else struct.pack('<Q', fileid)


def seen(out, what, attr):
    out['seen'].append((what, key_of(attr.fileid), attr, None))


class Opened:
    """One open of one side."""

    def __init__(self, door, session, fid, path):
        self.door, self.session, self.fid, self.path = door, session, fid, path
        self.fileid, self.granted = None, 0
        self.lease = None               # its key
        self.durable = False
        self.enumerating = None         # the listing that its handle is in the midst of


class Door:
    """unblock() is called when a call was answered with a time-out, idle() or nothing when it takes
    long.  breaks: a list that the doors of a side share."""

    def __init__(self, server, unblock, idle, breaks):
        self.server, self.unblock, self.idle, self.breaks = server, unblock, idle, breaks
        self.sessions, self.opens = {}, {}      # fid -> Opened
        self.delays = 0
        self.connect()

    def connect(self, guid=None):
        self.connection = smb2.Connection(self.server.address, self.server.port, guid=guid)
        self.connection.on_break = self.broken

    def reconnect(self):
        """Drops the TCP connection, with all sessions; what was open is not when it returns."""
        guid, processes = self.connection.guid, set(self.server.processes())
        self.connection.close()
        wait_for('the connection has ended', lambda: processes - set(self.server.processes()))
        self.sessions.clear()
        self.opens.clear()
        self.connect(guid)

    def close(self):
        self.connection.close()

    def session(self, who):
        """Of an index into USERS."""
        if who not in self.sessions:
            status, session = self.connection.session(USERS[who], smbd.PASSWORD, smbd.SHARE)
            if status:
                raise smb2.Smb2Error(f'session of {USERS[who]}: {smb2.name_of(status)}')
            self.sessions[who] = session
        return self.sessions[who]

    def ask(self, session, *requests):
        """Replies to a compound, which is done again when the door gave up waiting."""
        end = 6
        while True:
            begin = time.monotonic()
            replies = session.compound(*requests, idle=self.idle)
            if not end or not self.gave_up(replies, begin):
                return replies
            end -= 1
            self.delays += 1
            self.unblock()
            select.select([], [], [], 0.02)

    @staticmethod
    def gave_up(replies, begin):
        """ACCESS_DENIED: a directory on the way could not be had in time."""
        late = time.monotonic() - begin > HOLD
        return any(r.status == smb2.IO_TIMEOUT or late and r.status == smb2.ACCESS_DENIED
                   for r in replies)

    def broken(self, _connection, body):
        """Notes a break and acknowledges it, as a client without a cache does it at once.  Where
        no answer is wanted, one does no harm."""
        if len(body) >= 44:
            flags, lease, old, new = struct.unpack_from('<I16sII', body, 4)
            self.breaks.append((lease, old, new))
            if flags & 1 and self.sessions:
                self.forget(next(iter(self.sessions.values())), smb2.acknowledge_lease(lease, new))
        else:
            level, fid = struct.unpack_from('<xxBx4x16s', body)
            opened = self.opens.get(fid)
            self.breaks.append((opened and opened.path, None, level))
            if opened:
                self.forget(opened.session, smb2.acknowledge(fid, level))

    def forget(self, session, request):
        """Asks for something whose answer nobody looks at."""
        self.connection.given_up.update(session.start(request))


# ---- taking replies apart ----------------------------------------------------------------------

def created(reply, out):
    """Of CREATE: the file id."""
    b = reply.body
    level, action = b[2], struct.unpack_from('<I', b, 4)[0]
    btime, atime, mtime, ctime, used, size, dos = struct.unpack_from('<QQQQQQI', b, 8)
    at, length = struct.unpack_from('<II', b, 80)
    blobs = smb2.read_contexts(reply.buffer(at, length)) if length else {}
    fileid = None
    if blobs.get(b'QFid'):
        fileid, = struct.unpack_from('<Q', blobs[b'QFid'])
    out['action'], out['oplock'] = action, level
    if b'MxAc' in blobs:
        out['maximal'] = struct.unpack('<II', blobs[b'MxAc'])
    if b'RqLs' in blobs:
        out['lease'] = struct.unpack_from('<16sI', blobs[b'RqLs'])
    out['durable'] = b'DHnQ' in blobs or b'DH2Q' in blobs
    out['contexts'] = sorted(set(blobs) - {b'DHnQ', b'DH2Q'})
    attr = Attr(dos, size, used, fileid, ns(btime), ns(atime), ns(mtime), ns(ctime))
    seen(out, 'opened', attr)
    return b[64:80]


def closed(reply, out, fileid):
    """Of CLOSE, where attributes were asked for."""
    flags, = struct.unpack_from('<H', reply.body, 2)
    out['told'] = flags
    if flags & 1:
        btime, atime, mtime, ctime, used, size, dos = struct.unpack_from('<QQQQQQI', reply.body, 8)
        seen(out, 'closed', Attr(dos, size, used, fileid, ns(btime), ns(atime), ns(mtime),
                                 ns(ctime)))


def basic(data):
    btime, atime, mtime, ctime, dos = struct.unpack_from('<QQQQI', data)
    return {'btime': ns(btime), 'atime': ns(atime), 'mtime': ns(mtime), 'ctime': ns(ctime),
            'dos': dos}


def standard(data, out):
    used, size, nlink, pending, directory = struct.unpack_from('<QQIBB', data)
    out['standard'] = (pending, directory)
    return {'used': used, 'size': size, 'nlink': nlink}


def streams(data):
    """[(name, size, space)]"""
    out = []
    for entry in smb2.entries(data):
        _, length, size, used = struct.unpack_from('<IIQQ', entry)
        out.append((entry[24:24 + length].decode('utf-16-le', 'surrogatepass'), size, used))
    return sorted(out)


BASIC, STANDARD, INTERNAL, EA, ACCESS, POSITION, FULL_EA, MODE, ALIGNMENT, ALL = (
    4, 5, 6, 7, 8, 14, 15, 16, 17, 18)
ALTERNATE_NAME, STREAM, COMPRESSION, NETWORK_OPEN, ATTRIBUTE_TAG, NORMALIZED_NAME = (
    21, 22, 28, 34, 35, 48)
RENAME, LINK, DISPOSITION, ALLOCATION, END_OF_FILE = 10, 11, 13, 19, 20


def mode(data):
    """Of FILE_MODE_INFORMATION, which is DOS attributes for Samba; see archive_lost."""
    bits, = struct.unpack('<I', data)
    return struct.pack('<I', bits & ~(smb2.OFFLINE | smb2.A_ARCHIVE) or smb2.A_NORMAL)


def rounded(data):
    """A size of extended attributes: what is behind the last of them depends on their order."""
    return (struct.unpack('<I', data)[0] + 3) // 4 * 4


def information(level, data, out, fileid):
    """Of QUERY_INFO about a file."""
    got = None
    if level == BASIC:
        got = basic(data)
    elif level == STANDARD:
        got = standard(data, out)
    elif level == INTERNAL:
        got = {}
        fileid, = struct.unpack_from('<Q', data)
    elif level == ALL:
        got = {**basic(data), **standard(data[40:], out)}
        fileid, = struct.unpack_from('<Q', data, 64)
        out['info'] = rounded(data[72:76]), data[76:88] + mode(data[88:92]) + data[92:]
    elif level == NETWORK_OPEN:
        btime, atime, mtime, ctime, used, size, dos = struct.unpack_from('<QQQQQQI', data)
        got = {'btime': ns(btime), 'atime': ns(atime), 'mtime': ns(mtime), 'ctime': ns(ctime),
               'used': used, 'size': size, 'dos': dos}
    elif level == ATTRIBUTE_TAG:
        dos, out['info'] = struct.unpack_from('<II', data)
        got = {'dos': dos}
    elif level == STREAM:
        out['streams'] = streams(data)
    elif level == FULL_EA:
        out['info'] = sorted(e[4:9 + e[5] + struct.unpack_from('<H', e, 6)[0]]
                             for e in smb2.entries(data))
    else:
        out['info'] = {MODE: mode, EA: rounded}.get(level, bytes)(data)
    if got is not None:
        seen(out, 'object', Attr(fileid=fileid, **got))


NAMES, FULL, BOTH, ID_BOTH, ID_FULL, DIRECTORY = 12, 2, 3, 37, 38, 1
# level: (offset of the name, of EA's size, of the short name, of the file id)
LAYOUT = {DIRECTORY: (64, None, None, None), FULL: (68, 64, None, None), BOTH: (94, 64, 68, None),
          ID_BOTH: (104, 64, 68, 96), ID_FULL: (80, 64, None, 72), NAMES: (12, None, None, None)}


def listed(level, data):
    """[(name, Attr, (size of EAs, short name))]"""
    out = []
    name_at, ea_at, short_at, id_at = LAYOUT[level]
    for e in smb2.entries(data):
        if level == NAMES:
            length, = struct.unpack_from('<I', e, 8)
            attr = Attr()
        else:
            btime, atime, mtime, ctime, size, used, dos, length = struct.unpack_from('<QQQQQQII', e,
                                                                                    8)
            attr = Attr(dos, size, used, struct.unpack_from('<Q', e, id_at)[0] if id_at else None,
                        ns(btime), ns(atime), ns(mtime), ns(ctime))
        more = (rounded(e[ea_at:ea_at + 4]) if ea_at else None,
                e[short_at + 2:short_at + 2 + e[short_at]] if short_at else None)
        out.append((e[name_at:name_at + length].decode('utf-16-le', 'surrogatepass'), attr, more))
    return out


def notified(data):
    """[(action, name)]"""
    out = []
    for e in smb2.entries(data):
        action, length = struct.unpack_from('<II', e, 4)
        out.append((action, e[12:12 + length].decode('utf-16-le', 'surrogatepass')))
    return out
