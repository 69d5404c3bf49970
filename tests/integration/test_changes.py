#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients create, change, rename and delete while the volume is migrated: what they did stands, and
everything else is as on the old server (I7)."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from mutator import Mutator                                             # noqa: E402
from sandbox import BASE, sh, volume                                    # noqa: E402
from servers import NEW, stack                                          # noqa: E402

MODEL = BASE + '/model'


def begin(args, files, largest=4 << 20, **settings):
    """(Migration, Mutator) of an attached volume."""
    volume(MODEL)

    def fill(root):
        tree.make(root, files, args.seed, largest)
        sh('cp', '-a', root + '/.', MODEL)

    _, migration = stack(args.build, fill, **settings)
    migration.attach()
    migration.start_server()
    return migration, Mutator(migration.server.client, MODEL, args.random)


def end(migration, mutator):
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')
    no_differences(tree.compare(MODEL, NEW, any_mtime=mutator.any_mtime, slack=256 << 10))
    migration.ctl('finalize')
    mutator.exact_links = True
    mutator.run(50)
    no_differences(tree.compare(MODEL, NEW, any_mtime=mutator.any_mtime, slack=256 << 10))


def guarded(mutator, operations):
    try:
        mutator.run(operations)
    except BaseException:
        print('the last operations:', *mutator.log, sep='\n  ')
        raise


@case(short=True)
def before_the_crawler(args):
    migration, mutator = begin(args, 400)
    guarded(mutator, 3000 if args.long else 800)
    end(migration, mutator)


@case()
def beside_the_crawler(args):
    """The crawler is slowed so that most changes meet it."""
    migration, mutator = begin(args, 3000, bandwidth='1M')
    crawler = migration.start_crawler()
    operations = 0
    while crawler.poll() is None and operations < (20000 if args.long else 2500):
        guarded(mutator, 10)
        operations += 10
    expect(operations >= 100, f'only {operations} changes met the crawler')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    end(migration, mutator)


@case()
def through_a_restart_of_everything(args):
    """Records carry what clients did: nothing is kept in a process."""
    migration, mutator = begin(args, 400)
    for _ in range(4):
        guarded(mutator, 150)
        migration.retriever.stop()
        migration.start_retriever()
        guarded(mutator, 50)
        migration.server.restart()
        mutator.reconnect(0)
    end(migration, mutator)


def one_file(args, size=1 << 20):
    """(Migration, client, handle, content) of a volume with one file of noise."""
    content = args.random.randbytes(size)

    def fill(root):
        with open(root + '/file', 'wb') as file:
            file.write(content)
        os.utime(root + '/file', ns=(10**18, 10**18 + 5))

    _, migration = stack(args.build, fill)
    migration.attach()
    client = migration.start_server().client()
    return migration, client, client.walk('file')[0], bytearray(content)


@case()
def write_into_missing_ranges(args):
    """Bytes that were never fetched: a write is neither undone nor does it drag its neighbours."""
    migration, client, fh, content = one_file(args)
    for offset, length in ((5, 1), (4096, 4096), (70000, 10), ((1 << 20) - 3, 10),
                           (300000, 200000)):
        data = args.random.randbytes(length)
        client.write(fh, offset, data, nfs3.FILE_SYNC)
        content[offset:offset + length] = data
    attr = client.getattr(fh)
    same(attr.size, len(content), 'size')
    same(client.read_all(fh), bytes(content), 'content')
    migration.crawl()
    same(client.read_all(fh), bytes(content), 'content at the end')
    same(client.getattr(fh).mtime, attr.mtime, 'mtime at the end')


@case(short=True)
def writes_survive_a_killed_retriever(args):
    """What a client wrote is in the record before it is answered."""
    migration, client, fh, content = one_file(args)
    for n, stable in enumerate((nfs3.UNSTABLE, nfs3.FILE_SYNC) * 4):
        offset, data = 10 + 120000 * n, args.random.randbytes(args.random.randrange(1, 9000))
        client.write(fh, offset, data, stable)
        content[offset:offset + len(data)] = data
        migration.retriever.stop(signal.SIGKILL)
        migration.start_retriever()
        if n % 3 == 0:
            same(client.read(fh, offset - 5, 100)[0], bytes(content[offset - 5:offset + 95]),
                 f'content around {offset}')
    same(client.read_all(fh), bytes(content), 'content')
    migration.crawl()
    same(client.read_all(fh), bytes(content), 'content at the end')


@case()
def truncate_and_grow(args):
    """What was cut off does not come back."""
    migration, client, fh, content = one_file(args)
    client.setattr(fh, size=100000)
    client.setattr(fh, size=500000)
    wanted = bytes(content[:100000]) + bytes(400000)
    same(client.read_all(fh), wanted, 'content')
    migration.crawl()
    same(client.read_all(fh), wanted, 'content at the end')


@case()
def truncate_to_nothing(args):
    """Fetches nothing at all."""
    migration, client, fh, _ = one_file(args)
    client.setattr(fh, size=0)
    client.write(fh, 10, b'new')
    same(client.read_all(fh), bytes(10) + b'new', 'content')
    migration.crawl()
    same(client.read_all(fh), bytes(10) + b'new', 'content at the end')
    same(int(migration.status()['bytes_fetched']), 0, 'bytes fetched')


@case()
def times_stand_still(args):
    """I8: neither a fill nor the end of a file moves a time that a client sees, but ctime once."""
    migration, client, fh, content = one_file(args)
    before = client.getattr(fh)
    same(before.mtime, 10**18 + 5, 'mtime')
    client.read(fh, 0, 1000)
    after = client.getattr(fh)
    same((after.mtime, after.ctime), (before.mtime, before.ctime), 'times after a read')
    client.setattr(fh, mode=0o600)
    changed = client.getattr(fh)
    same(changed.mtime, before.mtime, 'mtime after a change of mode')
    expect(changed.ctime > before.ctime, 'ctime does not show a change of mode')
    client.setattr(fh, mtime=10**18 + 77)
    migration.crawl()
    same(client.getattr(fh).mtime, 10**18 + 77, 'mtime at the end')
    same(os.stat(NEW + '/file').st_mtime_ns, 10**18 + 77, 'mtime on disk')
    same(client.read_all(fh), bytes(content), 'content')


@case()
def unlinked_and_still_read(args):
    """A stub that is removed while it is open can be read to its end (NFSv3 has no open: so a v4
    client holds it)."""

    migration, client, fh, content = one_file(args, 3 << 20)
    holder = nfs4.Client('127.0.0.1', 1)
    handle, stateid = holder.open(holder.root, 'file')
    same(holder.read(handle, 0, 10, stateid)[0], bytes(content[:10]), 'the beginning')
    client.remove(client.root, 'file')
    same([e[0] for e in client.listing(client.root) if e[0] != b'lost+found'], [],
         'names after the removal')
    same(holder.read_all(handle, stateid), bytes(content), 'content')
    holder.release(handle, stateid)
    migration.crawl()
    same(tree.records(NEW), [], 'objects with a record')


if __name__ == '__main__':
    sys.exit(main())
