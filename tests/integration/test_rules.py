#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules: what they leave out is not brought and not shown, whatever way it is asked for, and is told.  A
client's object under such a name is his, here and on the way back; what is here from before a rule stays."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbfiles                                                         # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from ruled import content, names, reported                              # noqa: E402
from sandbox import BASE, sh                                            # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, stack, volume          # noqa: E402
from smbsource import begin, password, put                              # noqa: E402

BACK = BASE + '/back'
EXCLUDE = r'*.tmp /cache/ build/ with\ blank'
LEFT_OUT = {'a/junk.tmp': 'exclude = *.tmp', 'a/two.tmp': 'exclude = *.tmp', 'cache': 'exclude = /cache/',
            'a/build': 'exclude = build/', 'with blank': r'exclude = with\ blank',
            '.snapshot': 'snapshot-directories = .snapshot/'}
BROUGHT = {'a', 'a/x', 'a/one', 'a/keep.tmp', 'a/cache', 'a/cache/in', 'b', 'b/build'}


def old_tree(root):
    for path in ('a/build/deep', 'a/cache', 'b', 'cache', '.snapshot/hourly'):
        os.makedirs(f'{root}/{path}')
    for path in ('a/x', 'a/junk.tmp', 'a/keep.tmp', 'a/cache/in', 'a/build/deep/f', 'a/one', 'b/build',
                 'cache/big', 'with blank', '.snapshot/hourly/x'):
        put(f'{root}/{path}', path.encode() * 5000)
    os.link(root + '/a/one', root + '/a/two.tmp')


def is_missing(client, path):
    same(nfs3.status_of(lambda: client.walk(path)), 2, f'status of a lookup of {path}')


@case()
def over_nfs(args):
    """Each way: looked up first, listed, crawled, made anew, proved, carried back, finalized."""
    _, migration = stack(args.build, old_tree, exclude=EXCLUDE, include='keep.tmp', rollback_source=BACK)
    os.makedirs(BACK)
    sh('mount', '--bind', OLD, BACK)
    before = names(OLD)
    said = json.loads(sh(migration.program('migratectl'), '--config', migration.config, '--json',
                         f'--output={BASE}', 'check', VOLUME))
    rules = {line['text']: (line['objects'], line['bytes'])
             for line in said['notes']['left-out']['first']}
    same(rules, {'exclude = *.tmp': (2, 50_000 + 25_000), 'exclude = /cache/': (1, 0),
                 'exclude = build/': (1, 0), r'exclude = with\ blank': (1, 50_000),
                 'snapshot-directories = .snapshot/': (1, 0)}, 'what check counts')
    migration.start_journal()
    migration.attach()
    migration.start_server()
    client = migration.server.client()
    for path in LEFT_OUT:
        is_missing(client, path)
    directory = client.walk('a')[0]
    same(client.read(client.walk('a/keep.tmp')[0], 0, 10)[0], b'a/keep.tmp', 'what an include names')
    same({os.fsdecode(entry[0]) for entry in client.listing(directory)} - {'.', '..'},
         {'x', 'one', 'keep.tmp', 'cache'}, 'names in a')
    own = client.create(directory, 'junk.tmp')
    client.write(own, 0, b'of a client', nfs3.FILE_SYNC)
    client.write(client.create(directory, 'two.tmp'), 0, b'own, too', nfs3.FILE_SYNC)
    cache = client.mkdir(client.root, 'cache')
    client.write(client.create(cache, 'own'), 0, b'own', nfs3.FILE_SYNC)
    migration.crawl()
    same(names(NEW), BROUGHT | {'a/junk.tmp', 'a/two.tmp', 'cache', 'cache/own'}, 'what is here')
    same(reported(migration), LEFT_OUT, 'the report')
    same(int(migration.status()['left_out']), len(LEFT_OUT), 'status')
    expect('6 objects by rules' in migration.ctl('status'), 'status')
    expect('exclude = *.tmp: 2 objects left out so far' in migration.ctl('rules'), 'migratectl rules')
    migration.ctl('verify', '--content')
    done = migration.rollback(may_fail=True)
    same({line['path'] for line in done['conflicts']} >= {'a/junk.tmp', 'a/two.tmp', 'cache'}, True,
         f'conflicts: {done["conflicts"]}')
    same(names(OLD), before, 'the old tree')
    same(content(OLD + '/a/junk.tmp'), b'a/junk.tmp' * 5000, 'the old file')
    same(os.stat(OLD + '/a/two.tmp').st_ino, os.stat(OLD + '/a/one').st_ino, 'a hard link there')
    for name in ('junk.tmp', 'two.tmp'):
        client.remove(directory, name)
    client.remove(cache, 'own')
    client.rmdir(client.root, 'cache')
    client.write(client.walk('a/x')[0], 0, b'X', nfs3.FILE_SYNC)
    client.rename(directory, 'one', directory, 'three')
    same(migration.rollback()['conflicts'], [], 'conflicts of what is gone again')
    same(names(OLD), before - {'a/one'} | {'a/three'}, 'the old tree, after that')
    same(content(OLD + '/a/x')[:1], b'X', 'what was carried')
    for name in ('x', 'three', 'keep.tmp', 'cache/in'):
        client.remove(client.walk(os.path.dirname('a/' + name))[0], os.path.basename(name))
    client.rmdir(directory, 'cache')
    client.rmdir(client.root, 'a')
    done = migration.rollback(may_fail=True)
    same({line['path'] for line in done['conflicts']} >= {'a', 'a/junk.tmp', 'a/build'}, True,
         f'conflicts: {done["conflicts"]}')
    same({path for path in names(OLD) if path.split('/')[0] == 'a'},
         {'a', 'a/junk.tmp', 'a/two.tmp', 'a/build', 'a/build/deep', 'a/build/deep/f'}, 'what is left there')
    migration.ctl('verify')
    migration.ctl('finalize')
    same(reported(migration), LEFT_OUT, 'the report that is kept')


@case(short=True)
def in_a_gap_of_the_journal(args):
    """What a client made while nobody watched is not taken for the old server's of that name."""
    _, migration = stack(args.build, old_tree, exclude=EXCLUDE, rollback_source=BACK)
    os.makedirs(BACK)
    sh('mount', '--bind', OLD, BACK)
    before = names(OLD)
    migration.start_journal()
    migration.attach()
    migration.start_server()
    migration.crawl()
    migration.journal.stop()
    client = migration.server.client()
    directory = client.walk('a')[0]
    for name in ('junk.tmp', 'two.tmp', 'keep.tmp'):
        client.write(client.create(directory, name), 0, b'of a client', nfs3.FILE_SYNC)
    client.rename(client.walk('a/cache')[0], 'in', client.mkdir(client.root, 'cache'), 'big')
    migration.start_journal()
    done = migration.rollback(may_fail=True)
    same({line['path'] for line in done['conflicts']} >= {'a/junk.tmp', 'a/two.tmp', 'a/keep.tmp', 'cache'}, True,
         f'conflicts: {done["conflicts"]}')
    same(before - names(OLD) <= {'a/cache/in'}, True, f'the old tree: {names(OLD) ^ before}')
    for path in ('a/junk.tmp', 'a/keep.tmp', 'cache/big', 'a/build/deep/f'):
        same(content(f'{OLD}/{path}'), path.encode() * 5000, path)
    same(content(OLD + '/a/two.tmp'), b'a/one' * 5000, 'a hard link')


@case(short=True)
def in_a_renamed_directory(args):
    """Its path was another one there, and when the rule left something out."""
    _, migration = stack(args.build, old_tree, exclude=EXCLUDE, include='keep.tmp', rollback_source=BACK)
    os.makedirs(BACK)
    sh('mount', '--bind', OLD, BACK)
    migration.start_journal()
    migration.attach()
    migration.start_server()
    client = migration.server.client()
    client.rename(client.root, 'a', client.root, 'm')
    migration.crawl()
    client.rename(client.root, 'm', client.root, 'e')
    directory = client.walk('e')[0]
    client.rename(directory, 'one', directory, 'three')
    migration.rollback(may_fail=True)
    same(os.stat(OLD + '/e/two.tmp').st_ino, os.stat(OLD + '/e/three').st_ino, 'a hard link there')
    client.rename(client.root, 'e', client.root, 'g')
    client.rename(directory, 'three', directory, 'four')
    migration.journal.stop()
    for name in ('junk.tmp', 'two.tmp'):
        client.write(client.create(directory, name), 0, b'of a client', nfs3.FILE_SYNC)
    client.write(client.create(client.mkdir(directory, 'build'), 'deep'), 0, b'own', nfs3.FILE_SYNC)
    migration.start_journal()
    done = migration.rollback(may_fail=True)
    same({line['path'] for line in done['conflicts']} >= {'g/junk.tmp', 'g/two.tmp', 'g/build'}, True,
         f'conflicts: {done["conflicts"]}')
    same(content(OLD + '/g/junk.tmp'), b'a/junk.tmp' * 5000, 'the old file')
    same(content(OLD + '/g/build/deep/f'), b'a/build/deep/f' * 5000, 'a file in what is left out')
    same(os.stat(OLD + '/g/two.tmp').st_ino, os.stat(OLD + '/g/four').st_ino, 'a hard link there')


@case()
def over_smb(args):
    """In any spelling."""
    volume(OLD)
    volume(NEW)
    for path in ('$Recycle.Bin/S-1', 'd/$RECYCLE.BIN', 'System Volume Information'):
        os.makedirs(f'{OLD}/{path}')
    for path in ('$Recycle.Bin/S-1/x', 'd/Thumbs.db', 'd/x', 'd/$RECYCLE.BIN/y'):
        put(f'{OLD}/{path}', path.encode() * 100)
    old = smbd.old_smbd(OLD)
    migration = Migration(args.build, f'smb://root@{old.address}/old', smb_password_file=password(),
                          smb_modes='open', exclude='THUMBS.DB')
    begin(migration)
    client = migration.server.client()
    for path in ('d/Thumbs.db', 'd/THUMBS.db', '$Recycle.Bin', '$RECYCLE.BIN', 'system volume information'):
        is_missing(client, path)
    files = smbfiles.Files(migration.start_smbd().session('root'))
    same(files.read('d/x')[:3], b'd/x', 'a file beside')
    for path in ('d/thumbs.DB', '$recycle.bin'):
        try:
            files.read(path)
            expect(False, f'{path} is here')
        except smbfiles.Refused as refused:
            same(refused.name, 'OBJECT_NAME_NOT_FOUND', path)
    files.write('d/thumbs.db', b'of a client')
    migration.crawl()
    same(names(NEW), {'d', 'd/x', 'd/thumbs.db', 'd/$RECYCLE.BIN', 'd/$RECYCLE.BIN/y'}, 'what is here')
    same(set(reported(migration)), {'d/Thumbs.db', '$Recycle.Bin', 'System Volume Information'}, 'the report')
    same(content(NEW + '/d/thumbs.db'), b'of a client', "the client's")
    migration.ctl('verify')
    migration.ctl('finalize')


@case(short=True)
def a_rule_that_comes_and_goes(args):
    """What came before it stays, with what a client changed; and what was left out is told."""
    def make(root):
        for directory in ('first', 'second'):
            os.mkdir(f'{root}/{directory}')
            for name in ('x', 'a.tmp', 'b.tmp'):
                put(f'{root}/{directory}/{name}', name.encode() * 30_000)

    _, migration = stack(args.build, make)
    migration.start_journal()
    migration.attach()
    migration.start_server()
    client = migration.server.client()
    client.write(client.walk('first/a.tmp')[0], 0, b'A', nfs3.FILE_SYNC)     # fills it for that
    client.walk('second/a.tmp')                                             # this is still unfilled
    settings = {'source': migration.source}
    migration.configure(exclude='*.tmp', **settings)
    migration.retriever.stop()
    migration.start_retriever()
    is_missing(migration.server.client(), 'second/b.tmp')
    migration.crawl()
    same(reported(migration).keys() & {'second/a.tmp', 'first/a.tmp'}, set(), 'what is here is not left out')
    for path in ('first/a.tmp', 'second/a.tmp'):
        same(content(f'{NEW}/{path}')[1:], content(f'{OLD}/{path}')[1:], path)
    same(content(NEW + '/first/a.tmp')[:1], b'A', "a client's byte")
    same(os.path.exists(NEW + '/second/b.tmp'), False, 'whether what is excluded came')
    migration.ctl('verify', '--content')
    migration.configure(**settings)
    migration.retriever.stop()
    migration.start_retriever()
    said = migration.ctl('rules')
    expect('exclude = *.tmp: ' in said and 'left out before' in said, said)
    expect(f'{NEW}/second/b.tmp: rule: exclude = *.tmp' in migration.ctl('report'), 'the report lists it')
    migration.ctl('finalize')


@case(short=True)
def a_copy_from_before(args):
    """What was copied before the rule is set aside by the switch, and not destroyed."""
    _, migration = stack(args.build, old_tree)
    migration.ctl('copy')
    migration.configure(source=migration.source, exclude='*.tmp')
    migration.retriever.stop()
    migration.start_retriever()
    migration.ctl('copy')
    migration.attach()
    migration.crawl()
    same({path for path in names(NEW) if path.endswith('.tmp')}, set(), 'what is here')
    aside = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'aside', VOLUME],
                           capture_output=True, text=True, check=True).stdout
    for path in ('a/junk.tmp', 'a/keep.tmp', 'a/two.tmp'):
        expect(path in aside, f'{path} is set aside: {aside}')
    migration.ctl('verify', '--content')


if __name__ == '__main__':
    sys.exit(main())
