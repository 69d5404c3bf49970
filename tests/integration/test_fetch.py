#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""migratectl fetch: what is listed comes before all else in the background and behind clients, as the
order of READs at the old server shows; whatever is killed."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD, VOLUME, stack                             # noqa: E402

SIZE = 64 << 10
LISTS = NEW + '/.migrate/fetch'


def put(path, content=None):
    with open(path, 'wb') as out:
        out.write(content or os.urandom(SIZE))


def fill(root):
    for directory, files in (('wanted', 30), ('a', 150), ('b', 150), ('c', 150), ('deep/er/still', 2)):
        os.makedirs(f'{root}/{directory}')
        for n in range(files):
            put(f'{root}/{directory}/{n:03}')
    os.symlink('wanted', root + '/link')
    put(root + '/deep/er/old')
    os.utime(root + '/deep/er/old', (0, 0))
    put(os.fsencode(root) + b'/deep/\xff\n', b'bytes')


def begin(args, **settings):
    """All names are here, and no data."""
    old, migration = stack(args.build, fill, proxied=True, **settings)
    migration.attach()
    migration.start_server()
    same(migration.start_crawler('--metadata-only').wait(300), 0, 'exit status of the crawler')
    old.proxy.reset()
    return old, migration


def fetch(migration, *arguments, stdin=None):
    """Exit status, and what was printed."""
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'fetch',
                           VOLUME, *arguments], input=stdin, stdin=None if stdin else subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500)
    return done.returncode, os.fsdecode(done.stdout)


def lists():
    return os.listdir(LISTS) if os.path.isdir(LISTS) else []


def handles(old, *paths):
    client = old.client()
    return {bytes(client.walk(path)[0]): path for path in paths}


def names(directory, n):
    return [f'{directory}/{i:03}' for i in range(n)]


def read_in_order(old):
    """The handles of files by when they were first read."""
    with old.proxy.lock:
        return list(dict.fromkeys(handle for handle, _ in old.proxy.read_of))


def is_whole(path):
    return 'security.migrate' not in os.listxattr(f'{NEW}/{path}')


@case(short=True)
def before_all_else(args):
    """The crawler has handed out all but the oldest directory already, and their files wait at the gate;
    some of these are listed, too."""
    old, migration = begin(args, bandwidth='512K')
    wanted = handles(old, *names('wanted', 30), *names('c', 110)[100:])
    not_begun = set(handles(old, *names('wanted', 30)))
    crawler = migration.start_crawler()
    old.proxy.wait_calls('READ', 12)
    status, said = fetch(migration, f'{NEW}/wanted/', *names('c', 110)[100:])
    same((status, 'list 1, 11 paths: brought from now on' in said), (0, True), f'fetch: {said}')
    expect('Fetch       list 1: ' in migration.ctl('status'), migration.ctl('status'))
    wait_for('the list is through', lambda: not lists(), 300, process=crawler)
    order = read_in_order(old)
    at = [i for i, handle in enumerate(order) if handle in wanted]
    same(len(at), 40, 'files of the list that were read')
    begun = next(i for i, handle in enumerate(order) if handle in not_begun)
    others = sum(handle not in wanted for handle in order[begun:at[-1]])
    expect(others <= 8, f'{others} other files were read meanwhile')
    expect(len(order) < 400, f'{len(order)} files were read until then')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    no_differences(tree.compare(OLD, NEW))


@case()
def behind_clients(args):
    """A client's file comes while many of the list wait; nothing else does."""
    old, migration = begin(args, bandwidth='256K')
    listed = handles(old, *names('a', 150))
    own = handles(old, 'c/149')
    crawler = migration.start_crawler('--lists')
    same(crawler.wait(300), 0, 'exit status without a list')
    status, said = fetch(migration, 'a')
    expect('no crawler runs; ' in said, said)
    crawler = migration.start_crawler('--lists')
    old.proxy.wait_calls('READ', 10)
    client = migration.server.client()
    with open(OLD + '/c/149', 'rb') as file:
        same(client.read_all(client.walk('c/149')[0]) == file.read(), True, 'what the client reads')
    order = read_in_order(old)
    expect(set(order) & set(own), 'the file of the client was read')
    expect(len(set(order) & set(listed)) < 150, 'the list was through before')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    same(set(read_in_order(old)), set(listed) | set(own), 'files that were read')
    same(lists(), [], 'lists')


@case()
def killed(args):
    """First the crawler, then the retriever; what is here is not read again."""
    old, migration = begin(args, bandwidth='1M')
    for arguments in (['a'], ['b', 'wanted']):
        same(fetch(migration, *arguments)[0], 0, 'exit status of fetch')
    for part, process in ((20, 'crawler'), (60, 'retriever')):
        crawler = migration.start_crawler('--lists')
        old.proxy.wait_calls('READ', part)
        (crawler if process == 'crawler' else migration.retriever).stop(signal.SIGKILL)
        same(sorted(lists()), ['1', '2'], f'lists after the {process} was killed')
        if process == 'retriever':
            migration.start_retriever()
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    same(lists(), [], 'lists')
    # a record goes when the bytes are durable, which the list does not wait for
    listed = [*names('a', 150), *names('b', 150), *names('wanted', 30)]
    wait_for('what was listed is whole', lambda: all(map(is_whole, listed)), 120)
    expect(not is_whole('c/000'), 'what was not listed is here')
    expect(old.proxy.repeated() < 200, f'{old.proxy.repeated()} READs once more')


@case(short=True)
def what_is_listed(args):
    """Of each kind of mistake a line, and the rest goes on."""
    old, migration = begin(args)
    status, said = fetch(migration, '--wait', '/etc/passwd', NEW + 'x', 'a/../../b', '.migrate/links',
                         'a/000', './a//001/')
    same(status, 2, f'exit status: {said}')
    for path in ('/etc/passwd', NEW + 'x', 'a/../../b', '.migrate/links'):
        expect(f'{path}: it is not below {NEW}: left out' in said, said)
    same(len(read_in_order(old)), 2, 'files that were read')
    status, said = fetch(migration, '--wait', 'a/000', 'gone', 'gone/below', 'a/001/below', 'link',
                         'link/000', 'a/002')
    same(status, 2, f'exit status: {said}')
    for line in ('gone: no such name', 'gone/below: no such name', 'a/001/below: Not a directory',
                 'link/000: a symbolic link leads on'):
        expect(line in said, said)
    same((len(read_in_order(old)), lists()), (3, []), 'files that were read, lists')
    # names are bytes; the same with lines
    status, said = fetch(migration, '--wait', '--list', '-', stdin=b'deep/\xff\n\0a/003\0')
    same((status, len(read_in_order(old))), (0, 5), f'with NULs: {said}')
    status, said = fetch(migration, '--wait', '--list', '-', stdin=b'a/004\n\nb/005\n')
    same((status, len(read_in_order(old))), (0, 7), f'lines: {said}')
    # by age, of directories and files; what is whole is not asked for again
    for age, path, n in (('30d', 'deep', 9), ('30d', 'deep/er/old', 9), ('99999w', 'deep/er/old', 10)):
        status, said = fetch(migration, '--wait', '--younger-than', age, path)
        same((status, len(read_in_order(old))), (0, n), f'younger than {age} in {path}: {said}')
    status, said = fetch(migration, '--list', '-', stdin=b'\n')
    same((status, 'no paths in it' in said), (0, True), f'an empty list: {said}')
    status, said = fetch(migration, '')
    same((status, 'left out' in said, lists()), (2, True, []), f'an empty path: {said}')
    same(fetch(migration, '--younger-than', '30', 'deep')[0], 2, 'an age without its unit')
    same(fetch(migration)[0], 2, 'exit status without anything')
    same(fetch(migration, '--wait', 'deep')[0], 0, 'exit status')
    same(len(read_in_order(old)), 10, 'files that were read')
    same(fetch(migration, '--wait')[0], 0, 'exit status without a list')


@case()
def recent_first(args):
    """Without lists: what was used of late, by either time and the later the sooner, before what a client's
    neighbours are, and that before the rest; names are bytes."""
    def fill_aged(root):
        fill(root)
        os.rename(root + '/c', os.fsencode(root) + b'/c\xff%')
        for directory, _, files in os.walk(os.fsencode(root)):
            for n, name in enumerate(sorted(files)):
                day = {b'/a': {10: (0, 0), 11: (0, 100), 12: (100, 3)},
                       b'/deep/er/still': {0: (3, 100)},
                       b'/b': {20: (20, 100)}}.get(directory[len(root):], {}).get(n, (100, 100))
                os.utime(directory + b'/' + name, tuple(time.time() - (d + 0.5) * 86400 for d in day))
    old, migration = stack(args.build, fill_aged, proxied=True, bandwidth='512K',
                           crawler_order='recent-first')
    ranks = {path: rank for rank, paths in enumerate((('a/010', 'a/011'), ('a/012', 'deep/er/still/000'),
                                                      ('b/020',))) for path in paths}
    recent = {handle: ranks[path] for handle, path in handles(old, *ranks).items()}
    beside = set(handles(old, *(b'c\xff%%/%03d' % n for n in range(150))))
    migration.attach()
    migration.start_server()
    crawler = migration.start_crawler()
    old.proxy.wait_calls('READ', 20)
    order = read_in_order(old)
    same([recent.get(handle) for handle in order[:5]], [0, 0, 1, 1, 2], 'ranks of what was read first')
    client = migration.server.client()
    with open(os.fsencode(OLD) + b'/c\xff%/149', 'rb') as file:
        same(client.read_all(client.walk(b'c\xff%/149')[0]) == file.read(), True, 'what the client reads')
    wait_for('all beside is read', lambda: beside <= set(read_in_order(old)), 300, process=crawler)
    order = read_in_order(old)
    expect(len(order) < 470, f'{len(order)} of 489 files were read until then')
    migration.ctl('throttle', argument='0')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    no_differences(tree.compare(OLD, NEW))


@case()
def by_the_usual_crawler(args):
    """What failed is kept until somebody asks."""
    old, migration = stack(args.build, fill, proxied=True)
    migration.attach()
    same(fetch(migration, 'wanted', 'gone')[0], 0, 'exit status')
    same(fetch(migration, '--names-only', 'deep')[0], 0, 'exit status')
    migration.crawl()
    same(lists(), ['1'], 'lists')
    expect('1 failed; which: migratectl fetch' in migration.ctl('status'), migration.ctl('status'))
    same(migration.status()['state'], 'whole', 'state')
    status, said = fetch(migration, '--wait')
    same((status, 'gone: no such name' in said, lists()), (2, True, []), said)


@case()
def names_alone(args):
    """Of a volume nothing of which is known."""
    old, migration = stack(args.build, fill, proxied=True)
    migration.attach()
    same(fetch(migration, '--wait', '--names-only', 'deep')[0], 0, 'exit status')
    expect(os.path.exists(NEW + '/deep/er/still/001'), 'names below are here')
    same(read_in_order(old), [], 'files that were read')
    same(os.listdir(NEW + '/a'), [], 'names elsewhere')
    same(fetch(migration, '--wait', 'wanted/007')[0], 0, 'exit status')
    same(set(read_in_order(old)), set(handles(old, 'wanted/007')), 'files that were read')


if __name__ == '__main__':
    sys.exit(main())
