# SPDX-License-Identifier: GPL-3.0-or-later
"""An NFSv3 server (RFC 1813) whose every object may lie: MOUNT and NFS on one port of this host.

A Node is honest; what lies overrides entries(), read(), attributes() or send()."""
import itertools
import socket
import struct
import threading

import nfs3
from proxy import read_record
from xdr import Reader, opaque, u32, u64

NOTDIR, BADHANDLE = 20, 10001
BLOCK = 64 << 10


def content(number, size):
    """What file `number` holds: no two blocks of any files are the same, and none is zero."""
    out = b''.join(b'%07d:%07d\n' % (number, at) for at in range(0, size, 16))
    return out[:size]


class Node:
    numbers = itertools.count(2)
    bare = False  # of a directory: it is listed without attributes and handles
    fsid, links, told = 7, 1, None      # told: the number that it shows, if not its own

    def __init__(self, size=None, **children):
        """size: of a file; a directory has children."""
        self.number = next(self.numbers)
        self.handle = struct.pack('>Q', self.number)
        self.size = size
        self.children = {name.encode(): node for name, node in children.items()}
        self.type = nfs3.DIR if size is None else nfs3.REG
        self.time = 10**9 + self.number

    @property
    def data(self):
        return content(self.number, self.size or 0)

    def find(self, name):
        return self.children.get(name)

    def all(self):
        yield self
        for child in self.children.values():
            if child is not self:
                yield from child.all()

    # ---- what may lie -----------------------------------------------------------------------

    def post(self):
        """Its attributes beside an answer."""
        return u32(1) + self.attributes()

    def listed(self):
        """Attributes and handle in READDIRPLUS."""
        return u32(1) + self.attributes() + u32(1) + opaque(self.handle)

    def attributes(self):
        size = 4096 if self.size is None else self.size
        number = self.number if self.told is None else self.told
        return (u32(self.type) + u32(0o755) + u32(self.links) + u32(0) + u32(0) + u64(size) +
                u64(size) + u64(0) + u64(self.fsid) + u64(number) + (u32(self.time) + u32(5)) * 3)

    def entries(self, cookie):
        """([(name, node, cookie)], whether these are the last) behind a cookie."""
        listed = [(name, node, n + 1) for n, (name, node) in enumerate(self.children.items())]
        return listed[cookie:cookie + 100], len(listed) <= cookie + 100

    def read(self, offset, count):
        """(count, whether it is the end, data)"""
        data = self.data[offset:offset + count]
        return len(data), offset + len(data) >= self.size, data

    def send(self, connection, xid, procedure, reply):
        """reply: with its mark."""
        connection.sendall(reply)


class Liar:
    def __init__(self, root, address=('127.0.0.1', 0)):
        self.root = root
        self.nodes = {node.handle: node for node in root.all()}
        self.calls = 0
        self.listener = socket.create_server(address, backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f'nfs://127.0.0.1:{self.port}/old?mountport={self.port}'

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            while (record := read_record(connection)) is not None:
                self.calls += 1
                self.answer(connection, Reader(record, 4))
        except OSError:
            pass
        connection.close()

    def answer(self, connection, r):
        xid, _, _, program, version, procedure = (r.u32() for _ in range(6))
        for _ in range(2):
            r.u32()
            r.opaque()
        if program not in (nfs3.NFS, nfs3.MOUNT) or version != 3:
            connection.sendall(record(xid, b'', 1))
        elif program == nfs3.MOUNT:
            connection.sendall(record(xid, u32(0) + opaque(self.root.handle) + u32(1) + u32(1)
                                      if procedure == 1 else b''))
        elif procedure == nfs3.NULL:
            connection.sendall(record(xid, b''))
        else:
            node = self.nodes.get(r.opaque())
            if not node:
                connection.sendall(record(xid, u32(BADHANDLE) + u32(0) + u32(0)))
                return
            node.send(connection, xid, procedure, record(xid, self.reply(node, procedure, r)))

    def reply(self, node, procedure, r):
        attributes = node.post()
        if procedure == nfs3.GETATTR:
            return u32(0) + node.attributes()
        if procedure == nfs3.LOOKUP:
            found = node.find(r.opaque())
            if not found:
                return u32(nfs3.NOENT) + attributes
            return u32(0) + opaque(found.handle) + found.post() + attributes
        if procedure == nfs3.ACCESS:
            return u32(0) + attributes + u32(0x3f)
        if procedure == nfs3.READLINK:
            return u32(0) + attributes + opaque(node.target)
        if procedure == nfs3.READ:
            offset, count = r.u64(), r.u32()
            count, eof, data = node.read(offset, count)
            return u32(0) + attributes + u32(count) + u32(eof) + opaque(data)
        if procedure in (nfs3.READDIR, nfs3.READDIRPLUS):
            if node.type != nfs3.DIR:
                return u32(NOTDIR) + attributes
            entries, eof = node.entries(r.u64())
            out = u32(0) + attributes + bytes(8)
            for name, child, cookie in entries:
                out += u32(1) + u64(child.number) + opaque(name) + u64(cookie)
                if procedure == nfs3.READDIRPLUS:
                    out += bytes(8) if node.bare else child.listed()
            return out + u32(0) + u32(eof)
        if procedure == nfs3.FSINFO:
            return (u32(0) + attributes + (u32(BLOCK) * 2 + u32(8)) * 2 + u32(BLOCK) + u64(1 << 60) +
                    u32(0) + u32(1) + u32(0x1b))
        if procedure == nfs3.PATHCONF:
            return u32(0) + attributes + u32(1000) + u32(255) + u32(1) * 4
        if procedure == nfs3.FSSTAT:
            return u32(0) + attributes + u64(1 << 40) * 6 + u32(0)
        return u32(10004) + u32(0) + u32(0)


def record(xid, body, accepted=0):
    reply = struct.pack('>6I', xid, 1, 0, 0, 0, accepted) + body
    return u32(len(reply) | 1 << 31) + reply
