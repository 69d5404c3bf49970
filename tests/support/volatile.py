# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk with a volatile cache, for guests (the protocol of NBD, after its handshake).  When its
power is cut, what was written since the last flush is there or not, each block by itself, in any of
the versions that were written: in any order, that is.  The guest can have it fail requests of a
kind.  What is done to disks can be recorded, with what the guest says meanwhile (states.py)."""
import contextlib
import fcntl
import os
import socket
import struct
import subprocess
import threading

from sandbox import Failure, wait_for

BLOCK = 4096
READ, WRITE, CLOSE, FLUSH = range(4)
NOTHING, EIO = 255, 5
SAID = b'\n'                            # a line for the record follows
FUA = 1 << 16
FLAGS = 1 | 4 | 8                       # there are flags: flushes, FUA
REQUEST, REPLY = 0x25609513, 0x67446698
SET_SOCK, SET_BLKSIZE, DO_IT, SET_SIZE_BLOCKS, SET_FLAGS = 0xab00, 0xab01, 0xab03, 0xab07, 0xab0a


class Disk:
    """On the host; one guest after the other."""

    def __init__(self, directory, size, random, log=None, number=0):
        """log: a list that gets (number, offset, bytes, whether it is durable at once) for each write,
        (number,) for each flush, before they are answered, and a str for what the guest says."""
        self.random, self.size = random, size
        self.log, self.number = [] if log is None else log, number
        self.records = log is not None
        self.now, self.safe = (os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o600)
                               for _ in range(2))
        for fd in (self.now, self.safe):
            os.truncate(fd, size)
        self.cache = {}                 # block: its versions since the last flush
        self.lost = self.kept = self.flushes = 0
        self.failing = NOTHING
        self.listener, self.control = (socket.create_server(('', 0)) for _ in range(2))
        self.port, self.control_port = (s.getsockname()[1] for s in (self.listener, self.control))
        self.idle = threading.Event()
        self.idle.set()
        threading.Thread(target=self.listen, daemon=True).start()
        threading.Thread(target=self.be_told, daemon=True).start()

    def close(self):
        self.listener.close()
        self.control.close()
        os.close(self.now)
        os.close(self.safe)

    def be_told(self):
        """What fails from now on, a byte; or what is recorded, a line."""
        while True:
            try:
                sock, _ = self.control.accept()
            except OSError:
                return
            with sock, sock.makefile('rb') as stream:
                first = stream.read(1)
                if first == SAID:
                    self.log.append(stream.readline().decode().rstrip('\n'))
                else:
                    self.failing, = first
                sock.send(b'.')

    def listen(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.idle.clear()
            self.sock = sock
            with sock, sock.makefile('rb', 1 << 20) as stream:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    self.serve(sock, stream)
                except OSError:
                    pass
            self.idle.set()

    def serve(self, sock, stream):
        while True:
            head = stream.read(28)
            if len(head) < 28:
                return
            magic, kind, cookie, at, length = struct.unpack('>II8sQI', head)
            if magic != REQUEST or kind & 0xffff == CLOSE:
                return
            data, force = b'', bool(kind & FUA)
            kind &= 0xffff
            error = EIO if kind == self.failing else 0
            if error:
                stream.read(length if kind == WRITE else 0)
            elif kind == READ:
                data = os.pread(self.now, length, at)
            elif kind == WRITE:
                written = stream.read(length)
                if len(written) < length:
                    return
                self.write(at, written, force)
            elif kind == FLUSH:
                self.flush()
            sock.sendall(struct.pack('>II8s', REPLY, error, cookie) + data)

    def write(self, at, data, force):
        if self.records:
            self.log.append((self.number, at, data, force))
        os.pwrite(self.now, data, at)
        if force:
            os.pwrite(self.safe, data, at)
        for i in range(0, len(data), BLOCK):
            if force:
                self.cache.pop((at + i) // BLOCK, None)
            else:
                self.cache.setdefault((at + i) // BLOCK, []).append(data[i:i + BLOCK])

    def flush(self):
        self.flushes += 1
        if self.records:
            self.log.append((self.number,))
        for block, versions in self.cache.items():
            os.pwrite(self.safe, versions[-1], block * BLOCK)
        self.cache.clear()

    def cut(self):
        """The power, when the guest has gone, which closes no connection."""
        if not self.idle.is_set():
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)
        if not self.idle.wait(120):
            raise Failure('the guest has gone, and its disk is busy')
        share = self.random.choice((0, 0.1, 0.5, 0.9))
        for block, versions in self.cache.items():
            if self.random.random() < share:
                os.pwrite(self.safe, self.random.choice(versions), block * BLOCK)
                self.kept += 1
            else:
                self.lost += 1
            os.pwrite(self.now, os.pread(self.safe, BLOCK, block * BLOCK), block * BLOCK)
        self.cache.clear()


def let_fail(host, port, kind):
    """In the guest: what fails from now on."""
    with socket.create_connection((host, port)) as sock:
        sock.send(bytes([kind]))
        sock.recv(1)


def say(host, port, text):
    """In the guest: a line for the record, which has it before this returns."""
    with socket.create_connection((host, port)) as sock:
        sock.sendall(SAID + text.encode() + b'\n')
        sock.recv(1)


def attach(host, port, size, number=0):
    """In the guest: the path of the device of that number."""
    path = f'/dev/nbd{number}'
    subprocess.run(['modprobe', 'nbd', 'max_part=0'], check=True)
    sock = socket.create_connection((host, port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    device = os.open(path, os.O_RDWR)
    fcntl.ioctl(device, SET_BLKSIZE, BLOCK)
    fcntl.ioctl(device, SET_SIZE_BLOCKS, size // BLOCK)
    fcntl.ioctl(device, SET_FLAGS, FLAGS)
    fcntl.ioctl(device, SET_SOCK, sock.fileno())
    if os.fork() == 0:
        os.setsid()
        try:
            fcntl.ioctl(device, DO_IT)
        finally:
            os._exit(0)
    os.close(device)
    sock.close()

    def connected():
        block = f'/sys/block/nbd{number}'
        with open(block + '/size') as blocks:
            return int(blocks.read()) == size // 512 and os.path.exists(block + '/pid')
    wait_for('the disk is connected', connected)
    return path

