# SPDX-License-Identifier: GPL-3.0-or-later
"""Does one operation over SMB on one side: execute.py's counterpart.

Objects are given by a path from the share's root, which the operation opens, uses and closes
("access" and "compound" say how), or by "slot", an open file.  Names are UTF-8 written as latin-1,
as the source's are; "stream" is the name of a stream of the object."""
import random
import struct
import time

import door_smb
import smb2
from door_smb import Opened
from execute import NO_SLOT, Missing, data_of
from execute_smb_names import SmbNames
from smb2 import name_of


def windows(path):
    return path.encode('latin-1').decode('utf-8').replace('/', '\\')


class SmbSide(SmbNames):
    """One smbd and its clients.  connect(breaks): makes a door."""

    def __init__(self, name, connect, clients):
        self.name, self.connect, self.clients = name, connect, clients
        self.slots, self.watches, self.breaks = {}, {}, []
        self.open_doors()

    def open_doors(self):
        self.doors = [self.connect(self.breaks) for _ in range(self.clients)]
        self.introduce()

    def introduce(self):
        """They listen to each other: one's request may wait for another's answer to a break."""
        peers = [door.connection for door in self.doors]
        for connection in peers:
            connection.peers = peers

    @property
    def opens(self):
        return self.slots

    def reconnect(self):
        self.close()
        self.slots.clear()
        self.watches.clear()
        self.open_doors()

    def close(self):
        for door in self.doors:
            door.close()

    def delays(self):
        return sum(door.delays for door in self.doors)

    def echo(self):
        """Takes in what the servers said by themselves so far."""
        for door in self.doors:
            for session in list(door.sessions.values())[:1]:
                door.ask(session, smb2.echo())

    # ---- one operation --------------------------------------------------------------------------

    def do(self, op):
        door = self.doors[op.get('client', 0) % len(self.doors)]
        out = {'status': 'SUCCESS', 'seen': [], 'steps': [], 'names': self.names(op)}
        try:
            getattr(self, 'do_' + op['op'])(op, door, out)
        except Missing as missing:
            return missing.result
        if out['steps']:
            bad = [step for step in out['steps'] if step != 'SUCCESS']
            out['status'] = bad[0] if bad else 'SUCCESS'
        return out

    def names(self, op):
        """That may come or go."""
        paths = [op.get('at'), op.get('to')]
        if op.get('slot') in self.slots:
            paths.append(self.slots[op['slot']].path)
        return [windows(path).rpartition('\\')[2] for path in paths if path]

    def step(self, out, reply):
        out['steps'].append(name_of(reply.status))
        return not reply.failed

    def opened(self, op, key='slot'):
        opened = self.slots.get(op[key])
        if opened is None:
            raise Missing(NO_SLOT)
        return opened

    def path_of(self, op, key='at'):
        path = windows(op[key])
        if op.get('case'):              # other letters, the same name
            r = random.Random(op['case'])
            path = ''.join(r.choice((c.lower(), c.upper())) if len(c.upper()) == 1 ==
                           len(c.lower()) else c for c in path)
        return path + (':' + op['stream'] if op.get('stream') else '')

    def create_request(self, op, access=None):
        blobs = [] if op.get('plain') else [smb2.QUERY_ID]
        if op.get('maximal'):
            blobs.append(smb2.QUERY_ACCESS)
        if 'allocation' in op:
            blobs.append(smb2.context(b'AlSi', struct.pack('<Q', op['allocation'])))
        if 'ea' in op:
            blobs.append(smb2.context(b'ExtA', smb2.ea_list([
                (n.encode(), v.encode()) for n, v in op['ea']])))
        if 'sd' in op:
            blobs.append(smb2.context(b'SecD', bytes.fromhex(op['sd'])))
        oplock = op.get('oplock', 0)
        if oplock == door_smb.LEASE:
            oplock = smb2.OPLOCK_LEASE
            blobs.append(smb2.lease(lease_key(op), op['lease']))
        if op.get('durable'):
            blobs.append(smb2.context(b'DHnQ', bytes(16)))
        return smb2.create(
            self.path_of(op), op.get('access', smb2.MAXIMUM) if access is None else access,
            op.get('disposition', smb2.OPEN), op.get('options', 0), op.get('share', smb2.SHARE_ALL),
            op.get('attributes', 0), oplock, blobs)

    def about(self, op, door, out, requests, access):
        """Sends what requests(fid) lists to the object; None if it could not be opened, else the
        replies and the object's file id."""
        if 'slot' in op:
            opened = self.opened(op)
            replies = [opened.door.ask(opened.session, one)[0] for one in requests(opened.fid)]
            for reply in replies:
                self.step(out, reply)
            return replies, opened.fileid
        session, told = door.session(op.get('who', 0)), op.get('attributes', True)
        create = self.create_request(op, access)
        if op.get('compound'):
            replies = door.ask(session, create, *requests(smb2.ANY), smb2.close(smb2.ANY, told))
        else:
            replies = door.ask(session, create)
            if not replies[0].failed:
                fid = replies[0].body[64:80]
                for one in requests(fid) + [smb2.close(fid, told)]:
                    replies += door.ask(session, one)
        for reply in replies:
            self.step(out, reply)
        if replies[0].failed:
            return None, None
        door_smb.created(replies[0], out)
        fileid = door_smb_id(out)
        if not replies[-1].failed:
            door_smb.closed(replies[-1], out, fileid)
        return replies[1:-1], fileid

    def act(self, op, door, out, request, access):
        """One request; its reply, or None."""
        replies, fileid = self.about(op, door, out, lambda fid: [request(fid)], access)
        out['fileid'] = fileid
        return replies[0] if replies and not replies[0].failed else None

    # ---- opens ----------------------------------------------------------------------------------

    def do_smb_open(self, op, door, out):
        session = door.session(op.get('who', 0))
        reply, = door.ask(session, self.create_request(op))
        if not self.step(out, reply):
            return
        before = self.slots.pop(op['slot'], None)
        fid = door_smb.created(reply, out)
        opened = Opened(door, session, fid, op['at'])
        opened.fileid = door_smb_id(out)
        opened.lease = lease_key(op) if op.get('oplock') == door_smb.LEASE else None
        reply, = door.ask(session, smb2.query_info(fid, smb2.INFO_FILE, door_smb.ACCESS))
        if not reply.failed:
            opened.granted, = struct.unpack('<I', smb2.output(reply))
        out['granted'] = name_of(reply.status), opened.granted
        self.slots[op['slot']] = door.opens[fid] = opened
        if before:
            out['closed'] = name_of(self.close_open(before).status)

    def close_open(self, opened, attributes=False):
        for key in [k for k, w in self.watches.items() if w.opened is opened]:
            del self.watches[key]
        reply, = opened.door.ask(opened.session, smb2.close(opened.fid, attributes))
        opened.door.opens.pop(opened.fid, None)
        return reply

    def do_smb_close(self, op, _door, out):
        opened = self.opened(op)
        del self.slots[op['slot']]
        reply = self.close_open(opened, op.get('attributes', True))
        if self.step(out, reply):
            door_smb.closed(reply, out, opened.fileid)

    def do_smb_durable(self, op, door, out):
        """An open survives its connection; every other open of that client does not."""
        who = op.get('who', 0)
        session = door.session(who)
        reply, = door.ask(session, self.create_request(
            {**op, 'durable': True, 'oplock': smb2.OPLOCK_BATCH}))
        if not self.step(out, reply):
            return
        fid = door_smb.created(reply, out)
        if op.get('write'):
            reply, = door.ask(session, smb2.write(fid, op['offset'], data_of(op)))
            self.step(out, reply)
        for slot in [n for n, o in self.slots.items() if o.door is door]:
            del self.slots[slot]
        for slot in [n for n, w in self.watches.items() if w.opened.door is door]:
            del self.watches[slot]
        door.reconnect()
        self.introduce()
        session = door.session(who)
        reply, = door.ask(session, smb2.create(self.path_of(op), blobs=[
            smb2.context(b'DHnC', fid)]))
        out['reconnected'] = name_of(reply.status)
        if reply.failed:                # what a client does then
            reply, = door.ask(session, self.create_request(op))
        if reply.failed:
            return
        fid = reply.body[64:80]
        reply, = door.ask(session, smb2.read(fid, op['offset'], op['length']))
        out['reread'] = name_of(reply.status), (b'' if reply.failed else smb2.output(reply))
        self.step(out, door.ask(session, smb2.close(fid))[0])

    # ---- data -----------------------------------------------------------------------------------

    def do_smb_read(self, op, door, out):
        reply = self.act(op, door, out, lambda fid: smb2.read(
            fid, op['offset'], op['length'], op.get('minimum', 0)), smb2.READ_DATA)
        if reply:
            out['data'] = smb2.output(reply)

    def do_smb_readall(self, op, door, out):
        """To the end, in blocks, several under way at once."""
        parts = {}

        def requests(fid):
            return [smb2.query_info(fid, smb2.INFO_FILE, door_smb.STANDARD)]

        if 'slot' in op:
            opened, close = self.opened(op), False
        else:
            opened = self.open_for(op, door, out, smb2.READ_DATA | smb2.READ_ATTRIBUTES)
            close = True
            if not opened:
                return
        reply, = opened.door.ask(opened.session, requests(opened.fid)[0])
        if self.step(out, reply):
            size, = struct.unpack_from('<Q', smb2.output(reply), 8)
            todo, waiting = list(range(0, size + 1, op['block'])), []
            while todo or waiting:
                while todo and len(waiting) < op.get('window', 4):
                    at = todo.pop(0)
                    waiting.append((at, opened.session.start(
                        smb2.read(opened.fid, at, op['block']))[0]))
                at, mid = waiting.pop(0)
                reply = opened.door.connection.wait(mid, opened.door.idle)
                if reply.status == smb2.IO_TIMEOUT:
                    reply, = opened.door.ask(opened.session, smb2.read(opened.fid, at,
                                                                       op['block']))
                if reply.failed and reply.status != smb2.END_OF_FILE:
                    self.step(out, reply)
                elif not reply.failed:
                    parts[at] = smb2.output(reply)
            out['data'] = b''.join(parts[at] for at in sorted(parts))
            # the position is behind whichever was done last
            opened.door.ask(opened.session, smb2.read(opened.fid, 0, 1))
        if close:
            self.step(out, self.close_open(opened))

    def open_for(self, op, door, out, access):
        session = door.session(op.get('who', 0))
        reply, = door.ask(session, self.create_request(op, access))
        if not self.step(out, reply):
            return None
        opened = Opened(door, session, door_smb.created(reply, out), op['at'])
        opened.fileid = door_smb_id(out)
        return opened

    def do_smb_write(self, op, door, out):
        reply = self.act(op, door, out, lambda fid: smb2.write(
            fid, op['offset'], data_of(op), op.get('through', 0)),
            smb2.WRITE_DATA | smb2.READ_ATTRIBUTES)
        if reply:
            out['count'], = struct.unpack_from('<I', reply.body, 4)

    def do_smb_flush(self, op, door, out):
        self.act(op, door, out, smb2.flush, smb2.WRITE_DATA | smb2.READ_ATTRIBUTES)

    def do_smb_zero(self, op, door, out):
        self.act(op, door, out, lambda fid: smb2.ioctl(
            fid, smb2.FSCTL_SET_ZERO_DATA,
            struct.pack('<QQ', op['offset'], op['offset'] + op['length'])),
            smb2.WRITE_DATA | smb2.READ_ATTRIBUTES)

    def do_smb_sparse(self, op, door, out):
        self.act(op, door, out, lambda fid: smb2.ioctl(
            fid, smb2.FSCTL_SET_SPARSE, bytes([op['on']])),
            smb2.WRITE_DATA | smb2.READ_ATTRIBUTES | smb2.WRITE_ATTRIBUTES)

    def do_smb_ranges(self, op, door, out):
        reply = self.act(op, door, out, lambda fid: smb2.ioctl(
            fid, smb2.FSCTL_ALLOCATED_RANGES, struct.pack('<QQ', op['offset'], op['length']),
            op.get('largest', 65536)), smb2.READ_DATA | smb2.READ_ATTRIBUTES)
        if reply:
            data = smb2.output(reply)
            out['ranges'] = [struct.unpack_from('<QQ', data, n) for n in range(0, len(data), 16)]

    def do_smb_ioctl(self, op, door, out):
        reply = self.act(op, door, out, lambda fid: smb2.ioctl(
            fid, op['code'], bytes.fromhex(op.get('data', ''))), smb2.READ_DATA)
        if reply and op.get('compare', True):
            out['info'] = smb2.output(reply)

    def do_smb_copy(self, op, door, out):
        """Server-side copy between files of one user and client."""
        session = door.session(op.get('who', 0))
        rights = smb2.READ_DATA | smb2.READ_ATTRIBUTES
        source = self.open_for({**op, 'at': op['from']}, door, out, rights)
        if not source:
            return
        out['source'] = door_smb.key_of(source.fileid)
        out['seen'] = []                # there are two objects
        target = self.open_for({**op, **op.get('make', {})}, door, out, rights | smb2.WRITE_DATA)
        if target and op.get('extents'):
            reply, = door.ask(session, smb2.ioctl(
                target.fid, smb2.FSCTL_DUP_EXTENTS, source.fid + struct.pack(
                    '<QQQ', op['chunks'][0][0], op['chunks'][0][1], op['chunks'][0][2])))
            self.step(out, reply)
        elif target:
            reply, = door.ask(session, smb2.ioctl(source.fid, smb2.FSCTL_RESUME_KEY))
            if self.step(out, reply):
                key = smb2.output(reply)[:24]
                out['copied'] = [self.copy_chunks(op, door, out, key, target, chunks)
                                 for chunks in (op['chunks'], op.get('again')) if chunks]
        for opened in (target, source):
            if opened:
                self.step(out, self.close_open(opened))

    def copy_chunks(self, op, door, out, key, target, chunks):
        data = key + struct.pack('<II', len(chunks), 0)
        data += b''.join(struct.pack('<QQII', *chunk, 0) for chunk in chunks)
        code = smb2.FSCTL_COPYCHUNK_WRITE if op.get('write_only') else smb2.FSCTL_COPYCHUNK
        reply, = door.ask(target.session, smb2.ioctl(target.fid, code, data))
        return smb2.output(reply) if self.step(out, reply) or reply.body[0] == 49 else None

    # ---- locks, oplocks, notifications ----------------------------------------------------------

    def do_smb_lock(self, op, door, out):
        self.act(op, door, out, lambda fid: smb2.lock(fid, op['locks']),
                 smb2.READ_DATA | smb2.WRITE_DATA)

    def do_smb_watch(self, op, _door, out):
        opened = self.opened(op)
        if op['slot'] in self.watches:
            return
        self.watches[op['slot']] = Watch(opened, op)
        reply = self.watches[op['slot']].refused()
        if reply:
            del self.watches[op['slot']]
            self.step(out, reply)

    def events(self):
        """What watches saw so far: {slot: [(action, name)]}"""
        self.echo()
        return {slot: watch.take() for slot, watch in sorted(self.watches.items())}

    # ---- several at once ------------------------------------------------------------------------

    def do_parallel(self, ops):
        """Compounds of several clients that are under way at the same time."""
        started, begin = [], time.monotonic()
        for op in ops:
            door = self.doors[op['client'] % len(self.doors)]
            session = door.session(op.get('who', 0))
            access, request = PARALLEL[op['op']]
            started.append((door, session, session.start(
                self.create_request(op, access), request(op), smb2.close(smb2.ANY, True))))
        results = []
        for op, (door, session, mids) in zip(ops, started):
            replies = [door.connection.wait(mid, door.idle) for mid in mids]
            if door.gave_up(replies, begin):
                access, request = PARALLEL[op['op']]
                replies = door.ask(session, self.create_request(op, access), request(op),
                                   smb2.close(smb2.ANY, True))
            results.append(self.parallel_result(op, replies))
        return results

    def parallel_result(self, op, replies):
        out = {'seen': [], 'steps': []}
        for reply in replies:
            self.step(out, reply)
        out['status'] = next((s for s in out['steps'] if s != 'SUCCESS'), 'SUCCESS')
        if replies[0].failed:
            return out
        door_smb.created(replies[0], out)
        # What others do meanwhile may be seen, or not yet.
        out['seen'] = []
        if not replies[1].failed and op['op'] == 'smb_read':
            out['data'] = smb2.output(replies[1])
        return out


PARALLEL = {
    'smb_read': (smb2.READ_DATA | smb2.READ_ATTRIBUTES,
                 lambda op: smb2.read(smb2.ANY, op['offset'], op['length'])),
    'smb_write': (smb2.WRITE_DATA | smb2.READ_ATTRIBUTES,
                  lambda op: smb2.write(smb2.ANY, op['offset'], data_of(op))),
    'smb_list': (smb2.READ_DATA | smb2.READ_ATTRIBUTES,
                 lambda op: smb2.query_directory(smb2.ANY, op['level'], '*')),
    'smb_info': (smb2.READ_ATTRIBUTES,
                 lambda op: smb2.query_info(smb2.ANY, smb2.INFO_FILE, op['level'])),
}


class Watch:
    """A directory whose changes are asked for, again and again.  last: of those that were compared."""

    def __init__(self, opened, op):
        self.opened, self.op, self.events, self.last = opened, op, [], None
        self.start()

    def start(self):
        self.mid, = self.opened.session.start(smb2.change_notify(
            self.opened.fid, self.op['what'], smb2.WATCH_TREE if self.op['tree'] else 0))

    def refused(self):
        """The reply, if there is one that is an error at once."""
        connection = self.opened.door.connection
        connection.wait(self.opened.session.start(smb2.echo())[0])
        reply = connection.replies.get(self.mid)
        return reply if reply and reply.failed else None

    def take(self):
        """Those since the last ones that were compared.  smbd tells what it would repeat in one reply
        once, and again in the next."""
        reply = self.opened.door.connection.replies.pop(self.mid, None)
        if reply is not None:
            if reply.status == smb2.SUCCESS:
                self.events += door_smb.notified(smb2.output(reply))
            else:
                self.events.append((name_of(reply.status), ''))
            if not reply.failed:
                self.start()
        return [event for before, event in zip([self.last, *self.events], self.events) if event != before]

    def compared(self):
        if self.events:
            self.last = self.events[-1]
        self.events.clear()


def lease_key(op):
    return b'lease %010d' % op['key']


def door_smb_id(out):
    """The file id of what was opened."""
    _, key, attr, _ = out['seen'][-1]
    return attr.fileid if key else None
