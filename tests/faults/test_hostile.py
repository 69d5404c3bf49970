#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An old server that lies: in names, cookies, sizes, replies and in what stands round them.  Nothing
ends or grows without a bound, what is served is what it has said once, each failure is listed with
a reason, and what is honest beside it is whole (I10, I12)."""
import os
import random
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from liar import BLOCK, Liar, Node, content                             # noqa: E402
from sandbox import volume                        # noqa: E402
from servers import NEW, Migration                                      # noqa: E402
from usage import MIB, Usage                                            # noqa: E402
from xdr import u32                                                     # noqa: E402

SIZE = 3 * BLOCK + 1000
DESCRIPTORS, MEMORY = 640, 64 * MIB
UNDURABLE = 4096                # files (retriever/data/durability.c)


# ---- names and listings -----------------------------------------------------------------------

class Names(Node):
    """Names that nothing can have here, or that lead elsewhere."""

    BAD = (b'a/b', b'..', b'.', b'', b'x\0y', b'n' * 256, b'm' * 4000, b'/', b'../../etc/passwd',
           b'/etc/passwd')

    def entries(self, cookie):
        listed = [(name, child, 0) for name in self.BAD for child in [self.find(b'inner')]]
        listed += [(name, child, 0) for name, child in self.children.items()]
        listed = [(name, child, n + 1) for n, (name, child, _) in enumerate(listed)]
        return listed[cookie:], True


class SameName(Node):
    """One name for two files."""

    def entries(self, cookie):
        a, b = self.find(b'inner'), self.find(b'other')
        return [(b'inner', a, 1), (b'inner', b, 2), (b'other', b, 3)][cookie:], True


class Loop(Node):
    """Each page is the first one, and there is always another."""

    def entries(self, _):
        return [(name, child, n + 1) for n, (name, child) in enumerate(self.children.items())], False


class Repeats(Node):
    """The same names behind new cookies, for ever."""

    def entries(self, cookie):
        return [(name, child, cookie + n + 1)
                for n, (name, child) in enumerate(self.children.items())], False


class Endless(Node):
    """Names without an end, each another one."""

    def entries(self, cookie):
        return [(b'%d' % n, self.find(b'inner'), n) for n in range(cookie + 1, cookie + 101)], False


class Empty(Node):
    """Pages without entries, and never the last."""

    def entries(self, cookie):
        return [], False


class Back(Node):
    """Cookies that run backwards."""

    def entries(self, cookie):
        children = list(self.children.items())
        return [(name, child, len(children) - n)
                for n, (name, child) in enumerate(children)], cookie == 1


class Inside(Node):
    """A directory that contains itself."""

    def __init__(self, **children):
        super().__init__(**children)
        self.children[b'self'] = self


class InsideBare(Inside):
    """Likewise, and what is in it has to be looked up."""
    bare = True


# ---- files ------------------------------------------------------------------------------------

class Short(Node):
    """The end comes before the size."""

    def read(self, offset, count):
        data = self.data[:5000][offset:offset + count]
        return len(data), True, data


class Nothing(Node):
    """No byte, and no end either."""

    def read(self, offset, count):
        return 0, False, b''


class Drops(Node):
    """A few bytes at a time."""

    def read(self, offset, count):
        _, _, data = super().read(offset, min(count, 1000))
        return len(data), offset + len(data) >= self.size, data


class More(Node):
    """More than was asked for."""

    def read(self, offset, count):
        data = content(self.number, offset + count + 5000)[offset:]
        return len(data), False, data


class Counts(Node):
    """A count that is not that of the bytes."""

    def read(self, offset, count):
        _, eof, data = super().read(offset, count)
        return count + 1000, eof, data[:-100]


class Grows(Node):
    """Another size and mtime with each look."""

    def attributes(self):
        self.size += 1000
        self.time += 1
        return super().attributes()


class Huge(Node):
    """Eight EiB."""

    def attributes(self):
        size, self.size = self.size, (1 << 63) - 1
        try:
            return super().attributes()
        finally:
            self.size = size


class Turns(Node):
    """A directory, a file, a fifo, one after the other."""

    def attributes(self):
        self.type = {nfs3.REG: nfs3.DIR, nfs3.DIR: nfs3.FIFO}.get(self.type, nfs3.REG)
        return super().attributes()


class NoType(Node):
    """Of a type that there is not."""

    def attributes(self):
        return u32(77) + super().attributes()[4:]


# ---- replies ----------------------------------------------------------------------------------

def poisoned(reply):
    """The same reply with other bytes at its end."""
    return reply[:-64] + b'!' * 64


class Twice(Node):
    """The right reply, then another one to the same question."""

    def send(self, connection, xid, procedure, reply):
        connection.sendall(reply)
        if procedure == nfs3.READ:
            connection.sendall(poisoned(reply))


class Early(Node):
    """Replies to what has not been asked yet, before the one to what was."""

    def send(self, connection, xid, procedure, reply):
        if procedure == nfs3.READ:
            for n in range(1, 30):
                connection.sendall(reply[:4] + u32(xid + n) + poisoned(reply)[8:])
        connection.sendall(reply)


class Late(Node):
    """After seconds, in no order."""

    def send(self, connection, xid, procedure, reply):
        if procedure != nfs3.READ:
            connection.sendall(reply)
            return
        timer = threading.Timer(1 + xid % 7 / 5, self.deliver, (connection, reply))
        timer.daemon = True
        timer.start()

    @staticmethod
    def deliver(connection, reply):
        try:
            connection.sendall(reply)
        except OSError:
            pass


class Sometimes(Node):
    """Wrong the first times, then right."""

    times = 5

    def send(self, connection, xid, procedure, reply):
        if procedure != nfs3.READ or self.times <= 0:
            connection.sendall(reply)
            return
        self.times -= 1
        self.wrong(connection, xid, reply)


class Truncated(Sometimes):
    """A record that is shorter than what it holds."""

    def wrong(self, connection, xid, reply):
        cut = reply[4:len(reply) // 2 * 4 // 4]
        connection.sendall(u32(len(cut) | 1 << 31) + cut)


class Half(Sometimes):
    """The connection breaks in the middle."""

    def wrong(self, connection, xid, reply):
        connection.sendall(reply[:len(reply) // 2])
        connection.shutdown(socket.SHUT_RDWR)


class Mark(Sometimes):
    """A record of 2 GiB."""

    def wrong(self, connection, xid, reply):
        connection.sendall(b'\xff\xff\xff\xff' + reply[4:])
        connection.shutdown(socket.SHUT_WR)


class Fragments(Sometimes):
    """Fragments of nothing."""

    def wrong(self, connection, xid, reply):
        connection.sendall(bytes(4) * 50000)
        connection.sendall(reply)


class Garbage(Sometimes):
    """No RPC at all."""

    def wrong(self, connection, xid, reply):
        connection.sendall(u32(4000 | 1 << 31) + struct.pack('>I', xid) + os.urandom(3996))


class Denied(Sometimes):
    """The call is rejected, for want of rights."""

    def wrong(self, connection, xid, reply):
        connection.sendall(u32(20 | 1 << 31) + struct.pack('>5I', xid, 1, 1, 1, 1))


class Chance(Node):
    """Any of these, now and then, whatever was asked."""

    random = random.Random()
    kinds = (Twice, Early, Truncated, Half, Mark, Fragments, Garbage, Denied)

    def send(self, connection, xid, procedure, reply):
        kind = self.random.choice(self.kinds)
        if self.random.random() > 0.1:
            connection.sendall(reply)
        elif issubclass(kind, Sometimes):
            kind.wrong(self, connection, xid, reply)
        else:
            kind.send(self, connection, xid, nfs3.READ, reply)


# ---- the cases --------------------------------------------------------------------------------

def inner():
    return {'inner': Node(2000), 'other': Node(3000)}


class World:
    """lies: {name: Node} in the root, beside what is honest."""

    def __init__(self, args, lies, size):
        self.args, self.lies = args, lies
        self.honest = {f'file{n}': Node(SIZE) for n in range(20)}
        self.liar = Liar(Node(honest=Node(**self.honest), **lies))
        volume(NEW, size, mkfs=('-b', '4096'))      # attach refuses smaller blocks
        self.migration = Migration(args.build, self.liar.url, hold_ms=300)
        self.migration.start_retriever()
        self.migration.attach()
        self.migration.start_server()
        self.client = self.migration.server.client(patience=2)
        self.ids = self.migration.retriever.pid, self.migration.server.process.pid
        self.refused = set()
        self.counts = {'served': 0, 'refused': 0, 'delayed': 0}

    def usage(self):
        return Usage(lambda: sum(self.counts.values()), 0.05, retriever=self.ids[0], ganesha=self.ids[1])

    def note(self, path, error):
        self.counts['delayed' if error.status == nfs3.JUKEBOX else 'refused'] += 1
        self.refused.add(f'{path}: {error}')

    def look(self, path, node, depth=0):
        """As a client: all that can be had of it is what the server has said."""
        try:
            fh, attr = self.client.walk(path)
            if attr.type == nfs3.DIR:
                for name, _, _, _ in self.client.listing(fh):
                    expect(b'/' not in name and b'\0' not in name and 0 < len(name) < 256,
                           f'{path}: the name {name!r} is shown')
                for name, child in node.children.items():
                    if child is not node and depth < 3:
                        self.look(f'{path}/{name.decode()}', child, depth + 1)
            elif attr.type == nfs3.REG:
                self.read(path, node, fh, min(attr.size, SIZE))
        except nfs3.NfsError as error:
            self.note(path, error)

    def read(self, path, node, fh, size):
        for offset in range(0, size, BLOCK):
            try:
                data, _ = self.client.read(fh, offset, BLOCK)
            except nfs3.NfsError as error:
                self.note(path, error)
                continue
            self.counts['served'] += 1
            self.right(path, node, offset, data)

    @staticmethod
    def right(path, node, offset, data):
        wanted = content(node.number, offset + len(data))[offset:]
        if data != wanted:
            at = next(i for i, (x, y) in enumerate(zip(data, wanted)) if x != y)
            expect(False, f'{path}: wrong from byte {offset + at}: {data[at:at + 20]!r}')

    def run(self, crawl=600, ends=True, descriptors=DESCRIPTORS):
        """Everything is looked at by a client, then moved as far as it can be.  ends: the crawler
        does within so many seconds; else it is stopped."""
        with self.usage() as usage:
            if not ends:                # there may be no room for it later
                self.look('honest', self.liar.root.find(b'honest'))
            for name, node in self.lies.items():
                self.look(name, node)
            crawler = self.migration.start_crawler('--once', '--quiet')
            try:
                crawler.wait(crawl)
                ended = True
            except subprocess.TimeoutExpired:
                ended = False
                crawler.stop()
        same((self.migration.retriever.poll(), self.migration.server.process.poll()), (None, None),
             'who has ended')
        errors = self.migration.errors() if ends else {}
        self.stored()
        print(f'faults hostile case={self.args.name} seed={self.args.seed} lies={len(self.lies)} '
              f'calls={self.liar.calls} errors={len(errors)} {usage.figures()} ' +
              ' '.join(f'{k}={v}' for k, v in self.counts.items()))
        for path, reason in sorted(errors.items()):
            print(f'    {path}: {reason}')
            expect(len(reason) > 3, f'{path} has no reason')
        if self.args.long:
            print(*sorted(self.refused), sep='\n    ')
        usage.bounded(descriptors, MEMORY, descriptors)
        expect(ended or not ends, f'the crawler is not done after {crawl} s')
        for name, node in self.honest.items():
            expect(whole(f'honest/{name}') or not ends, f'honest/{name} is not whole')
            served = self.client.read_all(self.client.walk(f'honest/{name}')[0])
            same(len(served), node.size, f'size of honest/{name}')
            self.right(f'honest/{name}', node, 0, served)
        if not ends:
            return
        for name in self.lies:
            listed = any(path == name or path.startswith(name + '/') for path in errors)
            expect(listed or whole(name), f'{name} is not whole, and is not listed')

    def stored(self):
        """What has no record here is as the server said."""
        for base, _, names in os.walk(NEW):
            if base.startswith(NEW + '/.migrate'):
                continue
            for name in names:
                path = f'{base[len(NEW) + 1:]}/{name}'.lstrip('/')
                node = self.find(path)
                if node and whole(path) and os.path.isfile(f'{NEW}/{path}'):
                    with open(f'{NEW}/{path}', 'rb') as file:
                        self.right(path, node, 0, file.read(4 * SIZE))

    def find(self, path):
        node = self.liar.root
        for name in path.split('/'):
            node = node and node.find(name.encode())
        return node


def whole(path):
    try:
        return 'security.migrate' not in os.listxattr(f'{NEW}/{path}', follow_symlinks=False)
    except OSError:             # it is not there, or has no path that can be said
        return False


def begin(args, name, lies, size='16G'):
    args.name = name
    return World(args, lies, size)


@case(short=True)
def names(args):
    world = begin(args, 'names', {'names': Names(**inner()), 'same': SameName(**inner())})
    world.run()
    expect(not os.path.exists(NEW + '/../a') and sorted(os.listdir(NEW)) ==
           ['.migrate', 'honest', 'names', 'same'], f'in the root: {os.listdir(NEW)}')


@case()
def cookies(args):
    begin(args, 'cookies', {'loop': Loop(**inner()), 'empty': Empty(**inner()),
                            'back': Back(**inner())}).run()


@case()
def repeats(args):
    begin(args, 'repeats', {'repeats': Repeats(**inner())}).run(120)


@case()
def endless(args):
    """More names than there can be: nothing tells this from a large directory until the new file
    system is full.  What has come keeps descriptors until it is durable, up to a limit."""
    begin(args, 'endless', {'endless': Endless(**inner())}, '40M').run(
        60 if args.long else 10, ends=False, descriptors=DESCRIPTORS + UNDURABLE)


@case()
def numbers(args):
    """One number for several files of two names each, and when one of these is here, another fsid."""
    files = [Node(SIZE) for _ in range(4)]
    for file in files:
        file.told, file.links = 77, 2
    far = Node(SIZE), Node(SIZE)
    far[1].links = 2
    below = Node(stub=far[0], one=far[1], deep=Node(two=far[1]))    # another file system
    for node in below.all():
        node.fsid = 20
    world = begin(args, 'numbers', {f'{d}{n}': Node(name=file) for d in 'ab'
                                    for n, file in enumerate(files)} | {'below': below})
    for n, file in enumerate(files):
        world.look(f'a{n}', world.lies[f'a{n}'])
    for path in ('below/stub', 'below/one'):
        world.client.walk(path)
    Node.fsid = 8
    for node in below.all():
        node.fsid = 31
    world.run()
    same(os.stat(NEW + '/below/one').st_ino, os.stat(NEW + '/below/deep/two').st_ino, 'below')
    Node.fsid = 7
    same(world.migration.errors(), {}, 'errors')
    same(world.refused, set(), 'refused')
    inodes = [[os.stat(f'{NEW}/{d}{n}/name').st_ino for d in 'ab'] for n in range(len(files))]
    same([a == b for a, b in inodes], [True] * len(files), 'names of one file')
    same(len({a for a, _ in inodes}), len(files), 'files')


@case()
def inside(args):
    begin(args, 'inside', {'inside': Inside(**inner()),
                           'bare': InsideBare(**inner())}).run(120)


@case()
def files(args):
    begin(args, 'files', {kind.__name__.lower(): kind(SIZE) for kind in (
        Short, Nothing, Drops, More, Counts, Grows, Huge, Turns, NoType)}).run()


@case()
def replies(args):
    begin(args, 'replies', {f'{kind.__name__.lower()}{n}': kind(SIZE) for n in range(3) for kind in (
        Twice, Early, Late, Truncated, Half, Mark, Fragments, Garbage, Denied)}).run()


@case(short=True)
def once(args):
    """No client is told of a reply that makes no sense, if the next one does."""
    lies = {kind.__name__.lower(): kind(SIZE) for kind in (Truncated, Half, Mark, Fragments, Garbage)}
    for node in lies.values():
        node.times = 1
    world = begin(args, 'once', lies)
    world.run()
    same(world.counts['refused'], 0, 'reads refused')
    same(world.refused, set(), 'refused')
    same([name for name in lies if not whole(name)], [], 'not whole')


@case()
def chance(args):
    """In every tenth reply about some files and directories something is wrong."""
    Chance.random = args.random
    begin(args, 'chance', {f'dir{d}': Chance(**{f'file{n}': Chance(SIZE) for n in range(8)})
                           for d in range(40 if args.long else 4)}).run(600)


class AnyCase(Node):
    """Answers to a name in any case of its letters."""

    def find(self, name):
        return next((node for own, node in self.children.items() if own.lower() == name.lower()), None)


class Hides(Node):
    """Answers to names that it does not list."""

    def __init__(self, hidden, **children):
        super().__init__(**children, **hidden)
        self.hidden = {name.encode() for name in hidden}

    def entries(self, cookie):
        listed = [(name, node, n + 1) for n, (name, node) in enumerate(self.children.items())
                  if name not in self.hidden]
        return listed[cookie:], True


@case()
def spellings(args):
    """One object has one name here, which is the listed one (I13)."""
    world = begin(args, 'spellings', {
        'case': AnyCase(Report=Node(SIZE), other=Node(SIZE)),
        'snap': Hides({'.snapshot': Node(**inner())}, **inner()),
        'hides': Hides({'.history': Node(SIZE), '.old': Node(**inner())}, **inner())})
    client = world.client
    for path in ('case/REPORT', 'case/report', 'snap/.snapshot'):
        try:
            client.walk(path)
            expect(False, f'{path} is there')
        except nfs3.NfsError as error:
            same(error.status, nfs3.NOENT, path)
    client.walk('hides/.history')
    client.walk('hides/.old/inner')
    same(sorted(entry[0] for entry in client.listing(client.walk('hides')[0])),
         [b'inner', b'other'], 'names')
    world.lies.clear()                  # nobody is to ask for what they hide
    world.run()
    same(sorted(os.listdir(NEW + '/case')), ['Report', 'other'], 'names')
    for name in ('snap', 'hides'):
        same(sorted(os.listdir(f'{NEW}/{name}')), ['inner', 'other'], name)
        expect(whole(name), f'{name} is not whole')
    same(world.migration.errors(), {}, 'errors')


if __name__ == '__main__':
    sys.exit(main())
