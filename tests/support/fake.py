# SPDX-License-Identifier: GPL-3.0-or-later
"""A retriever whose every answer a test decides.

It speaks the frames of common/protocol.h and writes the records of common/record.h, knows no old
server, and does what little is asked of it at once.  A test replaces that by setting
fake.on[OP] = function(request): a returned number is the reply's status, HOLD means that the test
answers later, with fake.reply().
"""
import collections
import ctypes
import fcntl
import os
import socket
import struct
import threading

from sandbox import Failure, wait_for

(HELLO, RANGE, NAME, FILL, FINISH, BEGIN, END, SYNC, CANCEL, CONTROL) = range(1, 11)
REPLY = 0x8000
WRITE, TRUNCATE, PUNCH, ATTRIBUTES, PLACE = range(1, 6)
CHANGED, DURABLE = 1, 2
MAKE_DURABLE = 8                # of RANGE
DUMMY, PARTIAL, UNFILLED, FILLED = range(1, 5)
HOLD = object()

XATTR = 'security.migrate'
HEADER = struct.Struct('<4sHHQiIQQQIIQ')
libc = ctypes.CDLL(None, use_errno=True)

Request = collections.namedtuple('Request', 'op id flags offset length ref change text inode path dir '
                                            'size fd peer')


def path_here(fd):
    """Of an object.  smbd has mounts of its own, and their paths begin where those of the machine do."""
    path = tail = os.readlink(f'/proc/self/fd/{fd}')
    while tail:
        if os.path.lexists(tail) and os.path.samestat(os.lstat(tail), os.fstat(fd)):
            return tail
        _, slash, tail = tail[1:].partition('/')
        tail = slash + tail
    return path


# ---- records ------------------------------------------------------------------------------------

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def binding(path):
    """The kernel's handle: type, length, bytes."""
    handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 8 + 128)
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(path), handle, ctypes.byref(mount), 0) < 0:
        raise OSError(ctypes.get_errno(), 'name_to_handle_at')
    length, kind = struct.unpack_from('Ii', handle)
    return bytes([kind, length]) + handle.raw[8:8 + length]


def set_record(path, state, size=0, mtime=0, ctime=0, missing=None):
    """missing: ranges of a file; None: all of it."""
    flags, tail = 1 << 5, b''
    if state < UNFILLED and missing is not None and missing != ([(0, size)] if size else []):
        flags |= 1 << 0
        tail, last = varint(len(missing)), 0
        for start, end in missing:
            tail += varint(start - last) + varint(end - start)
            last = end
    value = (struct.pack('<BBH', 1, state, flags) + binding(path) + varint(7) + varint(size) +
             struct.pack('<qq', mtime, ctime) + varint(3) + b'old' + tail)
    os.setxattr(path, XATTR, value + struct.pack('<I', crc32c(value)), follow_symlinks=False)


def is_normal(path):
    return XATTR not in os.listxattr(path, follow_symlinks=False)


def damage(path):
    value = bytearray(os.getxattr(path, XATTR))
    value[-1] ^= 1
    os.setxattr(path, XATTR, bytes(value))


def is_held(path, how):
    """Whether somebody keeps others from this lock (fcntl.LOCK_*) of the directory."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


# ---- the retriever ------------------------------------------------------------------------------

class Stub:
    """What the old server would have."""

    def __init__(self, content, mtime, ctime):
        self.content, self.mtime, self.ctime = content, mtime, ctime
        self.missing = [(0, len(content))]


def without(ranges, start, end):
    out = []
    for a, b in ranges:
        out += [(a, min(b, start))] if a < start else []
        out += [(max(a, end), b)] if b > end else []
    return out


class Fake:
    def __init__(self, path, hold_ms=500):
        self.path, self.hold_ms, self.finished = path, hold_ms, False
        self.descriptors = False
        self.on = {}                    # OP -> function(request)
        self.log = []                   # every request
        self.changed = threading.Condition()
        self.making = threading.RLock()
        self.files = {}                 # inode -> Stub
        self.entries = {}               # inode of an unfilled directory -> [(name, make)]
        self.peers, self.listener = [], None
        self.brackets = {}              # id -> descriptor of the object
        os.makedirs(os.path.dirname(path), exist_ok=True)

    # ---- life -------------------------------------------------------------------------------

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        return self

    def stop(self):
        """As if it had been killed."""
        listener, self.listener = self.listener, None
        os.unlink(self.path)
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        with self.changed:
            peers, self.peers = self.peers, []
            while self.brackets:
                os.close(self.brackets.popitem()[1])
        for peer in peers:
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self, listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with self.changed:
                self.peers.append(peer)
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        while True:
            try:
                data, fds, _, _ = socket.recv_fds(peer, 65536, 2)
            except OSError:
                data = b''
            if not data:
                peer.close()
                return
            try:
                self.handle(peer, data, fds)
            finally:
                for fd in fds:
                    os.close(fd)

    def handle(self, peer, data, fds):
        (magic, version, op, number, _, flags, offset, length, ref, change, _,
         _) = HEADER.unpack_from(data)
        assert (magic, version) == (b'QMG1', 2)
        if op == HELLO:
            self.send(peer, op, number, 0, offset=int(self.finished), length=self.hold_ms,
                      flags=int(self.descriptors))
            return
        at = os.fstat(fds[0]) if fds else None
        request = Request(op, number, flags, offset, length, ref, change, data[HEADER.size:],
                          at.st_ino if at else None,
                          path_here(fds[0]) if fds else None,
                          path_here(fds[1]) if len(fds) > 1 else None,
                          at.st_size if at else None, fds[0] if fds else None, peer)
        status = self.on.get(op, self.usual)(request)
        with self.changed:
            self.log.append(request)
            self.changed.notify_all()
        if status is not HOLD and op != CANCEL:
            self.reply(request, status)

    @staticmethod
    def send(peer, op, number, status, offset=0, length=0, flags=0):
        try:
            peer.send(HEADER.pack(b'QMG1', 2, op | REPLY, number, status, flags, offset, length, 0,
                                  0, 0, 0))
        except OSError:
            pass                        # it is away: it will ask again

    def reply(self, request, status=0):
        self.send(request.peer, request.op, request.id, status)

    # ---- what tests look at -------------------------------------------------------------------

    def requests(self, op=None):
        with self.changed:
            return [r for r in self.log if op in (None, r.op)]

    def forget(self):
        with self.changed:
            self.log.clear()

    def wait(self, op, count=1, seconds=120):
        """The first count requests of this kind; waits until they are here."""
        with self.changed:
            done = self.changed.wait_for(
                lambda: sum(r.op == op for r in self.log) >= count, seconds)
        if not done:
            raise Failure(f'{len(self.requests(op))} requests of kind {op}, not {count}')
        return self.requests(op)[:count]

    def connected(self):
        with self.changed:
            return bool(self.peers)

    def wait_connected(self):
        wait_for('the door connects', self.connected)

    # ---- stubs --------------------------------------------------------------------------------

    def file(self, path, content, mtime=10**18 + 123456789, ctime=10**18 + 987654321, mode=0o644):
        """A file nothing of which is here."""
        with open(path, 'wb') as out:
            out.truncate(len(content))
        os.chmod(path, mode)
        stub = self.files[os.stat(path).st_ino] = Stub(content, mtime, ctime)
        os.utime(path, ns=(mtime, mtime))
        self.store(path, stub)

    def directory(self, path, entries=(), state=UNFILLED, mtime=10**18 + 5, ctime=10**18 + 6):
        """entries: [(name, function(path) that makes it)], made when it is filled."""
        if not os.path.isdir(path):
            os.mkdir(path)
        self.entries[os.stat(path).st_ino] = list(entries)
        if state != UNFILLED:
            self.make_entries(path, [name for name, _ in entries])
        os.utime(path, ns=(mtime, mtime))
        set_record(path, state, 0, mtime, ctime)

    def store(self, path, stub):
        if path.startswith('/proc/'):
            return                      # unlinked: nobody looks any more
        size = len(stub.content)
        if stub.missing:
            set_record(path, PARTIAL, size, stub.mtime, stub.ctime, stub.missing)
        elif not is_normal(path):
            os.removexattr(path, XATTR)

    def make_entries(self, path, names):
        with self.making:               # several doors may ask
            left = self.entries.get(os.stat(path).st_ino, [])
            for name, make in [e for e in left if e[0] in names]:
                make(os.path.join(path, name))
                left.remove((name, make))

    # ---- the usual answers --------------------------------------------------------------------

    def usual(self, request):
        return {RANGE: self.do_range, NAME: self.do_name, FILL: self.do_fill, BEGIN: self.do_begin,
                END: self.do_end}.get(request.op, lambda _: 0)(request)

    def do_range(self, request):
        stub = self.files[request.inode]
        path = self.where(request)
        with open(path, 'r+b') as out:
            for start, end in stub.missing:
                out.seek(start)
                out.write(stub.content[start:end])
        stub.missing = []
        os.utime(path, ns=(os.stat(path).st_atime_ns, stub.mtime))
        self.store(path, stub)
        return 0

    def replace(self, path, content, missing=None):
        """The old server's file is another one, and the administrator wants that."""
        stub = self.files[os.stat(path).st_ino]
        stub.content, stub.ctime = content, stub.ctime + 100
        stub.missing = [(0, len(content))] if missing is None else missing
        self.store(path, stub)
        os.truncate(path, len(content))

    @staticmethod
    def where(request):
        """A path of the object, while its request is handled."""
        return f'/proc/self/fd/{request.fd}' if request.path.endswith(' (deleted)') else request.path

    def do_name(self, request):
        path, name = request.path, request.text.decode()
        self.make_entries(path, [name])
        return 0 if os.path.lexists(os.path.join(path, name)) else -2

    def do_fill(self, request):
        self.make_entries(request.path, [n for n, _ in self.entries.get(request.inode, [])])
        st = os.stat(request.path)
        set_record(request.path, FILLED, 0, st.st_mtime_ns, 10**18 + 6)
        return 0

    def do_begin(self, request):
        with self.changed:
            self.brackets[request.id] = os.dup(request.fd)
        return 0

    def do_end(self, request):
        begun = next((r for r in self.requests(BEGIN) if r.id == request.ref), None)
        with self.changed:
            fd = self.brackets.pop(request.ref, None)
        if fd is None:
            return 0
        try:
            if request.flags & CHANGED and begun.inode in self.files:
                path = path_here(fd)
                gone = path.endswith(' (deleted)')
                if not gone and not os.path.lexists(path):
                    path = begun.path       # the door ended, and its mounts with it
                self.apply(begun, request, f'/proc/self/fd/{fd}' if gone else path)
        finally:
            os.close(fd)
        return 0

    def apply(self, begun, request, path):
        stub = self.files[begun.inode]
        if begun.change in (WRITE, PUNCH):
            stub.missing = without(stub.missing, request.offset, request.offset + request.length)
        elif begun.change == TRUNCATE:
            stub.missing = without(stub.missing, request.offset, 1 << 62)
        st = os.stat(path)
        stub.mtime, stub.ctime = st.st_mtime_ns, st.st_ctime_ns
        self.store(path, stub)
