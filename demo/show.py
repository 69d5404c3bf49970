#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A migration from beginning to end in a sandbox: an old server with a generated tree, a copy of it
that is brought up to date, a new server that serves it at once, the crawler, a comparison, and the
layer taken away."""
import argparse
import json
import os
import re
import select
import shutil
import stat
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tests', 'support'))
import nfs4                                                         # noqa: E402
import sandbox                                                      # noqa: E402
import tree                                                         # noqa: E402
from sandbox import BASE                                            # noqa: E402
from smbd import SHARE                                              # noqa: E402
from servers import NEW, OLD, Failure, Migration, old_server, show_logs, volume     # noqa: E402


class Show:
    """Numbered steps, with the time of each."""

    def __init__(self):
        self.number, self.start = 0, time.monotonic()

    def step(self, what):
        self.number += 1
        print(f'\n{self.number}. {what}', flush=True)

    @staticmethod
    def say(what):
        print(f'   {what}', flush=True)


def human(count):
    for unit in ('bytes', 'KiB', 'MiB', 'GiB'):
        if count < 1024 or unit == 'GiB':
            return f'{count:.0f} {unit}' if unit == 'bytes' else f'{count:.1f} {unit}'
        count /= 1024
    return ''


def clock(seconds):
    seconds = int(seconds + 0.5)
    return f'{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}'


def milliseconds(call):
    start = time.monotonic()
    result = call()
    return (time.monotonic() - start) * 1000, result


# ---- progress --------------------------------------------------------------------------------

def remaining(status):
    """Seconds, or None as long as an honest number cannot be told."""
    if not status['complete']:
        return None
    worst = 0
    for what in ('files', 'bytes'):
        left = status[f'{what}_found'] - status[f'{what}_whole']
        rate = status[f'{what}_per_second']
        if left > 0:
            if not rate:
                return None
            worst = max(worst, left / rate)
    return worst


def bar(status, width=24):
    done = status['bytes_whole'] / status['bytes_found'] if status['bytes_found'] else 0
    if status['files_found']:
        done = min(done, status['files_whole'] / status['files_found'])
    left = remaining(status)
    filled = int(done * width)
    return (f'[{"#" * filled}{"." * (width - filled)}] {done * 100:3.0f} %  '
            f'{status["files_whole"]:,} of {status["files_found"]:,} files, '
            f'{human(status["bytes_whole"])} of {human(status["bytes_found"])}, '
            f'{status["files_per_second"]:,.0f} files/s, {human(status["bytes_per_second"])}/s, '
            + ('still finding names' if left is None else f'{clock(left)} left'))


def crawl(migration):
    """The crawler to its end, with a bar."""
    crawler = migration.start_crawler()
    pidfd = os.pidfd_open(crawler.pid)
    lively = sys.stdout.isatty()
    shown = time.monotonic()
    while not select.select([pidfd], [], [], 0.2)[0]:
        if lively or time.monotonic() - shown > 2:
            shown = time.monotonic()
            line = bar(migration.status())
            columns = shutil.get_terminal_size().columns - 5
            print(f'\r   {line[:columns]}\x1b[K' if lively else f'   {line}',
                  end='' if lively else '\n', flush=True)
    os.close(pidfd)
    print(('\r' if lively else '') + f'   {bar(migration.status())}' + ('\x1b[K' if lively else ''))
    if crawler.wait():
        raise Failure(f'the crawler ended with status {crawler.returncode}:\n'
                      f'{migration.ctl("errors")}')


# ---- the demonstration -----------------------------------------------------------------------

def deep_file():
    """Path of the file that is farthest down."""
    paths = []
    for path in map(os.fsencode, tree.every(OLD)):
        st = os.lstat(path)
        if stat.S_ISREG(st.st_mode) and st.st_size:
            paths.append(os.path.relpath(path, os.fsencode(OLD)))
    return max(paths, key=lambda p: (p.count(b'/'), p))


def old_bytes(path, count=-1):
    with open(os.path.join(os.fsencode(OLD), os.fsencode(path)), 'rb') as file:
        return file.read(count)


def equal(what, got, wanted):
    if got != wanted:
        raise Failure(f'{what} is wrong')


def largest_file():
    return 'large/' + max(os.listdir(OLD + '/large'), key=lambda name: int(name.split()[0]))


def readme(n):
    return f'departments/department-00{n}/README'


# ---- before the switch ---------------------------------------------------------------------------

def copy(show, migration):
    """One run."""
    spent, output = milliseconds(lambda: migration.ctl('copy', '--json'))
    run = json.loads(output)['copy']
    show.say(f'migratectl copy, {spent / 1000:.1f} s: {run["same"]:,} of {run["objects"]:,} objects '
             f'the same, {human(run["bytes_fetched"])} fetched, {run["gone"]} gone')


def write(client, path):
    """Another first byte."""
    client.write(client.walk(path)[0], 0, b'!' if old_bytes(path, 1) != b'!' else b'?')


def use_old_server(show, client):
    """What makes a difference to a copy."""
    names = sorted(os.listdir(OLD + '/wide'))
    wide, _ = client.walk('wide')
    for name in names[:100]:
        write(client, f'wide/{name}')
    for name in names[100:110]:
        client.remove(wide, name)
    client.rename(wide, names[110], client.mkdir(client.root, 'new'), 'renamed')
    show.say('clients there write to 100 files, remove 10, and move one to a new directory')


def use_old_server_again(show, client):
    """What is looked at after the switch."""
    paths = [os.fsdecode(deep_file()), largest_file(), *map(readme, range(1, 5))]
    for path in paths:
        write(client, path)
    show.say(f'since the last run clients wrote to {len(paths)} more files; now they stop')


# ---- after it ------------------------------------------------------------------------------------

def first_use(show, server):
    """Reads through NFS before the crawler ran; the handle of a file, to be kept."""
    path = deep_file()
    large = largest_file()

    def first_byte():
        client = server.client()
        handle, _ = client.walk(path)
        return handle, client.read(handle, 0, 1)[0]

    spent, (handle, data) = milliseconds(first_byte)
    equal('the first byte', data, old_bytes(path, 1))
    levels = path.count(b'/') + 1
    show.say(f'NFSv3: mount, {levels} levels of directories, first byte: {spent:.0f} ms')

    client = server.client()
    fh, attr = client.walk(large)
    spent, (data, _) = milliseconds(lambda: client.read(fh, attr.size // 2, 1))
    show.say(f'NFSv3: one byte in the middle of a file of {human(attr.size)}: {spent:.0f} ms')
    equal('the byte in the middle', data, old_bytes(large)[attr.size // 2:][:1])
    for minor in (0, 1, 2):
        path = readme(minor + 1)

        def read():
            client = nfs4.Client('127.0.0.1', minor)
            directory, name = os.path.split(path)
            fh, stateid = client.open(client.walk(directory)[0], name)
            return client.read_all(fh, stateid)

        spent, data = milliseconds(read)
        equal(path, data, old_bytes(path))
        show.say(f'NFSv4.{minor}: session, open and read a whole file: {spent:.0f} ms')
    spent, entries = milliseconds(lambda: list(client.listing(client.walk('wide')[0])))
    show.say(f'NFSv3: first listing of a directory of {len(entries):,} files: {spent:.0f} ms')
    return handle


def first_use_by_smb(show, migration):
    """The same for Samba; smbclient's word on a file, before and after it was read."""
    spent, server = milliseconds(migration.start_smbd)
    show.say(f'serves after {spent:.0f} ms, beside Ganesha')
    path = readme(4)
    name = path.replace('/', '\\')

    def look(what):
        # Newer ones also say that there are no shadow copies.
        said = server.smbclient(f'allinfo "{name}"', user='root', may_fail=True)
        found = re.search(r'attributes: .*', said)
        if not found:
            raise Failure(f'smbclient allinfo {path}: {said}')
        offline = 'O' in found[0].split('(')[0].split(':')[1]
        show.say(f'smbclient allinfo {path}, {what}:\n      {found[0]}' + ', offline' * offline)
        return offline

    if not look('before'):
        raise Failure('a stub is not offline')
    copy = BASE + '/copy'
    spent, _ = milliseconds(lambda: server.smbclient(f'get "{name}" {copy}', user='root'))
    with open(copy, 'rb') as file:
        equal(path, file.read(), old_bytes(path))
    show.say(f'smbclient get: {spent:.0f} ms, the content is the old server\'s')
    sandbox.wait_for('the file is whole and durable',
                     lambda: 'security.migrate' not in os.listxattr(os.path.join(NEW, path)))
    if look('after'):
        raise Failure('a whole file is still offline')
    return server, name


def go_back(show, migration, old):
    """With the right to write there, which the migration itself has not got."""
    client = migration.server.client()
    wide = client.walk('wide')[0]
    fresh = client.mkdir(client.root, 'made on the new server')
    client.write(client.create(fresh, 'file', mode=0o644), 0, b'new' * 1000)
    client.write(client.walk('wide/00010')[0], 0, b'changed')
    client.rename(wide, '00011', fresh, 'renamed')
    client.remove(wide, '00012')

    def rollback(*options):
        return json.loads(migration.ctl('rollback', '--json', '--yes', '--to', OLD, *options))['rollback']

    counts = '{made} made, {changed} changed, {renamed} renamed, {removed} removed'
    plan = rollback('--plan')
    show.say(f'migratectl --plan rollback: {counts.format(**plan)}, '
             f'{len(plan["conflicts"])} conflicts; nothing is done')
    old.stop()                              # which has open what clients wrote to there
    spent, done = milliseconds(rollback)
    show.say(f'migratectl rollback: {counts.format(**done)}, in {spent:.0f} ms')
    comparison = tree.compare(OLD, NEW, slack=1 << 30)
    if comparison.differences:
        raise Failure('they differ:\n  ' + '\n  '.join(comparison.differences))
    show.say(f'{comparison.objects:,} objects are the same on both servers')
    old.start()


def finalize(show, migration):
    gone = len(migration.ctl('aside').splitlines())
    migration.ctl('aside', '--discard', '--yes')
    show.say(f'{gone} files that were copied, and are gone from the old server: discarded')
    migration.ctl('finalize')


def switch_again(show, migration, old, smb):
    """The new tree is now a copy like any other: what is as on the old server is not fetched."""
    migration.server.stop()
    smb.stop()
    client = old.client()
    write(client, 'wide/00020')
    client.rename(client.walk('wide')[0], '00021', client.root, 'renamed on the old server')
    migration.ctl('attach', '--adopt')
    migration.start_server()
    smb.start()
    crawl(migration)
    status = migration.status()
    if tree.compare(OLD, NEW, slack=1 << 30).differences:
        raise Failure('they differ')
    show.say(f'migratectl attach --adopt, and the crawler: {status["same"]:,} objects were the same, '
             f'{human(status["bytes_fetched"])} fetched; both servers are the same')


def demonstrate(args):
    show = Show()
    show.step('An old server: packaged NFS-Ganesha with a generated tree, on a host of its own')
    volume(OLD)
    volume(NEW)
    spent, (files, size) = milliseconds(lambda: tree.make(OLD, args.files, args.seed))
    show.say(f'{files:,} files, {human(size)}, made in {spent / 1000:.1f} s')
    old = old_server()

    show.step('Copy first (or leave it out): nothing is served yet, the old server is in use')
    migration = Migration(args.build, f'nfs://{old.address}{OLD}')
    migration.start_retriever()
    copy(show, migration)
    use_old_server(show, old.client())
    copy(show, migration)

    show.step('Attach: the new server\'s directory, with the copy in it, is bound to the old server')
    use_old_server_again(show, old.client())
    migration.start_journal()
    spent, _ = milliseconds(migration.attach)
    show.say(f'{spent:.0f} ms, whatever the size: no scan')

    show.step('The new server: packaged NFS-Ganesha, FSAL { Name = MIGRATE; FSAL { Name = VFS; } }')
    spent, server = milliseconds(migration.start_server)
    show.say(f'serves after {spent:.0f} ms; clients are switched now')

    show.step('Clients read: directories are compared as they are entered, what changed is fetched')
    handle = first_use(show, server)
    path = deep_file()

    show.step('The same volume over SMB: packaged smbd, vfs objects = migrate ...')
    smb, name = first_use_by_smb(show, migration)

    show.step('The crawler compares and brings the rest')
    start = time.monotonic()
    crawl(migration)
    crawled = time.monotonic() - start
    status = migration.status()
    show.say(f'{status["same"]:,} objects were the same in the copy, '
             f'{human(status["bytes_fetched"])} fetched since attach')

    show.step('The whole new tree is compared with the old one')
    comparison = tree.compare(OLD, NEW)
    if comparison.differences:
        raise Failure('they differ:\n  ' + '\n  '.join(comparison.differences))
    show.say(f'{comparison.objects:,} objects, {human(comparison.bytes)}: content, type, mode, '
             'owner, size, time,\n   links and holes are the same')

    show.step('The way back: clients change things, and the old server gets what they changed')
    go_back(show, migration, old)

    show.step('Clients are back on the old server, and change things; then they are switched again')
    finalize(show, migration)
    switch_again(show, migration, old, smb)

    show.step('Finalize, and the layer is taken away')
    finalize(show, migration)
    left = tree.records(NEW)
    if left:
        raise Failure(f'{len(left)} objects still carry a record, as {left[0]}')
    if tree.compare(OLD, NEW, data=False).differences:
        raise Failure('the trees differ after finalize')
    show.say('no record and no directory of ours is left')
    migration.retriever.stop()
    migration.without_layer()
    client = migration.server.client()
    equal('the content behind the first handle', client.read_all(handle), old_bytes(path))
    equal('the first handle', client.walk(path)[0], handle)
    show.say('Ganesha with plain VFS: the handle taken at the start is still good')
    smb.configure({SHARE: (NEW, {'vfs objects': 'streams_xattr acl_xattr'})})
    smb.restart()
    smb.smbclient(f'get "{name}" {BASE}/copy', user='root')
    show.say('Samba without the module: the same share, the same files')

    print(f'\nSummary: {files:,} files ({human(size)}) were usable at once after the switch, and '
          f'all compared and\nwhole when the crawler had run for {crawled:.1f} s (the whole '
          f'demonstration took {time.monotonic() - show.start:.0f} s).\n'
          'Nothing is left running or mounted.')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--build', required=True)
    parser.add_argument('--files', type=int, default=20000, help='at least (default %(default)s)')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()

    def body():
        try:
            demonstrate(args)
            return 0
        except Failure as failure:
            print(f'\nquickstart: {failure}', file=sys.stderr)
            show_logs()
            return 1
        except Exception:               # a reply that nobody expected
            traceback.print_exc()
            show_logs()
            return 1

    return sandbox.private(body)


if __name__ == '__main__':
    sys.exit(main())
