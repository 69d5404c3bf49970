# SPDX-License-Identifier: GPL-3.0-or-later
"""Does one operation of a sequence on one side, through the side's doors.

An operation is a dictionary that JSON can hold: "op" its name, "who" an index into IDENTITIES,
"client" which of the side's doors, and objects by name: a path from the export's root ("" is the
root), or "@N", the handle that was kept in slot N.  Names are bytes, written as latin-1.  What an
operation needs and is not there is an answer too, and compared like any other."""
import concurrent.futures
import os
import random

IDENTITIES = ((0, 0, ()), (1000, 1000, (100,)), (1001, 100, ()), (1002, 1000, ()),
              (65534, 65534, ()))
ROOT = IDENTITIES[0]
NO_SLOT = {'missing': 'slot'}


class Missing(Exception):
    def __init__(self, result):
        super().__init__()
        self.result = {**result, 'seen': []}


def raw(name):
    return name.encode('latin-1')


def data_of(op):
    if op.get('zeros'):
        return bytes(op['length'])
    return random.Random(op['fill']).randbytes(op['length'])


class Cursor:
    """A listing under way."""

    def __init__(self, fh, plus, count):
        self.fh, self.plus, self.count = fh, plus, count
        self.cookie, self.verifier, self.eof = 0, bytes(8), False
        self.entries = []


class Side:
    """One server and its clients.  connect(minor): makes a door."""

    def __init__(self, name, connect, clients):
        self.name, self.connect, self.clients = name, connect, clients
        self.slots, self.opens, self.cursors = {}, {}, {}
        self.doors = [connect() for _ in range(clients)]

    def reconnect(self):
        """After the server was started again: what was open is not, handles hold."""
        self.close()
        self.opens.clear()
        self.cursors.clear()
        self.doors = [self.connect() for _ in range(self.clients)]

    def close(self):
        for door in self.doors:
            door.close()

    def delays(self):
        return sum(door.delays for door in self.doors)

    # ---- objects ------------------------------------------------------------------------------

    def find(self, door, ref):
        if ref.startswith('@'):
            fh = self.slots.get(int(ref[1:]))
            if fh is None:
                raise Missing(NO_SLOT)
            return fh
        status, depth, fh = door.walk([n for n in raw(ref).split(b'/') if n], ROOT)
        if status:
            raise Missing({'missing': (status, depth)})
        return fh

    def opened(self, op, key='slot'):
        opened = self.opens.get(op[key])
        if opened is None:
            raise Missing(NO_SLOT)
        return opened

    def target(self, op, door):
        """(door, handle, open or None) that an operation on data is about."""
        if 'slot' in op:
            opened = self.opened(op)
            return opened.door, opened.fh, opened
        return door, self.find(door, op['at']), None

    def do(self, op):
        door = self.doors[op.get('client', 0) % len(self.doors)]
        who = IDENTITIES[op.get('who', 0)]
        try:
            got = getattr(self, 'do_' + op['op'])(op, door, who)
            if str(op.get('at')).startswith('@'):
                got['at'] = self.slots[int(op['at'][1:])]
            return got
        except Missing as missing:
            return missing.result

    def do_parallel(self, ops):
        """All at the same time, each by a client of its own."""
        with concurrent.futures.ThreadPoolExecutor(len(ops)) as pool:
            return list(pool.map(self.do, ops))

    # ---- asking -------------------------------------------------------------------------------

    def do_getattr(self, op, door, who):
        return door.getattr(self.find(door, op['at']), who)

    def do_lookup(self, op, door, who):
        return door.lookup(self.find(door, op['at']), raw(op['name']), who)

    def do_access(self, op, door, who):
        return door.access(self.find(door, op['at']), op['bits'], who)

    def do_readlink(self, op, door, who):
        return door.readlink(self.find(door, op['at']), who)

    def do_fsinfo(self, op, door, who):
        return door.fsinfo(who)

    def do_keep(self, op, door, who):
        fh = self.find(door, op['at'])
        self.slots[op['keep']] = fh
        return door.getattr(fh, who)

    # ---- data ---------------------------------------------------------------------------------

    def do_read(self, op, door, who):
        door, fh, opened = self.target(op, door)
        return door.read(fh, op['offset'], op['length'], who, opened)

    def do_read_plus(self, op, door, who):
        door, fh, opened = self.target(op, door)
        return door.read_plus(fh, op['offset'], op['length'], who, opened)

    def do_readall(self, op, door, who):
        """To the end, in blocks."""
        door, fh, opened = self.target(op, door)
        parts, offset = [], 0
        while True:
            got = door.read(fh, offset, op['block'], who, opened)
            if got['status']:
                return got
            parts.append(got['data'])
            offset += len(got['data'])
            if got['eof'] or not got['data']:
                got['data'] = b''.join(parts)
                got['count'] = offset
                return got

    def do_write(self, op, door, who):
        door, fh, opened = self.target(op, door)
        return door.write(fh, op['offset'], data_of(op), op['stable'], who, opened)

    def do_append(self, op, door, who):
        """As a client does it: asks for the size, and writes there."""
        door, fh, opened = self.target(op, door)
        got = door.getattr(fh, ROOT)
        if got['status']:
            return got
        return door.write(fh, got['seen'][0][2].size, data_of(op), op['stable'], who, opened)

    def do_commit(self, op, door, who):
        return door.commit(self.find(door, op['at']), op.get('offset', 0), op.get('length', 0),
                           who)

    def do_setattr(self, op, door, who):
        door, fh, opened = self.target(op, door)
        guard = None
        for _ in range(2):
            if op.get('guard'):
                got = door.getattr(fh, ROOT)
                if got['status']:
                    return got
                guard = got['seen'][0][2].ctime - (op['guard'] == 'stale')
            got = door.setattr(fh, op['new'], who, guard, opened)
            # The object may have become whole in between: ask again, as a client does.
            if op.get('guard') != 'current' or got['status'] != 10002:
                break
        return got

    def do_space(self, op, door, who):
        door, fh, opened = self.target(op, door)
        return door.space(fh, op['offset'], op['length'], op['allocate'], who, opened)

    def do_seek(self, op, door, who):
        door, fh, opened = self.target(op, door)
        return door.seek(fh, op['offset'], op['hole'], who, opened)

    def do_copy(self, op, door, who):
        source, target = self.opened(op, 'from'), self.opened(op)
        if source.door is not target.door:
            raise Missing({'missing': 'one client'})
        return target.door.copy(source, target, op['offset'], op['to'], op['length'],
                                op.get('clone', False), who)

    # ---- names --------------------------------------------------------------------------------

    def do_create(self, op, door, who):
        return self.kept(op, door.create(self.find(door, op['at']), raw(op['name']), op['how'],
                                         op['new'], op.get('verifier', 0), who))

    def do_mkdir(self, op, door, who):
        return self.kept(op, door.mkdir(self.find(door, op['at']), raw(op['name']), op['new'],
                                        who))

    def do_symlink(self, op, door, who):
        return self.kept(op, door.symlink(self.find(door, op['at']), raw(op['name']),
                                          raw(op['target']), op['new'], who))

    def do_mknod(self, op, door, who):
        return self.kept(op, door.mknod(self.find(door, op['at']), raw(op['name']), op['kind'],
                                        op.get('device'), op['new'], who))

    def kept(self, op, got):
        if 'keep' in op and got.get('fh'):
            self.slots[op['keep']] = got['fh']
        return got

    def do_remove(self, op, door, who):
        return door.remove(self.find(door, op['at']), raw(op['name']), who)

    def do_rmdir(self, op, door, who):
        return door.remove(self.find(door, op['at']), raw(op['name']), who, True)

    def do_rename(self, op, door, who):
        source, target = self.find(door, op['at']), self.find(door, op['to'])
        return door.rename(source, raw(op['name']), target, raw(op['to_name']), who)

    def do_link(self, op, door, who):
        fh, directory = self.find(door, op['at']), self.find(door, op['to'])
        return door.link(fh, directory, raw(op['name']), who)

    # ---- listings -----------------------------------------------------------------------------

    def more(self, door, cursor, pages, who):
        """Up to so many pages more; 'listing' is all that came so far."""
        got = {'status': 0, 'seen': []}
        while pages and not cursor.eof:
            pages -= 1
            got = door.page(cursor.fh, cursor.cookie, cursor.verifier, cursor.count, cursor.plus,
                            who)
            if got['status']:
                return got
            cursor.entries += got.pop('entries')
            cursor.verifier = got.pop('cookies')
            cursor.eof = got.pop('eof')
            cursor.cookie = got.pop('last', cursor.cookie)
        got['listing'] = cursor
        return got

    def do_list(self, op, door, who):
        cursor = Cursor(self.find(door, op['at']), op['plus'], op['count'])
        return self.more(door, cursor, 10**6, who)

    def do_pages(self, op, door, who):
        if 'at' in op:
            self.cursors.pop(op['cursor'], None)
            self.cursors[op['cursor']] = Cursor(self.find(door, op['at']), op['plus'],
                                                op['count'])
        cursor = self.cursors.get(op['cursor'])
        if not cursor:
            raise Missing(NO_SLOT)
        return self.more(door, cursor, op['pages'], who)

    # ---- open files (version 4) ---------------------------------------------------------------

    def do_open(self, op, door, who):
        got = door.open(self.find(door, op['at']), raw(op['name']), op['access'], op['deny'], who,
                        op.get('how'), op.get('new'), op.get('verifier', 0))
        opened = got.pop('opened', None)
        if opened:
            before = self.opens.pop(op['slot'], None)
            self.opens[op['slot']] = opened
            if before:
                got['closed'] = before.door.close_file(before, ROOT)['status']
        return got

    def do_close(self, op, door, who):
        opened = self.opened(op)
        del self.opens[op['slot']]
        return opened.door.close_file(opened, who)

    def do_downgrade(self, op, door, who):
        opened = self.opened(op)
        return opened.door.downgrade(opened, op['access'], op['deny'], who)

    def do_lock(self, op, door, who):
        opened = self.opened(op)
        return opened.door.lock(opened, op['kind'], op['offset'], op['length'], who)

    def do_unlock(self, op, door, who):
        opened = self.opened(op)
        if not opened.lock:
            raise Missing({'missing': 'lock'})
        return opened.door.unlock(opened, op['offset'], op['length'], who)

    def do_testlock(self, op, door, who):
        return door.test_lock(self.find(door, op['at']), os.urandom(8), op['kind'], op['offset'],
                              op['length'], who)
