#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""One volume through Ganesha and Samba at once: each shows what the old server has and what the other
changes, and what both want is fetched once."""
import contextlib
import glob
import os
import stat
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'support'), os.path.join(HERE, '..', 'vfs')]
import nfs3                                                             # noqa: E402
import smb2                                                             # noqa: E402
import tree                                                             # noqa: E402
from door import content, listing, open_status, opened                  # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from nfs4state import DENIED, WRITE_LT, Holder, Owner                   # noqa: E402
from sandbox import Failure, wait_for                                           # noqa: E402
from servers import NEW, OLD, stack                                     # noqa: E402

WIDE, FILES, LARGE, OTHER = 12, 16, 24 << 20, 4 << 20


def fill(root):
    """Nothing is sparse: each byte is worth a READ."""
    for d in range(WIDE):
        os.mkdir(f'{root}/dir{d}')
        for n in range(FILES):
            write(f'{root}/dir{d}/file{n}', b'%3d %5d ' % (d, n) * (50 + 40 * n))
    for name, size in (('large', LARGE), ('other', OTHER)):
        write(f'{root}/{name}', b''.join(b'%15d\n' % n for n in range(size // 16)))
    for directory, _, names in os.walk(root):
        os.chmod(directory, 0o777)
        for name in names:
            os.chmod(os.path.join(directory, name), 0o666)


def write(path, data):
    with open(path, 'wb') as out:
        out.write(data)


def old(path):
    with open(f'{OLD}/{path}', 'rb') as file:
        return file.read()


def begin(args, **kw):
    """(old server, migration, NFS client, SMB session).  Ganesha is set as the guide says it has to be
    beside a Samba: it knows nothing of what that does."""
    server, migration = stack(args.build, fill, **kw)
    migration.attach()
    migration.start_server(export='Attr_Expiration_Time = 1;',
                           blocks='MDCACHE { Use_Getattr_Directory_Invalidation = true; }')
    migration.start_smbd(settings={'migrate:hold': '60'})
    return server, migration, migration.server.client(), migration.smbd.session('alice')


def in_threads(*bodies):
    """Runs them at once; the first failure is raised."""
    failures = []

    def guarded(body):
        try:
            body()
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def read_all(session, name, size, block=1 << 20):
    fid = opened(session, name, access=smb2.READ_DATA)
    out = b''
    while len(out) < size:
        reply = session.ask(smb2.read(fid, len(out), block))
        if reply.failed:
            raise Failure(f'READ of {name} at {len(out)}: {smb2.name_of(reply.status)}')
        out += smb2.output(reply)
    session.ask(smb2.close(fid))
    return out


def paths():
    for directory, _, names in os.walk(OLD):
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), OLD)


@case(short=True)
def one_fill(args):
    """Everything is read through both at once, in the same order, so that they meet."""
    server, migration, nfs, smb = begin(args, proxied=True)
    server.proxy.delay = 0.002
    wanted = {path: old(path) for path in paths()}
    order = sorted(wanted)
    args.random.shuffle(order)

    def over_nfs():
        for path in order:
            same(nfs.read_all(nfs.walk(path)[0]) == wanted[path], True, f'{path} over NFS')

    def over_smb():
        for path in order:
            data = read_all(smb, path.replace('/', '\\'), len(wanted[path]))
            same(data == wanted[path], True, f'{path} over SMB')

    in_threads(over_nfs, over_smb)
    total = sum(map(len, wanted.values()))
    print(f'{server.proxy.bytes_read} bytes were asked for, {total} are there')
    expect(server.proxy.bytes_read <= total * 1.02, 'ranges were fetched twice: '
           f'{server.proxy.bytes_read} bytes were asked for, {total} are there')
    # and nothing more after that
    migration.crawl()
    migration.ctl('finalize')
    no_differences(tree.compare(OLD, NEW))


@case()
def one_range(args):
    """Both wait for the same range while the old server is slow: it is read once."""
    server, _, nfs, smb = begin(args, proxied=True)
    data = old('large')
    fh, fid = nfs.walk('large')[0], opened(smb, 'large', access=smb2.READ_DATA)
    server.proxy.reset()
    server.proxy.delay = 0.3
    at = 12 << 20

    def over_nfs():
        same(nfs.read(fh, at, 4096)[0] == data[at:at + 4096], True, 'over NFS')

    def over_smb():
        reply = smb.ask(smb2.read(fid, at, 4096))
        same(smb2.output(reply) == data[at:at + 4096], True, 'over SMB')

    in_threads(over_nfs, over_smb, over_nfs)
    covering = [r for r in server.proxy.reads if r[0] <= at < r[0] + r[1]]
    same(len(covering), 1, f'READs of the range ({server.proxy.reads})')


@case(short=True)
def names(args):
    """Made, renamed and removed through one, seen by the other; in directories that are not filled
    before."""
    _, migration, nfs, smb = begin(args)

    def there(path, wanted, what):
        """Both say so, by the name and in the listing."""
        directory, _, name = path.rpartition('\\')
        for _ in range(2):              # what was learnt is no other than what is found
            same(open_status(smb, path) == 'SUCCESS', wanted, f'{what}: {path} over SMB')
            same(name in listing(smb, directory), wanted, f'{what}: {path} in a listing over SMB')
            fh = nfs.walk(directory)[0]
            try:
                nfs.lookup(fh, name.encode())
                found = True
            except nfs3.NfsError as error:
                same(error.status, nfs3.NOENT, f'{what}: {path} over NFS')
                found = False
            same(found, wanted, f'{what}: {path} over NFS')
            same(name.encode() in {e[0] for e in nfs.listing(fh)}, wanted,
                 f'{what}: {path} in a listing over NFS')

    # What NFS has looked at before.
    same(len(list(nfs.listing(nfs.walk('dir10')[0], False))) >= FILES, True, 'names in dir10')
    remove(smb, 'dir10\\file1')
    there('dir10\\file1', False, 'removed over SMB')
    rename(smb, 'dir10\\file2', 'dir10\\moved')
    there('dir10\\file2', False, 'renamed over SMB')
    there('dir10\\moved', True, 'renamed over SMB')

    # Other directories are touched first by what changes them.
    here = nfs.walk('dir0')[0]
    nfs.create(here, 'made by nfs', mode=0o666)
    there('dir0\\made by nfs', True, 'created over NFS')
    smb.ask(smb2.close(opened(smb, 'dir1\\made by smb', disposition=smb2.NEW)))
    there('dir1\\made by smb', True, 'created over SMB')

    nfs.rename(nfs.walk('dir2')[0], 'file7', nfs.walk('dir3')[0], 'moved by nfs')
    there('dir2\\file7', False, 'renamed over NFS')
    there('dir3\\moved by nfs', True, 'renamed over NFS')
    same(content(smb, 'dir3\\moved by nfs'), old('dir2/file7'), 'content of what NFS has moved')

    rename(smb, 'dir4\\file9', 'dir5\\moved by smb')
    there('dir4\\file9', False, 'renamed over SMB')
    there('dir5\\moved by smb', True, 'renamed over SMB')
    same(nfs.read_all(nfs.walk('dir5/moved by smb')[0]), old('dir4/file9'),
         'content of what SMB has moved')

    nfs.remove(nfs.walk('dir6')[0], 'file1')
    there('dir6\\file1', False, 'removed over NFS')
    remove(smb, 'dir7\\file1')
    there('dir7\\file1', False, 'removed over SMB')

    # A stub under a directory that is renamed is found by its record.
    rename(smb, 'dir8', 'dir8 of smb')
    same(nfs.read_all(nfs.walk('dir8 of smb/file3')[0]), old('dir8/file3'), 'below a renamed one')
    nfs.rename(nfs.root, 'dir9', nfs.root, 'dir9 of nfs')
    same(content(smb, 'dir9 of nfs\\file3'), old('dir9/file3'), 'below a renamed one')
    migration.crawl()
    there('dir7\\file1', False, 'in the end')
    there('dir2\\file7', False, 'in the end')
    there('dir5\\moved by smb', True, 'in the end')


def wait_until_whole(path):
    """Its record goes when what was read is durable."""
    wait_for(f'{path} is whole', lambda: 'security.migrate' not in os.listxattr(f'{NEW}/{path}'))


def is_open(path):
    """Whether any process has it open."""
    at = os.stat(f'{NEW}/{path}')
    for fd in glob.iglob('/proc/[0-9]*/fd/*'):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(fd), at):
                return True
    return False


def rename(session, path, to):
    fid = opened(session, path, access=smb2.DELETE | smb2.READ_ATTRIBUTES)
    raw = to.encode('utf-16-le')
    body = bytes(16) + len(raw).to_bytes(4, 'little') + raw     # FileRenameInformation
    same(smb2.name_of(session.ask(smb2.set_info(fid, smb2.INFO_FILE, 10, body)).status), 'SUCCESS',
         f'rename {path}')
    session.ask(smb2.close(fid))


def remove(session, path):
    session.ask(smb2.close(opened(session, path, access=smb2.DELETE,
                                  options=smb2.DELETE_ON_CLOSE)))


@case()
def changes(args):
    """Bytes and lengths that one sets are what the other reads, in files of which little is here."""
    _, migration, nfs, smb = begin(args)
    wanted = bytearray(old('large'))
    fh, fid = nfs.walk('large')[0], opened(smb, 'large')
    for n in range(24):
        at, data = args.random.randrange(LARGE - 9000), bytes([65 + n]) * args.random.choice((5, 9000))
        wanted[at:at + len(data)] = data
        if n % 2:
            nfs.write(fh, at, data, nfs3.FILE_SYNC)
            reply = smb.ask(smb2.read(fid, at - at % 4096, 16384))
            same(smb2.output(reply), bytes(wanted[at - at % 4096:][:16384]), f'write {n}, over SMB')
        else:
            same(smb.ask(smb2.write(fid, at, data)).status, 0, f'write {n} over SMB')
            same(nfs.read(fh, at - at % 4096, 16384)[0], bytes(wanted[at - at % 4096:][:16384]),
                 f'write {n}, over NFS')
    size = LARGE // 2 + 77
    nfs.setattr(fh, size=size)
    del wanted[size:]
    same(read_all(smb, 'large', size) == wanted, True, 'the shortened file over SMB')
    smb.ask(smb2.close(fid))

    # What was cut off does not come back, though nobody looks in between.
    fid, fh = opened(smb, 'other'), nfs.walk('other')[0]
    for length in (100, OTHER):
        same(smb.ask(smb2.set_info(fid, smb2.INFO_FILE, 20, length.to_bytes(8, 'little'))).status, 0,
             'FileEndOfFileInformation')
    cut = old('other')[:100].ljust(OTHER, b'\0')
    same(nfs.read_all(fh) == cut, True, 'a file that was short meanwhile, over NFS')
    same(read_all(smb, 'other', OTHER) == cut, True, 'and over SMB')
    migration.crawl()
    for name, data in (('large', wanted), ('other', cut)):
        with open(f'{NEW}/{name}', 'rb') as file:
            same(file.read() == data, True, f'{name} in the end')


@case()
def offline_until_whole(args):
    """What clients of one see of a stub does not depend on who makes it whole."""
    _, migration, nfs, smb = begin(args)
    before = os.stat(OLD + '/dir0/file5')

    def attributes():
        """(attributes, mtime, size), of FileNetworkOpenInformation"""
        fid = opened(smb, 'dir0\\file5', access=smb2.READ_ATTRIBUTES)
        body = smb2.output(smb.ask(smb2.query_info(fid, smb2.INFO_FILE, 34)))
        smb.ask(smb2.close(fid))
        return (int.from_bytes(body[48:52], 'little'), int.from_bytes(body[16:24], 'little'),
                int.from_bytes(body[40:48], 'little'))

    flags, mtime, size = attributes()
    expect(flags & smb2.OFFLINE, f'a stub has attributes {flags:#x}')
    same(mtime, before.st_mtime_ns // 100 + 116444736000000000, 'mtime of a stub over SMB')
    same(size, before.st_size, 'size of a stub over SMB')
    fh, _ = nfs.walk('dir0/file5')
    same(nfs.read_all(fh), old('dir0/file5'), 'content over NFS')
    wait_until_whole('dir0/file5')
    whole, *rest = attributes()
    same(whole & smb2.OFFLINE, 0, 'FILE_ATTRIBUTE_OFFLINE of what NFS has read')
    same(rest, [mtime, size], 'mtime and size after that')
    attr = nfs.getattr(fh)
    same((attr.size, attr.mtime), (before.st_size, before.st_mtime_ns), 'size and mtime over NFS')
    same(stat.S_IMODE(os.stat(NEW + '/dir0/file5').st_mode), 0o666, 'mode')


@case()
def kernel_oplocks(args):
    """What an SMB client may keep to itself is taken back when an NFS client wants it; and a fill does
    not wait for that."""
    _, migration = stack(args.build, fill)
    migration.attach()
    migration.start_server()
    nfs, smb = migration.server.client(), migration.start_smbd(kernel_oplocks='yes').session('alice')

    def opened_alone():
        """(oplock, id)"""
        reply = smb.ask(smb2.create('dir0\\file5', oplock=smb2.OPLOCK_BATCH))
        same(reply.status, 0, 'open')
        return reply.body[2], reply.body[64:80]

    level, fid = opened_alone()
    same(level, smb2.OPLOCK_NONE, 'oplock of a stub')
    same(smb2.output(smb.ask(smb2.read(fid, 0, 4096))), old('dir0/file5'), 'content of a stub')
    smb.ask(smb2.close(fid))
    wait_until_whole('dir0/file5')
    # The kernel gives a lease on what nobody else has open; the retriever closes it a little later.
    wait_for('nobody has it open', lambda: not is_open('dir0/file5'))

    level, fid = opened_alone()
    same(level, smb2.OPLOCK_BATCH, 'oplock of a whole file')
    broken = []

    def given_back(connection, body):
        broken.append(body)
        smb.start(smb2.acknowledge(fid, smb2.OPLOCK_NONE))
    smb.connection.on_break = given_back
    writer = threading.Thread(target=lambda: nfs.write(nfs.walk('dir0/file5')[0], 0, b'NFS',
                                                       nfs3.FILE_SYNC))
    writer.start()
    while writer.is_alive():
        smb.connection.pump(0.1)
    expect(broken, 'the oplock was not broken for an NFS client')
    same(smb2.output(smb.ask(smb2.read(fid, 0, 3))), b'NFS', 'content after it')


@case()
def byte_ranges(args):
    """Byte-range locks are the kernel's: a lock through one is a lock for the other."""
    _, migration, nfs, smb = begin(args)
    v4, opener, owner = Holder('127.0.0.1', 1), Owner('opener'), Owner('owner')
    there = v4.open_as(opener, v4.walk('dir1')[0], 'file5')
    same(there.status, 0, 'OPEN over NFSv4')
    here = opened(smb, 'dir1\\file5')
    taken = 0xC0000054                  # STATUS_FILE_LOCK_CONFLICT
    not_granted = 0xC0000055
    now = smb2.LOCK_EXCLUSIVE | smb2.LOCK_NOW

    same(smb.ask(smb2.lock(here, [(0, 100, now)])).status, 0, 'LOCK over SMB')
    same(v4.lock(there, opener, owner, WRITE_LT, 50, 10).status, DENIED, 'the same over NFS')
    same(smb.ask(smb2.lock(here, [(0, 100, smb2.UNLOCK)])).status, 0, 'unlock over SMB')
    lock = v4.lock(there, opener, owner, WRITE_LT, 50, 10)
    same(lock.status, 0, 'LOCK over NFS after it')
    expect(smb.ask(smb2.lock(here, [(0, 100, now)])).status in (taken, not_granted),
           'a lock was granted over SMB where there is one over NFS')
    same(v4.unlock(there.handle, owner, lock.stateid, 50, 10)[0], 0, 'LOCKU')
    same(smb.ask(smb2.lock(here, [(0, 100, now)])).status, 0, 'LOCK over SMB after it')


if __name__ == '__main__':
    sys.exit(main())
