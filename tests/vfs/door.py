# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cases of the door share: the packaged smbd with the module, and a retriever that does
what a case says (fake.py)."""
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import fake as f                            # noqa: E402
import sandbox                              # noqa: E402
import smb2                                 # noqa: E402
import smbd                                 # noqa: E402
from fake import FILL, FILLED, NAME, Fake   # noqa: E402
from harness import same                    # noqa: E402
from sandbox import BASE                    # noqa: E402

ROOT, SOCKET = BASE + '/new', '/run/quickmigrate/test.sock'
MTIME, CTIME = 10**18 + 123456700, 10**18 + 987654300      # SMB counts in 100 ns
TEXT = b'0123456789abcdef' * 4096
SHARE = 'share'
FILES = sorted(f'file{n}' for n in range(20))      # of unfilled()
LIST = dict(access=smb2.READ_DATA, options=smb2.DIRECTORY_FILE)


class World:
    """A volume with a fake retriever and a server; fill(world) makes what is in it.  settings: the
    share's; kw: of [global]."""

    def __init__(self, args, fill=None, hold=60, path=ROOT, fs=None, stack=smbd.STACK,
                 settings=None, start=True, **kw):
        sandbox.volume(ROOT, '400M', fs)
        if os.path.isdir(ROOT + '/lost+found'):     # attach does that
            os.rmdir(ROOT + '/lost+found')
        os.chmod(ROOT, 0o777)
        self.fake = Fake(SOCKET)
        f.set_record(ROOT, FILLED, 0, MTIME, CTIME)
        os.mkdir(ROOT + '/.migrate', 0o700)
        if fill:
            fill(self)
        self.fake.start()
        smbd.install_module(f'{args.module or args.build}/vfs_migrate/migrate.so')
        layer = smbd.layer('test', SOCKET, stack)
        self.server = smbd.Smbd('server', {SHARE: (path, {**layer, 'migrate:hold': str(hold),
                                                          **(settings or {})})}, **kw)
        if start:
            self.server.start()

    def path(self, name):
        return f'{ROOT}/{name}'

    def file(self, name, content=TEXT, mode=0o666, **kw):
        self.fake.file(self.path(name), content, mode=mode, **kw)

    def normal(self, name, content=b'normal'):
        with open(self.path(name), 'wb') as out:
            out.write(content)
        os.chmod(self.path(name), 0o666)

    def content(self, name):
        with open(self.path(name), 'rb') as file:
            return file.read()

    def session(self, **kw):
        return self.server.session(**kw)


def timed(call):
    start = time.monotonic()
    result = call()
    return result, time.monotonic() - start


def unfilled(world, name='dir', entries=20, **kw):
    def make(path):
        world.fake.file(path, b'content of ' + os.path.basename(path).encode(), mode=0o666)
    world.fake.directory(world.path(name), [(f'file{n}', make) for n in range(entries)], **kw)
    os.chmod(world.path(name), 0o777)


def subdirectory(world, path, entries=()):
    """For the entries of a directory: makes an unfilled one."""
    world.fake.directory(path, entries)
    os.chmod(path, 0o777)


def nested(world, top='a'):
    """a/b/c/file, all unfilled."""
    def file(path):
        world.fake.file(path, b'deep', mode=0o666)

    def c(path):
        subdirectory(world, path, [('file', file)])

    def b(path):
        subdirectory(world, path, [('c', c)])
    subdirectory(world, world.path(top), [('b', b)])


def asked(world, *ops):
    """Names and fills, or what ops says, of the retriever."""
    return [(r.op, r.text) for r in world.fake.requests() if r.op in (ops or (NAME, FILL))]


# ---- one request each ---------------------------------------------------------------------------

def status_is(reply, wanted, what):
    same(smb2.name_of(reply.status), smb2.name_of(wanted), what)
    return reply


def open_status(session, name, **kw):
    reply = session.ask(smb2.create(name, **kw))
    if not reply.status:
        session.ask(smb2.close(fid_of(reply)))
    return smb2.name_of(reply.status)


def fid_of(reply):
    """Of a reply to CREATE."""
    return reply.body[64:80]


def opened(session, name, **kw):
    return fid_of(status_is(session.ask(smb2.create(name, **kw)), smb2.SUCCESS, f'open {name}'))


def listing(session, name='', pattern='*'):
    """Names, without the dots."""
    fid = opened(session, name, access=smb2.READ_DATA, options=smb2.DIRECTORY_FILE)
    names = []
    while True:
        reply = session.ask(smb2.query_directory(fid, 12, pattern))     # FileNamesInformation
        if reply.status:
            break
        for entry in smb2.entries(smb2.output(reply)):
            length, = struct.unpack_from('<I', entry, 8)
            names.append(entry[12:12 + length].decode('utf-16-le'))
    session.ask(smb2.close(fid))
    if reply.status not in (smb2.NO_MORE_FILES, 0xC000000F):
        same(smb2.name_of(reply.status), 'NO_MORE_FILES', f'listing {name}')
    return sorted(n for n in names if n not in ('.', '..'))


def content(session, name):
    fid = opened(session, name, access=smb2.READ_DATA)
    reply = session.ask(smb2.read(fid, 0, 1 << 20))
    session.ask(smb2.close(fid))
    return smb2.output(status_is(reply, smb2.SUCCESS, f'read {name}'))
