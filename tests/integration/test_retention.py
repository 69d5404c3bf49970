#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files under retention: they come with their date, to the second, and with `retention = immutable`
no client can change or remove one that is whole."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbfiles                                                         # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, sh                                            # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, stack, volume          # noqa: E402
from smbsource import password, put                                     # noqa: E402

UNTIL, PAST, CHANGED = 4099420799, 1_500_000_000, 1_400_000_000        # s; the first: 2099-11-26
READ_ONLY, ARCHIVE = 0x1, 0x20
BACK = BASE + '/back'
KEPT = ('d/kept', 'd/empty', 'd/linked', 'e/linked', 'e/deep/large')


def write(path, data, mode, atime):
    put(path, data)
    os.chmod(path, mode)
    os.utime(path, (atime, CHANGED))


def fill(root):
    for name in ('d', 'e/deep'):
        os.makedirs(f'{root}/{name}')
    write(root + '/d/kept', b'kept' * 5000, 0o444, UNTIL)
    write(root + '/d/empty', b'', 0o400, UNTIL)
    write(root + '/d/linked', b'linked' * 100, 0o444, UNTIL)
    os.link(root + '/d/linked', root + '/e/linked')
    write(root + '/e/deep/large', os.urandom(9 << 20), 0o444, UNTIL)
    write(root + '/d/over', b'over' * 5000, 0o444, PAST)
    write(root + '/d/writable', b'writable' * 5000, 0o644, UNTIL)


def is_immutable(path):
    return 'i' in sh('lsattr', '-d', path).split()[0]


def immutable(root=NEW):
    return {path[len(root) + 1:] for path in map(os.fsdecode, tree.every(root))
            if os.path.isfile(path) and not os.path.islink(path) and '/.migrate/' not in path and is_immutable(path)}


def losses(migration):
    """{path: text} of the kind."""
    return {line['path'][len(NEW) + 1:]: line['text']
            for line in json.loads(migration.ctl('report', '--json'))[1:] if line['kind'] == 'retention'}


def dates(client, names=KEPT):
    for name in names:
        same(client.walk(name)[1].atime, UNTIL * 10**9, f'the date of {name}')


def refused_over_nfs(client, name):
    """A client can read it, and do nothing else with it, root as little as others."""
    directory, base = os.path.split(name)
    handle, _ = client.walk(name)
    above, _ = client.walk(directory)
    for what, call in (('remove', lambda: client.remove(above, base)),
                       ('rename', lambda: client.rename(above, base, above, 'away')),
                       ('link', lambda: client.link(handle, above, 'another')),
                       ('mode', lambda: client.setattr(handle, mode=0o644)),
                       ('date', lambda: client.setattr(handle, atime=PAST * 10**9)),
                       ('truncate', lambda: client.setattr(handle, size=0)),
                       ('write', lambda: client.write(handle, 0, b'x', nfs3.FILE_SYNC))):
        expect(nfs3.status_of(call) in (1, 13), f'{what} of {name} is not refused')


@case(short=True)
def over_nfs(args):
    _, migration = stack(args.build, fill, retention='immutable')
    migration.attach()
    # else its cache says of what was read that it was read just now
    client = migration.start_server(export='Attr_Expiration_Time = 0;').client()
    dates(client)
    for name in KEPT:                               # stubs, which a client reads
        client.read_all(client.walk(name)[0])
    dates(client)
    migration.crawl()
    dates(client)
    same(immutable(), set(KEPT), 'what is immutable')
    for name in KEPT:
        refused_over_nfs(client, name)
    above, _ = client.walk('d')
    client.setattr(client.walk('d/over')[0], mode=0o644)
    client.remove(above, 'writable')
    found = losses(migration)
    same(set(found), {'d/kept', 'd/empty', 'd/linked', 'e/deep/large'}, 'objects in the report')
    expect('retention 4' in migration.ctl('report'), 'the sum of the report')
    for text in found.values():
        expect(text.startswith('under retention until 2099-11-26T23:59:59Z, which chattr +i'), text)
    migration.ctl('finalize')
    expect(not os.path.exists(NEW + '/.migrate'), '.migrate/ is left')
    migration.without_layer()
    client = migration.server.client()
    dates(client)
    same(client.read_all(client.walk('d/kept')[0]), b'kept' * 5000, 'its bytes')
    for name in KEPT:
        refused_over_nfs(client, name)
        path = f'{NEW}/{name}'
        same(os.stat(path).st_atime_ns, UNTIL * 10**9, f'the date of {path}')
    same(os.stat(NEW + '/e/linked').st_nlink, 2, 'its names')


@case(short=True)
def over_smb(args):
    """Read-only by the DOS attribute, whatever the permission bits."""
    volume(OLD)
    volume(NEW)
    os.mkdir(OLD + '/d')
    for name in ('kept', 'over', 'writable'):
        put(f'{OLD}/d/{name}', name.encode() * 3000)
    old = smbd.old_smbd(OLD)
    there = smbfiles.Files(old.session('root'))
    for name, until, attributes in (('kept', UNTIL, READ_ONLY), ('over', PAST, READ_ONLY),
                                    ('writable', UNTIL, ARCHIVE)):
        there.set_basic('d/' + name, accessed=smbfiles.nttime(until), attributes=attributes)
    migration = Migration(args.build, f'smb://root@{old.address}/old', smb_modes='open',
                          smb_password_file=password(), retention='immutable')
    migration.start_retriever()
    migration.attach()
    migration.start_smbd(settings={'acl_xattr:ignore system acls': 'yes'})
    files = smbfiles.Files(migration.smbd.session('root'))

    def seen(when):
        times = files.times('d/kept')
        same((times.accessed, times.attributes & READ_ONLY), (smbfiles.nttime(UNTIL), READ_ONLY),
             f'date and attribute {when}')
    seen('of a stub')
    same(files.read('d/kept'), b'kept' * 3000, 'what a client reads')
    seen('of what was read')
    migration.crawl()
    seen('of what is whole')
    same(immutable(), {'d/kept'}, 'what is immutable')
    for what, call in (('clear the attribute', lambda: files.set_basic('d/kept', attributes=0x80)),
                       ('move the date', lambda: files.set_basic('d/kept', accessed=smbfiles.nttime(PAST))),
                       ('write', lambda: files.write('d/kept', b'x', smb2.OPEN)),
                       ('rename', lambda: files.rename('d/kept', 'd/away')),
                       ('unlink', lambda: files.unlink('d/kept'))):
        try:
            call()
            expect(what == 'clear the attribute', f'a client can {what}')
        except smbfiles.Refused:
            pass
        seen(f'after: {what}')
        same(files.read('d/kept'), b'kept' * 3000, f'its bytes after: {what}')
    same(set(losses(migration)), {'d/kept'}, 'objects in the report')
    files.set_basic('d/over', attributes=0x80)
    files.unlink('d/over')
    migration.ctl('finalize')
    seen('in the end')


@case(short=True)
def from_a_local_tree(args):
    """With chattr +i there; check counts them; where the flag cannot be set, that is a line."""
    volume(OLD)
    volume(NEW)
    fill(OLD)
    sh('chattr', '+i', OLD + '/d/over')
    migration = Migration(args.build, f'file://{OLD}', retention='immutable')
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, '--json', 'check', VOLUME],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    found = json.loads(done.stdout)['losses']['retention']
    same({line['path'] for line in found['first']}, {*KEPT, 'd/over'}, 'what check finds')
    same(found['total'], len(KEPT) + 1, 'what check counts')
    migration.start_retriever('setpriv', '--bounding-set', '-linux_immutable', '--inh-caps', '-linux_immutable')
    migration.attach()
    client = migration.start_server().client()
    dates(client)
    migration.crawl()
    same(immutable(), set(), 'what is immutable, without the capability')
    expect(any('could not be made immutable' in text for text in losses(migration).values()), 'no line says so')
    migration.retriever.stop()
    migration.start_retriever()
    migration.ctl('verify')
    same(immutable(), {*KEPT, 'd/over'}, 'what is immutable, with it')
    dates(client)
    migration.ctl('finalize')
    sh('chattr', '-R', '-i', OLD)


def after_a_copy(args, copy, adopt):
    """What was whole before the switch, without a word of `retention` then."""
    _, migration = stack(args.build, fill)
    copy(migration)
    migration.retriever.stop()
    migration.configure(source=migration.source, retention='immutable')
    migration.start_retriever()
    migration.ctl('attach', *adopt)
    client = migration.start_server().client()
    dates(client)
    migration.crawl()
    dates(client)
    same(immutable(), set(KEPT), 'what is immutable')
    same(migration.status()['bytes_fetched'], 0, 'bytes fetched')
    migration.ctl('finalize')


@case()
def after_its_own_copy(args):
    after_a_copy(args, lambda migration: migration.ctl('copy'), [])


@case()
def after_another_copy(args):
    def copy(_migration):
        sh('sh', '-c', f'cp -a {OLD}/d {OLD}/e {NEW}/')
    after_a_copy(args, copy, ['--adopt'])


@case()
def abandoned(args):
    """It says how; nothing is left."""
    _, migration = stack(args.build, fill, retention='immutable')
    migration.attach()
    migration.crawl()
    migration.retriever.stop()
    argv = [migration.program('migratectl'), '--config', migration.config, '--yes', '--discard', 'abandon', VOLUME]

    def abandon():
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    done = abandon()
    expect(done.returncode and 'chattr -R -i' in done.stderr, f'{done}')
    sh('sh', '-c', f'chattr -R -f -i {NEW}; true')      # which it says of symbolic links
    done = abandon()
    same(done.returncode, 0, f'exit status: {done}')
    same([name for name in os.listdir(NEW) if name != 'lost+found'], [], 'what is left')


@case()
def abandoned_and_kept(args):
    """What is whole stays, immutable as it is."""
    _, migration = stack(args.build, fill, retention='immutable')
    migration.attach()
    migration.crawl()
    migration.retriever.stop()
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, '--yes', '--discard',
                           '--keep', 'abandon', VOLUME],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    same(done.returncode, 0, f'exit status: {done}')
    same(immutable(), set(KEPT), 'what is immutable')
    expect(not os.path.exists(NEW + '/.migrate'), '.migrate/ is left')
    with open(NEW + '/d/kept', 'rb') as file:
        same(file.read(), b'kept' * 5000, 'its bytes')


@case()
def reading_and_the_date(args):
    """Only a mount with strictatime moves the date when a client reads, and only by NFS."""
    _, migration = stack(args.build, fill)
    migration.attach()
    client = migration.start_server().client()
    migration.crawl()
    files = smbfiles.Files(migration.start_smbd().session('root'))
    for option in ('noatime', 'relatime', 'strictatime'):
        sh('mount', '-o', f'remount,{option}', NEW)
        for flag in '-i', '+i':
            for what, read in (('NFS', lambda: client.read_all(client.walk('d/kept')[0])),
                               ('SMB', lambda: files.read('d/kept'))):
                sh('chattr', '-i', NEW + '/d/kept')
                os.utime(NEW + '/d/kept', (UNTIL, CHANGED))
                sh('chattr', flag, NEW + '/d/kept')
                read()
                stands = int(os.stat(NEW + '/d/kept').st_atime) == UNTIL
                same(stands, (what, option) != ('NFS', 'strictatime'), f'the date stands: {what}, {option}, {flag}')
    sh('chattr', '-i', NEW + '/d/kept')


@case()
def the_way_back(args):
    """What a client puts under retention is so there, to the second."""
    _, migration = stack(args.build, fill, rollback_source=BACK, old={'export': 'Access_Type = RO;'},
                         retention='immutable')
    os.makedirs(BACK)
    sh('mount', '--bind', OLD, BACK)
    migration.start_journal()
    migration.attach()
    client = migration.start_server().client()
    longer = UNTIL + 86400
    above, _ = client.walk('d')
    handle, _ = client.walk('d/writable')
    client.setattr(handle, atime=longer * 10**9)    # which the kernel tells as a read
    client.setattr(handle, mode=0o444)
    handle = client.create(above, 'new')
    client.write(handle, 0, b'new', nfs3.FILE_SYNC)
    client.setattr(handle, mode=0o444, atime=UNTIL * 10**9)
    client.read_all(client.walk('d/kept')[0])
    client.setattr(client.walk('d/kept')[0], mode=0o400)
    migration.crawl()
    same(immutable(), set(KEPT), 'what is immutable')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    for name, until, mode in (('writable', longer, 0o444), ('new', UNTIL, 0o444), ('kept', UNTIL, 0o400)):
        st = os.stat(f'{OLD}/d/{name}')
        same((st.st_atime_ns, st.st_mode & 0o777), (until * 10**9, mode), f'date and mode of {name} there')
    same(immutable(OLD), set(), 'what is immutable there')
    no_differences(tree.compare(OLD, NEW, slack=1 << 30))


if __name__ == '__main__':
    sys.exit(main())
