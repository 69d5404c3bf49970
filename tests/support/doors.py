# SPDX-License-Identifier: GPL-3.0-or-later
"""One set of operations over NFSv3 and NFSv4, so that a test can be written once for all of them.
Handles are bytes; names str or bytes; errors are nfs3.NfsError."""
import nfs3
import nfs4
from nfs3 import name_bytes
from xdr import Rpc, auth_sys, opaque, u32, u64

V3 = 3
MINORS = {3: None, 40: 0, 41: 1, 42: 2}
KINDS = {'fifo': (nfs3.FIFO, nfs4.FIFO), 'socket': (nfs3.SOCK, nfs4.SOCK),
         'char': (nfs3.CHR, nfs4.CHR), 'block': (nfs3.BLK, nfs4.BLK)}


class Door3:
    """What has no counterpart (open, seek, ...) does nothing here or is missing."""
    minor = None

    def __init__(self, path, uid=0, gid=0, gids=(), **kw):
        self.c = nfs3.Client('127.0.0.1', path, uid=uid, gid=gid, port=2049, mount_port=20048, **kw)
        if gids:
            self.c.rpc.cred = auth_sys(uid, gid, gids)
        self.root = self.c.root
        for name in ('getattr', 'access', 'walk', 'lookup', 'readlink', 'mkdir', 'symlink', 'remove',
                     'rmdir', 'rename', 'link'):
            setattr(self, name, getattr(self.c, name))

    def close(self):
        self.c.close()

    def setattr(self, fh, state=None, **new):
        self.c.setattr(fh, **new)

    def read(self, fh, offset, count, state=None):
        return self.c.read(fh, offset, count)

    def write(self, fh, offset, data, state=None, stable=0):
        self.c.write(fh, offset, data, stable)

    def commit(self, fh):
        self.c.commit(fh)

    def create(self, directory, name, how='unchecked', verifier=None, **new):
        """how: unchecked, guarded, exclusive."""
        body = opaque(directory) + opaque(name_bytes(name))
        if how == 'exclusive':
            body += u32(2) + verifier
        else:
            body += u32(how == 'guarded') + nfs3.sattr(**new)
        return self.c.made(self.c.call(nfs3.CREATE, body, name), directory, name)

    def mknod(self, directory, name, kind, device=(0, 0), **new):
        number = KINDS[kind][0]
        body = opaque(directory) + opaque(name_bytes(name)) + u32(number) + nfs3.sattr(**new)
        if kind in ('char', 'block'):
            body += u32(device[0]) + u32(device[1])
        return self.c.made(self.c.call(nfs3.MKNOD, body, name), directory, name)

    def names(self, fh):
        """{name: Attr}"""
        return {name: attr for name, _, attr, _ in self.c.listing(fh)}

    def open(self, directory, name, access=3):
        return self.c.lookup(directory, name)[0], None

    def release(self, fh, state):
        pass


class Door4:
    def __init__(self, pseudo, minor, uid=0, gid=0, gids=(), **kw):
        self.minor = minor
        self.c = nfs4.Client('127.0.0.1', minor, export=pseudo, uid=uid, gid=gid, **kw)
        if gids:
            self.c.rpc.cred = auth_sys(uid, gid, gids)
        self.root = self.c.root
        for name in ('getattr', 'access', 'walk', 'readlink', 'remove', 'rename', 'link', 'commit',
                     'release', 'lookupp', 'allocate', 'deallocate', 'seek', 'copy', 'clone',
                     'read_plus', 'io_advise', 'getxattr', 'setxattr', 'removexattr', 'listxattrs'):
            setattr(self, name, getattr(self.c, name))
        self.rmdir = self.c.remove

    def close(self):
        self.c.close()

    def lookup(self, directory, name):
        return self.c.walk(name, directory)

    def setattr(self, fh, state=None, **new):
        self.c.setattr(fh, state or nfs4.ANONYMOUS, **new)

    def read(self, fh, offset, count, state=None):
        return self.c.read(fh, offset, count, state or nfs4.ANONYMOUS)

    def write(self, fh, offset, data, state=None, stable=0):
        while data:
            done = self.c.write(fh, offset, data[:1 << 20], state or nfs4.ANONYMOUS, stable)
            offset, data = offset + done, data[done:]

    def create(self, directory, name, how='unchecked', verifier=None, access=3, **new):
        """how: also exclusive4_1.  Opened, and closed again."""
        mode = {'unchecked': nfs4.UNCHECKED, 'guarded': nfs4.GUARDED, 'exclusive': nfs4.EXCLUSIVE,
                'exclusive4_1': nfs4.EXCLUSIVE4_1}[how]
        fh, state = self.c.open(directory, name, access, self.c.creating(mode, verifier, **new))
        self.c.release(fh, state)
        return fh

    def mkdir(self, directory, name, **new):
        return self.c.make(directory, name, nfs4.DIR, **new)

    def symlink(self, directory, name, target, **new):
        return self.c.make(directory, name, nfs4.LNK, opaque(name_bytes(target)), **new)

    def mknod(self, directory, name, kind, device=(0, 0), **new):
        data = u32(device[0]) + u32(device[1]) if kind in ('char', 'block') else b''
        return self.c.make(directory, name, KINDS[kind][1], data, **new)

    def names(self, fh):
        return dict(self.c.listing(fh))

    def open(self, directory, name, access=3):
        return self.c.open(directory, name, access)


def door(version, path, pseudo, **kw):
    """version: one of MINORS."""
    return Door3(path, **kw) if version == V3 else Door4(pseudo, MINORS[version], **kw)


def fs_facts(door3):
    """FSINFO, PATHCONF and the totals of FSSTAT."""
    fh, facts = opaque(door3.root), {}
    reply = door3.c.call(nfs3.FSINFO, fh)
    nfs3.post_attr(reply)
    facts['fsinfo'] = [reply.u32() for _ in range(7)] + [reply.u64()] + [reply.u32() for _ in range(3)]
    reply = door3.c.call(nfs3.PATHCONF, fh)
    nfs3.post_attr(reply)
    facts['pathconf'] = [reply.u32() for _ in range(6)]
    reply = door3.c.call(nfs3.FSSTAT, fh)
    nfs3.post_attr(reply)
    facts['fsstat'] = [reply.u64() for _ in range(6)]
    return facts


__all__ = ['Door3', 'Door4', 'MINORS', 'Rpc', 'door', 'fs_facts', 'u64']
