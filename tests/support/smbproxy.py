# SPDX-License-Identifier: GPL-3.0-or-later
"""In front of a packaged smbd: changes what clients ask and what it answers, so that it is like a
server of another kind.  Nothing must be signed or encrypted.  Threads of the test."""
import contextlib
import socket
import struct
import threading

import smb2

STANDARD_INFORMATION, ALL_INFORMATION, ATTRIBUTE_TAG, ID_BOTH = 5, 18, 35, 37


def exactly(sock, n):
    data = bytearray()
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            raise ConnectionError('closed')
        data += more
    return data


class Call:
    """A request that is under way: .command, .path (with slashes, below the share), .pdu, .create (the
    one that opened it in the same compound)"""

    def __init__(self, path, pdu, create):
        self.path, self.pdu, self.create = path, pdu, create
        self.command, = struct.unpack_from('<H', pdu, 12)

    @property
    def level(self):
        """Of QUERY_DIRECTORY and QUERY_INFO; of IOCTL the code."""
        if self.command == smb2.IOCTL:
            return struct.unpack_from('<I', self.pdu, 68)[0]
        return self.pdu[66 if self.command == smb2.QUERY_DIRECTORY else 67]


def pdus(frame):
    while frame:
        following, = struct.unpack_from('<I', frame, 20)
        yield frame[:following] if following else frame
        frame = frame[following:] if following else b''


def frame_of(parts):
    out = bytearray()
    for n, pdu in enumerate(parts):
        last = n == len(parts) - 1
        pdu += bytes(0 if last else -len(pdu) % 8)
        struct.pack_into('<I', pdu, 20, 0 if last else len(pdu))
        out += pdu
    return struct.pack('>I', len(out)) + out


class Link:
    """One client's connection."""

    def __init__(self, proxy, near):
        self.proxy, self.near = proxy, near
        self.far = socket.create_connection((proxy.server.address, proxy.server.port))
        self.calls, self.handles = {}, {}
        for sock in (near, self.far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for carry in (self.requests, self.replies):
            threading.Thread(target=self.run, args=(carry,), daemon=True).start()

    def run(self, carry):
        with contextlib.suppress(OSError):
            carry()
        for sock in (self.near, self.far):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def handle(pdu):
        at = {smb2.READ: 80, smb2.QUERY_INFO: 88}.get(struct.unpack_from('<H', pdu, 12)[0], 72)
        return bytes(pdu[at:at + 16])

    def path(self, pdu, before):
        """Of what a request is about."""
        command, = struct.unpack_from('<H', pdu, 12)
        if command == smb2.CREATE:
            at, length = struct.unpack_from('<HH', pdu, 64 + 44)
            return pdu[at:at + length].decode('utf-16-le', 'surrogatepass').replace('\\', '/')
        handle = self.handle(pdu)
        return before if handle == smb2.ANY else self.handles.get(handle, '')

    def requests(self):
        while True:
            length, = struct.unpack('>I', exactly(self.near, 4))
            out, path, create = [], '', None
            for pdu in pdus(exactly(self.near, length)):
                if pdu[:4] == b'\xfeSMB':
                    path = self.path(pdu, path)
                    call = Call(path, pdu, create)
                    create = call if call.command == smb2.CREATE else create
                    self.proxy.on_request(call)
                    pdu = call.pdu
                    self.calls[struct.unpack_from('<Q', pdu, 24)[0]] = call
                out.append(pdu)
            self.far.sendall(frame_of(out))

    def replies(self):
        while True:
            length, = struct.unpack('>I', exactly(self.far, 4))
            out = []
            for pdu in pdus(exactly(self.far, length)):
                status, command = struct.unpack_from('<IH', pdu, 8)
                call = self.calls.get(struct.unpack_from('<Q', pdu, 24)[0])
                if call and status != smb2.PENDING:
                    if command == smb2.CREATE and not status:
                        self.handles[bytes(pdu[128:144])] = call.path
                    pdu = self.proxy.on_reply(call, pdu) or pdu
                out.append(pdu)
            self.near.sendall(frame_of(out))


class Proxy:
    """on_request(call) may change call.pdu, on_reply(call, pdu) its answer, both in place; on_reply may
    also return another one."""

    def __init__(self, server, port, on_request=lambda call: None, on_reply=lambda call, pdu: None):
        self.server, self.port = server, port
        self.on_request, self.on_reply = on_request, on_reply
        self.socket = socket.create_server(('127.0.0.1', port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            Link(self, self.socket.accept()[0])


def entries(call, pdu):
    """Where entries of a reply to QUERY_DIRECTORY begin in it, and their names."""
    at, length = struct.unpack_from('<HI', pdu, 66)
    end = at + length
    while at < end:
        following, = struct.unpack_from('<I', pdu, at)
        size, = struct.unpack_from('<I', pdu, at + 60)
        yield at, pdu[at + 104:at + 104 + size].decode('utf-16-le', 'surrogatepass')
        at = at + following if following else end


def succeeded(pdu):
    return not struct.unpack_from('<I', pdu, 8)[0]


def change(pdu, kind, at, function):
    """A number in it."""
    value, = struct.unpack_from(kind, pdu, at)
    struct.pack_into(kind, pdu, at, function(value))


def refuse(pdu, status):
    """An answer that says no more than that."""
    header = bytearray(pdu[:64])
    struct.pack_into('<I', header, 8, status)
    return header + struct.pack('<HBBIB', 9, 0, 0, 0, 0)


def answer(call, pdu, data):
    """A reply to IOCTL that brings data."""
    header = bytearray(pdu[:64])
    struct.pack_into('<I', header, 8, 0)
    return header + struct.pack('<HHI16sIIIIII', 49, 0, call.level, bytes(call.pdu[72:88]), 112, 0,
                                112, len(data), 0, 0) + data
