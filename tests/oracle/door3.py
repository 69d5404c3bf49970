# SPDX-License-Identifier: GPL-3.0-or-later
"""NFSv3 (RFC 1813) as the executor wants it: every call gives a dictionary of what the server said,
whatever the status, with the attributes that came with it.  See door.py for the keys."""
import nfs3
from door import Attr, Door
from nfs3 import name_bytes, post_attr, read_attr, sattr
from xdr import auth_sys, opaque, u32, u64


def normal(attr):
    if attr is None:
        return None
    return Attr(attr.type, attr.mode, attr.nlink, attr.uid, attr.gid, attr.size, attr.used,
                attr.rdev if attr.type in (nfs3.BLK, nfs3.CHR) else None, attr.fileid, attr.atime,
                attr.mtime, attr.ctime, None)


def new_attributes(new):
    """sattr3 of a dictionary; a time of "now" is the server's."""
    known = {k: v for k, v in new.items() if v != 'now'}
    if len(known) == len(new):
        return sattr(**known)
    out = sattr(**{k: v for k, v in known.items() if k not in ('atime', 'mtime')})[:-8]
    for key in ('atime', 'mtime'):
        value = new.get(key)
        out += (u32(0) if value is None else u32(1) if value == 'now' else
                u32(2) + u32(value // 10**9) + u32(value % 10**9))
    return out


class Door3(Door):
    busy_status = (nfs3.JUKEBOX,)

    def connect(self):
        self.client = nfs3.Client(self.server.address, self.server.path, port=self.server.port,
                                  mount_port=self.server.mount_port)
        self.root = self.client.root

    def close(self):
        self.client.close()

    def ask(self, proc, args, who):
        cred = auth_sys(*who)

        def once():
            reply = self.client.rpc.call(nfs3.NFS, 3, proc, args, cred)
            return reply.u32(), reply
        return self.patiently(once)

    def wcc(self, r, out, key, fh):
        before = None
        if r.u32():
            size = r.u64()
            before = (size, nfs3.read_time(r), nfs3.read_time(r))
        attr = normal(post_attr(r))
        out['seen'].append((key, fh, attr, before))

    def post(self, r, out, key, fh):
        out['seen'].append((key, fh, normal(post_attr(r)), None))

    # ---- objects ----------------------------------------------------------------------------

    def getattr(self, fh, who):
        status, r = self.ask(nfs3.GETATTR, opaque(fh), who)
        out = self.result(status)
        if not status:
            out['seen'].append(('object', fh, normal(read_attr(r)), None))
        return out

    def lookup(self, fh, name, who):
        status, r = self.ask(nfs3.LOOKUP, opaque(fh) + opaque(name_bytes(name)), who)
        out = self.result(status)
        if not status:
            out['fh'] = r.opaque()
            self.post(r, out, 'object', out['fh'])
        self.post(r, out, 'directory', fh)
        return out

    def access(self, fh, bits, who):
        status, r = self.ask(nfs3.ACCESS, opaque(fh) + u32(bits), who)
        out = self.result(status)
        self.post(r, out, 'object', fh)
        if not status:
            out['access'] = r.u32()
        return out

    def setattr(self, fh, new, who, guard=None, opened=None):
        guarded = u32(1) + u32(guard // 10**9) + u32(guard % 10**9) if guard is not None else u32(0)
        status, r = self.ask(nfs3.SETATTR, opaque(fh) + new_attributes(new) + guarded, who)
        out = self.result(status)
        self.wcc(r, out, 'object', fh)
        return out

    def readlink(self, fh, who):
        status, r = self.ask(nfs3.READLINK, opaque(fh), who)
        out = self.result(status)
        self.post(r, out, 'object', fh)
        if not status:
            out['target'] = r.opaque()
        return out

    def read(self, fh, offset, count, who, opened=None):
        status, r = self.ask(nfs3.READ, opaque(fh) + u64(offset) + u32(count), who)
        out = self.result(status)
        self.post(r, out, 'object', fh)
        if not status:
            out['count'] = r.u32()
            out['eof'] = bool(r.u32())
            out['data'] = r.opaque()
        return out

    def write(self, fh, offset, data, stable, who, opened=None):
        status, r = self.ask(nfs3.WRITE, opaque(fh) + u64(offset) + u32(len(data)) + u32(stable) +
                             opaque(data), who)
        out = self.result(status)
        self.wcc(r, out, 'object', fh)
        if not status:
            out['count'], out['committed'] = r.u32(), r.u32()
            out['verifier'] = r.fixed(8)
        return out

    def commit(self, fh, offset, count, who):
        status, r = self.ask(nfs3.COMMIT, opaque(fh) + u64(offset) + u32(count), who)
        out = self.result(status)
        self.wcc(r, out, 'object', fh)
        if not status:
            out['verifier'] = r.fixed(8)
        return out

    # ---- names ------------------------------------------------------------------------------

    def make(self, proc, args, directory, who):
        status, r = self.ask(proc, args, who)
        out = self.result(status)
        if not status:
            out['fh'] = r.opaque() if r.u32() else None
            self.post(r, out, 'object', out['fh'])
        self.wcc(r, out, 'directory', directory)
        return out

    def create(self, directory, name, how, new, verifier, who):
        args = opaque(directory) + opaque(name_bytes(name))
        args += (u32(2) + u64(verifier) if how == 'exclusive' else
                 u32(how == 'guarded') + new_attributes(new))
        return self.make(nfs3.CREATE, args, directory, who)

    def mkdir(self, directory, name, new, who):
        return self.make(nfs3.MKDIR, opaque(directory) + opaque(name_bytes(name)) +
                         new_attributes(new), directory, who)

    def symlink(self, directory, name, target, new, who):
        return self.make(nfs3.SYMLINK, opaque(directory) + opaque(name_bytes(name)) +
                         new_attributes(new) + opaque(name_bytes(target)), directory, who)

    def mknod(self, directory, name, kind, device, new, who):
        args = opaque(directory) + opaque(name_bytes(name)) + u32(kind) + new_attributes(new)
        if kind in (nfs3.BLK, nfs3.CHR):
            args += u32(device[0]) + u32(device[1])
        return self.make(nfs3.MKNOD, args, directory, who)

    def remove(self, directory, name, who, is_directory=False):
        status, r = self.ask(nfs3.RMDIR if is_directory else nfs3.REMOVE,
                             opaque(directory) + opaque(name_bytes(name)), who)
        out = self.result(status)
        self.wcc(r, out, 'directory', directory)
        return out

    def rename(self, directory, name, to, to_name, who):
        status, r = self.ask(nfs3.RENAME, opaque(directory) + opaque(name_bytes(name)) +
                             opaque(to) + opaque(name_bytes(to_name)), who)
        out = self.result(status)
        self.wcc(r, out, 'directory', directory)
        self.wcc(r, out, 'to directory', to)
        return out

    def link(self, fh, directory, name, who):
        status, r = self.ask(nfs3.LINK, opaque(fh) + opaque(directory) + opaque(name_bytes(name)),
                             who)
        out = self.result(status)
        self.post(r, out, 'object', fh)
        self.wcc(r, out, 'directory', directory)
        return out

    def page(self, fh, cookie, verifier, count, plus, who):
        """One call; 'entries': (name, cookie, fileid, Attr or None, handle or None)."""
        args = opaque(fh) + u64(cookie) + verifier + u32(count)
        status, r = self.ask(nfs3.READDIRPLUS if plus else nfs3.READDIR,
                             args + u32(max(count, 8192)) if plus else args, who)
        out = self.result(status)
        self.post(r, out, 'directory', fh)
        if status:
            return out
        out['cookies'] = r.fixed(8)
        out['entries'] = []
        while r.u32():
            fileid, name, cookie = r.u64(), r.opaque(), r.u64()
            attr = handle = None
            if plus:
                attr = normal(post_attr(r))
                handle = r.opaque() if r.u32() else None
            if name not in (b'.', b'..'):
                out['entries'].append((name, cookie, fileid, attr, handle))
            out['last'] = cookie
        out['eof'] = bool(r.u32())
        return out

    def fsinfo(self, who):
        """What the file system says of itself and does not depend on what is in it."""
        status, r = self.ask(nfs3.FSINFO, opaque(self.root), who)
        out = self.result(status)
        self.post(r, out, 'object', self.root)
        if not status:
            out['fsinfo'] = tuple(r.u32() for _ in range(7)) + (r.u64(), r.u32(), r.u32(), r.u32())
        status, r = self.ask(nfs3.PATHCONF, opaque(self.root), who)
        post_attr(r)
        if not status:
            out['pathconf'] = tuple(r.u32() for _ in range(6))
        return out
