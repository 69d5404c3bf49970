#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that come and go while a volume migrates: `rules --apply` sets aside what is the old server's alone,
and brings what was left out; what a client has made or changed stays.  The way back never takes the one or the
other for something that a client has removed."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smbtree                                                          # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from ruled import content, names, reported                              # noqa: E402
from sandbox import BASE, sh                                            # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, stack, volume          # noqa: E402
from smbfiles import Files, Refused                                     # noqa: E402
from smbsource import put                                               # noqa: E402

BACK = BASE + '/back'
EXCLUDE = '*.tmp /cache/ mixed/'
OLDS = ['first/x', 'first/a.tmp', 'first/b.tmp', 'first/dirty.tmp', 'first/mode.tmp', 'first/plain', 'first/gone',
        'first/one', 'cache/1', 'cache/2', 'cache/sub/3', 'mixed/4', 'mixed/5', 'd/deep.tmp/6', 'd/7', 'e/8.tmp']
UNCHANGED = {'first/a.tmp': '*.tmp', 'first/b.tmp': '*.tmp', 'first/link.tmp': '*.tmp', 'cache': '/cache/',
             'd/deep.tmp': '*.tmp', 'e/8.tmp': '*.tmp'}


def old_tree(root):
    for path in OLDS:
        os.makedirs(os.path.dirname(f'{root}/{path}'), exist_ok=True)
        put(f'{root}/{path}', path.encode() * 20_000)
    os.link(root + '/first/one', root + '/first/two.tmp')
    os.symlink('x', root + '/first/link.tmp')


def set_rules(migration, **settings):
    migration.configure(source=migration.source, **settings)
    migration.retriever.stop()
    migration.start_retriever()


def begin(args, **settings):
    old, migration = stack(args.build, old_tree, rollback_source=BACK, **settings)
    os.makedirs(BACK)
    sh('mount', '--bind', OLD, BACK)
    migration.start_journal()
    migration.attach()
    migration.start_server()
    return migration, migration.server.client(), old


def there_and_back(args, whole):
    migration, client, _ = begin(args)
    settings = {'rollback_source': BACK}
    if whole:
        migration.crawl()
    else:
        same(migration.start_crawler('--metadata-only').wait(300), 0, 'status of the crawler')
    first = client.walk('first')[0]
    client.write(client.walk('first/dirty.tmp')[0], 0, b'D', nfs3.FILE_SYNC)
    client.setattr(client.walk('first/mode.tmp')[0], mode=0o600)
    client.write(client.create(first, 'own.tmp'), 0, b'own', nfs3.FILE_SYNC)
    client.rename(first, 'plain', first, 'moved.tmp')
    client.write(client.walk('mixed/4')[0], 0, b'M', nfs3.FILE_SYNC)
    client.rename(client.root, 'e', client.root, 'f')
    before = names(NEW)

    migration.configure(source=migration.source, exclude=EXCLUDE, **settings)
    same(migration.ctl('rules', may_fail=True), None, 'an answer by rules that are not those of the file')
    set_rules(migration, exclude=EXCLUDE, **settings)
    said = migration.ctl('rules')
    expect('exclude = /cache/: names 5 objects here (488.3\u00a0KiB): 1 would be set aside' in said, said)
    for path, why in {'first/dirty.tmp': "client's", 'first/mode.tmp': "client's", 'first/own.tmp': "client's",
                      'first/moved.tmp': "client's", 'first/two.tmp': 'other names', 'mixed': "client's",
                      'f/8.tmp': 'moved its directory'}.items():
        expect(any(line.startswith(path + ': stays') and why in line for line in said.splitlines()),
               f'{path}: {why}: {said}')
    same(names(NEW), before, 'what a look has left')
    same(migration.ctl('rules', '--apply', may_fail=True), None, 'what nobody has agreed to')
    said = migration.ctl('rules', '--apply', '--yes')
    gone = set(UNCHANGED) - {'e/8.tmp'}
    expect(f'{len(gone)} set aside, 0 brought' in said, said)
    same({path for path in before if not any(path == top or path.startswith(top + '/') for top in gone)},
         names(NEW), 'what is here')
    same(reported(migration), {path: 'exclude = ' + UNCHANGED[path] for path in gone}, 'the report')
    if whole:
        for path in ('first/a.tmp', 'cache/sub/3', 'd/deep.tmp/6'):
            same(content(f'{NEW}/.migrate/aside/{path}'), path.encode() * 20_000, f'{path} aside')

    client.write(client.create(first, 'new'), 0, b'new', nfs3.FILE_SYNC)    # these are compared, then
    client.remove(first, 'gone')
    client.mkdir(client.root, 'made')
    client.remove(client.walk('d')[0], '7')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    for path in ('first/a.tmp', 'first/b.tmp', 'cache/1', 'cache/2', 'cache/sub/3', 'd/deep.tmp/6', 'mixed/5'):
        same(content(f'{OLD}/{path}'), path.encode() * 20_000, f'{path} there')
    same(os.readlink(OLD + '/first/link.tmp'), 'x', 'a symbolic link there')
    same(content(OLD + '/first/own.tmp'), b'own', "a client's file there")
    same(content(OLD + '/first/dirty.tmp')[:1], b'D', 'what a client wrote there')
    same(content(OLD + '/first/moved.tmp'), b'first/plain' * 20_000, 'what a client renamed there')
    same({path for path in ('first/gone', 'd/7', 'e/8.tmp') if os.path.exists(f'{OLD}/{path}')}, set(),
         'what clients removed')
    migration.crawl()
    migration.ctl('verify', '--content')

    client.write(client.create(first, 'a.tmp'), 0, b'mine', nfs3.FILE_SYNC)
    set_rules(migration, **settings)
    said = migration.ctl('rules')
    expect('exclude = *.tmp: is no rule for 4 objects' in said, said)
    said = migration.ctl('rules', '--apply', '--yes')
    expect('0 set aside, 4 brought' in said, said)
    expect("first/a.tmp: stays as it is: a client has made something of that name" in said, said)
    same(reported(migration), {'first/a.tmp': 'exclude = *.tmp'}, 'the report')
    same(nfs3.status_of(lambda: client.walk('first/b.tmp')), 0, 'status of a lookup of what was brought')
    migration.crawl()
    same(before - {'first/gone', 'd/7'} | {'first/new', 'made'}, names(NEW), 'what is here again')
    for path in ('first/b.tmp', 'cache/1', 'cache/sub/3', 'd/deep.tmp/6'):
        same(content(f'{NEW}/{path}'), path.encode() * 20_000, path)
    same(content(NEW + '/first/a.tmp'), b'mine', "the client's")
    same(migration.ctl('rules').count('is no rule for 1 object'), 1, 'what is left to say')
    client.remove(first, 'b.tmp')
    client.write(client.walk('cache/1')[0], 0, b'C', nfs3.FILE_SYNC)
    client.remove(client.walk('cache/sub')[0], '3')
    done = migration.rollback(may_fail=True)
    same({line['path'] for line in done['conflicts']} >= {'first/a.tmp'}, True, f'conflicts: {done["conflicts"]}')
    same(content(OLD + '/first/a.tmp'), b'first/a.tmp' * 20_000, 'what a rule had left there')
    same(content(OLD + '/cache/1')[:1], b'C', 'what a client wrote to what was brought')
    same({path for path in ('first/b.tmp', 'cache/sub/3') if os.path.exists(f'{OLD}/{path}')}, set(),
         'what a client removed of what was brought')
    for path in ('cache/2', 'd/deep.tmp/6'):
        same(content(f'{OLD}/{path}'), path.encode() * 20_000, f'{path} there')
    migration.ctl('verify', '--content')


@case(short=True)
def stubs(args):
    there_and_back(args, False)


@case(short=True)
def whole_files(args):
    there_and_back(args, True)


@case()
def left_out_from_the_beginning(args):
    """And then not any more: in directories that are whole, filled, and unfilled; a name of a file that has
    another one; what the old server has removed since, and what another rule names."""
    migration, client, old = begin(args, exclude=EXCLUDE)
    settings = {'rollback_source': BACK}
    migration.crawl()
    same(names(NEW) & {'first/two.tmp', 'cache', 'mixed', 'd/deep.tmp', 'e/8.tmp'}, set(), 'what is left out')
    there = old.client()
    there.remove(there.walk('e')[0], '8.tmp')
    client.create(client.walk('e')[0], 'own')
    client.rename(client.root, 'd', client.root, 'g')
    set_rules(migration, exclude='*/b.tmp', **settings)
    said = migration.ctl('rules', '--apply', '--yes')
    expect('e/8.tmp: stays as it is: the old server does not have it any more' in said, said)
    expect('d/deep.tmp: stays as it is: its directory is not here any more' in said, said)
    same(reported(migration), {'first/b.tmp': 'exclude = *.tmp', 'd/deep.tmp': 'exclude = *.tmp',
                               'e/8.tmp': 'exclude = *.tmp'}, 'the report')
    migration.crawl()
    for path in ('first/a.tmp', 'first/mode.tmp', 'cache/sub/3', 'mixed/4'):
        same(content(f'{NEW}/{path}'), path.encode() * 20_000, path)
        same(os.stat(f'{NEW}/{path}').st_mtime_ns, os.stat(f'{OLD}/{path}').st_mtime_ns, f'mtime of {path}')
    parted = os.stat(NEW + '/first/two.tmp').st_ino != os.stat(NEW + '/first/one').st_ino
    expect(not parted or 'first/two.tmp' in migration.ctl('report'), 'a hard link is two files, and nothing says so')
    migration.ctl('verify', '--content')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    same(os.path.exists(OLD + '/g/deep.tmp/6'), True, 'what is left out in what a client renamed')


@case()
def killed_in_between(args):
    """A line is there before its object leaves, and until one that came is durable: the next run ends it."""
    migration, client, _ = begin(args)
    settings = {'rollback_source': BACK}
    migration.crawl()
    migration.configure(source=migration.source, exclude='a.tmp b.tmp', **settings)
    migration.retriever.stop()
    with open(NEW + '/.migrate/report', 'a', encoding='ascii') as report:
        report.write(f'rule\t{NEW}/first/a.tmp\texclude = a.tmp\n')
    migration.start_retriever()
    client.remove(client.walk('first')[0], 'gone')
    migration.rollback()                # of a line whose object is here
    same(content(OLD + '/first/a.tmp'), b'first/a.tmp' * 20_000, 'a file there')
    expect('2 set aside' in migration.ctl('rules', '--apply', '--yes'), 'apply')
    same(reported(migration).keys(), {'first/a.tmp', 'first/b.tmp'}, 'the report')
    set_rules(migration, **settings)
    expect('2 brought' in migration.ctl('rules', '--apply', '--yes'), 'apply')
    migration.retriever.stop()
    with open(NEW + '/.migrate/report', 'a', encoding='ascii') as report:
        report.write(f'rule\t{NEW}/first/a.tmp\texclude = a.tmp\n')
    migration.start_retriever()
    expect('1 brought' in migration.ctl('rules', '--apply', '--yes'), 'apply')
    same(reported(migration), {}, 'the report')
    migration.crawl()
    migration.ctl('verify', '--content')


@case()
def in_use(args):
    """What is open stays, and what is here alone; and without the journal nobody knows what is a client's."""
    migration, _, old = begin(args)
    settings = {'rollback_source': BACK}
    migration.crawl()
    set_rules(migration, exclude='*.tmp', **settings)
    there = old.client()
    there.remove(there.walk('e')[0], '8.tmp')
    with open(NEW + '/first/a.tmp', 'rb'), open(NEW + '/d/deep.tmp/6', 'rb'):
        said = migration.ctl('rules', '--apply', '--yes')
    expect('e/8.tmp: stays as it is: the old server does not have it' in said, said)
    expect(os.path.lexists(NEW + '/e/8.tmp') and 'e/8.tmp' not in reported(migration), 'what is here alone')
    for path in ('first/a.tmp', 'd/deep.tmp'):
        expect(f'{path}: stays as it is: it is open' in said, said)
        expect(os.path.lexists(f'{NEW}/{path}'), path)
        expect(path not in reported(migration), f'{path} is in the report')
    expect('2 set aside' in migration.ctl('rules', '--apply', '--yes'), 'apply')
    set_rules(migration, exclude='x', **settings)
    migration.journal.stop()
    same(migration.ctl('rules', '--apply', '--yes', may_fail=True), None, 'what is done without a journal')
    expect(os.path.lexists(NEW + '/first/x'), 'a file')
    expect(not os.path.lexists(NEW + '/first/a.tmp'), 'what a rule names no more is not brought without a journal')


@case()
def through_handles(args):
    """A client that has the handles of what was set aside changes it there, or takes something out of it: the old
    server keeps its own."""
    migration, client, _ = begin(args)
    migration.crawl()
    held = {path: client.walk(path)[0] for path in ('first/a.tmp', 'cache', 'cache/1', 'd/deep.tmp')}
    set_rules(migration, exclude='*.tmp /cache/', rollback_source=BACK)
    migration.ctl('rules', '--apply', '--yes')
    for path in ('first/a.tmp', 'cache/1'):
        client.write(held[path], 0, b'Z', nfs3.FILE_SYNC)
    client.remove(held['cache'], '2')
    client.create(held['cache'], 'new')
    client.remove(held['d/deep.tmp'], '6')
    client.remove(client.walk('first')[0], 'gone')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    for path in ('first/a.tmp', 'cache/1', 'cache/2', 'd/deep.tmp/6'):
        same(content(f'{OLD}/{path}'), path.encode() * 20_000, f'{path} there')
    same([os.path.lexists(f'{OLD}/{path}') for path in ('cache/new', 'first/gone')], [False] * 2, 'what is there')


def old_share(session, _random, _files):
    old = Files(session)
    old.set_basic('', created=125_000_000_000_000_000)      # else smbd makes one of the root's times
    for directory in ('first', 'Cache', 'Cache/sub'):
        old.mkdir(directory)
    for path in ('first/x', 'first/A.TMP', 'first/b.tmp', 'first/c.tmp', 'first/dirty.tmp', 'Cache/1', 'Cache/sub/2'):
        old.write(path, path.encode() * 20_000)
        old.write(path + ':stream', b'of ' + path.encode())
    old.set_basic('first/A.TMP', created=126_000_000_000_000_000)
    return []


@case()
def over_smb(args):
    """From an old SMB server, which compares names without case, and back to it: stubs and whole files, with
    their streams."""
    old, _ = smbtree.old_tree(args.random, make=old_share)
    volume(NEW)
    settings = smbtree.with_accounts(old)
    migration = Migration(args.build, **settings)
    migration.source = settings.pop('source')
    migration.start_retriever()
    migration.start_journal()
    migration.attach()
    new = Files(migration.start_smbd().session('root'))
    same(migration.start_crawler('--metadata-only').wait(300), 0, 'status of the crawler')
    new.read('first/A.TMP')
    new.read('cache/SUB/2')
    new.write('first/dirty.tmp', b'D')
    before = names(NEW)
    set_rules(migration, exclude='*.tmp /cache/', **settings)
    said = migration.ctl('rules', '--apply', '--yes')
    gone = {'first/A.TMP': '*.tmp', 'first/b.tmp': '*.tmp', 'first/c.tmp': '*.tmp', 'Cache': '/cache/'}
    expect("first/dirty.tmp: stays as it is" in said and f'{len(gone)} set aside, 0 brought' in said, said)
    same(names(NEW), {'first', 'first/x', 'first/dirty.tmp'}, 'what is here')
    same(reported(migration), {path: 'exclude = ' + rule for path, rule in gone.items()}, 'the report')
    for path in ('first/A.TMP', 'Cache/sub/2'):
        same(content(f'{NEW}/.migrate/aside/{path}'), path.encode() * 20_000, f'{path} aside')
    for path in ('first/a.tmp', 'CACHE/1'):
        try:
            new.read(path)
            expect(False, f'{path} is here')
        except Refused as refused:
            expect(refused.name in ('OBJECT_NAME_NOT_FOUND', 'OBJECT_PATH_NOT_FOUND'), f'{path}: {refused}')
    new.unlink('first/x')
    same(migration.rollback()['conflicts'], [], 'conflicts')
    same(names(OLD), before - {'first/x'}, 'what is there')
    same(content(OLD + '/first/dirty.tmp')[:1], b'D', 'what a client wrote there')
    migration.crawl()
    new.write('first/a.tmp', b'mine')
    set_rules(migration, **settings)
    said = migration.ctl('rules', '--apply', '--yes')
    expect('first/A.TMP: stays as it is: ' in said and '0 set aside, 3 brought' in said, said)
    same(reported(migration), {'first/A.TMP': 'exclude = *.tmp'}, 'the report')
    same(new.read('cache/1'), b'Cache/1' * 20_000, 'what was brought')
    migration.crawl()
    for path in ('first/b.tmp', 'Cache/1', 'Cache/sub/2'):
        same(content(f'{NEW}/{path}'), path.encode() * 20_000, path)
        same(new.read(path + ':stream'), b'of ' + path.encode(), f"{path}'s stream")
    migration.ctl('verify', '--content')
    new.unlink('first/c.tmp')
    new.write('CACHE/1:stream', b'changed')
    conflicts = {line['path'] for line in migration.rollback(may_fail=True)['conflicts']}
    same({path.lower() for path in conflicts}, {'first/a.tmp'}, 'conflicts')
    same(content(OLD + '/first/A.TMP'), b'first/A.TMP' * 20_000, 'what a rule had left there')
    same(os.path.exists(OLD + '/first/c.tmp'), False, 'whether there is what a client removed of what was brought')
    there = Files(old.session('root', 'old'))
    same(there.read('Cache/1:stream'), b'changed', 'what a client wrote to what was brought')
    same(there.read('first/b.tmp:stream'), b'of first/b.tmp', 'a stream there')


@case()
def adopted(args):
    """What another tool has copied and a rule names is set aside, and can be restored."""
    def copied(root):
        old_tree(root)
        shutil.copytree(root, NEW, symlinks=True, dirs_exist_ok=True)

    _, migration = stack(args.build, copied, exclude='*.tmp /cache/')
    migration.ctl('attach', '--adopt')
    migration.start_server()
    migration.crawl()
    gone = {'first/a.tmp', 'first/b.tmp', 'first/link.tmp', 'first/two.tmp', 'cache', 'd/deep.tmp', 'e/8.tmp'}
    same({path for path in names(NEW) if path in gone}, set(), 'what is here')
    same(reported(migration).keys() >= gone, True, f'the report: {reported(migration)}')
    for path in ('first/a.tmp', 'cache/sub/3', 'd/deep.tmp/6'):
        same(content(f'{NEW}/.migrate/aside/{path}'), path.encode() * 20_000, f'{path} aside')
    for path in ('first/a.tmp', 'cache'):
        sh(migration.program('migratectl'), '--config', migration.config, 'aside', '--restore', VOLUME, path)
    for path in ('first/a.tmp', 'cache/sub/3'):
        same(content(f'{NEW}/{path}'), path.encode() * 20_000, path)
    migration.ctl('verify', '--content')


if __name__ == '__main__':
    sys.exit(main())
