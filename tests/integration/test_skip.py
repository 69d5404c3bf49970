#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of an old server that cannot be here are given up: their directory is filled without them,
nothing else is left out, and it is written down, whenever the retriever is killed."""
import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbsource                                                        # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import stopped_after                                       # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, stack, volume          # noqa: E402

LONG = 'ü' * 200                # more than 255 bytes here, and 200 there
PLANS = NEW + '/plans'
REFUSED = [f'{PLANS}/{LONG}', f'{PLANS}/{LONG}ü', f'{PLANS}/a:b', f'{PLANS}/c\\001d']


def skip_command(migration, *arguments, every=False):
    return [migration.program('migratectl'), '--config', migration.config,
            *(['--all'] if every else []), '--yes', 'skip', VOLUME, *arguments]


def skip(migration, *paths, every=False):
    """Exit status and what was printed."""
    done = subprocess.run(skip_command(migration, *paths, every=every), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def crawls_in_part(migration):
    same(migration.start_crawler().wait(100), 2, 'exit status of the crawler')


def unfilled(migration):
    """Directories, as a walk finds them."""
    migration.ctl('verify', may_fail=True)
    return int(migration.status()['unfilled_directories'])


def given_up(migration):
    """Paths in the report, each of them once."""
    lines = json.loads(migration.ctl('report', '--json'))[1:]
    paths = [line['path'] for line in lines if line['kind'] == 'name']
    same(len(paths), len(set(paths)), f'names in {paths}')
    return sorted(paths)


# ---- an old SMB server ---------------------------------------------------------------------------

def plans(root):
    """Long names: on its own disk Samba has one byte for each of their characters."""
    os.mkdir(root + '/plans')
    for name in (b'\xfc' * 200, b'a:b', b'c\x01d', b'plain'):
        smbsource.put(os.fsencode(root) + b'/plans/' + name, name * 30)
    smbsource.put(root + '/plans/large', os.urandom(300_000))
    for name in (b'\xfc' * 201, b'below'):
        os.mkdir(os.fsencode(root) + b'/plans/' + name)
        smbsource.put(os.fsencode(root) + b'/plans/' + name + b'/in', b'below ' + name)


def old_samba(args, **hooks):
    _, migration = smbsource.world(args, plans, {'mangled names': 'no'},
                                   server={'unix charset': 'ISO8859-1'}, **hooks)
    crawls_in_part(migration)
    same(set(migration.errors()), {'plans'} | {path[len(NEW) + 1:] for path in REFUSED}, 'errors')
    return migration


def the_rest_is_right(migration, directory):
    """A client may do there what it likes; then everything is as on the old server, but for the names
    that were given up."""
    client = migration.server.client()
    at = client.walk(directory)[0] if directory else client.root
    client.create(at, 'new')
    client.rename(at, 'new', at, 'newer')
    client.remove(at, 'newer')
    names = {os.fsdecode(entry[0]) for entry in client.listing(at)}
    migration.crawl()
    same(migration.status()['state'], 'whole', 'state after the crawl')
    same(int(migration.status()['errors']), 0, 'errors')
    same(tree.records(NEW), [], 'objects with a record')
    return names


@case()
def names_of_an_old_samba(args):
    migration = old_samba(args)
    client = migration.server.client()
    directory = client.walk('plans')[0]
    expect(nfs3.status_of(lambda: client.create(directory, 'new')) != 0,
           'a client makes a name in an unfilled directory')
    reasons = migration.errors()
    for path in REFUSED:
        expect('migratectl skip' in reasons[path[len(NEW) + 1:]], f'the reason of {path}')
    expect('no crawler runs: ' in migration.ctl('status'), 'what remains')
    # not all of them, nothing else, and nothing that is not listed
    for paths in (REFUSED[:1], REFUSED[1:], [PLANS], [f'{PLANS}/plain'], REFUSED + [PLANS]):
        status, text = skip(migration, *paths)
        same(status, 1, f'status of skip {paths}: {text}')
        same((unfilled(migration), given_up(migration)), (1, []), 'unfilled, given up')
    # as they are shown
    lines = [line.partition(': no ')[0].partition(': a name can')[0]
             for line in migration.ctl('errors').splitlines() if 'could not be filled' not in line]
    same(sorted(lines), sorted(REFUSED), 'lines')
    status, text = skip(migration, *lines)
    same(status, 0, f'status of skip: {text}')
    expect('4 names skipped, 1 directory filled' in text, text)
    same((unfilled(migration), given_up(migration)), (0, sorted(REFUSED)), 'unfilled, given up')
    same(int(migration.status()['names_skipped']), 4, 'names skipped')
    expect('4 names' in migration.ctl('status'), 'status')
    with open(migration.retriever.log) as log:
        text = log.read()
    for path in REFUSED:
        expect(f'{path}: skipped by the administrator' in text, f'{path} is not in the log')
    ends(migration, {'plain', 'large', 'below'})


def ends(migration, names):
    found = the_rest_is_right(migration, 'plans')
    same(found - {'.', '..'}, names, 'names')
    for path in ('plans/plain', 'plans/large', 'plans/below/in'):
        with open(f'{OLD}/{path}', 'rb') as a, open(f'{NEW}/{path}', 'rb') as b:
            same(a.read() == b.read(), True, f'content of {path}')
    expect('skipped: 4' in migration.ctl('finalize'), 'what finalize says')
    same(given_up(migration), sorted(REFUSED), 'given up, in the report that was kept')
    same(sorted(os.listdir(NEW)), sorted(os.listdir(OLD)), 'what is there at the end')


@case()
def killed_while_it_lists(args):
    """The request is forgotten, and can be made again."""
    listed, go_on, armed = threading.Event(), threading.Event(), threading.Event()

    def on_request(call):
        if armed.is_set() and call.command == smb2.QUERY_DIRECTORY:
            listed.set()
            go_on.wait(60)

    migration = old_samba(args, on_request=on_request)
    armed.set()
    with subprocess.Popen(skip_command(migration, PLANS, every=True), stderr=subprocess.PIPE,
                          text=True) as command:
        expect(listed.wait(60), 'the directory is listed')
        armed.clear()
        migration.retriever.stop(signal.SIGKILL)
        same(command.wait(60), 3, 'status of skip without a retriever')
    go_on.set()
    migration.start_retriever()
    same((unfilled(migration), given_up(migration)), (1, []), 'unfilled, given up')
    crawls_in_part(migration)
    same(skip(migration, PLANS + '/', every=True)[0], 0, 'status of skip')
    same((unfilled(migration), given_up(migration)), (0, sorted(REFUSED)), 'unfilled, given up')
    migration.retriever.stop(signal.SIGKILL)
    migration.start_retriever()
    same((unfilled(migration), given_up(migration)), (0, sorted(REFUSED)), 'unfilled, given up')
    ends(migration, {'plain', 'large', 'below'})


@case(short=True)
def hundreds(args):
    """More than are listed one by one; each of them is in the report."""
    names = [f'n:{n}' for n in range(300)]

    def make(root):
        os.mkdir(root + '/many')
        for name in ['plain', *names]:
            smbsource.put(f'{root}/many/{name}', b'x')

    volume(OLD)
    volume(NEW)
    make(OLD)
    old = smbd.old_smbd(OLD, settings={'mangled names': 'no'})
    migration = Migration(args.build, f'smb://root@{old.address}/old', smb_modes='open',
                          smb_password_file=smbsource.password())
    smbsource.begin(migration)
    crawls_in_part(migration)
    found = migration.errors()
    same(len(found), 102, 'errors')
    expect('200 more names' in found['many/'], f'the rest: {found["many/"]}')
    listed = [f'{NEW}/{path}' for path in found if path not in ('many', 'many/')]
    same(skip(migration, *listed)[0], 1, 'status of skip with those that are listed')
    same(given_up(migration), [], 'given up')
    same(skip(migration, f'{NEW}/many', every=True)[0], 0, 'status of skip --all')
    same(given_up(migration), sorted(f'{NEW}/many/{name}' for name in names), 'given up')
    same(the_rest_is_right(migration, 'many'), {'plain'}, 'names')


# ---- an old NFS server ---------------------------------------------------------------------------

def with_reserved(root):
    tree.make(root, 200, 1, 1 << 20)
    os.mkdir(root + '/.migrate')
    with open(root + '/.migrate/file', 'w') as out:
        out.write('of somebody else')


@case()
def a_reserved_name_over_nfs(args):
    """Killed when it is written down and the directory is not filled yet."""
    _, migration = stack(args.build, with_reserved)
    migration.attach()
    migration.start_server()
    crawls_in_part(migration)
    same(set(migration.errors()), {'', '.migrate'}, 'errors')
    name = NEW + '/.migrate'
    unfinished = {NEW} | {entry.path for entry in os.scandir(NEW)
                          if entry.is_dir(follow_symlinks=False) and entry.name != '.migrate'}
    same({os.fsdecode(path) for path in tree.records(NEW)}, unfinished, 'objects with a record')
    retriever = migration.retriever

    def begin():
        return subprocess.Popen(skip_command(migration, name), stderr=subprocess.PIPE)

    with stopped_after(retriever.pid, 'fdatasync', f'{NEW}/.migrate/report', 1, begin) as command:
        os.kill(retriever.pid, signal.SIGKILL)
    same(command.wait(60), 3, 'status of skip without a retriever')
    command.stderr.close()
    retriever.wait(60)
    migration.start_retriever()
    same((unfilled(migration), given_up(migration)), (1, [name]), 'unfilled, given up')
    crawls_in_part(migration)
    expect(migration.ctl('finalize', may_fail=True) is None, 'finalize takes it for complete')
    same(skip(migration, name)[0], 0, 'status of skip')
    same((unfilled(migration), given_up(migration)), (0, [name]), 'unfilled, given up')
    the_rest_is_right(migration, '')
    migration.ctl('finalize')
    same(given_up(migration), [name], 'given up, in the report that was kept')
    same(tree.compare(OLD, NEW, any_mtime=at_root).differences, ["'/.migrate': is missing"],
         'differences')


def at_root(st):
    """The client made names there."""
    return st.st_ino == os.stat(OLD).st_ino


def with_private(root):
    """Of somebody whom the old server protects from everybody else, root among them."""
    os.chmod(root, 0o755)
    if os.path.isdir(root + '/lost+found'):     # it would be one more that is refused
        os.rmdir(root + '/lost+found')
    for directory in ('/private', '/shared'):
        os.mkdir(root + directory)
    for name in ('/private/letter', '/shared/diary', '/shared/open', '/shared/late'):
        with open(root + name, 'w') as out:
            out.write('of one person\n' * 1000)
    os.link(root + '/shared/diary', root + '/diary')
    for name, mode in (('/private', 0o700), ('/shared/diary', 0o600), ('/shared/late', 0o600)):
        os.chown(root + name, 1000, 1000)
        os.chmod(root + name, mode)


@case()
def what_an_old_nfs_server_refuses(args):
    """It is left behind, if that is said: no zeros, nothing of a client's, nothing else."""
    _, migration = stack(args.build, with_private, old={
        'export': 'Squash = Root_Squash; Attr_Expiration_Time = 0;'})
    migration.attach()
    migration.start_server()
    crawls_in_part(migration)
    same(set(migration.errors()) - {'diary'}, {'private', 'shared/diary', 'shared/late'} -
         ({'shared/diary'} if 'diary' in migration.errors() else set()), 'errors')
    client = migration.server.client()
    shared = client.walk('shared')[0]
    client.create(shared, 'of a client')
    for paths in ([NEW + '/private'], [NEW + '/shared/late']):
        same(skip(migration, *paths)[0], 1, f'status of skip {paths}')
    os.chmod(OLD + '/shared/late', 0o644)               # by path, and it can be had by now
    migration.ctl('retry', '--reason', 'no such reason')
    expect('shared/late' in migration.errors(), 'another reason')
    migration.ctl('retry', argument=NEW + '/shared/late')
    expect('shared/late' not in migration.errors() and 'private' in migration.errors(), 'by path')
    status, text = skip(migration, '--leave', '--because', 'of its owner', '--below', NEW)
    same((status, unfilled(migration)), (0, 0), f'status of skip, unfilled: {text}')
    expect('on the old server only' in text, text)
    same(given_up(migration), sorted(NEW + path for path in ('/diary', '/private', '/shared/diary')),
         'given up')
    expect('of its owner' in migration.ctl('report'), 'the reason in the report')
    same(sorted(os.listdir(NEW + '/shared')), ['late', 'of a client', 'open'], 'what is left')
    same(os.listdir(NEW + '/private'), [], 'what is in the directory')
    expect(nfs3.status_of(lambda: client.walk('shared/diary')) != 0, 'a file that was given up')
    the_rest_is_right(migration, 'private')
    migration.ctl('retry', argument='shared/late')      # its mode, which was changed there
    migration.ctl('verify', '--content')
    migration.ctl('finalize')
    with open(OLD + '/shared/late') as a, open(NEW + '/shared/late') as b:
        same(a.read() == b.read(), True, 'content')


if __name__ == '__main__':
    sys.exit(main())
