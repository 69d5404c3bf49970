#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way back to an old SMB server: names, data, descriptors, attributes, times and streams, with
an account of its own.  The migration's own cannot write there (I10)."""
import contextlib
import os
import random
import select
import signal
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import ntsd                                                             # noqa: E402
import otherwriter                                                      # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbproxy                                                         # noqa: E402
import smbtree                                                          # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Process, sh, volume, wait_for                 # noqa: E402
from servers import NEW, OLD, VOLUME, Migration                         # noqa: E402
from smbfiles import DACL, Files, Refused                               # noqa: E402
from smbtree import READER, WRITER                                      # noqa: E402

STAGE = '.migrate-rollback'
KEPT = smb2.A_HIDDEN | smb2.A_SYSTEM
RENAME, LINK, DISPOSITION = 10, 11, 13          # levels of SET_INFO
PORT = 4450
INSUFFICIENT_RESOURCES, DELETE_PENDING = 0xc000009a, 0xc0000056


def begin(args, files=40, dress=None, mkfs=('-O', 'ea_inode'), **settings):
    """A volume that is served over SMB and NFS, with its journal; its old server lets READER read
    all, and change nothing."""
    server, _ = smbtree.old_tree(args.random, files)
    fill(Files(server.session(WRITER, 'old')))
    if dress:
        dress(Files(server.session(WRITER, 'old')))
    accounts = smbtree.with_accounts(server)
    volume(NEW, '4G', mkfs=mkfs)
    migration = Migration(args.build, **{**accounts, **settings})
    migration.start_retriever()
    migration.start_journal()
    migration.attach()
    migration.start_server()
    smbtree.may_audit(migration.start_smbd())
    return server, migration, Files(migration.smbd.session(WRITER))


def fill(old):
    """What the changes are made to; the rest is random."""
    old.mkdir('work')
    for n in range(40):
        old.write(f'work/{n:02}', b'old %d ' % n * 300)
    for n in range(4):
        old.write(f'work/low {n}', b'low')
    old.write('work/with streams:one', b'one')
    old.write('work/with streams:two', b'two')
    old.write('work/with an EA', b'main')
    old.set_eas('work/with an EA', [(b'NAME', b'value')])
    old.write('work/read only', b'read only')
    old.set_basic('work/read only', attributes=smb2.A_READONLY)
    old.write('work/locked', b'read only, too')
    old.set_basic('work/locked', attributes=smb2.A_READONLY)
    old.mkdir('work/marked')
    old.write('work/marked/desktop.ini', b'[]')
    old.set_basic('work/marked', attributes=smb2.A_READONLY | smb2.A_DIRECTORY)
    old.write('work/case', b'small')
    old.mkdir('work/gone')
    old.write('work/gone/a', b'a')
    old.write('work/gone/b', b'b')
    old.mkdir('work/tree')
    old.write('work/tree/leaf', b'leaf')


def change(new, tag):
    """tag: 0, 1, ..., each time other objects; of each kind one."""
    name = [f'work/{10 * tag + n:02}' for n in range(10)]
    new.mkdir(f'made {tag}')
    new.set_security(f'made {tag}', ntsd.descriptor(None, None, [
        ntsd.ace(ntsd.ALLOW, 3, ntsd.FULL, ntsd.EVERYONE)], None, 0), DACL)
    new.write(f'made {tag}/file', b'made' * 500000)
    new.write(f'made {tag}/file:stream', b'a stream')
    new.set_basic(f'made {tag}/file', created=125_000_000_000_000_000 + tag, attributes=KEPT)
    new.write(name[0], b'changed')
    new.set_security(name[1], ntsd.descriptor(None, None, [
        ntsd.ace(ntsd.ALLOW, 0, ntsd.READ, smbtree.SIDS['carol']),
        ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, smbtree.SIDS['alice'])], None, ntsd.PROTECTED), DACL)
    new.set_basic(name[2], created=126_000_000_000_000_000 + tag, attributes=smb2.A_READONLY)
    new.write(name[3] + ':added', b'added')
    for renamed in name[4], name[5], name[8]:       # the retriever finds unfinished ones by path
        new.read(renamed)
    new.read(f'work/low {tag}')
    new.rename(f'work/low {tag}', f'work/LOW {tag}')
    new.rename(name[4], f'made {tag}/renamed')
    new.rename(name[5], name[6], replace=True)
    new.unlink(name[7])
    new.rename(name[8], f'work/{10 * tag + 9:02} and more')
    new.rename(f'work/{10 * tag + 9:02} and more', f'work/{10 * tag + 9:02} AND more')


def every(root):
    """{path: bytes of a file} below a server's root."""
    found = {}
    for path, directories, files in os.walk(root):
        where = os.path.relpath(path, root)
        directories[:] = [name for name in directories if name not in ('.migrate', 'lost+found')]
        found[where] = None
        for name in files:
            with open(f'{path}/{name}', 'rb') as file:
                found[os.path.normpath(f'{where}/{name}')] = file.read()
    return found


def holds(path, data):
    """While it is replaced there is none for a round trip."""
    try:
        with open(path, 'rb') as file:
            return file.read() == data
    except FileNotFoundError:
        return False


def equal(server, migration):
    """Both trees, of which the new one is whole.  From 4.23 on Samba tells ctimes: the old server's
    file of a stub that was given other attributes has another one, and is what it was."""
    migration.start_crawler().wait(100)
    migration.ctl('retry', '--same')
    migration.crawl()
    new, old = every(NEW), every(OLD)
    same(sorted(old), sorted(new), 'names')
    same([path for path in new if new[path] != old[path]], [], 'files whose data differ')
    paths = [path.replace('/', '\\') for path in new if path != '.']
    smbtree.compare(smbtree.look_at_all(server.session(WRITER, 'old'), paths),
                    smbtree.look_at_all(migration.smbd.session(WRITER), paths), 'on the old server')


@case()
def what_had_no_room_stays(args):
    """Streams and descriptors that the new file system could not hold are on the old server as they were,
    whatever clients change of the objects here."""
    users = [ntsd.ace(ntsd.ALLOW, 0, ntsd.MODIFY, f'S-1-5-21-1-2-3-{n}') for n in range(200)]
    root = ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, smbtree.SIDS['root'])

    def dress(old):
        for name in 'meta', 'data', 'stream':
            old.write('work/' + name, b'main')
            old.write(f'work/{name}:long', b'L' * 6000)
        for name in 'closed', 'written':
            old.write('work/' + name, b'main')
            old.set_security('work/' + name, ntsd.descriptor(None, None, [root, *users], None, ntsd.PROTECTED),
                             DACL)
    server, migration, new = begin(args, dress=dress, mkfs=())
    old, client = Files(server.session(WRITER, 'old')), migration.server.client()
    descriptors = [old.security('work/' + name, DACL) for name in ('closed', 'written')]
    new.set_basic('work/meta', attributes=smb2.A_HIDDEN)
    new.write('work/data', b'changed')
    new.write('work/stream:another', b'short')
    client.setattr(client.walk('work/closed')[0], mtime=1_700_000_000 * 10**9)
    client.write(client.walk('work/written')[0], 0, b'changed', nfs3.FILE_SYNC)
    done = migration.rollback()
    same((done['conflicts'], done['losses']), ([], []), 'conflicts and losses')
    for name in 'meta', 'data', 'stream':
        same(old.read(f'work/{name}:long'), b'L' * 6000, f'the stream of {name}')
    same([old.security('work/' + name, DACL) for name in ('closed', 'written')], descriptors, 'descriptors')
    same([old.read('work/' + name) for name in ('data', 'written', 'stream:another')],
         [b'changed', b'changed', b'short'], 'what was changed')
    new.unlink('work/stream:another')
    migration.rollback()
    with old.open('work/stream', access=smb2.GENERIC_READ) as file:
        same(sorted(file.streams()), ['::$DATA', ':long:$DATA'], 'streams')


@case(short=True)
def carried(args):
    """All that can be said, and what it costs."""
    server, migration, new = begin(args)
    before = every(OLD)
    change(new, 0)
    client = migration.server.client()
    work = client.walk('work')[0]
    client.write(client.walk('work/10')[0], 3, b'by NFS', nfs3.FILE_SYNC)
    new.read('work/11')
    client.rename(work, '11', client.root, '11 by NFS')
    client.link(client.walk('work/12')[0], client.root, '12 linked')
    new.read('work/tree/leaf')
    client.rename(work, 'tree', work, 'TREE')
    new.set_basic('work/13', attributes=smb2.A_READONLY)
    client.link(client.walk('work/13')[0], client.root, '13 linked')
    client.write(client.walk('work/13')[0], 3, b'by NFS', nfs3.FILE_SYNC)
    new.read('work/locked')
    client.rename(work, 'locked', client.root, 'locked')
    new.unlink('work/case')
    new.write('work/CASE', b'large')
    new.set_security('work/CASE', ntsd.descriptor(None, None, [
        ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, ntsd.EVERYONE)], None, 0), DACL)
    for name in 'a', 'b':
        new.unlink(f'work/gone/{name}')
    new.rmdir('work/gone')
    for name in 'long1800', 'streams':
        with new.open(name, access=smb2.GENERIC_WRITE) as file:
            file.write(1, b'changed')
    new.write('work/with an EA', b'changed')
    new.unlink('work/with streams:one')
    new.set_basic('work/read only', attributes=smb2.A_NORMAL)
    new.unlink('work/read only')
    plan = migration.rollback('--plan')
    same(every(OLD), before, 'the old server after a plan')
    done = migration.rollback()
    same([done['conflicts'], done['losses']], [[], []], 'conflicts and losses')
    same({key: done[key] for key in ('made', 'renamed', 'removed')},
         {key: plan[key] for key in ('made', 'renamed', 'removed')}, 'what is done and planned')
    same(Files(server.session(WRITER, 'old')).eas('work/with an EA'), {b'NAME': b'value'},
         'what was never carried')
    new.unlink('work/with an EA')
    done = migration.rollback()
    same([done['made'], done['removed'], done['conflicts']], [0, 1, []], 'what is done again')
    follower = Process('follower', [migration.program('migratectl'), '--config', migration.config,
                                    '--yes', '--follow', 'rollback', VOLUME])
    new.write('work/14', b'followed')
    wait_for('it was carried back', lambda: holds(f'{OLD}/work/14', b'followed'), process=follower)
    same(follower.stop(), 0, 'its exit status')
    migration.rollback()                     # it may have been stopped before times were set
    equal(server, migration)
    expect(STAGE not in os.listdir(OLD), 'something is left over')


def identities():
    """What shows that an object of the old server was touched, but for the root."""
    return {path: (os.lstat(f'{OLD}/{path}').st_ino, os.lstat(f'{OLD}/{path}').st_ctime_ns)
            for path in every(OLD) if path != '.'}


@case()
def gap_of_the_journal(args):
    """What a journal that was restarted cannot know is compared, and carried only where it differs."""
    _, migration, new = begin(args)
    migration.crawl()
    before = identities()
    migration.journal.stop()
    migration.start_journal()
    done = migration.rollback()
    same([done['maybe_changed'] > len(before), done['changed'], done['removed'], done['conflicts']],
         [True, 0, 0, []], 'what is carried')
    same(identities(), before, 'the old server')
    migration.journal.stop()
    written = {path: new.times(path).written for path in ('work/10', 'work/11')}
    new.write('work/10', b'new 10 ' * 300)
    new.write('work/11:stream', b'a stream')
    for path, time in written.items():          # as tools do that keep times
        new.set_basic(path, written=time)
    new.set_basic('work/12', attributes=KEPT)
    migration.start_journal()
    changes = migration.rollback('--plan', '--list')['changes']
    same(sorted((change['path'], change['what']) for change in changes), [
        ('work/10', ['data', 'attributes']), ('work/11', ['attributes']), ('work/12', ['attributes'])],
         'what is planned')
    migration.rollback()
    touched = {path for path, identity in identities().items() if before.get(path) != identity}
    same(touched, {'work', 'work/10', 'work/11', 'work/12'}, 'what was touched')


def new_name(pdu):
    """Of a SET_INFO with RENAME or LINK."""
    at, = struct.unpack_from('<H', pdu, 72)
    length, = struct.unpack_from('<I', pdu, at + 16)
    return bytes(pdu[at + 20:at + 20 + length]).decode('utf-16-le').replace('\\', '/')


class Names:
    """Directories of the old server in which a name changed after they were flushed.  refuses: how
    the server answers flushes of directories.  It writes less at once than it is given."""

    def __init__(self, refuses=None):
        self.refuses, self.changed, self.streams, self.flushes = refuses, set(), set(), 0

    def on_request(self, call):
        pdu = call.pdu
        if call.command == smb2.WRITE:                  # half of what is more than 64 KiB
            smbproxy.change(pdu, '<I', 64 + 4,
                            lambda length: length // 2 if length > 65536 else length)
            if ':' in call.create.path:
                self.streams.add(call.create.path)
        if self.refuses and call.command == smb2.SET_INFO and pdu[66] == smb2.INFO_SECURITY and \
                call.create.path == STAGE:
            pdu[66] = 200                               # there is no such thing
        if call.command == smb2.CREATE:
            if struct.unpack_from('<I', pdu, 64 + 36)[0] != smb2.OPEN:
                self.changed.add(os.path.dirname(call.path))
        elif call.command == smb2.SET_INFO and pdu[66] == smb2.INFO_FILE:
            if pdu[67] in (RENAME, LINK):
                self.changed.add(os.path.dirname(new_name(pdu)))
            if pdu[67] in (RENAME, DISPOSITION):
                self.changed.add(os.path.dirname(call.path))

    def on_reply(self, call, pdu):
        if call.command == smb2.FLUSH and smbproxy.succeeded(pdu):
            self.streams.discard(call.path)
        if call.command != smb2.FLUSH or not os.path.isdir(f'{OLD}/{call.path}'):
            return None
        self.flushes += 1
        if self.refuses:
            return smbproxy.refuse(pdu, self.refuses)
        if smbproxy.succeeded(pdu):
            self.changed.discard(call.path)
        return None


@case()
def names_are_flushed(args):
    """Who loses its power when all is carried back has it all.  What is done to the root is the
    removal of STAGE."""
    server, migration, new = begin(args, 25, rollback_source=f'smb://{WRITER}@127.0.0.1:{PORT}/old')
    names = Names()
    smbproxy.Proxy(server, PORT, names.on_request, names.on_reply)
    change(new, 0)
    for name in 'a', 'b':
        new.unlink(f'work/gone/{name}')
    new.rmdir('work/gone')
    done = migration.rollback()
    same([done['left'], done['conflicts'], done['losses']], [0, [], []], 'left, conflicts and losses')
    there = {path for path in names.changed if os.path.isdir(f'{OLD}/{path}')}
    same(there - {''}, set(), 'directories that were not flushed')
    same(names.streams, set(), 'streams that were not flushed')
    expect(names.flushes, 'nothing was flushed')
    equal(server, migration)


@case()
def carried_in_private(args):
    """Nobody gets at what is under way before it has its own descriptor.  What has none, as NFS makes
    it, has what a client's would have that made it there."""
    server, migration, new = begin(args, 25, rollback_source=f'smb://{WRITER}@127.0.0.1:{PORT}/old')
    carol = Files(server.session('carol', 'old'))
    seen, tried = [], []

    def on_reply(call, pdu):
        path = call.create.path if call.create else call.path
        if call.command == smb2.WRITE and path.startswith(STAGE):
            for what in (lambda: carol.read(path), lambda: carol.write(path + ':hers', b'hers')):
                tried.append(path)
                try:
                    seen.append(what())
                except Refused as e:
                    same(e.name, 'ACCESS_DENIED', path)
    smbproxy.Proxy(server, PORT, on_reply=on_reply)
    own = [ntsd.ace(ntsd.ALLOW, 3, ntsd.FULL, smbtree.SIDS[user]) for user in ('alice', 'root')]
    for directory, aces in (('to few', own), ('to all', [
            ntsd.ace(ntsd.ALLOW, 3, ntsd.FULL, ntsd.EVERYONE)])):
        new.mkdir(directory)
        new.set_security(directory, ntsd.descriptor(None, None, aces, None, ntsd.PROTECTED), DACL)
    new.write('to few/file', b'secret')
    client = migration.server.client()
    for directory in 'to few', 'to all':
        where = client.walk(directory)[0]
        client.mkdir(where, 'by NFS')
        client.write(client.create(client.walk(f'{directory}/by NFS')[0], 'file'), 0, b'by NFS',
                     nfs3.FILE_SYNC)
    done = migration.rollback()
    same([done['conflicts'], done['left']], [[], 0], 'conflicts and what is left')
    same(seen, [], f'what carol has got of {tried}')
    expect(tried, 'nothing was written there')
    same(carol.read('to all/by NFS/file'), b'by NFS', 'what every client may read')
    for path in 'to few/file', 'to few/by NFS/file':
        try:
            expect(False, f'{path}: {carol.read(path)}')
        except Refused as e:
            same(e.name, 'ACCESS_DENIED', path)


@case()
def flushes_are_refused(args):
    """And the descriptor of STAGE."""
    server, migration, new = begin(args, 25, rollback_source=f'smb://{WRITER}@127.0.0.1:{PORT}/old')
    names = Names(smb2.ACCESS_DENIED)
    smbproxy.Proxy(server, PORT, names.on_request, names.on_reply)
    change(new, 0)
    done = migration.rollback()
    same([done['left'], done['conflicts'], done['losses']], [0, [], []], 'left, conflicts and losses')
    expect(names.flushes, 'nothing was flushed')
    equal(server, migration)


@case()
def flushes_are_put_off(args):
    """A server that is short of memory: what it did not flush does not count as carried."""
    server, migration, new = begin(args, 25, rollback_source=f'smb://{WRITER}@127.0.0.1:{PORT}/old')
    names = Names(INSUFFICIENT_RESOURCES)
    smbproxy.Proxy(server, PORT, names.on_request, names.on_reply)
    change(new, 0)
    done = migration.rollback(may_fail=True)
    same({c['path'] for c in done['conflicts']} - {'.'}, {'work', 'made 0'}, 'directories that are named')
    expect(done['left'] and names.flushes, f'nothing is left: {done}')
    names.refuses = None
    done = migration.rollback()
    same([done['left'], done['conflicts'], done['losses']], [0, [], []], 'left, conflicts and losses')
    there = {path for path in names.changed if os.path.isdir(f'{OLD}/{path}')}
    same(there - {''}, set(), 'directories that were not flushed')
    equal(server, migration)


@case()
def open_there(args):
    """What clients of the old server have open is a line each, and is looked at again; so is what is
    removed as soon as they close it (DELETE_PENDING: how Windows says that)."""
    server, migration, new = begin(args, 25, rollback_source=f'smb://{WRITER}@127.0.0.1:{PORT}/old')
    old, pending, denied = Files(server.session(WRITER, 'old')), set(), set()
    moved = {'work/read only': denied, 'work/03': pending}  # by what they are called in STAGE

    def on_request(call):
        if call.command == smb2.SET_INFO and call.pdu[67] == RENAME and call.create.path in moved:
            moved[call.create.path].add(new_name(call.pdu))
        call.denied = call.command == smb2.SET_INFO and call.pdu[67] == DISPOSITION and \
            call.create.path in denied
        if call.denied:
            call.pdu[67] = 200                              # there is no such thing

    def on_reply(call, pdu):
        if call.denied:
            return smbproxy.refuse(pdu, smb2.ACCESS_DENIED)
        path = call.create.path if call.create else call.path
        return smbproxy.refuse(pdu, DELETE_PENDING) if path in pending else None
    smbproxy.Proxy(server, PORT, on_request, on_reply)
    new.write('work/00', b'changed')
    for name in 'work/made', 'elsewhere':
        new.write(name, name.encode())
        new.set_security(name, ntsd.descriptor(None, None, [
            ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, ntsd.EVERYONE)], None, 0), DACL)
    for name in '01', '02':
        new.unlink(f'work/{name}')
    for name in 'desktop.ini', '':                          # as Windows marks a directory
        new.set_basic(f'work/marked/{name}'.strip('/'), attributes=smb2.A_NORMAL)
    new.unlink('work/marked/desktop.ini')
    new.rmdir('work/marked')
    new.set_basic('work/read only', attributes=smb2.A_NORMAL)
    new.unlink('work/read only')
    with old.open('work', access=smb2.GENERIC_READ, share=1, options=smb2.DIRECTORY_FILE), \
            old.open('work/01', access=smb2.GENERIC_READ):
        for _ in range(2):
            done = migration.rollback(may_fail=True)
            same({c['path'] for c in done['conflicts']}, {'work', 'work/01', 'work/read only'},
                 'conflicts')
            expect(done['left'], 'nothing is left')
        same([every(OLD)[name] for name in ('elsewhere', 'work/00', 'work/made')],
             [b'elsewhere', b'changed', b'work/made'], 'what came there')
        expect('work/marked' not in every(OLD), 'a directory that is read-only is still there')
    same(old.times('work/read only').attributes & smb2.A_READONLY, smb2.A_READONLY,
         'the attribute of what could not be removed')
    del moved['work/read only']
    denied.clear()
    new.unlink('work/03')
    new.unlink('work/with streams:one')
    pending.add('work/with streams:one:$DATA')
    done = migration.rollback(may_fail=True)
    same([{c['path'] for c in done['conflicts']}, done['left']],
         [{'work/03', 'work/with streams'}, 0], 'once they are closed')
    pending.clear()
    same(migration.rollback()['left'], 0, 'what is left in the end')
    equal(server, migration)


@case()
def refused(args):
    """Conflicts, what SMB has no words for, rights and passwords."""
    server, migration, new = begin(args, 25)
    reader = Files(server.session(READER, 'old'))
    for what in (lambda: reader.write('work/00', b'x'), lambda: reader.mkdir('work/x'),
                 lambda: reader.unlink('work/00'), lambda: reader.rename('work/00', 'work/x'),
                 lambda: reader.set_basic('work/00', attributes=KEPT)):
        try:
            what()
        except Refused:
            continue
        expect(False, 'the account of the migration can write (I10)')
    symbols = sh('nm', migration.program('migrate-smb-worker'))
    expect(' do_change' not in symbols and ' do_read' in symbols, 'it could write (I10)')

    for name in ('00', '01', '02'):
        new.write(f'work/{name}', b'ours')
    new.unlink('work/03')
    client = migration.server.client()
    client.create(client.walk('work')[0], 'a:colon')
    client.symlink(client.root, 'symlink', 'work')
    theirs = Files(server.session(WRITER, 'old'))
    for name in ('00', '03', 'theirs'):
        theirs.write(f'work/{name}', b'theirs')
    theirs.set_basic('work/theirs', created=1 << 56, written=1 << 56)  # as copies are
    theirs.rename('work/05', 'work/renamed there')
    for options in ('--plan',), (), ():
        got = migration.rollback(*options, may_fail=True)
        same({c['path'] for c in got['conflicts']},
             {'work/00', 'work/03', 'work/theirs', 'work/renamed there'}, f'conflicts {options}')
        same({c['path'] for c in got['losses']}, {'work/a:colon', 'symlink'}, f'losses {options}')
    for name in ('00', '03', 'theirs'):
        same(theirs.read(f'work/{name}'), b'theirs', name)
    same(theirs.read('work/01'), b'ours', 'what has no conflict')

    with open(BASE + '/wrong', 'w') as out:
        os.fchmod(out.fileno(), 0o600)
        out.write('Wrong-1')
    given = dict(read_settings(migration))
    for key, value, text in (
            ('rollback-password-file', BASE + '/wrong', 'wrong user name or password'),
            ('rollback-source', given['rollback-source'].replace(WRITER, 'alice'),
             'cannot be written'),
            ('rollback-source', given['source'], 'the user that `source` names'),
            ('rollback-source', OLD, 'written as it was read')):
        migration.configure(**{**given, key: value})
        if 'alice' in value:
            server.configure({'old': (OLD, {**smbtree.SHARE, 'read list': 'alice'})})
            server.restart()
        said = migration.rollback(may_fail=True)
        expect(text in said and said.count('\n') == 1, f'{key} = {value}: {said}')
        expect(smbd.PASSWORD not in said and 'Wrong-1' not in said, 'a password is shown')


def read_settings(migration):
    with open(migration.config) as file:
        return [line.rstrip('\n').split('=', 1) for line in file if '=' in line]


@case()
def others(args):
    """Somebody writes there all the time by SMB what clients changed here, too."""
    server, migration, new = begin(args)
    theirs = Files(server.session(WRITER, 'old'))

    def write(name, data):
        try:
            if turn.random() < 0.5:
                theirs.write(f'work/{name}', data)
            else:
                theirs.write(f'work/{name} theirs', data)
                theirs.rename(f'work/{name} theirs', f'work/{name}', replace=True)
        except Refused as error:
            raise OSError from error

    def change(i, name, n):
        if i % 5 == 4 and n % 3 == 2:
            with contextlib.suppress(Refused):
                new.unlink(f'work/{name}')
        elif i % 5 == 3:
            new.set_basic(f'work/{name}', attributes=KEPT)
        else:
            new.write(f'work/{name}', b'ours %d' % n)

    turn = random.Random(args.random.random())
    otherwriter.through_runs(lambda: migration.rollback(may_fail=True), [f'{n:02}' for n in range(40)], change, write,
                             'work', args.random.random(), 100 if args.long else 3)


@case()
def killed(args):
    """At random points, until it comes to its end."""
    server, migration, new = begin(args)
    for tag in range(4):
        change(new, tag)
    met = 0
    argv = [migration.program('migratectl'), '--config', migration.config, '--yes', 'rollback', VOLUME]
    for n in range(10):
        new.write(f'made 0/again {n}', b'again' * 400000)       # so that each has something to do
        process = Process('killed', argv)
        select.select([], [], [], args.random.uniform(0.03, 0.15))   # the random point, not a wait
        met += process.poll() is None
        process.stop(signal.SIGKILL)
    expect(met >= 2, f'{met} were met')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    expect(STAGE not in os.listdir(OLD), 'something is left over')
    equal(server, migration)


@case(short=True)
def what_a_rule_leaves_there(args):
    """A client's file under such a name, in another spelling, is not put in its place."""
    server, migration, new = begin(args, dress=lambda old: old.write('work/Left.tmp', b'of the old server'),
                                   exclude='*.TMP')
    new.write('work/LEFT.tmp', b'of a client')
    new.write('work/01', b'changed')
    done = migration.rollback(may_fail=True)
    expect('work/LEFT.tmp' in {line['path'] for line in done['conflicts']}, f'conflicts: {done["conflicts"]}')
    old = Files(server.session(WRITER, 'old'))
    same(old.read('work/left.TMP'), b'of the old server', 'what a rule has left')
    same(old.read('work/01'), b'changed', 'what was carried')
    same(new.read('work/left.tmp'), b'of a client', 'what is here')
    new.unlink('work/LEFT.tmp')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    same(old.read('work/left.tmp'), b'of the old server', 'what a rule has left, again')


if __name__ == '__main__':
    sys.exit(main())
