# SPDX-License-Identifier: GPL-3.0-or-later
"""What `alternate` sends: connections to servers of NFSv3, NFSv4.1 and SMB, and ready-made requests
on them.  A connection's methods make lists of (request, least length of the reply)."""
import functools
import os
import struct
import subprocess
import types

import nfs3
import nfs4
import smb2
from sandbox import BASE, Failure
from xdr import REPLY_TIME, Rpc, opaque, u32, u64

EXPORT = '/export'
READ = smb2.READ_DATA | smb2.READ_ATTRIBUTES
USER = 'root'                           # whose files they are


def record(client, version, procedure, args):
    """A call on the wire; the transaction is put in when it is sent."""
    message = (struct.pack('>6I', 0, 0, 2, nfs3.NFS, version, procedure) + client.rpc.cred +
               u32(0) + u32(0) + args)
    return u32(len(message) | 1 << 31) + message


class Nfs3:
    """directory: the path below the export of the files with these names."""
    name = 'nfs3'
    smb, slot_at, first = False, 0, 1

    def __init__(self, server, directory, names):
        self.pid = server.process.pid
        self.client = server.client()
        self.names = names
        self.directory, _ = self.client.walk(directory)
        self.handles = [self.client.lookup(self.directory, name)[0] for name in names]
        # the client's own has a thread that reads
        self.sock = Rpc.connect(server.address, server.port)

    def close(self):
        self.sock.close()
        self.client.close()

    def call(self, procedure, args, least=0):
        return record(self.client, 3, procedure, args), least

    def reads(self, file, offset, length):
        return self.call(nfs3.READ, self.client.read_args(self.handles[file], offset, length),
                         length)

    def writes(self, file, offset, data):
        return self.call(nfs3.WRITE, opaque(self.handles[file]) + u64(offset) + u32(len(data)) +
                         u32(nfs3.UNSTABLE) + opaque(data))

    def getattrs(self, file):
        return self.call(nfs3.GETATTR, opaque(self.handles[file]))

    def opens(self, file):
        """NFSv3 has no such call; clients find the file by its name."""
        return self.call(nfs3.LOOKUP, opaque(self.directory) + opaque(self.names[file].encode()))


class Nfs4(Nfs3):
    """Minor version 1; alternate's requests use the session's slots from 1 on."""
    name = 'nfs4'

    def __init__(self, server, directory, names):
        self.pid = server.process.pid
        self.client = nfs4.Client(server.address, 1, EXPORT, server.port)
        self.names = names
        self.directory, _ = self.client.walk(directory)
        self.sock = Rpc.connect(server.address, server.port)
        head = record(self.client, 4, 1, opaque(b'') + u32(1) + u32(0) + u32(nfs4.SEQUENCE))
        self.slot_at = len(head) + len(self.client.session) + 4

    @functools.cached_property
    def files(self):
        return [self.client.open(self.directory, name, access=3) for name in self.names]

    def close(self):
        for handle, stateid in self.__dict__.get('files', ()):
            self.client.release(handle, stateid)
        super().close()

    def compound(self, fh, *ops, least=0):
        ops = [u32(nfs4.SEQUENCE) + self.client.session + u32(0) + u32(0) + u32(0) + u32(0),
               u32(nfs4.PUTFH) + opaque(fh), *ops]
        args = opaque(b'') + u32(1) + u32(len(ops)) + b''.join(ops)
        return record(self.client, 4, 1, args), least

    def reads(self, file, offset, length):
        handle, stateid = self.files[file]
        return self.compound(handle, u32(nfs4.READ) + stateid + u64(offset) + u32(length),
                             least=length)

    def writes(self, file, offset, data):
        handle, stateid = self.files[file]
        return self.compound(handle, u32(nfs4.WRITE) + stateid + u64(offset) +
                             u32(nfs3.UNSTABLE) + opaque(data))

    def getattrs(self, file):
        return self.compound(self.files[file][0], u32(nfs4.GETATTR) + nfs4.ALL)

    def opens(self, file):
        """And closes.  An owner for each file: the server does what belongs to one in turn."""
        current = u32(1) + bytes(12)            # the stateid that OPEN gave (RFC 8881, 8.2.3)
        return self.compound(
            self.directory,
            u32(nfs4.OPEN) + u32(0) + u32(1 | 0x400) + u32(0) + self.client.clientid +
            opaque(b'open%d' % file) + u32(0) + u32(0) + opaque(self.names[file].encode()),
            u32(nfs4.GETFH), u32(nfs4.GETATTR) + nfs4.ALL, u32(nfs4.CLOSE) + u32(0) + current)


class Smb:
    name = 'smb'
    slot_at = 0
    smb = True

    def __init__(self, server, directory, names, share):
        before = set(server.processes())
        self.session = server.session(USER, share)
        new = set(server.processes()) - before
        self.pid = new.pop() if len(new) == 1 else 0        # smbd has a process for each client
        self.paths = [f'{directory}\\{name}' for name in names]
        self.sock = self.session.connection.sock
        self.sock.setblocking(True)

    @functools.cached_property
    def files(self):
        """Not open where they are only opened: one smbd looks whether others that have a file open
        are alive."""
        return [self.opened(path) for path in self.paths]

    def opened(self, path):
        reply = self.session.ask(smb2.create(path, READ | smb2.WRITE_DATA))
        if reply.status:
            raise Failure(f'CREATE {path}: {smb2.name_of(reply.status)}')
        return reply.body[64:80]

    @property
    def first(self):
        return self.session.connection.mid

    def close(self):
        self.session.connection.close()

    def made(self, *requests, least=0):
        """The frame that the session would send; message ids are put in when it is sent."""
        frames = []
        recorder = types.SimpleNamespace(mid=0, sock=types.SimpleNamespace(sendall=frames.append))
        smb2.Connection.send(recorder, requests, self.session.number, self.session.tree,
                             len(requests) > 1)
        return frames[0], least

    def reads(self, file, offset, length):
        return self.made(smb2.read(self.files[file], offset, length, minimum=length), least=length)

    def writes(self, file, offset, data):
        return self.made(smb2.write(self.files[file], offset, data))

    def getattrs(self, file):
        return self.made(smb2.query_info(self.files[file], smb2.INFO_FILE, 18))     # "all"

    def opens(self, file):
        return self.made(smb2.create(self.paths[file], READ), smb2.close(smb2.ANY))


class Measured:
    """Of one server: .slices, (replies, ns, ns of the server's CPU) of each round; .latencies,
    {ns: replies}."""

    def __init__(self):
        self.slices, self.latencies = [], {}


def alternate(args, loads, depth, slice_us, rounds, pause_us=0, processor=None):
    """loads: (connection, requests) of each server; a Measured of each.  processor: the client's."""
    program = f'{args.build}/tests/bench/alternate'
    if not os.path.exists(program):
        raise Failure(f'{program} is not built')
    path = BASE + '/load'
    with open(path, 'wb') as out:
        out.write(struct.pack('=I', len(loads)))
        for connection, requests in loads:
            out.write(struct.pack('=6I', connection.sock.fileno(), connection.pid, connection.smb,
                                  connection.slot_at, connection.first, len(requests)))
            for frame, least in requests:
                out.write(struct.pack('=II', len(frame), least) + frame)
    prefix = [] if processor is None else ['taskset', '-c', str(processor)]
    done = subprocess.run(
        prefix + [program, path, str(depth), str(slice_us), str(rounds), str(pause_us)], text=True,
        pass_fds=[connection.sock.fileno() for connection, _ in loads], timeout=REPLY_TIME,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise Failure(done.stderr.strip() or f'alternate: exit {done.returncode}')
    results = [Measured() for _ in loads]
    for line in done.stdout.splitlines():
        what, server, *numbers = line.split()
        numbers = [int(n) for n in numbers]
        if what == 'slice':
            results[int(server)].slices.append(tuple(numbers))
        else:
            results[int(server)].latencies[numbers[0]] = numbers[1]
    return results
