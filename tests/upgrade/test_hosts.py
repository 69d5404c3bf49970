#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of this Debian release becomes one of a newer release in the middle of a migration: other
Ganesha, other Samba, other modules and programs, the same volume, configuration and state.

    tests/support/host --outside -- tests/upgrade/test_hosts.py --build build --tree /mnt

--tree: the newer release, with the build for it in its /build."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'support'), os.path.join(HERE, '..', 'vfs')]
import servers                                                          # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
from door import listing, opened                                        # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from nfs3 import FILE_SYNC                                              # noqa: E402
from nfs4state import BOTH, WRITE_LT, Holder, Owner                     # noqa: E402
from sandbox import sh                                                  # noqa: E402
from servers import NEW, OLD, plugins_with, stack                       # noqa: E402

WIDE, FILES, LARGE = 6, 8, 8 << 20
GRACE = 30                              # seconds, in which all is reclaimed
KEPT = ('/run', '/var/lib/nfs', '/var/lib/samba')       # what an upgrade of the system leaves alone


def write(path, data):
    with open(path, 'wb') as out:
        out.write(data)


def fill(root):
    for d in range(WIDE):
        os.mkdir(f'{root}/dir{d}')
        for n in range(FILES):
            write(f'{root}/dir{d}/file{n}', b'%3d %5d ' % (d, n) * (50 + 4000 * n))
    for name in ('nfs3', 'nfs4', 'smb', 'untouched'):
        write(f'{root}/{name}', b''.join(b'%15d\n' % n for n in range(LARGE // 16)))
    for directory, _, names in os.walk(root):
        os.chmod(directory, 0o777)
        for name in names:
            os.chmod(os.path.join(directory, name), 0o666)


class Contents:
    """What each file has to have; changed as clients change it."""

    def __init__(self, root):
        self.files = {}
        for directory, _, names in os.walk(root):
            for name in names:
                path = os.path.join(directory, name)
                with open(path, 'rb') as file:
                    self.files[os.path.relpath(path, root)] = bytearray(file.read())

    def change(self, path, at, data):
        self.files[path][at:at + len(data)] = data
        return data


def attributes(attr):
    return attr.type, attr.mode, attr.uid, attr.gid, attr.size, attr.fileid, attr.mtime


def unfinished(path):
    return 'security.migrate' in os.listxattr(f'{NEW}/{path}')


def file_number(session, name):
    fid = opened(session, name, access=smb2.READ_ATTRIBUTES)
    number = smb2.output(session.ask(smb2.query_info(fid, smb2.INFO_FILE, 6)))
    session.ask(smb2.close(fid))
    return number


def become(tree):
    """From here on this is the other release; processes that run stay."""
    for directory in KEPT:
        os.makedirs(tree + directory, exist_ok=True)
        sh('mount', '--rbind', directory, tree + directory)
    sh('mount', '-t', 'proc', 'proc', tree + '/proc')
    os.chroot(tree)
    os.chdir('/')
    servers.release.cache_clear()
    smbd.users()
    os.symlink('/build/vfs_migrate/migrate.so', smbd.packaged_modules() + '/migrate.so')


def guide(start):
    """The command that begins so."""
    with open(servers.REPO + '/docs/try.md') as text:
        return re.search(r'^ +(%s.*)' % re.escape(start), text.read(), re.M)[1]


def releases():
    return servers.release(), tuple(map(int, re.findall(r'\d+', sh('smbd', '--version'))[:2]))


@case()
def in_the_middle(args):
    old, migration = stack(args.build, fill, proxied=True)
    migration.attach()
    server = migration.start_server()
    samba = migration.start_smbd()
    nfs, smb = server.client(), samba.session('alice')
    holder = Holder(server.address, 1)
    opener, locker = Owner('opener'), Owner('locker')
    contents = Contents(OLD)

    # What clients know of before; of dir4 only its own handle, of dir5 nothing.
    handles = {path: nfs.walk(path) for path in sorted(contents.files)
               if not path.startswith(('dir4', 'dir5'))}
    handles['dir4'] = nfs.walk('dir4')
    numbers = {name: file_number(smb, name) for name in ('smb', 'nfs3', 'dir3\\file1')}
    same([len(listing(smb, 'dir3'))], [FILES], 'names in dir3 over SMB')
    for n in range(FILES):
        same(nfs.read_all(handles[f'dir0/file{n}'][0]) == contents.files[f'dir0/file{n}'], True, 'dir0')
    # Half of it is here, some of it changed.
    fh = handles['nfs3'][0]
    same(nfs.read(fh, 0, 1 << 20)[0] == contents.files['nfs3'][:1 << 20], True, 'nfs3')
    nfs.write(fh, 5000001, contents.change('nfs3', 5000001, b'over NFS 3'), FILE_SYNC)
    held = holder.open_as(opener, holder.root, 'nfs4', BOTH)
    same(holder.lock(held, opener, locker, WRITE_LT, 1000, 1000).status, 0, 'lock')
    same(holder.write_as(held.handle, held.stateid, 3000001,
                         contents.change('nfs4', 3000001, b'over NFS 4')), 0, 'write')
    fid = opened(smb, 'smb')
    same(smb2.output(smb.ask(smb2.read(fid, 1 << 20, 1 << 20))) == contents.files['smb'][1 << 20:2 << 20],
         True, 'smb')
    same(smb.ask(smb2.write(fid, 6000001, contents.change('smb', 6000001, b'over SMB'))).status, 0,
         'write over SMB')
    nfs.rename(nfs.walk('dir1')[0], 'file7', nfs.walk('dir2')[0], 'renamed')
    contents.files['dir2/renamed'] = contents.files.pop('dir1/file7')
    handles['dir2/renamed'] = handles.pop('dir1/file7')
    nfs.remove(nfs.walk('dir2')[0], 'file0')
    del contents.files['dir2/file0'], handles['dir2/file0']

    handles = {path: (fh, attributes(nfs.getattr(fh))) for path, (fh, _) in handles.items()}
    before = releases()
    samba.stop()
    server.stop()
    migration.retriever.stop()
    for path in ('nfs3', 'nfs4', 'smb', 'untouched', 'dir2/renamed'):
        expect(unfinished(path), f'{path} is whole already')
    whole = {path for path in contents.files if os.path.exists(f'{NEW}/{path}') and not unfinished(path)}
    print(f'{len(whole)} of {len(contents.files)} files are whole')
    expect(whole, 'nothing is whole yet')
    fetched = old.proxy.bytes_read

    become(args.tree)
    after = releases()
    print('Ganesha and Samba', before, after)
    expect(after[0] > before[0] and after[1] > before[1], f'not newer: {before}, {after}')
    migration.build = '/build'
    migration.start_retriever()
    server.grace = GRACE
    sh('sh', '-ec', guide('cd /var/lib/nfs/'))
    server.configure(server.fsal[0], plugins_with(migration.module('libfsalmigrate.so')))
    server.start()
    samba.start()

    # An NFSv4 client reclaims; nobody notices anything else.
    again = Holder(server.address, 1, owner=(holder.owner, holder.verifier), reclaims=True)
    opener, locker = Owner('opener'), Owner('locker')
    held = again.reclaim(opener, held.handle, BOTH)
    same(held.status, 0, 'reclaim')
    same(again.lock(held, opener, locker, WRITE_LT, 1000, 1000, reclaim=True).status, 0,
         'reclaim of the lock')
    again.reclaim_complete()
    same(again.write_as(held.handle, held.stateid, 7000001,
                        contents.change('nfs4', 7000001, b'after it')), 0, 'write after it')
    nfs, smb = server.client(), samba.session('alice')
    for path, (fh, attr) in handles.items():
        if path not in ('nfs4', 'smb'):         # written since, or as the SMB client went
            same(attributes(nfs.getattr(fh)), attr, f'attributes of {path} by its handle')
    for name, number in numbers.items():
        same(file_number(smb, name), number, f'number of {name} over SMB')
    for path in sorted(whole):
        same(nfs.read_all(nfs.walk(path)[0]) == contents.files[path], True, path)
    same(old.proxy.bytes_read, fetched, 'bytes that were asked for after what was whole was read')
    for path, (fh, _) in handles.items():
        if path in contents.files and not path.startswith('dir3'):
            same(nfs.read_all(fh) == contents.files[path], True, f'{path} by its handle')
    fid = opened(smb, 'smb')
    for at in range(0, LARGE, 1 << 20):
        same(smb2.output(smb.ask(smb2.read(fid, at, 1 << 20))) == contents.files['smb'][at:at + (1 << 20)],
             True, f'smb at {at}')
    same({name.decode() for name, *_ in nfs.listing(handles['dir4'][0])} - {'.', '..'},
         {f'file{n}' for n in range(FILES)}, 'names in dir4')

    migration.crawl()
    total = sum(os.path.getsize(os.path.join(d, n)) for d, _, names in os.walk(OLD) for n in names)
    print(f'{old.proxy.bytes_read} bytes were asked for, {fetched} of them before; {total} are there')
    expect(old.proxy.bytes_read <= total, 'what was here was asked for again')
    migration.ctl('finalize')
    for path, data in contents.files.items():
        with open(f'{NEW}/{path}', 'rb') as file:
            same(file.read() == data, True, f'{path} in the end')
    same(sorted(Contents(NEW).files), sorted(contents.files), 'files in the end')
    for path, (fh, attr) in handles.items():
        same(nfs.getattr(fh).fileid, attr[5], f'{path} by its handle in the end')


if __name__ == '__main__':
    sys.exit(main(lambda parser: parser.add_argument('--tree', required=True, metavar='DIR')))
