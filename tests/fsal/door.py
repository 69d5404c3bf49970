# SPDX-License-Identifier: GPL-3.0-or-later
"""What the cases of the door share: the packaged ganesha.nfsd with FSAL MIGRATE, and a retriever that
does what a case says (fake.py)."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import fake as f                            # noqa: E402
import nfs3                                 # noqa: E402
import sandbox                              # noqa: E402
import servers                              # noqa: E402
from fake import FILLED, Fake               # noqa: E402
from harness import expect, same            # noqa: E402
from sandbox import BASE                    # noqa: E402
from servers import CACHES, Ganesha, plugins_with   # noqa: E402
from xdr import Rpc, opaque                 # noqa: E402

ROOT, SOCKET = BASE + '/new', '/run/quickmigrate/test.sock'
LAYER = f'Name = MIGRATE; Volume = "test"; Socket = "{SOCKET}"; FSAL {{ Name = VFS; }}'
ACCES = 13
MTIME, CTIME = 10**18 + 123456789, 10**18 + 987654321
TEXT = b'0123456789abcdef' * 4096


def all_refused(host, *handles):
    """In one way, when that host asks for their attributes."""
    answers = []

    def ask(handle):
        rpc = Rpc(host.peer, 2049)
        try:
            return rpc.call(nfs3.NFS, 3, nfs3.GETATTR, opaque(handle)).u32()
        except Exception as error:          # refused by RPC, say
            return str(error)
    host.thread(lambda: answers.extend(map(ask, handles))).join(60)
    expect(len(answers) == len(handles) and 0 not in answers, f'a stranger is answered {answers}')
    same(len(set(answers)), 1, f'kinds of answers {answers}')


class World:
    """A volume with a fake retriever and a server; fill(world) makes what is in it.  hold_ms: so long
    that only cases which want a DELAY, and say another, get one."""

    def __init__(self, args, fill=None, hold_ms=20000, path=ROOT, fs=None, fsal=LAYER, **kw):
        sandbox.volume(ROOT, '400M', fs)
        if os.path.isdir(ROOT + '/lost+found'):     # attach does that
            os.rmdir(ROOT + '/lost+found')
        self.fake = Fake(SOCKET, hold_ms)
        f.set_record(ROOT, FILLED, 0, MTIME, CTIME)
        os.mkdir(ROOT + '/.migrate', 0o700)
        if fill:
            fill(self)
        self.fake.start()
        module = sandbox.sh('find', args.module or args.build, '-name', 'libfsalmigrate.so')
        self.server = Ganesha('server', path, fsal, plugins=plugins_with(module.splitlines()[0]),
                              **{**CACHES[servers.CACHE], **kw}).start()
        if fsal == LAYER:
            self.fake.wait_connected()
        self.client = self.server.client()

    def path(self, name):
        return f'{ROOT}/{name}'

    def file(self, name, content=TEXT, **kw):
        self.fake.file(self.path(name), content, **kw)

    def normal(self, name, content=b'normal'):
        with open(self.path(name), 'wb') as out:
            out.write(content)

    def log(self):
        with open(f'{sandbox.LOGS}/server.log', errors='replace') as log:
            return log.read()

    def fh(self, name):
        return self.client.walk(name)[0]

    def content(self, name):
        with open(self.path(name), 'rb') as file:
            return file.read()


def timed(call):
    start = time.monotonic()
    result = call()
    return result, time.monotonic() - start


def read_status(client, fh, offset=0, count=16):
    return client.once(nfs3.READ, client.read_args(fh, offset, count))[0]


def kinds(requests):
    return [r.change for r in requests]


def unfilled(world, name='dir', entries=20, **kw):
    def make(path):
        world.fake.file(path, b'content of ' + os.path.basename(path).encode())
    world.fake.directory(world.path(name), [(f'file{n}', make) for n in range(entries)], **kw)
