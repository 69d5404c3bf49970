#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SMB clients see and set of unfinished objects' attributes (I7, I8)."""
import os
import signal
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbfiles                                                         # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import sh, volume, wait_for                                    # noqa: E402
from servers import NEW, OLD, VOLUME, Migration                              # noqa: E402
from smbfiles import Files, Refused, nttime                             # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
FILES = {'small': 3000, 'd/even': 64 * KIB, 'd/big': 5 * MIB, 'd/empty': 0, 'd/sub/deep': 100 * KIB}
WHOLE = {'d/empty'}                             # from the start
STUBS = [path for path in FILES if path not in WHOLE]
HIDDEN_HERE = smb2.OFFLINE | smbfiles.RECALL | smb2.A_NORMAL   # NORMAL: no other
MTIME_NS = 1500000000123456700


def content(path, size):
    return bytes((len(path) + n) % 251 for n in range(min(size, 4096))) * (size // 4096 + 1)


def times_of(name):
    """The earlier one is the time of creation: of one file that of writing, which a fill changes for a
    while.  Samba 4.17 takes seconds of mtime and nanoseconds of ctime for a ctime: no nanoseconds."""
    if name == 'big':
        return MTIME_NS // 10**9 * 10**9 + 10**9, MTIME_NS // 10**9 * 10**9
    return 10**18, MTIME_NS


def fill(root):
    for number, (path, size) in enumerate(FILES.items()):
        full = f'{root}/{path}'
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'wb') as file:
            file.write(content(path, size)[:size])
        os.setxattr(full, 'user.colour', b'blue')
    for base, directories, names in os.walk(root):
        for name in names + directories + ['']:
            os.chown(f'{base}/{name}', 1000, 1000)
            atime, mtime = times_of(name)
            os.utime(f'{base}/{name}', ns=(atime, mtime))


def begin(args, settings=None, volume_settings=None, **kw):
    """(Migration, alice's Files) of an attached volume whose old tree is here."""
    volume(OLD, '1G')
    volume(NEW, '1G')
    sh('mount', '-o', 'remount,noatime', NEW)   # what clients read is of no interest here
    fill(OLD)
    migration = Migration(args.build, f'file://{OLD}', **(volume_settings or {}))
    migration.start_retriever()
    migration.attach()
    server = migration.start_smbd(settings=settings, **kw)
    return migration, Files(server.session())


def listed(files, path, level=37):
    directory, _, name = path.rpartition('/')
    return files.list(directory, level)[name]


def await_whole(files, paths=STUBS):
    for path in paths:
        wait_for(f'{path} is whole', lambda: not files.times(path).offline)


def unmoved(files, before, when, whole=False):
    """But for a block: extended attributes that do not fit into an inode take one, and what a file
    takes is not shown to be more than its size needs before it does.  whole: and but for the time of
    change, where Samba tells the ctime (from 4.23 on), which nobody can set."""
    ctimes = whole and before['d/big']['changed'] != before['d/big']['written']
    for path, seen in everything(files).items():
        for key, value in seen.items():
            was = before[path][key]
            if ctimes and key == 'changed':
                continue
            if ctimes and key == 'listed':
                value, was = {**value, 'changed': None}, {**was, 'changed': None}
            if key.startswith('allocated'):
                expect(abs(value - was) <= 4096, f'{path}, {key}, {when}: {value}, not {was}')
            else:
                same(value, was, f'{path}, {key}, {when}')


def everything(files):
    """What can be seen of every object, other than its data and OFFLINE."""
    found = {}
    for path in ['', 'd', 'd/sub', *FILES]:
        with files.open(path, access=smb2.READ_ATTRIBUTES | smb2.READ_EA) as file:
            seen = smbfiles.Times(file.query(smbfiles.NETWORK_OPEN)).values()
            seen['created, said'] = file.said.created
            seen['allocated, said'] = file.said.allocated
            seen['written, said'] = file.said.written
            standard = file.query(smbfiles.STANDARD)
            seen['allocated, standard'], seen['size, standard'], seen['links'] = struct.unpack_from(
                '<QQI', standard)
            seen['ea size'], = struct.unpack('<I', file.query(smbfiles.EA))
            if path in FILES:
                seen['streams'] = file.streams()
        if path:
            entry = listed(files, path)
            seen['allocated, listed'] = entry.allocated
            seen['listed'] = {**entry.values(), 'allocated': None,
                              'attributes': entry.attributes & ~HIDDEN_HERE}
            seen['eas'] = files.eas(path)
        seen['attributes'] &= ~HIDDEN_HERE
        found[path] = seen
    return found


def attributes_seen(files, path):
    """{way of asking: attributes}"""
    file = files.open(path, access=smb2.READ_ATTRIBUTES)
    seen = {'create': file.said.attributes}
    seen['basic'], = struct.unpack_from('<I', file.query(smbfiles.BASIC), 32)
    seen['all'], = struct.unpack_from('<I', file.query(smbfiles.ALL), 32)
    seen['network open'] = smbfiles.Times(file.query(smbfiles.NETWORK_OPEN)).attributes
    seen['tag'], = struct.unpack_from('<I', file.query(smbfiles.ATTRIBUTE_TAG))
    reply = file.ask(smb2.close(file.fid, True), 'close')
    seen['close'], = struct.unpack_from('<I', reply.body, 56)
    for level in smbfiles.CLASSES:
        seen[f'class {level}'] = listed(files, path, level).attributes
    return seen


def expect_bits(files, path, wanted):
    for way, attributes in attributes_seen(files, path).items():
        got = attributes & (smb2.OFFLINE | smbfiles.RECALL)
        same(got, wanted, f'{path}: OFFLINE and RECALL, {way}')


def written_to(files, path):
    try:
        files.open(path, access=smb2.WRITE_DATA).close()
        return 'opened'
    except Refused as refusal:
        return refusal.name


@case()
def worm_keeps_what_is_old(args):
    """A stub as well as what is whole.  Where that has a new ctime (from Samba 4.23 on) the share is
    refused until it can only be read."""
    migration, files = begin(args)
    seen = files.times('d/big')
    share = {**smbd.layer(VOLUME, migration.socket, 'worm ' + smbd.STACK),
             'worm:grace_period': '3600'}

    def restarted(**more):
        migration.smbd.configure({smbd.SHARE: (NEW, {**share, **more})})
        migration.smbd.restart()
    restarted()
    if seen.changed != seen.written:
        for more in ({}, {'read only': 'yes', 'write list': 'alice'}):
            restarted(**more)
            out = migration.smbd.smbclient('ls', may_fail=True)
            expect('tree connect failed' in out, f'{more}: not refused: {out}')
        restarted(**{'read only': 'yes'})
    files = Files(migration.smbd.session())
    for when in ('a stub', 'whole'):
        for path in STUBS:
            same(files.times(path).offline, when == 'a stub', f'{path} is offline, {when}')
            same(written_to(files, path), 'ACCESS_DENIED', f'{path}, {when}')
        if when == 'a stub':
            migration.crawl()


@case()
def offline_until_it_is_whole(args):
    migration, files = begin(args)
    for path in FILES:
        expect_bits(files, path, 0 if path in WHOLE else smb2.OFFLINE)
    for path in ('d', 'd/sub'):
        expect_bits(files, path, 0)
    expect(files.capabilities() & smbfiles.REMOTE_STORAGE, 'the volume does not say that it has '
           'remote storage')
    info = migration.smbd.smbclient('allinfo small', may_fail=True)
    expect('attributes: ' in info and 'O' in info.split('attributes: ')[1].split()[0],
           f'smbclient shows no O: {info}')
    with files.open('d/big', access=smb2.GENERIC_READ) as file:
        file.read(MIB, 4096)                    # a part
    expect_bits(files, 'd/big', smb2.OFFLINE)
    for path, size in FILES.items():
        same(files.read(path), content(path, size)[:size], path)
    await_whole(files)
    for path in FILES:
        expect_bits(files, path, 0)
    info = migration.smbd.smbclient('allinfo small', may_fail=True)
    expect('O' not in info.split('attributes: ')[1].split()[0], f'smbclient shows O: {info}')
    migration.crawl()
    migration.ctl('finalize')
    expect(not Files(migration.smbd.session()).capabilities() & smbfiles.REMOTE_STORAGE,
           'a finished volume has remote storage')


@case()
def offline_where_the_host_would_not_ask(args):
    """`smbd async dosmode` reads attributes by another way."""
    _, files = begin(args, {'smbd async dosmode': 'yes'})
    for path in FILES:
        expect_bits(files, path, 0 if path in WHOLE else smb2.OFFLINE)


@case()
def recall_as_an_option(args):
    """And what the host writes back of what it read is not kept."""
    migration, files = begin(args, {'migrate:recall': 'yes'})
    expect_bits(files, 'small', smb2.OFFLINE | smbfiles.RECALL)
    expect_bits(files, 'd/empty', 0)
    with files.open('small', access=smb2.GENERIC_WRITE) as file:
        file.ask(smb2.ioctl(file.fid, smb2.FSCTL_SET_SPARSE), 'set sparse')
    expect(files.times('small').attributes & smb2.A_SPARSE, 'it is not sparse')
    same(stored(NEW + '/small') & ~smb2.A_ARCHIVE, smb2.A_SPARSE, 'the attributes that are stored')
    files.read('small')
    await_whole(files, ['small'])
    expect_bits(files, 'small', 0)


def stored(path):
    """The attributes in user.DOSATTRIB of version 5."""
    value = os.getxattr(path, 'user.DOSATTRIB')
    zeros, version, again, _, attributes = struct.unpack_from('<HHHxxII', value)
    same((zeros, version, again), (0, 5, 5), 'DOSATTRIB')
    return attributes


@case()
def offline_is_not_for_clients(args):
    migration, files = begin(args)
    keep = smb2.A_HIDDEN | smb2.A_ARCHIVE

    for path in ('small', 'd/even'):
        files.set_basic(path, attributes=keep)
        same(files.times(path).attributes, keep | smb2.OFFLINE, 'not cleared')
        files.set_basic(path, attributes=keep | smb2.OFFLINE)
        same(files.times(path).attributes, keep | smb2.OFFLINE, 'not set')
        same(stored(f'{NEW}/{path}'), keep, 'the attributes that are stored')
    files.set_basic('small', attributes=smb2.A_NORMAL)
    expect(files.times('small').offline, 'cleared by NORMAL')
    files.set_basic('d/empty', attributes=keep | smb2.OFFLINE)
    same(files.times('d/empty').attributes, keep, 'set on a file that is whole')
    with files.open('new', access=smb2.GENERIC_WRITE, disposition=smb2.NEW,
                    attributes=smb2.OFFLINE | smb2.A_HIDDEN):
        expect(not files.times('new').offline, 'a new file is offline')
    files.read('d/even')
    await_whole(files, ['d/even'])
    same(files.times('d/even').attributes, keep, 'afterwards')


@case()
def i8_a_fill_is_not_seen(args):
    """Nothing that can be seen of an object moves when its data comes, or its record goes."""
    migration, files = begin(args)
    before = everything(files)
    for path, size in FILES.items():
        same(before[path]['size'], size, f'{path}: size')
        same(before[path]['written'], times_of(os.path.basename(path))[1] // 100 + nttime(0),
             f'{path}: written')
        expect(before[path]['allocated'] >= size, f'{path}: it looks sparse')
        same(list(before[path]['eas']), [b'colour'], f'{path}: extended attributes')
    with files.open('d/big', access=smb2.GENERIC_READ) as file:
        file.read(2 * MIB, 65536)
    unmoved(files, before, 'after a part')
    with files.open('d/big', access=smb2.GENERIC_READ) as file:
        for path, size in FILES.items():
            files.read(path)
        unmoved(files, before, 'when all is here')
        await_whole(files)
        unmoved(files, before, 'when it is whole', True)
        seen = smbfiles.Times(file.query(smbfiles.NETWORK_OPEN)).values()
        same(seen['written'], before['d/big']['written'], 'through what was open')
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')
    unmoved(files, before, 'after the end', True)
    migration.ctl('finalize')
    unmoved(Files(migration.smbd.session()), before, 'without the layer', True)


def set_everything(files, path, number):
    """What a client sets of one object; what is to be seen afterwards."""
    created, written, accessed = (nttime(1400000000 + 1000 * number + n) for n in range(3))
    attributes = smb2.A_HIDDEN | smb2.A_SYSTEM
    descriptor = files.security(path)
    files.set_eas(path, [(b'shape', b'round%d' % number)])
    files.set_security(path, one_entry(descriptor, number))
    files.set_basic(path, created=created, written=written, accessed=accessed,
                    attributes=attributes)
    return {'created': created, 'written': written, 'accessed': accessed,
            'attributes': attributes, 'security': files.security(path),
            'eas': {b'colour': b'blue', b'shape': b'round%d' % number}}


def one_entry(descriptor, number):
    """A protected DACL: everything for alice, reading for a SID that nobody has."""
    alice = sid(f'{smbd.SID}-3000')
    other = sid(f'S-1-5-21-1-2-3-{1000 + number}')
    aces = b''.join(struct.pack('<BBHI', 0, 0, 8 + len(who), mask) + who
                    for who, mask in ((alice, 0x1f01ff), (other, 0x120089)))
    acl = struct.pack('<BBHHH', 2, 0, 8 + len(aces), 2, 0) + aces
    return struct.pack('<BBHIIII', 1, 0, 0x9004, 0, 0, 0, 20) + acl


def sid(text):
    parts = [int(part) for part in text.split('-')[2:]]
    return struct.pack('<BB', 1, len(parts) - 1) + parts[0].to_bytes(6, 'big') + b''.join(
        struct.pack('<I', part) for part in parts[1:])


def seen_of(files, path):
    times = files.times(path)
    return {'created': times.created, 'written': times.written, 'accessed': times.accessed,
            'attributes': times.attributes & ~smb2.OFFLINE, 'security': files.security(path),
            'eas': files.eas(path)}


def expect_set(files, wanted, when):
    for path, values in wanted.items():
        same(seen_of(files, path), values, f'{path}, {when}')


@case()
def i7_what_clients_set_is_kept(args):
    """Times, attributes, ACLs and extended attributes, set before, in and after a fill."""
    migration, files = begin(args)
    files.read('d/even')                        # ends while the rest is set
    wanted = {path: set_everything(files, path, n) for n, path in enumerate(STUBS)}
    expect_set(files, wanted, 'at once')
    expect(files.times('d/big').offline, 'd/big is here')
    with files.open('d/big', access=smb2.GENERIC_READ) as file:
        file.read(3 * MIB, 65536)
    expect_set(files, wanted, 'after a part')
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')
    expect_set(files, wanted, 'when all is whole')
    for path, size in FILES.items():
        with open(f'{NEW}/{path}', 'rb') as file:
            same(file.read(), content(path, size)[:size], f'{path}: data')


@case()
def a_size_that_is_set_moves_mtime(args):
    """Also where smbd then sets the times that it has seen: from 4.23 on, after an allocation."""
    _, files = begin(args)
    for level in (smbfiles.ALLOCATION, smbfiles.END):
        before = files.times('d/big').written
        with files.open('d/big', access=smb2.GENERIC_WRITE) as file:
            file.set(level, struct.pack('<Q', MIB * (22 - level)))
        expect(files.times('d/big').written > before, f'set by {level}: it did not move')


@case()
def i7_through_a_kill(args):
    """The retriever is killed after each thing that is set, and once more in the fill."""
    migration, files = begin(args)
    wanted = {}
    for number, path in enumerate(STUBS):
        wanted[path] = set_everything(files, path, number)
        migration.retriever.stop(signal.SIGKILL)
        migration.start_retriever()
    expect_set(files, wanted, 'at once')
    with files.open('d/big', access=smb2.GENERIC_READ) as file:
        file.read(3 * MIB, 65536)
    migration.retriever.stop(signal.SIGKILL)
    migration.start_retriever()
    migration.crawl()
    expect_set(files, wanted, 'when all is whole')


@case()
def i7_directories(args):
    """What is set of an unfilled directory survives its fill."""
    migration, files = begin(args)
    wanted = {path: set_everything(files, path, n) for n, path in enumerate(['d/sub', 'd'])}
    del wanted['d']['eas'][b'colour'], wanted['d/sub']['eas'][b'colour']
    for values in wanted.values():
        values['attributes'] |= smb2.A_DIRECTORY
    expect_set(files, wanted, 'at once')
    files.list('d/sub')
    expect_set(files, wanted, 'when it is filled')
    migration.crawl()
    expect_set(files, wanted, 'when all is whole')


@case()
def the_record_is_hidden(args):
    migration, files = begin(args)
    for path in ('small', 'd', 'd/big'):
        names = files.eas(path)
        expect(b'security.migrate' not in names and b'migrate' not in names, f'{path}: {names}')
    expect(os.getxattr(NEW + '/small', 'security.migrate'), 'no record')
    with files.open('small', access=smb2.WRITE_EA) as file:
        reply = files.session.ask(smb2.set_info(
            file.fid, smb2.INFO_FILE, smbfiles.FULL_EA,
            smb2.ea_list([(b'security.migrate', b'x')])))
    before = os.getxattr(NEW + '/small', 'security.migrate')
    expect(len(before) > 20, f'the record was changed: {before} ({smb2.name_of(reply.status)})')
    expect(files.times('small').offline, 'the stub is whole')


@case()
def access_is_checked_with_the_old_permissions(args):
    """From the first open on, also where names come without attributes (dummies)."""
    for lazily in ('eager', 'lazy'):
        migration, files = begin(args, volume_settings={'stub_attributes': lazily})
        for path, mode in (('small', 0o600), ('d/even', 0o640), ('d/big', 0o644)):
            os.chmod(f'{OLD}/{path}', mode)
        os.chmod(OLD + '/d/sub', 0o700)
        bob = Files(migration.smbd.session('bob'))
        for path in ('small', 'd/even', 'd/sub/deep'):
            try:
                bob.open(path, access=smb2.READ_DATA)
                raise AssertionError(f'{path}: bob may read it')
            except smbfiles.Refused as error:
                expect(error.name in ('ACCESS_DENIED', 'OBJECT_PATH_NOT_FOUND'), f'{path}: {error}')
        same(bob.read('d/big'), content('d/big', FILES['d/big'])[:FILES['d/big']], 'd/big')
        same(sorted(bob.list('d')), ['big', 'empty', 'even', 'sub'], 'what bob sees')
        for name, entry in bob.list('d').items():
            if name != 'sub':
                same(entry.size, FILES['d/' + name], f'd/{name}: size')
        carol = Files(migration.smbd.session('carol'))          # of the group
        carol.open('d/even', access=smb2.READ_DATA).close()
        for path in ('small', 'd/sub/deep'):
            files.open(path, access=smb2.READ_DATA).close()
        migration.smbd.stop()
        migration.retriever.stop()
        sh('umount', OLD)
        sh('umount', NEW)


if __name__ == '__main__':
    sys.exit(main())
