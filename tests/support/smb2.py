# SPDX-License-Identifier: GPL-3.0-or-later
"""SMB 2.1, 3.0 and 3.1.1 over TCP (MS-SMB2, MS-FSCC): as much as tests need to be a client that may do
what other clients don't.  Nothing is signed or encrypted, so that only guests can use 3.1.1, which
has the POSIX extensions.

Connection: one TCP connection.  Session: one user on it, with one share.  A Session's methods make
requests: bytes, as Session.ask() and Session.compound() take them.  What servers say is given as it
is, statuses too; only a connection that fails raises."""
import os
import select
import socket
import struct
import time

from impacket import ntlm, nt_errors

(NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT, TREE_DISCONNECT, CREATE, CLOSE, FLUSH, READ, WRITE,
 LOCK, IOCTL, CANCEL, ECHO, QUERY_DIRECTORY, CHANGE_NOTIFY, QUERY_INFO, SET_INFO,
 OPLOCK_BREAK) = range(19)

SUCCESS, PENDING, MORE_PROCESSING = 0, 0x103, 0xC0000016
BUFFER_OVERFLOW, NO_MORE_FILES, END_OF_FILE = 0x80000005, 0x80000006, 0xC0000011
ACCESS_DENIED = 0xC0000022
IO_TIMEOUT = 0xC00000B5
FAILED = 0xC0000000

# CREATE: dispositions, options, access
SUPERSEDE, OPEN, NEW, OPEN_IF, OVERWRITE, OVERWRITE_IF = range(6)
DIRECTORY_FILE, WRITE_THROUGH, NON_DIRECTORY, DELETE_ON_CLOSE, REPARSE = (1, 2, 0x40, 0x1000,
                                                                          0x200000)
READ_DATA, WRITE_DATA, APPEND, READ_EA, WRITE_EA, EXECUTE, DELETE_CHILD = 1, 2, 4, 8, 16, 32, 64
READ_ATTRIBUTES, WRITE_ATTRIBUTES, DELETE, READ_CONTROL = 0x80, 0x100, 0x10000, 0x20000
WRITE_DAC, WRITE_OWNER, SYNCHRONIZE, SYSTEM_SECURITY = 0x40000, 0x80000, 0x100000, 0x1000000
MAXIMUM, GENERIC_READ, GENERIC_WRITE = 0x2000000, 0x80000000, 0x40000000
DATA_ACCESS = READ_DATA | WRITE_DATA | APPEND | EXECUTE
SHARE_ALL = 7
OFFLINE = 0x1000
A_READONLY, A_HIDDEN, A_SYSTEM, A_DIRECTORY, A_ARCHIVE, A_NORMAL, A_SPARSE, A_REPARSE = (
    1, 2, 4, 16, 32, 128, 512, 1024)
OPLOCK_NONE, OPLOCK_II, OPLOCK_EXCLUSIVE, OPLOCK_BATCH, OPLOCK_LEASE = 0, 1, 8, 9, 0xff

FSCTL_SET_SPARSE, FSCTL_SET_ZERO_DATA, FSCTL_ALLOCATED_RANGES = 0x900C4, 0x980C8, 0x940CF
FSCTL_RESUME_KEY, FSCTL_COPYCHUNK, FSCTL_COPYCHUNK_WRITE = 0x140078, 0x1440F2, 0x1480F2
FSCTL_DUP_EXTENTS, FSCTL_GET_COMPRESSION, FSCTL_REPARSE_POINT = 0x98344, 0x9003C, 0x900A8
FSCTL_OBJECT_ID, FSCTL_FILE_LEVEL_TRIM = 0x900C0, 0x98208

INFO_FILE, INFO_FS, INFO_SECURITY = 1, 2, 3
SMB311 = 0x311
POSIX = bytes.fromhex('93ad25509cb411e7b42383de968bcd7c')       # contexts of the extensions
ANY = b'\xff' * 16                      # the file that a compound's CREATE opened
WATCH_TREE = 1
LOCK_SHARED, LOCK_EXCLUSIVE, UNLOCK, LOCK_NOW = 1, 2, 4, 16


class Smb2Error(Exception):
    """The connection failed; nothing is known of the request."""


def name_of(status):
    known = nt_errors.ERROR_MESSAGES.get(status)
    return known[0].removeprefix('STATUS_') if known else hex(status)


def context(name, data):
    """A create context, without the link to the next."""
    name_at, padded = 16, name + bytes(-len(name) % 8)
    body = struct.pack('<IHHHHI', 0, name_at, len(name), 0, name_at + len(padded) if data else 0,
                       len(data))
    return body + padded + data


def contexts(blobs):
    """All of them, linked."""
    out = b''
    for n, blob in enumerate(blobs):
        if n < len(blobs) - 1:
            blob += bytes(-len(blob) % 8)
            blob = struct.pack('<I', len(blob)) + blob[4:]
        out += blob
    return out


def read_contexts(data):
    out = {}
    while data:
        following, name_at, name_len, _, at, length = struct.unpack_from('<IHHHHI', data)
        out[data[name_at:name_at + name_len]] = data[at:at + length]
        data = data[following:] if following else b''
    return out


class Reply:
    """One answer: .status, .body (what follows the header)."""

    def __init__(self, pdu):
        self.pdu, self.body = pdu, pdu[64:]
        self.status, = struct.unpack_from('<I', pdu, 8)

    @property
    def failed(self):
        return self.status >= FAILED

    def buffer(self, at, length):
        """at: offset from the header on."""
        return self.pdu[at:at + length]


class Connection:
    """peers: connections that are listened to while this one waits; all of them notice breaks.
    on_break(connection, bytes): of an oplock or a lease.  capabilities: leasing, of directories too,
    and large reads."""

    def __init__(self, address, port=445, dialect=0x0300, guid=None, timeout=60, capabilities=0x26):
        self.timeout = timeout
        self.guid = guid or os.urandom(16)
        self.mid = 0
        self.replies, self.given_up = {}, set()
        self.pending = {}               # message id -> async id
        self.peers = [self]
        self.on_break = lambda connection, body: None
        self.received = bytearray()
        try:
            self.sock = socket.create_connection((address, port), timeout)
        except OSError as error:
            raise Smb2Error(f'connect: {error}') from error
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = struct.pack('<HHHHI16sIHHH', 36, 1, 1, 0, capabilities, self.guid, *(
            (104, 2, 0) if dialect == SMB311 else (0, 0, 0)), dialect)
        if dialect == SMB311:           # SHA-512 with a salt, and the POSIX extensions
            hashes = struct.pack('<HHH', 1, 32, 1) + os.urandom(32)
            body += bytes(2) + b''.join(
                struct.pack('<HHI', kind, len(data), 0) + data + bytes(-len(data) % 8)
                for kind, data in ((1, hashes), (0x100, POSIX)))
        reply = self.wait(self.send([(NEGOTIATE, body, 1)])[0])
        if reply.failed:
            raise Smb2Error(f'negotiate: {name_of(reply.status)}')
        self.dialect, = struct.unpack_from('<H', reply.body, 4)

    def close(self):
        self.sock.close()

    # ---- frames -------------------------------------------------------------------------------

    def send(self, requests, session=0, tree=0, related=False):
        """Of (command, body, credits that it costs); the message ids."""
        frame, mids = b'', []
        for n, (command, body, charge) in enumerate(requests):
            last = n == len(requests) - 1
            pad = b'' if last else bytes(-len(body) % 8)
            header = struct.pack(
                '<4sHHIHHIIQIIQ16x', b'\xfeSMB', 64, charge, 0, command, 256,
                4 if related and n else 0, 0 if last else 64 + len(body) + len(pad), self.mid,
                0xfeff, tree, session)
            mids.append(self.mid)
            self.mid += max(charge, 1)
            frame += header + body + pad
        try:
            self.sock.sendall(struct.pack('>I', len(frame)) + frame)
        except OSError as error:
            raise Smb2Error(f'send: {error}') from error
        return mids

    def receive(self):
        """What is there."""
        try:
            data = self.sock.recv(1 << 20)
        except OSError as error:
            raise Smb2Error(f'receive: {error}') from error
        if not data:
            raise Smb2Error('the server closed the connection')
        self.received += data
        while len(self.received) >= 4:
            length, = struct.unpack_from('>I', self.received)
            if len(self.received) < 4 + length:
                break
            frame = bytes(self.received[4:4 + length])
            del self.received[:4 + length]
            while frame:
                following, = struct.unpack_from('<I', frame, 20)
                self.take(frame[:following] if following else frame)
                frame = frame[following:] if following else b''

    def take(self, pdu):
        command, _, flags, _, mid = struct.unpack_from('<HHIIQ', pdu, 12)
        if mid == 0xffffffffffffffff and command == OPLOCK_BREAK:
            self.on_break(self, pdu[64:])
            return
        reply = Reply(pdu)
        if reply.status == PENDING and flags & 2:
            self.pending[mid], = struct.unpack_from('<Q', pdu, 32)
            return
        self.pending.pop(mid, None)
        if mid in self.given_up:
            self.given_up.discard(mid)
        else:
            self.replies[mid] = reply

    def pump(self, seconds):
        """Listens to all peers for a while, or until something came."""
        ready = select.select([c.sock for c in self.peers], [], [], seconds)[0]
        for connection in dict.fromkeys(self.peers):    # what is listed twice is here once
            if connection.sock in ready:
                connection.receive()
        return bool(ready)

    def wait(self, mid, idle=None, every=0.3):
        """The reply.  idle(): called again and again while there is none."""
        end = time.monotonic() + self.timeout
        while mid not in self.replies:
            if time.monotonic() > end:
                raise Smb2Error(f'no answer within {self.timeout} s, pending: {self.pending}')
            if not self.pump(every if idle else max(0, end - time.monotonic())) and idle:
                idle()
        return self.replies.pop(mid)

    def cancel(self, mid, session):
        """Asks for an end of something pending of a session (its number); its reply comes as usual."""
        header = struct.pack('<4sHHIHHIIQQQ16x', b'\xfeSMB', 64, 0, 0, CANCEL, 0, 2, 0, mid,
                             self.pending.get(mid, 0), session)
        frame = header + struct.pack('<HH', 4, 0)
        self.sock.sendall(struct.pack('>I', len(frame)) + frame)

    # ---- users --------------------------------------------------------------------------------

    def session(self, user, password, share):
        """(status, Session or None)"""
        number, blob = 0, ntlm.getNTLMSSPType1('', '', False, True)
        first = blob
        for _ in range(2):
            token = blob.getData()
            body = struct.pack('<HBBIIHHQ', 25, 0, 1, 0, 0, 88, len(token), 0) + token
            reply = self.wait(self.send([(SESSION_SETUP, body, 1)], number)[0])
            number, = struct.unpack_from('<Q', reply.pdu, 40)
            if reply.status != MORE_PROCESSING:
                break
            at, length = struct.unpack_from('<HH', reply.body, 4)
            blob, _ = ntlm.getNTLMSSPType3(first, reply.buffer(at, length), user, password, '', '',
                                           '', True)
        if reply.status:
            return reply.status, None
        path = f'\\\\server\\{share}'.encode('utf-16-le')
        body = struct.pack('<HHHH', 9, 0, 72, len(path)) + path
        reply = self.wait(self.send([(TREE_CONNECT, body, 1)], number)[0])
        if reply.status:
            return reply.status, None
        tree, = struct.unpack_from('<I', reply.pdu, 36)
        return SUCCESS, Session(self, number, tree)


def charge(length):
    return max(1, (length + 65535) // 65536)


class Session:
    """One user's connection to one share.  Requests are (command, body, credits)."""

    def __init__(self, connection, number, tree):
        self.connection, self.number, self.tree = connection, number, tree

    def start(self, *requests):
        """Sends a compound of related requests, or one; the message ids."""
        return self.connection.send(requests, self.number, self.tree, len(requests) > 1)

    def compound(self, *requests, idle=None):
        """Replies of all."""
        return [self.connection.wait(mid, idle) for mid in self.start(*requests)]

    def ask(self, request, idle=None):
        return self.compound(request, idle=idle)[0]


# ---- requests -------------------------------------------------------------------------------

def create(name, access=MAXIMUM, disposition=OPEN, options=0, share=SHARE_ALL, attributes=0,
           oplock=OPLOCK_NONE, blobs=()):
    """name: str with backslashes, from the share's root; blobs: of context()."""
    raw = name.encode('utf-16-le', 'surrogatepass')
    more = contexts(blobs)
    pad = bytes(-len(raw) % 8) if more else b''
    body = struct.pack('<HBBIQQIIIIIHHII', 57, 0, oplock, 2, 0, 0, access, attributes, share,
                       disposition, options, 120, len(raw),
                       120 + len(raw) + len(pad) if more else 0, len(more))
    return CREATE, body + (raw + pad + more or b'\0'), 1


def close(fid, attributes=False):
    return CLOSE, struct.pack('<HHI16s', 24, attributes, 0, fid), 1


def flush(fid):
    return FLUSH, struct.pack('<HHI16s', 24, 0, 0, fid), 1


def read(fid, offset, length, minimum=0):
    return READ, struct.pack('<HBBIQ16sIIIHHB', 49, 80, 0, length, offset, fid, minimum, 0, 0, 0, 0,
                             0), charge(length)


def write(fid, offset, data, flags=0):
    return WRITE, struct.pack('<HHIQ16sIIHHI', 49, 112, len(data), offset, fid, 0, 0, 0, 0,
                              flags) + (data or b'\0'), charge(len(data))


def lock(fid, locks):
    """locks: (offset, length, flags)"""
    body = struct.pack('<HHI16s', 48, len(locks), 0, fid)
    return LOCK, body + b''.join(struct.pack('<QQII', *one, 0) for one in locks), 1


def ioctl(fid, code, data=b'', largest=65536):
    return IOCTL, struct.pack('<HHI16sIIIIIIII', 57, 0, code, fid, 120, len(data), 0, 120, 0,
                              largest, 1, 0) + (data or b'\0'), charge(max(largest, len(data)))


def query_directory(fid, level, pattern='*', flags=0, largest=65536):
    raw = pattern.encode('utf-16-le', 'surrogatepass')
    return QUERY_DIRECTORY, struct.pack('<HBBI16sHHI', 33, level, flags, 0, fid, 96, len(raw),
                                        largest) + (raw or b'\0'), charge(largest)


def change_notify(fid, what=0x17f, flags=0, largest=65536):
    body = struct.pack('<HHI16sII', 32, flags, largest, fid, what, 0)
    return CHANGE_NOTIFY, body, charge(largest)


def query_info(fid, kind, level, data=b'', additional=0, largest=65536, flags=0):
    return QUERY_INFO, struct.pack('<HBBIHHIII16s', 41, kind, level, largest, 104 if data else 0, 0,
                                   len(data), additional, flags, fid) + data, charge(largest)


def set_info(fid, kind, level, data, additional=0):
    return SET_INFO, struct.pack('<HBBIHHI16s', 33, kind, level, len(data), 96, 0, additional,
                                 fid) + data, charge(len(data))


def acknowledge(fid, level):
    return OPLOCK_BREAK, struct.pack('<HBBI16s', 24, level, 0, 0, fid), 1


def acknowledge_lease(key, state):
    return OPLOCK_BREAK, struct.pack('<HHI16sIQ', 36, 0, 0, key, state, 0), 1


def echo():
    return ECHO, struct.pack('<HH', 4, 0), 1


# ---- what comes back ---------------------------------------------------------------------------

def output(reply):
    """The buffer of a reply to READ, IOCTL, QUERY_DIRECTORY, QUERY_INFO, CHANGE_NOTIFY."""
    command, = struct.unpack_from('<H', reply.pdu, 12)
    if command == READ:
        at, length = reply.body[2], struct.unpack_from('<I', reply.body, 4)[0]
    elif command == IOCTL:
        at, length = struct.unpack_from('<II', reply.body, 32)
    else:
        at, length = struct.unpack_from('<HI', reply.body, 2)
    return reply.buffer(at, length)


def entries(data):
    """Of a list linked by offsets: the bytes of each."""
    while data:
        following, = struct.unpack_from('<I', data)
        yield data[:following] if following else data
        data = data[following:] if following else b''


def lease(key, state):
    return context(b'RqLs', struct.pack('<16sIIQ', key, state, 0, 0))


def lease_v2(key, state):
    """What a directory's must be."""
    return context(b'RqLs', struct.pack('<16sIIQ16sHH', key, state, 0, 0, bytes(16), 0, 0))


QUERY_ID = context(b'QFid', b'')
QUERY_ACCESS = context(b'MxAc', b'')


def ea_list(values):
    """FILE_FULL_EA_INFORMATION of {name: value}, bytes."""
    blobs = []
    for name, value in values:
        blobs.append(struct.pack('<IBBH', 0, 0, len(name), len(value)) + name + b'\0' + value)
    for n, blob in enumerate(blobs[:-1]):
        blob += bytes(-len(blob) % 4)
        blobs[n] = struct.pack('<I', len(blob)) + blob[4:]
    return b''.join(blobs)
