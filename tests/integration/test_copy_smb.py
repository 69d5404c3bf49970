#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copying beforehand from an SMB server, alone or beside NFS (acl-source): descriptors, DOS
attributes, times of creation and streams, in every run, at the switch and in what robocopy left."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import ntsd                                                             # noqa: E402
import servers                                                          # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from servers import NEW, OLD, Migration, volume                         # noqa: E402
from smb2 import ANY                                                    # noqa: E402
from smbfiles import Files                                              # noqa: E402
from smbtree import (BASIC, SHARE, SIDS, compare, look_at_all, may_audit, old_tree,  # noqa: E402
                     settings_of)

FILES = 120
FAT = 2 * 10 ** 7                                   # 2 s, in units of 100 ns
COPY = NEW + '/.migrate/copy'


def run(migration):
    return json.loads(migration.ctl('copy', '--json'))['copy']


def whole(session, paths):
    """Everything of every object."""
    files, found = Files(session), look_at_all(session, paths)
    for path in paths:
        if not found[path]['attributes'] & smb2.A_DIRECTORY:
            found[path]['data'] = files.read(path)
    return found


def world(args, mixed, **settings):
    """(old server, its paths, the other old server or None, Migration)"""
    server, paths = old_tree(args.random, FILES)
    volume(NEW, '4G', mkfs=('-O', 'ea_inode'))
    nfs = None
    if mixed:
        nfs = servers.old_server()
        settings.update(source=f'nfs://{nfs.address}{OLD}', smb_modes='open',
                        acl_source=f'smb://root@{server.address}:{server.port}/old')
    migration = Migration(args.build, **settings_of(server, **settings))
    migration.start_retriever()
    return server, paths, nfs, migration


def on_disk(path):
    return path.replace('\\', '/')


def set_basic(session, path, written=0, attributes=0):
    for reply in session.compound(
            smb2.create(path, smb2.WRITE_ATTRIBUTES), smb2.set_info(
                ANY, smb2.INFO_FILE, BASIC, struct.pack('<QQQQII', 0, 0, written, 0, attributes, 0)),
            smb2.close(ANY)):
        expect(not reply.failed, f'{path}: {smb2.name_of(reply.status)}')


def change(args, server, nfs, paths, old, silent=True):
    """As clients of the old server do.  silent: also what neither size nor mtime tells.  The paths that
    are there afterwards, and how many are gone."""
    session = server.session('root', 'old')
    files = Files(session)
    plain = [p for p in paths if p and not old[p]['attributes'] & (smb2.A_DIRECTORY |
                                                                   smb2.A_READONLY)]
    random = args.random
    random.shuffle(plain)
    paths = set(paths)
    gone = plain[:5]
    for path in gone:
        files.unlink(path)
    for path in plain[5:10] * silent:               # the same size and time of writing
        size = len(old[path]['data'])
        files.write(path, random.randbytes(size), smb2.OPEN)
        set_basic(session, path, old[path]['written'])
    for path in plain[10:15]:
        files.write(path, random.randbytes(7000), smb2.OPEN)
    for path in plain[15:20]:
        files.rename(path, path + 'renamed')
    for path in plain[20:25]:
        files.set_security(path, ntsd.descriptor(
            None, None, [ntsd.ace(ntsd.ALLOW, 0, ntsd.FULL, SIDS['carol'])]))
    for path in plain[25:30]:
        set_basic(session, path, attributes=smb2.A_HIDDEN | smb2.A_SYSTEM)
    for path in plain[30:35]:                       # another stream, and one that is written again
        files.write(path + ':more', random.randbytes(100), smb2.OPEN_IF)
        for stream in old[path]['streams']:
            if stream != '::$DATA':
                files.write(path + stream, b'again', smb2.OPEN)
    for path in plain[35:40]:
        for stream in old[path]['streams']:
            if stream != '::$DATA':
                files.unlink(path + stream)
    for path in plain[40:43]:
        files.unlink(path)
        files.mkdir(path)
        files.write(path + '\\inside', b'inside')
    directories = [p for p in paths if p and old[p]['attributes'] & smb2.A_DIRECTORY]
    files.set_security(directories[0], ntsd.descriptor(
        None, None, [ntsd.ace(ntsd.ALLOW, 3, ntsd.FULL, ntsd.EVERYONE)]))
    set_basic(session, directories[1], attributes=smb2.A_DIRECTORY | smb2.A_HIDDEN)
    paths -= {*gone, *plain[15:20]}
    paths |= {path + 'renamed' for path in plain[15:20]}
    paths |= {path + '\\inside' for path in plain[40:43]}
    for path in plain[40:43]:                       # as the share's setting demands
        os.chmod(f'{OLD}/{on_disk(path)}', 0o777)
        os.chmod(f'{OLD}/{on_disk(path)}/inside', 0o666)
    if nfs:
        nfs.restart()                               # it forgets what it knows
    return sorted(paths), len(gone) + 5


def serve(migration):
    migration.start_smbd(settings={'acl_xattr:ignore system acls': 'yes'})
    may_audit(migration.smbd)
    return migration.smbd.session('root')


def finish(migration, old):
    """Through the new server, to the end."""
    session = serve(migration)
    compare(whole(session, old), old, 'while it is compared')
    migration.crawl()
    compare(whole(session, old), old, 'at the end')
    same([line for line in migration.ctl('report').splitlines() if 'acl' in line and
          ': 0' not in line and 'not carried' in line], [], 'what was not carried over')
    same(tree.records(NEW), [], 'objects with a record')
    same(tree.records(NEW, 'security.migrate.copied'), [], 'objects with a mark')
    migration.ctl('verify')
    migration.ctl('aside', '--discard', '--yes')
    migration.ctl('finalize')
    compare(whole(session, old), old, 'without .migrate')


def copied(args, mixed):
    server, paths, nfs, migration = world(args, mixed)
    old = whole(server.session('root', 'old'), paths)
    baseline = run(migration)
    expect(baseline['whole'], f'the baseline is not whole: {migration.ctl("errors")}')
    again = run(migration)
    same([again['made'], again['bytes_fetched'], again['gone']], [0, 0, 0], 'nothing changed')
    paths, gone = change(args, server, nfs, paths, old)
    update = run(migration)
    expect(update['whole'], f'the update is not whole: {migration.ctl("errors")}')
    expect(update['gone'] >= gone, f'{update["gone"]} names are gone, not {gone}')
    expect(update['made'] < 60, f'{update["made"]} objects were made')
    old = whole(server.session('root', 'old'), paths)
    paths, _ = change(args, server, nfs, paths, old)    # what the comparison is to find
    old = whole(server.session('root', 'old'), paths)
    # Samba's ctime is mtime
    migration.ctl('attach', *([] if mixed else ['--compare=content']))
    finish(migration, old)


@case(short=True)
def from_smb(args):
    copied(args, False)


@case()
def by_two_protocols(args):
    copied(args, True)


@case()
def left_by_robocopy(args):
    """Data and times of 100 ns, or of 2 s, as another tool has them that runs on Windows; what it has
    copied of attributes is the old server's only if somebody looks."""
    server, paths, _, migration = world(args, False)
    old = whole(server.session('root', 'old'), paths)
    os.chmod(NEW, 0o777)
    target = smbd.Smbd('target', {'new': (NEW, SHARE)}, port=4460).start()
    session = target.session('root', 'new')
    files = Files(session)
    for path in sorted(path for path in paths if path):
        if old[path]['attributes'] & smb2.A_DIRECTORY:
            files.mkdir(path)
    rest = [path for path in paths if path and not old[path]['attributes'] & smb2.A_DIRECTORY]
    args.random.shuffle(rest)
    for path in rest:
        files.write(path, old[path]['data'])
        if args.random.random() < 0.3:
            files.write(path + ':of another version', b'old')
        written = old[path]['written']
        if path in rest[10:20]:                     # as FAT keeps it
            written = -(-written // FAT) * FAT
        set_basic(session, path, written, smb2.A_HIDDEN)
    files.write('extra', b'extra')
    files.write(rest[0], b'newer', smb2.OPEN)
    for path in rest[1:10]:
        files.unlink(path)
    target.stop()
    migration.ctl('attach', '--adopt')
    finish(migration, old)
    fetched = int(migration.status()['bytes_fetched'])
    expect(fetched <= sum(len(old[path]['data']) for path in rest[:20]), f'{fetched} bytes fetched')


if __name__ == '__main__':
    sys.exit(main())
