#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way: attach, use, crawl to the exact end, verify, finalize, take the layer away."""
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import nfs4                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import Failure, case, expect, main, no_differences, same   # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD, Migration, old_server, stack, volume      # noqa: E402


def some_handles(client, count, random):
    """{path: (handle, Attr)} of regular files anywhere."""
    paths = [os.path.relpath(p, os.fsencode(OLD)) for p in map(os.fsencode, tree.every(OLD))
             if stat.S_ISREG(os.lstat(p).st_mode)]
    return {path: client.walk(path) for path in random.sample(sorted(paths), count)}


def whole(args, files, fs=None, **settings):
    _, migration = stack(args.build, lambda root: tree.make(root, files, args.seed), fs=fs,
                         **settings)
    same(migration.status()['state'], 'unattached', 'state')
    migration.attach()
    same(migration.status()['state'], 'migrating', 'state')
    migration.start_server()
    client = migration.server.client()
    handles = some_handles(client, 50, args.random)
    expect(migration.ctl('finalize', may_fail=True) is None, 'finalize succeeds too early')

    migration.crawl()
    status = migration.status()
    same(status['state'], 'whole', 'state after the crawl')
    for name in ('directories', 'files', 'bytes'):
        same(status[f'{name}_whole'], status[f'{name}_found'], f'{name} whole')
    same(int(status['errors']), 0, 'errors')
    same(int(status['unfilled_directories']), 0, 'unfilled directories')
    migration.ctl('verify')
    same(tree.records(NEW), [], 'objects with a record')

    comparison = tree.compare(OLD, NEW)
    no_differences(comparison)
    expect(comparison.files >= files, f'only {comparison.files} files were compared')
    migration.ctl('finalize')
    same(migration.status()['state'], 'finished', 'state at the end')
    expect('read zeros' not in migration.ctl('status'), 'a finished volume is said to be without its guard')
    expect(not os.path.exists(NEW + '/.migrate'), '.migrate is still there')
    no_differences(tree.compare(OLD, NEW, data=False))

    for path, (handle, attr) in handles.items():
        same(client.getattr(handle).fileid, attr.fileid, f'{path}: fileid before the restart')
    v4 = nfs4.Client('127.0.0.1', 1)
    v4_handles = {path: v4.walk(path)[0] for path in handles}
    migration.retriever.stop()
    migration.without_layer()
    client = migration.server.client()
    v4 = nfs4.Client('127.0.0.1', 1)
    for path, (handle, attr) in handles.items():
        same(client.getattr(handle), client.walk(path)[1], f'{path}: attributes by the takeover handle')
        same(client.walk(path)[0], handle, f'{path}: handle with plain VFS')
        same(v4.walk(path)[0], v4_handles[path], f'{path}: v4 handle with plain VFS')
        with open(os.path.join(os.fsencode(OLD), path), 'rb') as file:
            same(client.read_all(handle), file.read(), f'{path}: content')


@case(short=True)
def everything(args):
    whole(args, 20000)


@case()
def depth_first_lazy(args):
    """The other policies, on a smaller tree."""
    whole(args, 2000, crawler_order='depth-first', stub_attributes='lazy')


@case()
def one_connection_small_window(args):
    whole(args, 1000, connections=1, demand_connections=1, window=1, crawler_workers=1)


def without_portmapper():
    """Ganesha answers before it has registered everything, and ends if it cannot."""
    server = old_server()
    wait_for('the old server has registered itself',
             lambda: 'NFS SERVER INITIALIZED' in open(server.process.log).read(),
             process=server.process)
    server.rpcbind.stop()
    return server


@case()
def from_nfs_version_4(args):
    """All of it by version 4.2, which is found where there is no mount service."""
    whole(args, 2000, serve=without_portmapper, version='')


@case()
def on_xfs(args):
    whole(args, 2000, fs='xfs')


@case()
def metadata_first(args):
    """migrate-crawler --metadata-only fills every directory and fetches no data."""
    server, migration = stack(args.build, lambda root: tree.make(root, 2000, args.seed),
                              proxied=True)
    proxy = server.proxy
    migration.attach()
    migration.start_server()
    proxy.reset()
    crawler = migration.start_crawler('--metadata-only')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    same(int(migration.status()['unfilled_directories']), 0, 'unfilled directories')
    same(proxy.counted().get('READ', 0), 0, 'READs')
    before = proxy.total()
    client = migration.server.client()
    list(client.listing(client.walk('departments')[0]))
    same(proxy.total(), before, 'calls to the old server for a listing')
    no_differences(tree.compare(OLD, NEW, data=False, any_mtime=lambda st: True))
    migration.crawl()
    no_differences(tree.compare(OLD, NEW))


@case()
def from_a_local_tree(args):
    """file:// serves a tree of this machine."""
    volume(OLD)
    volume(NEW)
    tree.make(OLD, 2000, args.seed)
    migration = Migration(args.build, f'file://{OLD}')
    migration.start_retriever()
    migration.attach()
    migration.start_server()
    client = migration.server.client()
    for path, (handle, _) in some_handles(client, 20, args.random).items():
        with open(os.path.join(os.fsencode(OLD), path), 'rb') as file:
            same(client.read_all(handle), file.read(), f'{path}: content')
    migration.crawl()
    no_differences(tree.compare(OLD, NEW))
    migration.ctl('finalize')
    same(tree.records(NEW), [], 'objects with a record')


@case()
def attach_refuses(args):
    """A root that is not empty, and a source that is not there."""
    server, migration = stack(args.build, lambda root: tree.make(root, 50, args.seed, 1 << 20))
    with open(NEW + '/mine', 'w'):
        pass
    before = os.listdir(NEW)
    expect(migration.ctl('attach', may_fail=True) is None, 'a root with a file in it was attached')
    same(os.listdir(NEW), before, 'names after the refusal')
    same(tree.records(NEW), [], 'records after the refusal')
    os.unlink(NEW + '/mine')
    migration.attach()
    migration.crawl()
    no_differences(tree.compare(OLD, NEW))


@case()
def source_changes(args):
    """A file that changes on the old server after its stub was made fails with a reason; nothing
    mixed is served, and the rest goes on (I12)."""
    old, migration = stack(args.build, lambda root: tree.make(root, 200, args.seed, 4 << 20))
    migration.attach()
    migration.start_server()
    client = migration.server.client()
    for _ in client.listing(client.walk('large')[0]):
        pass
    direct = old.client()           # the old server caches: not behind its back
    direct.write(direct.walk('large/4194304 bytes')[0], 2 << 20, b'changed meanwhile', 2)
    fh, _ = client.walk('large/4194304 bytes')
    try:
        client.read_all(fh)
    except nfs3.NfsError as error:
        expect(error.status in (nfs3.IO, nfs3.STALE), f'status {error.status}')
    else:
        raise Failure('a file that changed was served')
    crawler = migration.start_crawler()
    expect(crawler.wait(300) != 0, 'the crawler says that it is done')
    expect('4194304 bytes' in migration.ctl('errors'), 'the failure is not listed')
    expect(migration.ctl('finalize', may_fail=True) is None, 'finalize accepts an unfinished file')
    left = [os.path.relpath(os.fsdecode(p), NEW) for p in tree.records(NEW)]
    same(sorted(left), ['.', 'large', 'large/4194304 bytes'], 'unfinished objects')


if __name__ == '__main__':
    sys.exit(main())
