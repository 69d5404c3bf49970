#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client's use costs on the old server, counted call by call in a proxy before it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, same                            # noqa: E402
from servers import NEW, OLD, stack, wait_for                           # noqa: E402

DEPTH = 8
NOTSUPP = 10004


def tower(root, width, depth=DEPTH):
    """depth levels of directories with width subdirectories each, of which one goes on."""
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for level in range(depth):
        for n in range(width):
            os.mkdir(f'dir{n}', dir_fd=here)
        below = os.open(f'dir{width // 2}', os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    fd = os.open('file', os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(fd, b'here at last')
    os.close(fd)
    os.close(here)
    return '/'.join([f'dir{width // 2}'] * depth) + '/file'


def attached(args, fill):
    server, migration = stack(args.build, fill, proxied=True)
    server.proxy.reset()
    migration.attach()
    return server, migration, server.proxy


def singles(proxy):
    """Calls that are not a directory's fill."""
    return sum(n for name, n in proxy.counted().items() if name not in ('READDIR', 'READDIRPLUS'))


def open_cost(args, width):
    path = None

    def fill(root):
        nonlocal path
        path = tower(root, width)

    _, migration, proxy = attached(args, fill)
    # of the retriever, and of migratectl, which looks whether it may write there
    expect(proxy.total() <= 10, f'attach took {proxy.counted()}')
    migration.start_server()
    client = migration.server.client()
    proxy.reset()
    fh, _ = client.walk(path)
    data, _ = client.read(fh, 0, 100)
    cost = singles(proxy)
    same(data, b'here at last', 'content')
    print(f'width {width}: {proxy.counted()}')
    return cost


@case()
def narrow(args):
    expect(open_cost(args, 10) <= 2 * DEPTH + 4, 'too many calls')


@case()
def wide(args):
    """The same bound with directories a hundred times as wide: depth counts, width does not."""
    expect(open_cost(args, 1000) <= 2 * DEPTH + 4, 'too many calls')


@case()
def first_byte_of_a_large_file(args):
    size = 1 << 30

    def fill(root):
        with open(root + '/large', 'wb') as file:
            file.write(b'\x01' * 4096)
            file.seek(size // 2)
            file.write(b'\x02' * 4096)
            file.truncate(size)

    _, migration, proxy = attached(args, fill)
    migration.start_server()
    client = migration.server.client()
    fh, attr = client.walk('large')
    same(attr.size, size, 'size')
    for offset, byte in ((0, b'\x01'), (size // 2 + 17, b'\x02')):
        proxy.reset()
        data, _ = client.read(fh, offset, 1)
        same(data, byte, f'byte at {offset}')
        wait_for('the retriever is idle', lambda: idle(migration))
        print(f'byte at {offset}: {proxy.bytes_read >> 10} KiB in {len(proxy.reads)} READs')
        expect(proxy.bytes_read <= 16 << 20, f'{proxy.bytes_read} bytes were read for one')


def idle(migration):
    status = migration.status()
    return int(status['demand_waiting']) == 0 and int(status['background_waiting']) == 0


@case(short=True)
def nothing_is_asked_twice(args):
    """What is there costs the old server nothing more, nor does the end of the volume."""
    count = 300

    def fill(root):
        if os.path.isdir(root + '/lost+found'):     # no client looks for it
            os.rmdir(root + '/lost+found')
        for n in range(count):
            with open(f'{root}/file{n}', 'wb') as file:
                file.write(b'%d' % n * 1000)

    _, migration, proxy = attached(args, fill)
    migration.start_server()
    client = migration.server.client()
    for _ in range(2):
        for n in range(count):
            fh, _ = client.walk(f'file{n}')
            same(client.read_all(fh), b'%d' % n * 1000, f'file{n}')
        # the directory whose names were asked for is filled when nobody waits
        wait_for('the root is filled, and the retriever idle', lambda: idle(migration) and int(
            migration.status()['unfilled_directories']) == 0)
        total = proxy.total()
        proxy.reset()
    same(total, 0, 'calls for a second reading')


@case()
def without_readdirplus(args):
    """An old server that refuses READDIRPLUS: attributes come one by one, many at a time."""
    def fill(root):
        for n in range(2000):
            with open(f'{root}/file{n}', 'wb') as file:
                file.write(b'%d' % n)

    _, migration, proxy = attached(args, fill)
    proxy.refuse('READDIRPLUS', NOTSUPP)
    migration.start_server()
    client = migration.server.client()
    entries = list(client.listing(client.root))
    same({e[0] for e in entries}, {os.fsencode(n) for n in os.listdir(OLD)}, 'names')
    for name, _, attr, _ in entries:
        same(attr.mtime, os.stat(OLD + '/' + os.fsdecode(name)).st_mtime_ns, f'{name}: mtime')
    expect(proxy.counted().get('READDIR', 0) > 0, 'READDIR was not used')


@case()
def busy_old_server(args):
    """JUKEBOX from the old server is waited out, for every procedure."""
    def fill(root):
        os.mkdir(root + '/dir')
        for n in range(50):
            with open(f'{root}/dir/file{n}', 'wb') as file:
                file.write(b'%d' % n)
        os.symlink('target', root + '/dir/link')

    _, migration, proxy = attached(args, fill)
    for procedure in ('LOOKUP', 'READDIRPLUS', 'READ', 'READLINK', 'GETATTR'):
        proxy.busy(procedure, 3)
    migration.start_server()
    client = migration.server.client()
    same(client.readlink(client.walk('dir/link')[0]), b'target', 'link')
    for n in range(50):
        same(client.read_all(client.walk(f'dir/file{n}')[0]), b'%d' % n, f'file{n}')
    same(len(os.listdir(NEW + '/dir')), 51, 'entries')


if __name__ == '__main__':
    sys.exit(main())
