#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The final report: every object is accounted for, before and after the end; whatever is changed in it
or in the tree behind it is found, by anybody, without a migration."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, sh                                            # noqa: E402
from servers import NEW, OLD, VOLUME, stack                                  # noqa: E402

OUT = BASE + '/out'
PARTS = [VOLUME + suffix for suffix in ('-report.txt', '-report.html', '-manifest.mtree.zst',
                                        '-report.json', '-report.json.sig')]
HOSTILE = '<script>alert("1")<img src=x>&amp;\n\x1b[2J'
NOBODY = 65534


def fill(root):
    """A hostile name, hard links, and one that nothing can have here."""
    tree.make(root, 300, 1, 1 << 20)
    for directory in ('.migrate', 'team'):
        os.mkdir(f'{root}/{directory}')
    with open(f'{root}/.migrate/file', 'w') as file:
        file.write('of somebody else')
    for name in (HOSTILE, 'changed', 'removed', 'renamed', 'kept'):
        with open(f'{root}/team/{name}', 'w') as file:
            file.write(name * 100)
    os.link(f'{root}/team/kept', f'{root}/team/linked')


def ctl(migration, *args, status=0, program=None, **kw):
    """What migratectl printed, both ways."""
    done = subprocess.run([program or migration.program('migratectl'), *args], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, **kw)
    same(done.returncode, status, f'status of {args}: {done.stdout}{done.stderr}')
    return done.stdout + done.stderr


def final(migration, *options, status=0):
    """The report's JSON."""
    ctl(migration, '--config', migration.config, 'report', '--final', '--output', OUT, *options,
        VOLUME, status=status)
    with open(f'{OUT}/{VOLUME}-report.json') as file:
        return json.load(file)


def check(migration, *options, status=0, **kw):
    return ctl(migration, 'report', '--check', *options, f'{OUT}/{VOLUME}-report.json',
               status=status, **kw)


def manifest():
    """The tags of objects by path, as another program reads them."""
    text = subprocess.run(['zstd', '-dc', f'{OUT}/{PARTS[2]}'], check=True, capture_output=True).stdout
    lines = [line for line in text.decode('ascii').splitlines() if not line.startswith('#')]
    same(lines, sorted(lines), 'the order of the manifest')
    found = {}
    for line in lines:
        words = line.split(' ')
        path = words[0][2:].encode().decode('unicode_escape').encode('latin-1')
        found[os.fsdecode(path)] = dict(word.split('=', 1) for word in words[1:])
    return found


def names_of(top):
    """All paths below, and ''."""
    found = {''}
    for directory, names, files in os.walk(top):
        if directory == top and '.migrate' in names:
            names.remove('.migrate')
        found |= {os.path.relpath(os.path.join(directory, name), top) for name in names + files}
    return found


def keys():
    os.mkdir(OUT, 0o700)
    for name in ('key', 'other'):
        sh('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{BASE}/{name}')
        with open(f'{BASE}/{name}.pub') as public, open(f'{BASE}/{name}.signers', 'w') as signers:
            signers.write(f'{name}@example.com {public.read()}')


def begin(args):
    keys()
    _, migration = stack(args.build, fill)
    migration.attach()
    migration.start_server()
    return migration


def give_up(migration):
    same(migration.start_crawler().wait(100), 2, 'exit status of the crawler')
    ctl(migration, '--config', migration.config, '--yes', 'skip', VOLUME, NEW + '/.migrate')
    migration.crawl()


def clients_work(migration):
    client = migration.server.client()
    team = client.walk('team')[0]
    client.write(client.walk('team/changed')[0], 5, b'by a client', 2)
    client.remove(team, 'removed')
    client.rename(team, 'renamed', team, 'new name')
    client.create(team, 'made')


def with_one_byte_changed(path, offset):
    """Afterwards it is as it was, with its times."""
    before = os.stat(path)

    def turn():
        with open(path, 'r+b') as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1]))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    turn()
    yield
    turn()


def parts_are_watched(migration):
    """One byte of any file; a part that is gone; another key."""
    for name in PARTS:
        path = f'{OUT}/{name}'
        for _ in with_one_byte_changed(path, os.stat(path).st_size // 2):
            expect(name.replace('.json.sig', '.json') in check(migration, status=1),
                   f'who reads of {name}')
        os.rename(path, path + '.away')
        check(migration, '--signers', f'{BASE}/key.signers', status=1)
        os.rename(path + '.away', path)
    expect('key@example.com' in check(migration, '--signers', f'{BASE}/key.signers'), 'the signer')
    check(migration, '--signers', f'{BASE}/other.signers', status=1)


def anybody_can_check(migration):
    """Elsewhere, with no rights, no configuration and no retriever."""
    handed = BASE + '/handed'
    os.chmod(BASE, 0o755)
    shutil.copytree(OUT, handed)
    for name in [handed, *(f'{handed}/{part}' for part in PARTS)]:
        os.chown(name, NOBODY, NOBODY)
    # the build may be below a directory that is not for everybody
    program = shutil.copy(migration.program('migratectl'), handed)
    said = ctl(migration, 'report', '--check', f'{handed}/{VOLUME}-report.json', program=program,
               user=NOBODY, group=NOBODY, extra_groups=[],
               env={'PATH': os.environ['PATH'], 'HOME': '/nonexistent'})
    expect('good' in said, said)
    shutil.rmtree(handed)


def page_is_inert():
    with open(f'{OUT}/{VOLUME}-report.html') as file:
        page = file.read()
    for bad in ('<script', '<img', 'href', 'http:', 'https:', '\x1b'):
        expect(bad not in page, f'{bad!r} in the page')
    expect('<svg' in page, 'the page has no chart')
    with open(f'{OUT}/{VOLUME}-report.txt') as file:
        expect('\x1b' not in file.read(), 'the text has what a terminal obeys')


@case()
def not_compared(args):
    """It says so, and accounts for what is here; also when the migration is over."""
    migration = begin(args)
    first = final(migration, status=1)
    same(first['complete'], False, 'complete before anything is here')
    expect(first['objects']['unfinished'], 'nothing is unfinished')
    give_up(migration)
    clients_work(migration)
    said = final(migration, '--sign', BASE + '/key')
    same((said['complete'], said['contents']['compared']), (True, False), said['verdict'])
    same(said['objects']['together'], len(names_of(NEW)) + 1, 'objects, with one that is given up')
    same([line['path'] for line in said['lists']['given_up']['first']], [NEW + '/.migrate'], 'given up')
    same(set(manifest()), names_of(NEW), 'names in the manifest')
    expect(len(said['progress']) >= 2, f'progress: {said["progress"]}')
    page_is_inert()
    parts_are_watched(migration)
    anybody_can_check(migration)
    check(migration, '--tree', NEW)
    with open(NEW + '/team/kept', 'a') as file:
        file.write('x')
    found = check(migration, '--tree', NEW, status=1)
    expect('team/kept: it has 401 bytes, not 400' in found and 'team/linked: ' in found, found)
    migration.ctl('finalize')
    after = final(migration, '--sign', BASE + '/key')
    same(after['state'], 'finished', 'state')
    migration.retriever.stop()
    last = final(migration)
    for one in (after, last):
        same((one['complete'], one['objects'], one['lists']['given_up']),
             (True, said['objects'], said['lists']['given_up']), 'after the end')
        same(one['progress'][0], said['progress'][0], 'the beginning of the progress')
    check(migration, '--tree', NEW)


def compare(migration, status=0):
    ctl(migration, '--config', migration.config, 'verify', '--content', VOLUME, status=status)


def hashes_are_right():
    """Of every file; sha256sum would say the same."""
    found = manifest()
    for path in names_of(NEW):
        entry = found[path]
        if entry['type'] == 'file' and entry['tags'] != 'removed-by-clients':
            with open(f'{NEW}/{path}', 'rb') as file:
                same(entry.get('sha256digest'), hashlib.sha256(file.read()).hexdigest(), f'{path}: {entry}')
    return found


@case(short=True)
def compared(args):
    """What clients did is told apart, what differs is listed, and every byte has its hash."""
    migration = begin(args)
    give_up(migration)
    compare(migration)
    said = final(migration, '--sign', BASE + '/key')
    same((said['complete'], said['contents']['compared']), (True, True), said['verdict'])
    same(said['objects']['old_server'], len(names_of(OLD)) + 2, 'objects of the old server')
    same({path: entry['tags'] for path, entry in manifest().items() if path.startswith('.migrate')},
         {'.migrate': 'given-up', '.migrate/file': 'given-up'}, 'what is given up')
    hashes_are_right()
    check(migration, '--tree', NEW)
    for _ in with_one_byte_changed(NEW + '/team/kept', 99):
        found = check(migration, '--tree', NEW, status=1)
        expect('team/kept: its content is another' in found, found)
        compare(migration, status=1)
        bad = final(migration, status=1)
        same({line['path'] for line in bad['lists']['differences']['first']},
             {'team/kept', 'team/linked'}, 'differences')
        same(bad['objects']['sums_add_up'], True, bad['objects']['sums'])
        expect('NOT complete' in check(migration, status=1), 'what is not complete')
    clients_work(migration)
    compare(migration)
    migration.ctl('finalize')
    migration.retriever.stop()
    said = final(migration, '--sign', BASE + '/key')
    tags = {path: entry['tags'] for path, entry in hashes_are_right().items()}
    same([tags['team/' + name] for name in ('changed', 'removed', 'renamed', 'new name', 'made', 'kept')],
         ['changed-by-clients', 'removed-by-clients', 'removed-by-clients', 'made-by-clients',
          'made-by-clients', 'same'], 'tags')
    same((said['complete'], said['objects']['made_by_clients']), (True, 2), said['verdict'])
    same({line['path'] for line in said['lists']['clients']['first']} >= {'team/made', 'team/removed'},
         True, 'list of what clients did')
    check(migration, '--signers', f'{BASE}/key.signers', '--tree', NEW)


if __name__ == '__main__':
    sys.exit(main())
