#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes of small files, which an old SMB server is asked for together with their descriptors: taken
only where they are all of the file's, of one moment with its attributes, and fetched like any other's
where not."""
import contextlib
import os
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import smb2                                                             # noqa: E402
import smbproxy                                                         # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD                                            # noqa: E402
from smbsource import finish, put, world                                # noqa: E402

KIB = 1 << 10
SIZES = (0, 1, 4095, 4096, 4097, 65535, 65536, 65537)
SHARING_VIOLATION, LOCK_CONFLICT, INTERNAL_ERROR = 0xc0000043, 0xc0000054, 0xc00000e5
NOT_SUPPORTED, OPEN_FOR_BACKUP_INTENT = 0xc00000bb, 0x4000
INVALID_PARAMETER = 0xc000000d
BUFFER_OVERFLOW, STREAM_INFORMATION = 0x80000005, 22
# Where they are in answers: of CREATE, of QUERY_INFO for all information, of READ.
OPENED_WRITTEN, OPENED_CHANGED, OPENED_SIZE = 64 + 24, 64 + 32, 64 + 48
ATTRIBUTES, LENGTH, DATA = 72 + 32, 64 + 4, 80


def opened(session, name, **kw):
    reply = session.ask(smb2.create(name, **kw))
    same(reply.failed, False, f'the open of {name}')
    return reply.body[64:80]


def brings(create):
    """Whether a CREATE is for a descriptor and for bytes."""
    access, = struct.unpack_from('<I', create.pdu, 64 + 24)
    return bool(access & smb2.READ_CONTROL and access & smb2.READ_DATA)


class Server:
    """Counts READs, those that come with a descriptor and the others, by path."""

    def __init__(self):
        self.brought, self.alone = {}, {}

    def on_request(self, call):
        if call.command == smb2.READ and call.create:
            counts = self.brought if brings(call.create) else self.alone
            counts[call.path] = counts.get(call.path, 0) + 1


@case(short=True)
def sizes(args):
    """Up to 64 KiB they come so, and are not asked for again."""
    def make(root):
        for size in SIZES:
            put(f'{root}/{size}', args.random.randbytes(size))
        for name in ('zeros', 'hole'):
            put(f'{root}/{name}', bytes(50 * KIB))
        os.truncate(root + '/hole', 0)
        os.truncate(root + '/hole', 60 * KIB)
        put(root + '/one', b'one file' * 1000)
        for name in ('two', 'three'):
            os.link(root + '/one', f'{root}/{name}')

    server = Server()
    _, migration = world(args, make, on_request=server.on_request)
    migration.crawl()
    finish(migration)
    whole = {str(size) for size in SIZES if 0 < size <= 64 * KIB}
    names = {'one', 'two', 'three'}
    same(set(server.brought) - names, whole | {'zeros', 'hole'}, 'what came with its descriptor')
    expect(names & set(server.brought), 'a file of three names did not')
    same(set(server.alone), {'65537'}, 'what was read by itself')


class Liar(Server):
    """One lie for each file, named so, while it is asked for its descriptor.  The bytes that come then
    are others than the file's."""
    LIES = ('short', 'nothing', 'beyond', 'huge', 'more', 'end', 'locked', 'denied', 'overflow',
            'sharing', 'written', 'changed', 'grown', 'encrypted')

    def __init__(self):
        super().__init__()
        self.told = set()

    def on_reply(self, call, pdu):
        lie = os.path.basename(call.path)
        if lie not in self.LIES or not smbproxy.succeeded(pdu):
            return None
        if call.command == smb2.CREATE and brings(call):
            return self.opened(lie, pdu)
        if call.command == smb2.READ and call.create and brings(call.create):
            self.told.add(lie)
            return self.read(lie, pdu)
        return None

    def opened(self, lie, pdu):
        if lie == 'sharing':
            self.told.add(lie)
            return smbproxy.refuse(pdu, SHARING_VIOLATION)
        if lie == 'encrypted':
            self.told.add(lie)
            return smbproxy.refuse(pdu, smb2.ACCESS_DENIED)
        where = {'written': OPENED_WRITTEN, 'changed': OPENED_CHANGED, 'grown': OPENED_SIZE}
        if lie in where:
            smbproxy.change(pdu, '<Q', where[lie], lambda n: n - 1)
        return None

    @staticmethod
    def read(lie, pdu):
        status = {'end': smb2.END_OF_FILE, 'locked': LOCK_CONFLICT, 'denied': smb2.ACCESS_DENIED}
        if lie in status:
            return smbproxy.refuse(pdu, status[lie])
        pdu[DATA] ^= 0xff
        if lie == 'more':
            pdu += b'x'
        if lie == 'overflow':
            struct.pack_into('<I', pdu, 8, smb2.BUFFER_OVERFLOW)
        if lie == 'beyond':
            pdu[66] = 255
        length = {'short': lambda n: n - 1, 'nothing': lambda n: 0, 'huge': lambda n: 0x7fffffff,
                  'more': lambda n: n + 1, 'overflow': lambda n: n // 2}
        if lie in length:
            smbproxy.change(pdu, '<I', LENGTH, length[lie])
        return None


@case()
def answers_that_are_not_the_file(args):
    """No byte of them is taken, and nothing fails because of them."""
    def make(root):
        os.mkdir(root + '/directory')
        for name in (*Liar.LIES, 'honest'):
            put(f'{root}/directory/{name}', args.random.randbytes(5000))

    server = Liar()
    _, migration = world(args, make, on_request=server.on_request, on_reply=server.on_reply)
    migration.crawl()
    finish(migration)
    same(server.told, set(Liar.LIES), 'lies that were told')
    same({os.path.basename(path) for path in server.alone}, set(Liar.LIES), 'what was read again')


@case(short=True)
def streams_come_first(args):
    """Where an answer has not room for all, the bytes come later: a stream would not."""
    def make(root):
        os.mkdir(root + '/streams')

    old, migration = world(args, make, {'vfs objects': 'streams_depot acl_xattr'},
                           {'fs': 'xfs'})
    session = old.session('root')
    streams = {f'stream{n}': args.random.randbytes(64000) for n in range(16)}
    for name, data in {'': args.random.randbytes(64 * KIB), **streams}.items():
        fid = opened(session, 'streams\\file' + (name and ':' + name), disposition=smb2.OPEN_IF)
        for request in (smb2.write(fid, 0, data), smb2.close(fid)):
            same(session.ask(request).failed, False, f'a write to {name}')
    migration.crawl()
    new = NEW + '/streams/file'
    found = {name[len('user.DosStream.'):-len(':$DATA')] for name in os.listxattr(new)
             if name.startswith('user.DosStream.')}
    same(found, set(streams), 'streams')
    for name, data in streams.items():
        value = os.getxattr(new, f'user.DosStream.{name}:$DATA')
        same(value.rstrip(b'\0') == data.rstrip(b'\0'), True, f'content of {name}')
    with open(OLD + '/streams/file', 'rb') as a, open(new, 'rb') as b:
        same(a.read() == b.read(), True, 'content')


def write_streams(session, names):
    for name in names:
        fid = opened(session, 'file' + (name and ':' + name), disposition=smb2.OPEN_IF)
        for request in (smb2.write(fid, 0, name.encode()), smb2.close(fid)):
            same(session.ask(request).failed, False, f'a write to {name}')


class Short:
    """Has no room for the names of all streams, however much it is given; of one file it knows none."""

    def on_request(self, call):
        pass

    @staticmethod
    def on_reply(call, pdu):
        if call.command == smb2.QUERY_INFO and call.level == STREAM_INFORMATION:
            unknown = call.create and call.create.path.endswith('unknown')
            if unknown:
                return smbproxy.refuse(pdu, INVALID_PARAMETER)
            struct.pack_into('<I', pdu, 8, BUFFER_OVERFLOW)
        return None


@case()
def many_streams(args):
    """More than have room in an answer of 64 KiB: they come, or the file is in the report."""
    names = [f'stream{n:04}' + 'x' * 60 for n in range(400)]
    old, migration = world(args, lambda root: None, {'vfs objects': 'streams_depot acl_xattr'},
                           {'fs': 'xfs'})
    write_streams(old.session('root'), ['', *names])
    migration.crawl()
    found = {name[len('user.DosStream.'):-len(':$DATA')] for name in os.listxattr(NEW + '/file')
             if name.startswith('user.DosStream.')}
    same(found, set(names), 'streams')


@case()
def streams_that_are_not_listed(args):
    def make(root):
        for name in ('file', 'unknown'):
            put(f'{root}/{name}', b'a file')

    _, migration = world(args, make, on_reply=Short.on_reply)
    migration.crawl()
    report = migration.ctl('report')
    for name in ('file', 'unknown'):
        expect(f'{name}: xattr: streams: the old server could not list all' in report, f'the report: {report}')
    expect('cannot list them' not in report, f'of the volume: {report}')


class NoBackup:
    """Opens no stream for a backup, as streams_xattr of Samba 4.22 (VFS_OPEN_HOW_WITH_BACKUP_INTENT)."""

    def __init__(self):
        self.refused = []

    def on_request(self, call):
        if call.command != smb2.CREATE or ':' not in call.path:
            return
        options, = struct.unpack_from('<I', call.pdu, 64 + 40)
        if options & OPEN_FOR_BACKUP_INTENT:
            struct.pack_into('<I', call.pdu, 64 + 36, 99)       # no disposition: the server does nothing
            self.refused.append(call)

    def on_reply(self, call, pdu):
        create = call if call.command == smb2.CREATE else call.create
        return smbproxy.refuse(pdu, NOT_SUPPORTED) if create in self.refused else None


@case()
def streams_without_a_backups_rights(args):
    def make(root):
        for n in range(100):
            put(f'{root}/file{n}', b'a file')
            os.setxattr(f'{root}/file{n}', 'user.DosStream.one:$DATA', b'stream%d\0' % n)

    server = NoBackup()
    _, migration = world(args, make, on_request=server.on_request, on_reply=server.on_reply)
    migration.crawl()
    for n in range(100):
        same(os.getxattr(f'{NEW}/file{n}', 'user.DosStream.one:$DATA'), b'stream%d\0' % n, f'the stream of {n}')
    finish(migration)
    expect(0 < len(server.refused) < 100, f'it was refused {len(server.refused)} times')


# ---- files that change ---------------------------------------------------------------------------

class Changing(Server):
    """Each file is changed once, before it is asked for what its listing did not say."""

    def __init__(self, random):
        super().__init__()
        self.random, self.left = random, {'grow', 'shrink', 'empty', 'rewrite', 'replace', 'gone'}
        self.lock = threading.Lock()

    def on_request(self, call):
        super().on_request(call)
        name = os.path.basename(call.path)
        if call.command != smb2.CREATE or not brings(call):
            return
        with self.lock:                 # every connection has a thread
            if name in self.left:
                self.left.remove(name)
                before = os.stat(f'{OLD}/directory')
                self.change(name, f'{OLD}/directory/{name}')
                os.utime(f'{OLD}/directory', ns=(before.st_atime_ns, before.st_mtime_ns))

    def change(self, name, path):
        if name == 'gone':
            os.unlink(path)
        elif name == 'replace':
            put(OLD + '/other', self.random.randbytes(5000))
            os.rename(OLD + '/other', path)
        elif name == 'rewrite':
            with open(path, 'r+b') as file:
                file.write(self.random.randbytes(5000))
        else:
            os.truncate(path, {'grow': 7000, 'shrink': 3000, 'empty': 0}[name])


@case()
def files_that_change_after_they_were_listed(args):
    def make(root):
        put(root + '/above', b'x')
        os.mkdir(root + '/directory')
        for name in ('grow', 'shrink', 'empty', 'rewrite', 'replace', 'gone', 'stay'):
            put(f'{root}/directory/{name}', args.random.randbytes(5000))

    server = Changing(args.random)
    _, migration = world(args, make, on_request=server.on_request)
    top = os.stat(OLD)
    migration.crawl()
    os.utime(OLD, ns=(top.st_atime_ns, top.st_mtime_ns))
    same(server.left, set(), 'what was not changed')
    finish(migration)


class OneByOne(Server):
    """Takes no compounds, so that there is time between a file's bytes and its attributes; then a
    client there rewrites it.  (What is changed there by other ways, a Samba does not tell while the file
    is open.)"""

    def __init__(self, random):
        super().__init__()
        self.random, self.seen, self.rewritten = random, set(), set()
        self.lock, self.session = threading.Lock(), None

    def on_request(self, call):
        if call.create:
            return
        if call.command == smb2.READ:
            self.seen.add(call.path)
        elif (call.command == smb2.QUERY_INFO and call.level == smbproxy.ALL_INFORMATION and
              call.path in self.seen and 'file' in call.path):
            self.rewrite(call.path)

    def rewrite(self, path):
        with self.lock:
            if path in self.rewritten or len(self.rewritten) == 3:
                return
            self.rewritten.add(path)
            fid = opened(self.session, path)
            for request in (smb2.write(fid, 0, self.random.randbytes(5000)), smb2.close(fid)):
                same(self.session.ask(request).failed, False, f'a change of {path}')

    @staticmethod
    def on_reply(call, pdu):
        return smbproxy.refuse(pdu, INTERNAL_ERROR) if call.create else None


@case()
def files_that_change_after_they_were_read(args):
    """What was read before goes with what was said after for nobody."""
    def make(root):
        for n in range(20):
            put(f'{root}/file{n}', args.random.randbytes(5000))

    server = OneByOne(args.random)
    old, migration = world(args, make, on_request=server.on_request, on_reply=server.on_reply)
    server.session = old.session('root')
    migration.crawl()
    same(len(server.rewritten), 3, 'files that were rewritten')
    finish(migration)


# ---- what others do with them there --------------------------------------------------------------

@contextlib.contextmanager
def answering(session):
    """It hears of breaks inside."""
    done = threading.Event()

    def run():
        while not done.is_set():
            session.connection.pump(0.05)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@case()
def files_that_others_use(args):
    """A range that somebody has locked; bytes that a client there has not sent yet."""
    def make(root):
        for name in ('free', 'locked', 'leased'):
            put(f'{root}/{name}', args.random.randbytes(5000))

    old, migration = world(args, make)
    locking, leasing = old.session('root'), old.session('root')
    locked, leased = opened(locking, 'locked'), opened(leasing, 'leased', oplock=smb2.OPLOCK_BATCH)
    same(locking.ask(smb2.lock(locked, [(100, 10, smb2.LOCK_EXCLUSIVE | smb2.LOCK_NOW)])).failed,
         False, 'the lock')
    broken = []

    def flush(_, body):
        broken.append(body)
        # smbd writes beside: what is acknowledged before the answer may be read without it
        same(leasing.ask(smb2.write(leased, 1000, b'not sent yet' * 100)).failed, False, 'the write')
        leasing.start(smb2.acknowledge(leased, smb2.OPLOCK_II))
    leasing.connection.on_break = flush
    with answering(leasing):
        crawler = migration.start_crawler()
        same(crawler.wait(300), 2, 'exit status of the crawler')
    expect(broken, 'the client was not asked for what it has')
    same(list(migration.errors()), ['locked'], 'errors')
    locking.ask(smb2.close(locked))
    leasing.ask(smb2.close(leased))
    migration.ctl('retry')
    migration.crawl()
    with open(NEW + '/leased', 'rb') as file:
        expect(b'not sent yet' in file.read(), 'the bytes of the client there are lost')
    # as Samba told it while that client had the file open
    os.utime(OLD + '/leased', ns=(os.stat(NEW + '/leased').st_mtime_ns,) * 2)
    finish(migration)


# ---- no room -------------------------------------------------------------------------------------

def wrong():
    """Files that have no record and are not what they were."""
    found = []
    for base, _, files in os.walk(OLD):
        for name in files:
            path = NEW + base[len(OLD):] + '/' + name
            if not os.path.exists(path) or 'security.migrate' in os.listxattr(path):
                continue
            with open(path, 'rb') as a, open(f'{base}/{name}', 'rb') as b:
                if a.read() != b.read():
                    found.append(path)
    return found


@case()
def no_space(args):
    """Names go before data.  What has no record is whole, and the rest comes when there is room."""
    def make(root):
        for d in range(10):
            os.mkdir(f'{root}/{d}')
            for n in range(100):
                put(f'{root}/{d}/{n}', args.random.randbytes(60000))

    _, migration = world(args, make, new={'size': '200M'})
    ballast = NEW + '/.migrate/ballast'
    with open(ballast, 'wb') as file:
        free = os.statvfs(NEW)
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize - (20 << 20))
    same(migration.start_crawler().wait(300), 2, 'exit status of the crawler')
    expect(any('no space' in reason for reason in migration.errors().values()),
           f'the reasons: {migration.errors()}')
    same(wrong(), [], 'files without a record that differ')
    same([len(os.listdir(f'{NEW}/{d}')) for d in range(10)], [100] * 10, 'names that are here')
    os.unlink(ballast)
    migration.ctl('retry')
    migration.crawl()
    finish(migration)


# ---- clients meanwhile ---------------------------------------------------------------------------

class Holding(Server):
    """Answers nobody who wants bytes with descriptors until it is told to."""

    def __init__(self):
        super().__init__()
        self.go, self.held = threading.Event(), 0

    def on_request(self, call):
        if call.command == smb2.CREATE and brings(call) and not self.go.is_set():
            self.held += 1
            self.go.wait()


@case()
def i11_clients_pass(args):
    """As many bytes are on their way as may be, and clients wait for none of them."""
    def make(root):
        for directory, number, size in (('wide', 800, 64 * KIB), ('other', 20, 65 * KIB)):
            os.mkdir(f'{root}/{directory}')
            for n in range(number):
                put(f'{root}/{directory}/{n}', args.random.randbytes(size))

    server = Holding()
    _, migration = world(args, make, on_request=server.on_request)
    crawler = migration.start_crawler()
    wait_for('the old server holds back', lambda: server.held)
    client = migration.server.client()
    for path in ('wide/7', 'other/19', 'wide/799'):
        with open(f'{OLD}/{path}', 'rb') as file:
            same(client.read_all(client.walk(path)[0]), file.read(), path)
    for name, number in (('other', 20), ('wide', 800)):
        same(len(list(client.listing(client.walk(name)[0]))), number, f'names in {name}')
    same(crawler.poll(), None, 'exit status of the crawler by now')
    server.go.set()
    same(crawler.wait(300), 0, 'exit status of the crawler')
    finish(migration)


if __name__ == '__main__':
    sys.exit(main())
