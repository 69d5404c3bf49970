# SPDX-License-Identifier: GPL-3.0-or-later
"""A raw connection to a real retriever's socket: whatever a peer may send, in the frames of
common/protocol.h."""
import array
import os
import socket

from fake import BEGIN, CANCEL, CONTROL, END, FILL, FINISH, HEADER, HELLO, NAME, RANGE, REPLY, SYNC
from servers import VOLUME

DOOR, CRAWLER, CONTROLLER = range(1, 4)


class Peer:
    def __init__(self, path, role=DOOR, timeout=60, hello=True):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(timeout)
        self.sock.connect(path)
        self.number = 0
        if hello:
            self.send(HELLO, length=role, text=VOLUME.encode())
            self.receive()

    def close(self):
        self.sock.close()

    def send(self, op, fds=(), flags=0, offset=0, length=0, ref=0, change=0, text=b''):
        """The request's id."""
        self.number += 1
        frame = HEADER.pack(b'QMG1', 2, op, self.number, 0, flags, offset, length, ref, change,
                            len(text), 0) + text
        self.raw(frame, fds)
        return self.number

    def raw(self, data, fds=()):
        """Any bytes as one message."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else []
        self.sock.sendmsg([data], rights)

    def receive(self):
        """(op, id, status, text) of the next message, or None at the end of the connection."""
        data = self.sock.recv(65536)
        if not data:
            return None
        _, _, op, number, status, _, _, _, _, _, length, _ = HEADER.unpack_from(data)
        return op & ~REPLY, number, status, data[HEADER.size:HEADER.size + length]

    def ask(self, op, **kw):
        """(status, text) of a request that is the only one."""
        number = self.send(op, **kw)
        while True:
            got = self.receive()
            if got is None:
                raise ConnectionResetError('the retriever ended the connection')
            if got[1] == number:
                return got[2:]

    def object(self, op, path, **kw):
        """send() about an object."""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return self.send(op, fds=(fd,), **kw)
        finally:
            os.close(fd)


__all__ = ['BEGIN', 'CANCEL', 'CONTROL', 'CONTROLLER', 'CRAWLER', 'DOOR', 'END', 'FILL', 'FINISH', 'HELLO',
           'NAME', 'Peer', 'RANGE', 'SYNC']
