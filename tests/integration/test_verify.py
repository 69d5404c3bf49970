#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""verify --content: what was planted is found, all of it and nothing else; what clients changed is
told apart; samples, caps, stops and kills."""
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, sh, volume, wait_for                          # noqa: E402
from smbfiles import Files                                              # noqa: E402
from smbtree import old_tree, settings_of                              # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, stack                  # noqa: E402

MIB = 1 << 20


def command(migration, *options):
    return [migration.program('migratectl'), '--config', migration.config, 'verify', '--content',
            '--json', *options, VOLUME]


def proof(migration, *options, status=None):
    """What verify --content says; its exit status as well, unless given."""
    done = subprocess.run(command(migration, *options), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    if status is not None:
        same(done.returncode, status, f'exit status with {done.stderr!r} {done.stdout[-2000:]}')
    expect(status or not done.stderr, f'complaint: {done.stderr}')
    said = json.loads(done.stdout)
    return {**said['proof'], 'list': said['findings']}


def kinds(said):
    """The kinds of findings by path."""
    found = {}
    for finding in said['list']:
        found.setdefault(finding['path'], set()).add(finding['kind'])
    return found


def clean(migration, *options):
    said = proof(migration, *options, status=0)
    same(said['list'], [], 'findings')
    same(said['findings'], 0, 'number of findings')
    return said


def fill(root, random):
    """A file for each fault, and others beside."""
    for directory in ('data', 'names', 'attributes', 'links'):
        os.mkdir(f'{root}/{directory}')
    for name in ('byte', 'swap a', 'swap b', 'stale', 'zeroed', 'hole', 'short', 'clean'):
        with open(f'{root}/data/{name}', 'wb') as file:
            file.write(random.randbytes(300000))
    with open(f'{root}/data/large', 'wb') as file:
        for _ in range(9):
            file.write(random.randbytes(MIB))
        file.write(b'tail')
    for name in ('caf\u00e9', 'Case', 'gone', 'clean'):
        with open(f'{root}/names/{name}', 'w') as file:
            file.write(name)
    for name in ('mode', 'owner', 'mtime', 'xattr', 'acl', 'more', 'clean'):
        with open(f'{root}/attributes/{name}', 'w') as file:
            file.write(name)
        os.chmod(f'{root}/attributes/{name}', 0o640)
        os.setxattr(f'{root}/attributes/{name}', 'user.colour', b'green')
        if name != 'mode':                          # a mask would change with it
            sh('setfacl', '-m', 'u:1234:r,g:77:rw', f'{root}/attributes/{name}')
    os.mkdir(f'{root}/attributes/directory')
    sh('setfacl', '-d', '-m', 'u:1234:rwx', f'{root}/attributes/directory')
    os.symlink('clean', f'{root}/attributes/symlink')
    for name in ('one', 'broken'):
        with open(f'{root}/links/{name}', 'w') as file:
            file.write('several names')
        os.link(f'{root}/links/{name}', f'{root}/links/{name} too')
        os.link(f'{root}/links/{name}', f'{root}/data/{name}')
    for directory, _, files in os.walk(root):
        for name in [*files, '']:
            moment = random.randrange(10 ** 9, 16 * 10 ** 8) * 10 ** 9 + random.randrange(10 ** 9)
            os.utime(os.path.join(directory, name), ns=(moment, moment), follow_symlinks=False)


@contextlib.contextmanager
def times_of(*names):
    """What is done to the new tree inside leaves their times, and their directories', as they are:
    nobody could tell it from a fault by its times."""
    paths = {p for n in names for p in (f'{NEW}/{n}', os.path.dirname(f'{NEW}/{n}'))}
    before = {p: os.lstat(p) for p in paths if os.path.lexists(p)}
    yield
    for path, st in before.items():
        if os.path.lexists(path):
            os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns), follow_symlinks=False)


def write(name, offset, data):
    with times_of(name), open(f'{NEW}/{name}', 'r+b') as file:
        file.seek(offset)
        file.write(data)


def plant():
    """Every fault.  Returns the kinds of findings by path that they must lead to."""
    with open(f'{NEW}/data/byte', 'rb') as file:
        file.seek(123456)
        byte = file.read(1)[0]
    write('data/byte', 123456, bytes([byte ^ 1]))
    with times_of('data/swap a', 'data/swap b'):
        a, b = (open(f'{NEW}/data/swap {n}', 'rb').read() for n in 'ab')
        for name, data in (('a', b), ('b', a)):
            with open(f'{NEW}/data/swap {name}', 'r+b') as file:
                file.write(data)
    with open(f'{NEW}/data/stale', 'r+b') as file:          # as it was a year before
        file.write(b'an older version')
    os.utime(f'{NEW}/data/stale', ns=(9 * 10 ** 17, 9 * 10 ** 17))
    write('data/zeroed', 8192, bytes(4096))
    with times_of('data/hole'):
        sh('fallocate', '--punch-hole', '--offset', 65536, '--length', 65536, f'{NEW}/data/hole')
    with times_of('data/short'):
        os.truncate(f'{NEW}/data/short', 299999)
    write('data/large', 9 * MIB + 1, b'X')
    with times_of('names/caf\u00e9', 'names/Case', 'names/gone'):
        os.rename(f'{NEW}/names/caf\u00e9', f'{NEW}/names/cafe\u0301')
        os.rename(f'{NEW}/names/Case', f'{NEW}/names/CASE')
        os.unlink(f'{NEW}/names/gone')
        with open(f'{NEW}/names/extra', 'w') as file:
            file.write('nobody knows')
    with times_of('attributes/mode', 'attributes/owner', 'attributes/xattr'):
        os.chmod(f'{NEW}/attributes/mode', 0o660)
        os.chown(f'{NEW}/attributes/owner', 4321, 0)
        os.removexattr(f'{NEW}/attributes/xattr', 'user.colour')
        sh('setfacl', '-m', 'u:1234:rw', f'{NEW}/attributes/acl')
        os.setxattr(f'{NEW}/attributes/more', 'user.more', b'1')
        sh('setfacl', '-d', '-x', 'u:1234', f'{NEW}/attributes/directory')
        os.unlink(f'{NEW}/attributes/symlink')
        st = os.lstat(f'{OLD}/attributes/symlink')
        os.symlink('elsewhere', f'{NEW}/attributes/symlink')
        os.utime(f'{NEW}/attributes/symlink', ns=(st.st_atime_ns, st.st_mtime_ns),
                 follow_symlinks=False)
    os.utime(f'{NEW}/attributes/mtime', ns=(0, 5 * 10 ** 17))
    with times_of('links/broken too'):
        st = os.lstat(f'{NEW}/links/broken too')
        sh('cp', '-p', '--preserve=all', f'{NEW}/links/broken', f'{NEW}/links/copy')
        os.rename(f'{NEW}/links/copy', f'{NEW}/links/broken too')
    content = {f'data/{n}': {'content'} for n in ('byte', 'swap a', 'swap b', 'zeroed', 'hole',
                                                  'short', 'large')}
    return {**content, 'data/stale': {'content', 'attributes'},
            'names/caf\u00e9': {'spelling'}, 'names/Case': {'spelling'},
            'names/gone': {'missing'}, 'names/extra': {'extra'},
            'attributes/mode': {'attributes'}, 'attributes/owner': {'attributes'},
            'attributes/mtime': {'attributes'}, 'attributes/xattr': {'xattrs'},
            'attributes/acl': {'xattrs'}, 'attributes/more': {'xattrs'},
            'attributes/directory': {'xattrs'}, 'attributes/symlink': {'content'}}


def check_planted(said, planted):
    """The broken link is found under one of its names, whichever was looked at last."""
    found = kinds(said)
    broken = [p for p in found if p in ('links/broken', 'links/broken too', 'data/broken')]
    expect(broken and all(found[p] == {'links'} for p in broken), f'broken link: {found}')
    for path in broken:
        del found[path]
    odd = {p: (found.get(p), planted.get(p)) for p in {*found, *planted}
           if found.get(p) != planted.get(p)}
    same(odd, {}, f'found and planted, of {len(planted)}')


def local(args, fill_old, fs=None):
    """A migration from a local tree, done to its end."""
    volume(OLD, '4G')
    volume(NEW, '4G', fs)
    fill_old(OLD)
    migration = Migration(args.build, f'file://{OLD}')
    migration.start_retriever()
    migration.attach()
    migration.crawl()
    return migration


def retry(migration, *paths):
    """Its exit status, and what it says."""
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'retry',
                           VOLUME, *paths], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


def open_below(migration, directory):
    """Whether the retriever has a file there open, as for the next round of what it makes durable."""
    fds, found = f'/proc/{migration.retriever.pid}/fd', []
    for fd in os.listdir(fds):
        with contextlib.suppress(FileNotFoundError):        # closed meanwhile
            found.append(os.readlink(f'{fds}/{fd}'))
    return any(path.startswith(directory + '/') for path in found)


def mend(migration, planted):
    """What can be mended is the same afterwards, in the same inode; the rest is refused."""
    ours = [p for p, found in planted.items()
            if found <= {'content', 'attributes', 'xattrs'} and p != 'attributes/symlink']
    inodes = {p: os.stat(f'{NEW}/{p}').st_ino for p in ours}
    wait_for('the retriever has closed what it has brought', lambda: not open_below(migration, f'{NEW}/data'))
    status, said = retry(migration, *ours)
    same(status, 0, f'exit status of retry: {said}')
    same({p: os.stat(f'{NEW}/{p}').st_ino for p in ours}, inodes, 'inodes')
    for path in ('names/gone', 'names/café', 'attributes/symlink'):
        status, said = retry(migration, path)
        same(status, 1, f'exit status of retry {path}: {said}')
    with open(f'{NEW}/data/clean', 'a') as file:
        file.write('a client')
        file.flush()
        status, said = retry(migration, 'data/clean')
    expect(status == 1 and 'clients have changed it' in said, f'retry of a client\'s: {said}')
    for path in ours:
        del planted[path]
    check_planted(proof(migration, status=1), planted)


@case(short=True)
def planted(args):
    find_planted(args, 'ext4')


@case()
def planted_on_xfs(args):
    find_planted(args, 'xfs')


@case()
def planted_on_btrfs(args):
    find_planted(args, 'btrfs')


def find_planted(args, fs):
    migration = local(args, lambda root: fill(root, args.random), fs)
    said = clean(migration)
    same(said['same'], said['objects'], 'objects that are the same')
    same(said['told_by'], 'times', 'how clients are told')
    same(said['files_cached'], 0, 'files that were read from the cache')
    wanted = plant()
    said = proof(migration, status=1)
    check_planted(said, wanted)
    zeros = {f['path']: f['text'] for f in said['list'] if f['path'].startswith('data/')}
    expect('zeros here' in zeros['data/hole'] and 'first is byte 65536' in zeros['data/hole'],
           f'the hole: {zeros["data/hole"]}')
    expect('byte 123456' in zeros['data/byte'] and '1 of 300000' in zeros['data/byte'],
           f'the byte: {zeros["data/byte"]}')
    mend(migration, wanted)
    migration.ctl('aside', '--discard', '--yes')
    migration.ctl('finalize')
    expect(os.path.exists(f'{BASE}/{VOLUME}.report.proof/entries'), 'the entries are not kept')
    check_planted(proof(migration, status=1), wanted)
    same(os.listdir(NEW).count('.migrate'), 0, '.migrate after it')


def rot(name):
    """Bytes on the disk change; the page cache has them as they were."""
    path = f'{NEW}/{name}'
    sh('sync', '-f', NEW)
    with open(path, 'rb') as file:
        data = file.read()
    extent = next(line for line in sh('filefrag', '-v', '-b4096', path).splitlines()
                  if line.strip().startswith('0:'))
    block = int(extent.split(':')[2].split('..')[0])
    device = os.open(sh('findmnt', '-no', 'SOURCE', NEW).strip(), os.O_RDWR | os.O_CLOEXEC)
    same(os.pread(device, 100, block * 4096), data[:100], 'what is there on the disk')
    os.pwrite(device, b'rotten', block * 4096 + 50)
    os.fsync(device)
    os.close(device)
    with open(path, 'rb') as file:
        same(file.read(), data, 'what the cache has')


@case()
def rotten(args):
    """It is the disk that is compared, not the cache; and no journal calls that a client's."""
    migration = stack(args.build, lambda root: fill(root, args.random))[1]
    migration.start_journal()
    migration.attach()
    migration.crawl()
    rot('data/byte')
    said = proof(migration, status=1)
    same(kinds(said), {'data/byte': {'content'}}, 'findings')
    expect('the first is byte 50' in said['list'][0]['text'], f'{said["list"]}')


def rate(migration, bytes_per_second):
    migration.ctl('throttle', argument=str(bytes_per_second))


@contextlib.contextmanager
def under_way(migration, *options):
    """A comparison that has begun to read; not ended inside."""
    process = subprocess.Popen(command(migration, *options), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def reads():
        now = progress(migration)                   # of the one before, as long as it has not begun
        return now['state'] == 'running' and now['objects'] > 3
    try:
        wait_for('it reads', reads)
        yield process
    finally:
        process.kill()
        process.communicate()


def progress(migration):
    done = subprocess.run(command(migration, '--list'), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    return json.loads(done.stdout)['proof'] if done.stdout else {'objects': 0, 'state': 'none'}


@case()
def many(args):
    """An NFS source with something of everything: nothing is found on a true copy, and the manifest
    is that of the new tree.  Then samples, a cap, stops and kills."""
    migration = stack(args.build, lambda root: tree.make(root, 1500, args.seed, 8 * MIB))[1]
    migration.attach()
    first = migration.start_crawler()
    wait_for('there is something', lambda: int(migration.status()['files_whole']) > 100)
    first.stop()
    unfinished = proof(migration, status=0)
    expect(unfinished['unfinished'] > 0, f'nothing is unfinished: {unfinished}')
    migration.crawl()
    said = clean(migration)
    same(said['unfinished'], 0, 'unfinished')
    same(said['objects'], len(list(tree.every(OLD))) + 1 - 1, 'objects')
    check_manifest(said)
    samples(migration, said)
    stops(migration, said)
    kills(migration, said)


def check_manifest(said):
    """By mtree's grammar, as far as these names need it, and sha256sum."""
    with open(f'{NEW}/.migrate/proof/entries', 'rb') as file:
        lines = [line.split() for line in file if not line.startswith(b'#')]
    same(len(lines), said['objects'], 'lines')
    same(len({line[0] for line in lines}), len(lines), 'paths')
    for path, *words in lines:
        name = path.decode().encode('latin1').decode('unicode_escape').encode('latin1')
        fields = dict(word.split(b'=', 1) for word in words)
        st = os.lstat(os.path.join(NEW.encode(), name))
        same(int(fields[b'mode'], 8), st.st_mode & 0o7777, path)
        if fields[b'type'] == b'file':
            with open(os.path.join(NEW.encode(), name), 'rb') as file:
                same(fields[b'sha256digest'].decode(),
                     hashlib.sha256(file.read()).hexdigest(), path)


def samples(migration, whole):
    """Seeded; of each directory its share."""
    def sampled(*options):
        said = clean(migration, *options)
        with open(f'{NEW}/.migrate/proof/entries') as file:
            names = {line.split()[0] for line in file
                     if ' type=file ' in line and 'sha256digest' in line}
        same(said['files_read'], len(names), 'files that were read')
        return names

    a, b = sampled('--sample', '10%', '--seed', '7'), sampled('--sample', '10', '--seed', '7')
    same(a, b, 'the same sample')
    files = whole['files_read']
    expect(files * 0.05 < len(a) < files * 0.15, f'{len(a)} of {files} are 10 %')
    expect(a != sampled('--sample', '10%', '--seed', '8'), 'another seed has the same sample')
    wide = sum(name.startswith('./wide/') for name in a)
    expect(wide in (30, 29, 31), f'{wide} of the 300 in wide/')


def stops(migration, whole):
    """Under a cap; a second call follows; what was stopped goes on and is not done again."""
    rate(migration, 8 * MIB)
    with under_way(migration) as first:
        second = subprocess.Popen(command(migration), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        migration.ctl('pause')
        proof_stop(migration)
        for process in (first, second):
            same(process.wait(60), 1, 'exit status of one that was stopped')
        second.communicate()
    migration.ctl('resume')
    stopped = progress(migration)
    same(stopped['state'], 'stopped', 'state')
    rate(migration, 0)
    said = clean(migration)
    same([said['number'], said['seed']], [stopped['number'], stopped['seed']], 'the run')
    for key in ('objects', 'bytes', 'same', 'files_read'):
        same(said[key], whole[key], key)
    check_manifest(said)


def proof_stop(migration):
    done = subprocess.run(command(migration, '--stop'), stdout=subprocess.PIPE, timeout=60)
    same(done.returncode, 0, 'exit status of --stop')


def kills(migration, whole):
    """The retriever is killed in a run: the next goes on."""
    rate(migration, 8 * MIB)
    with under_way(migration):
        migration.retriever.stop(signal.SIGKILL)
    migration.start_retriever()
    killed = progress(migration)
    same(killed['state'], 'stopped', 'state after the kill')
    said = clean(migration)
    same(said['number'], killed['number'], 'the run')
    for key in ('objects', 'bytes', 'same', 'files_read'):
        same(said[key], whole[key], key)
    check_manifest(said)


def statuses(names):
    """What the manifest says of them."""
    found = {}
    with open(f'{NEW}/.migrate/proof/entries') as file:
        for line in file:
            if not line.startswith('#'):
                path, *words = line.split()
                found[path[2:].replace('\\040', ' ')] = words[-1].removeprefix('tags=')
    return {name: found.get(name) for name in names}


def over_nfs(migration, journal):
    """What a client does, and what the manifest must say of it.  Some of it only a journal knows."""
    client = migration.server.client()
    names = client.walk('names')[0]
    client.write(client.walk('data/clean')[0], 5, b'changed', nfs3.FILE_SYNC)
    if journal:
        st = os.stat(f'{OLD}/data/clean')
        client.setattr(client.walk('data/clean')[0], mtime=st.st_mtime_ns)
        client.setattr(client.walk('attributes/clean')[0], mode=0o600)
    client.rename(names, 'clean', names, 'renamed')
    client.remove(names, 'gone')
    client.create(names, 'made')
    client.mkdir(names, 'directory')
    client.create(client.walk('names/directory')[0], 'inside')
    return {'data/clean': 'changed-by-clients', 'names': 'changed-by-clients',
            'attributes/clean': 'changed-by-clients' if journal else 'same',
            'names/clean': 'removed-by-clients', 'names/renamed': 'made-by-clients',
            'names/gone': 'removed-by-clients', 'names/made': 'made-by-clients',
            'names/directory/inside': 'made-by-clients'}


def over_smb(migration):
    files = Files(migration.smbd.session('root'))
    files.write('data\\swap a', b'of another size')
    files.rename('data\\swap b', 'data\\swapped')
    files.unlink('data\\stale')
    files.mkdir('data\\over smb')
    return {'data/swap a': 'changed-by-clients', 'data/swap b': 'removed-by-clients',
            'data/swapped': 'made-by-clients', 'data/stale': 'removed-by-clients',
            'data/over smb': 'made-by-clients', 'data/byte': 'same'}


def clients(args, journal):
    migration = stack(args.build, lambda root: fill(root, args.random))[1]
    if journal:
        migration.start_journal()
    migration.attach()
    migration.start_server()
    migration.start_smbd()
    migration.crawl()
    wanted = {**over_nfs(migration, journal), **over_smb(migration)}
    said = clean(migration)
    same(said['told_by'], 'journal' if journal else 'times', 'how clients are told')
    same(statuses(wanted), wanted, 'what is said of clients\' changes')


@case()
def clients_by_journal(args):
    clients(args, True)


@case()
def clients_by_times(args):
    clients(args, False)


def object_with(xattr):
    """The path of a file in the new tree that has one of that name, and the name."""
    for path in map(os.fsdecode, tree.every(NEW)):
        if os.path.isfile(path) and not os.path.islink(path):
            for name in os.listxattr(path):
                if name.startswith(xattr):
                    return path, name
    raise AssertionError(f'nothing has {xattr}')


@case()
def left_alone(args):
    """Who interrupts it is told that it goes on, and how to end it; then it holds up no end."""
    volume(OLD, '4G')
    volume(NEW, '4G')
    for n in range(6):
        with open(f'{OLD}/file{n}', 'wb') as file:
            file.write(os.urandom(n * n * MIB))
    migration = Migration(args.build, f'file://{OLD}')
    migration.start_retriever()
    migration.attach()
    migration.crawl()
    rate(migration, MIB)
    with under_way(migration) as watch:
        watch.send_signal(signal.SIGINT)
        said = watch.stderr.readline() + watch.stderr.readline()
    expect('the comparison goes on in the retriever' in said and f'verify {VOLUME} --content --stop' in said, said)
    wait_for('finalize goes on', lambda: 'finished' in (migration.ctl('finalize', may_fail=True) or ''))


@case()
def old_smb(args):
    """Descriptors, attributes and streams: the same, and one of each missing or another."""
    server, _ = old_tree(args.random, 60)
    volume(NEW, '4G', mkfs=('-O', 'ea_inode'))
    migration = Migration(args.build, **settings_of(server))
    migration.start_retriever()
    migration.attach()
    migration.crawl()
    said = clean(migration)
    expect(said['objects'] > 60, f'{said["objects"]} objects')
    path, stream = object_with('user.DosStream.')
    os.removexattr(path, stream)
    other = next(p for p in map(os.fsdecode, tree.every(NEW))
                 if p != path and 'security.NTACL' in os.listxattr(p, follow_symlinks=False))
    value = bytearray(os.getxattr(other, 'security.NTACL'))
    value[-1] ^= 1
    os.setxattr(other, 'security.NTACL', value)
    found = kinds(proof(migration, status=1))
    same(found, {p[len(NEW) + 1:]: {'xattrs'} for p in (path, other)}, 'findings')


if __name__ == '__main__':
    sys.exit(main())
