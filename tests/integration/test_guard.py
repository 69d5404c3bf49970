#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the new server itself, which open what is not here yet without a file server, see it or
an error, and never a hole."""
import concurrent.futures
import contextlib
import errno
import itertools
import multiprocessing
import os
import random
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs3                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbfiles                                                             # noqa: E402
import guarded                                                          # noqa: E402
import guarded_ways as ways                                             # noqa: E402
import peer                                                             # noqa: E402
from fake import is_normal                                              # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Failure, sh, volume, wait_for                          # noqa: E402
from servers import NEW, OLD, VOLUME, Ganesha, Stalled                           # noqa: E402

SIZE = 300000
PLAIN = BASE + '/plain'

with open('/proc/self/comm') as comm:
    OUR_NAME = comm.read().strip()


def content(name, size=SIZE):
    return (f'{name} '.encode() * size)[:size]


def make(path, data, mode=0o644):
    with open(path, 'wb') as file:
        file.write(data)
    os.chmod(path, mode)


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def fill(root, directories='abc', files=20, size=SIZE):
    for directory in directories:
        os.mkdir(f'{root}/{directory}')
        for n in range(files):
            make(f'{root}/{directory}/{n}', content(f'{directory}{n}', size))


def listed(*directories):
    """As programs do that go down: each before what is in it is looked for."""
    os.listdir(NEW)
    return [len(os.listdir(f'{NEW}/{name}')) for name in directories]


def refused(number, path):
    try:
        read(path)
    except OSError as error:
        same(error.errno, number, f'the error of {path}')
        return
    expect(False, f'{path} could be read')


def log(guard):
    with open(guard.process.log) as file:
        return file.read()


def read_all_ways(args, fs):
    def tree(root):
        for name in ways.READS:
            os.mkdir(f'{root}/{name}')
            ways.prepare(f'{root}/{name}/file')

    migration, _ = guarded.begin(args, tree, fs=fs)
    os.listdir(NEW)
    for name, way in ways.READS.items():
        os.listdir(f'{NEW}/{name}')
        same(os.stat(f'{NEW}/{name}/file').st_blocks, 0, f'{name}: what is here before')
        same(way(f'{NEW}/{name}/file'), way(f'{OLD}/{name}/file'), name)
    migration.crawl()
    for name, way in ways.READS.items():
        same(way(f'{NEW}/{name}/file'), way(f'{OLD}/{name}/file'), f'{name}, when all is whole')


@case(short=True)
def reads(args):
    """Each way of reading, of a file of its own, beside the old server's."""
    read_all_ways(args, 'ext4')


@case()
def reads_xfs(args):
    read_all_ways(args, 'xfs')


@case()
def reads_btrfs(args):
    read_all_ways(args, 'btrfs')


@case(short=True)
def changes(args):
    """Each way of changing, of stubs and of a plain copy: no difference, then and in the end."""
    def tree(root):
        for name in ways.CHANGES:
            os.makedirs(f'{root}/{name}/other')
            ways.prepare(f'{root}/{name}/file')

    migration, _ = guarded.begin(args, tree)
    volume(PLAIN)
    sh('cp', '-a', OLD + '/.', PLAIN)
    os.listdir(NEW)
    for name, way in ways.CHANGES.items():
        os.listdir(f'{NEW}/{name}')
        same(os.stat(f'{NEW}/{name}/file').st_blocks, 0, f'{name}: what is here before')
        same(way(f'{NEW}/{name}'), way(f'{PLAIN}/{name}'), f'{name}: what it says')
        same(ways.tree(f'{NEW}/{name}'), ways.tree(f'{PLAIN}/{name}'), name)
    times = ways.times(NEW)
    migration.crawl()
    for name in ways.CHANGES:
        same(ways.tree(f'{NEW}/{name}'), ways.tree(f'{PLAIN}/{name}'), f'{name}, in the end')
    same(ways.times(NEW), times, 'mtimes in the end')


@case()
def everywhere(args):
    """In a mount namespace of its own, as most services have one, and through another mount; and what
    was looked at when it was whole is not asked about again."""
    migration, guard = guarded.begin(args, fill)
    wait_for('the guard sees that it is attached', lambda: migration.status().get('attached'))
    same(listed('a'), [20], 'names')
    same(subprocess.check_output(['unshare', '--mount', 'cat', f'{NEW}/a/0']), content('a0'),
         'in a namespace')
    os.mkdir(BASE + '/bind')
    sh('mount', '--bind', NEW + '/a', BASE + '/bind')
    same(read(BASE + '/bind/1'), content('a1'), 'through another mount')
    with Stalled(guard.process):
        same(read(f'{NEW}/a/0'), content('a0'), 'what is whole')
        same(len(os.listdir(f'{NEW}/a')), 20, 'what is filled')
    migration.crawl()
    sh('umount', BASE + '/bind')
    migration.ctl('finalize')
    same(guard.process.wait(60), 0, "the guard's status in the end")
    guard.listen()
    same(guard.kept, {}, 'what is kept')
    same(read(f'{NEW}/c/19'), content('c19'), 'in the end')


@case()
def servers(args):
    """They have mounts of their own, through which nobody is asked: they go on while the guard stands
    still, as does the retriever.  Programs that they start are asked about."""
    def tree(root):
        fill(root)
        os.makedirs(root + '/a/deep/deeper')

    migration, guard = guarded.begin(args, tree)
    client = migration.start_server(host=guarded.OwnMounts).client()
    smbd.users()                        # for all mounts
    listed('b')
    smb = migration.start_smbd(host=guarded.OwnMounts,
                               settings={'root preexec': f'cp {NEW}/b/19 {BASE}/started'})
    files = smbfiles.Files(smb.session())
    same(read(BASE + '/started'), content('b19'), 'what a program reads that smbd starts')
    same(client.read_all(client.walk('a/0')[0]), content('a0'), 'over NFS')
    same(files.read('c/0'), content('c0'), 'over SMB')
    listed('a', 'b')
    status = migration.ctl('status')
    expect('names that are not here yet' in status and 'of its own' not in status, status)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with Stalled(guard.process):
            local = pool.submit(read, f'{NEW}/a/9')
            for n in range(1, 6):
                same(client.read_all(client.walk(f'a/{n}')[0]), content(f'a{n}'), 'over NFS')
                same(files.read(f'c/{n}'), content(f'c{n}'), 'over SMB')
            client.write(client.walk('b/1')[0], 0, b'changed', nfs3.FILE_SYNC)
            expect(not local.done(), 'nobody asked the guard')
        same(local.result(60), content('a9'), 'of whom waited')
    same(read(f'{NEW}/b/1'), b'changed' + content('b1')[7:], 'what a client wrote')
    migration.crawl()
    expect(migration.status()['guarded'], 'status does not say that it runs')
    guard.process.stop()
    expect('not running' in migration.ctl('status'), 'status does not say that it does not run')
    begun = time.monotonic()            # of a session, with mounts of its own, in less than guard-wait
    same(smbfiles.Files(smb.session()).read('c/9'), content('c9'), 'over SMB, in a session that begins then')
    expect(time.monotonic() - begun < 40, 'it waits for the guard')


@case()
def beside_what_serves(args):
    """migratectl and the crawler in a namespace of somebody, such as a backup's unit with PrivateTmp=:
    the others there are kept from holes all the same."""
    migration, _ = guarded.begin(args, fill)
    listed('a')
    ours = [migration.program('migratectl'), '--config', migration.config, '--for', 'tar', 'backup-list',
            VOLUME], [migration.program('migrate-crawler'), '--socket', migration.socket,
                      '--metadata-only', VOLUME]
    for n, command in enumerate(ours):
        script = f'{shlex.join(command)} >/dev/null && cat {NEW}/a/{n}'
        same(subprocess.check_output(['unshare', '--mount', 'sh', '-c', script]), content(f'a{n}'),
             f'what is read behind {command[0]}')


NOBODY = 'setpriv --reuid 65534 --regid 65534 --clear-groups'
ATTACKERS = {                           # and what each is run as
    'a user': NOBODY,
    'a user in a namespace of his own': NOBODY + ' unshare --user --map-root-user --mount',
    'root of a container': 'unshare --user --map-root-user --mount',
    'root of a container, in the first user namespace':
        'setpriv --bounding-set -dac_read_search unshare --mount'}
ARRANGED = (                            # each in a shell that goes on where something is refused to it
    'in={new}',
    'mount --rbind {base} {x}/old; mount -t tmpfs none {base}; ln -s /proc/1/root{new} {new}; in={x}/old/new',
    'mount --rbind {base} {x}/old; mount -t tmpfs none {base}; mkdir {new}; mount --bind /proc/1/root{new} {new};'
    ' in={x}/old/new',
    'mount --bind {new} {x}/old; in={x}/old',
    'mount --rbind / {x}/old; within="chroot {x}/old"; in={new}',
    'mount --rbind / {x}/old; mount -t tmpfs none {x}/old{base}; ln -s /proc/1/root{new} {x}/old{new};'
    ' within="chroot {x}/old"; in=/proc/1/root{new}',
    # who is in it says so, and stays until the shell has ended; or it was refused
    'mkfifo {x}/own/in {x}/own/end; (unshare --mount sh -c "echo \\$\\$ >{x}/own/in; cat {x}/own/end" || echo >{x}/own/in) &'
    ' read holder <{x}/own/in; exec 9<>{x}/own/end; within="nsenter --mount=/proc/$holder/ns/mnt"; in={new}',
    'mount -t tmpfs none {x}/old; mkdir {x}/old/e {x}/old/m;'
    ' mount -t overlay -o lowerdir={new}:{x}/old/e none {x}/old/m; in={x}/old/m',
    'cd {new}; mount -t tmpfs none {new}; in=.')
EXECS = ("import os, sys, threading; "
         "[threading.Thread(target=lambda: open(sys.argv[2]).read(), daemon=True).start() for _ in range(4)]; "
         "os.execv(sys.argv[1], [sys.argv[1], '-F', '-s', sys.argv[2]])")
PROGRAMS = ('smbd -F -s', 'ganesha.nfsd -F -L /dev/null -f', '{build}/ctl/migratectl --config', '{x}/smbd',
            '{x}/own/smbd', f'python3 -c "{EXECS}" /usr/sbin/smbd')


def attack(args, number, who, arranged, program, name):
    """What he reads in the end."""
    x = f'{BASE}-attack/{number}'
    os.makedirs(x + '/old')
    os.makedirs(x + '/own')
    os.chmod(x + '/own', 0o777)
    sh('cp', '/bin/cat', x + '/smbd')
    words = {'base': BASE, 'new': NEW, 'x': x, 'build': args.build}
    script = f"""cp /bin/cat {x}/own/smbd
        {arranged}
        $within timeout -k 1 5 {program} $in/{name[0]} </dev/null >&2
        $within cat $in/{name[1]}"""
    return subprocess.run([*ATTACKERS[who].split(), 'sh', '-c', script.format(**words)], capture_output=True,
                          check=False).stdout


@case()
def nobody_turns_it_off(args):
    """Users, and root of containers, arrange mounts and links and run programs that servers are: neither they
    nor anybody else sees a hole, nor when the guard was started anew."""
    tries = 1000 if args.long else 12
    migration, guard = guarded.begin(args, lambda root: fill(root, 'ab', 2 * tries, 20000))
    wait_for('attached', lambda: migration.status().get('attached'))
    listed('a', 'b')
    os.chmod(BASE, 0o755)
    tried = list(itertools.product(ATTACKERS, ARRANGED, PROGRAMS))
    random.Random(args.seed).shuffle(tried)
    got = 0
    for n in range(tries):
        who, arranged, program = tried[n % len(tried)]
        data = attack(args, n, who, arranged, program, (f'a/{2 * n}', f'a/{2 * n + 1}'))
        got += bool(data)
        expect(data in (b'', content(f'a{2 * n + 1}', 20000)), f'try {n}: {who}: {arranged}: {program}: {data[:20]}')
        same(read(f'{NEW}/b/{n}'), content(f'b{n}', 20000), f'try {n}: {who}: {arranged}: {program}: what root reads')
    print(f'{got} of {tries} could read')
    expect(got > tries // 3, f'only {got} of {tries} could read')
    guard.stop(signal.SIGKILL)
    guard.start()
    same(read(f'{NEW}/b/{tries}'), content(f'b{tries}', 20000), 'when it was started again')


@case()
def stopped_by_an_older_manager(args):
    """systemd before 254 keeps nothing of a unit that is stopped: who reads waits all the same."""
    migration, guard = guarded.begin(args, fill, preserves=False)
    listed('a', 'b')
    for n, number in enumerate((signal.SIGTERM, signal.SIGKILL)):
        guard.stop(number)
        guard.forget()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            local = pool.submit(read, f'{NEW}/a/{n}')
            expect(not concurrent.futures.wait([local], 0.5).done, 'somebody read while none ran')
            guard.start()
            same(local.result(60), content(f'a{n}'), 'who waited')
    guard.stop(signal.SIGTERM)
    migration.configure(source=migration.source, guard='no')
    guard.start()
    same(guard.process.wait(60), 0, "the guard's status")
    same(read(f'{NEW}/b/0'), bytes(SIZE), 'a file, when it was turned off')


@case()
def i4_moved_by_local_programs(args):
    """What is unfinished is moved and linked into a directory in which everything was whole, of which
    nobody is told: clients see its content, also when all the rest is whole, and it is not forgotten
    in the end."""
    def tree(root):
        fill(root, 'abd', 3)
        os.mkdir(root + '/a/whole')

    migration, _ = guarded.begin(args, tree)
    nfs = migration.start_server(host=guarded.OwnMounts).client()
    smbd.users()
    smb = smbfiles.Files(migration.start_smbd(host=guarded.OwnMounts).session())
    listed('a', 'b', 'd')
    os.listdir(f'{NEW}/a/whole')
    asking = peer.Peer(migration.socket, peer.CRAWLER)
    asking.object(peer.FINISH, f'{NEW}/a/whole')
    same(asking.receive()[2], 0, 'what is said of finishing it')
    asking.close()
    expect(is_normal(f'{NEW}/a/whole'), 'the directory is not finished')
    nfs.walk('a/whole')                 # it is known to be whole
    smb.list('a/whole')
    for name in ('nfs', 'smb', 'nobody'):
        os.rename(f'{NEW}/b/{"nfs smb nobody".split().index(name)}', f'{NEW}/a/whole/{name}')
    os.link(f'{NEW}/d/0', f'{NEW}/a/whole/link')
    migration.crawl()
    same(nfs.read_all(nfs.walk('a/whole/nfs')[0]), content('b0'), 'over NFS')
    same(smb.read('a/whole/smb'), content('b1'), 'over SMB')
    expect(is_normal(NEW) and not is_normal(f'{NEW}/a/whole/nobody'), 'it was brought')
    expect(migration.ctl('finalize', may_fail=True) is None, 'it is finalized with a stub')
    migration.crawl()
    migration.ctl('finalize')
    same(read(f'{NEW}/a/whole/nobody'), content('b2'), 'what nobody had asked for')
    same(read(f'{NEW}/a/whole/link'), content('d0'), 'the link')


PAST = {NEW: 'at', os.path.dirname(NEW): 'above', NEW + '/a': 'below'}


def past_of(migration):
    """Who is said to be past the layer."""
    return migration.status()['without_layer']


def check_start(migration, server, config):
    """(exit status, messages) of what is asked before it starts."""
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'doors', server, config],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def share_otherwise(server):
    """Shares that are not in smb.conf, or whose path names itself, without the layer."""
    made = server.state + '/usershares'
    os.mkdir(made)
    os.chmod(made, 0o1770)
    server.configure({**server.shares, 'c': (f'{NEW}/%S', {'vfs objects': 'acl_xattr'})},
                     registry_shares='yes', usershare_path=made)
    sh('net', '-s', server.config, 'usershare', 'add', 'mine', NEW + '/a', '', 'Everyone:R')
    sh('net', '-s', server.config, 'conf', 'addshare', 'kept', NEW + '/b')
    with open(made + '/latin', 'wb') as file:
        file.write(b'#VERSION 1\npath=%s/caf\xe9\n' % NEW.encode())
    server.reload()


@case(short=True)
def past_the_layer(args):
    """Servers whose configuration has no layer: their clients see the content or an error, and status says who
    it is."""
    migration, _ = guarded.begin(args, fill)
    wait_for('attached', lambda: migration.status().get('attached'))
    listed('a', 'b', 'c')
    smbd.users()
    smbd.install_module(migration.module('migrate.so'))
    plain = smbd.Smbd('past', {'past': (NEW, {'vfs objects': 'acl_xattr'})}, host=guarded.OwnMounts).start()
    files = smbfiles.Files(plain.session(share='past'))
    same(files.read('a/0'), content('a0'), 'over SMB without the layer')
    wait_for('status has smbd', lambda: 'smbd' in past_of(migration))
    expect('WITHOUT THE LAYER: smbd' in migration.ctl('status'), 'status does not say so')
    status, text = check_start(migration, 'smbd', plain.config)
    expect(status == 1 and f'share [past] ({NEW}) serves {NEW}' in text, f'before it starts: {status} {text}')
    # one that a user made, and one of the registry, are seen, too
    share_otherwise(plain)
    status, text = check_start(migration, 'smbd', plain.config)
    for what in (f'usershare [mine] ({NEW}/a)', f'share [kept] ({NEW}/b)', f'share [c] ({NEW}/c)'):
        expect(status == 1 and f'{what} serves {NEW}' in text, f'{what}, before it starts: {status} {text}')
    expect(f'usershare [latin] ({NEW}/caf\\351)' in past_of(migration), f'in the status: {past_of(migration)}')
    same(smbfiles.Files(plain.session(share='mine')).read('2'), content('a2'), 'over SMB, by a usershare')
    same(smbfiles.Files(plain.session(share='kept')).read('2'), content('b2'), 'over SMB, by the registry')
    # beside one that has it, in one smbd
    plain.configure({**plain.shares, smbd.SHARE: (NEW + '/c', smbd.layer(VOLUME, migration.socket))})
    plain.reload()
    with contextlib.suppress(Failure):
        plain.session(share=smbd.SHARE)
        expect(False, 'it is served with the other share past it')
    same(smbfiles.Files(plain.session(share='past')).read('a/1'), content('a1'), 'over SMB, past it, then')
    plain.stop()
    server = Ganesha('past', NEW, host=guarded.OwnMounts).start()
    client = server.client()
    same(client.read_all(client.walk('b/0')[0]), content('b0'), 'over NFS without the layer')
    wait_for('status has Ganesha', lambda: 'ganesha.nfsd' in past_of(migration))
    status, text = check_start(migration, 'nfs-ganesha', server.config)
    expect(status == 1 and f'export 77 ({NEW}) serves {NEW}' in text, f'before it starts: {status} {text}')
    server.stop()
    wait_for('status has nobody', lambda: not past_of(migration))


EXPORT = """EXPORT {{ Export_Id = {number}; Path = "{path}"; Pseudo = "/past{number}"; FSAL {{ Name = VFS; }} }}"""


@case()
def past_the_layer_too(args):
    """One Ganesha with the layer, and further exports without it, which are not served; smbd, whose
    configuration loses it while it runs."""
    migration, guard = guarded.begin(args, fill)
    wait_for('attached', lambda: migration.status().get('attached'))
    listed('a', 'b', 'c')
    blocks = '\n'.join(EXPORT.format(number=number, path=path) for number, path in enumerate(PAST, 80))
    server = migration.start_server(host=guarded.OwnMounts, blocks=blocks)
    client = server.client()
    same(client.read_all(client.walk('a/0')[0]), content('a0'), 'with the layer')
    for path, where in PAST.items():
        try:
            refused_client = nfs3.Client(server.address, path)
            fh = refused_client.walk({'at': 'b/0', 'above': 'new/b/1', 'below': '2'}[where])[0]
            data = refused_client.read_all(fh)
        except (OSError, nfs3.NfsError):
            continue
        same(data, {'at': content('b0'), 'below': content('a2')}.get(where), where)     # of the other export
    expect('export 80' in past_of(migration), 'status does not know of them')
    smbd.users()
    smb = migration.start_smbd(host=guarded.OwnMounts)
    same(smbfiles.Files(smb.session()).read('b/2'), content('b2'), 'over SMB')
    wait_for('status has both', lambda: migration.status()['connected'] == 2)
    smb.configure({smbd.SHARE: (NEW, {'vfs objects': 'acl_xattr'})})
    smb.reload()
    same(smbfiles.Files(smb.session()).read('b/3'), content('b3'), 'over SMB, without the layer')
    guard.stop(signal.SIGKILL)          # and the next one knows who has it
    guard.start()
    same(smbfiles.Files(smb.session()).read('b/4'), content('b4'), 'without the layer, then')
    same(client.read_all(client.walk('a/3')[0]), content('a3'), 'with it, then')


@case()
def ahead(args):
    """A path through directories of which only the first was listed: names come ahead."""
    def tree(root):
        os.makedirs(root + '/a/b/c')
        make(root + '/a/b/file', content('file'))

    guarded.begin(args, tree)
    listed('a')
    wait_for('the names come', lambda: os.path.exists(f'{NEW}/a/b/file'))
    same(read(f'{NEW}/a/b/file'), content('file'), 'the file')


def reader(n, files, seen, errors, stop):
    """Reads a quarter of everything until told, and counts.  Exits at what is neither the content nor
    an error."""
    os.closerange(guarded.KEPT, guarded.KEPT + 100)     # they are the service manager's alone
    while not stop.value:
        for directory in 'abcdefgh':
            for file in range(n, files, 4):
                name = f'{directory}/{file}'
                try:
                    data = read(f'{NEW}/{name}')
                except OSError as error:
                    if error.errno not in (errno.EIO, errno.EPERM):
                        print(f'{name}: {error}', file=sys.stderr, flush=True)
                        os._exit(2)
                    errors[n] += 1
                    continue
                if data != content(name.replace('/', ''), 20000):
                    print(f'{name}: {data[:50]}...', file=sys.stderr, flush=True)
                    os._exit(1)
                seen[n] += 1


@case()
def killed(args):
    """Again and again, while programs read: no one sees a hole."""
    kills, files = (200, 1500) if args.long else (20, 250)
    migration, guard = guarded.begin(args, lambda root: fill(root, 'abcdefgh', files, 20000))
    same(listed(*'abcdefgh'), [files] * 8, 'names')
    fork = multiprocessing.get_context('fork')
    seen, errors, stop = fork.Array('Q', 4), fork.Array('Q', 4), fork.Value('b', 0)
    readers = [fork.Process(target=reader, args=(n, files, seen, errors, stop)) for n in range(4)]
    for process in readers:
        process.start()

    def all_go_on(before):
        expect(all(p.exitcode is None for p in readers), 'a reader saw what is not there')
        return sum(seen) + sum(errors) >= before + 8

    for n in range(kills):
        before = sum(seen) + sum(errors)
        wait_for('they read', lambda: all_go_on(before))        # pylint: disable=W0640
        expect(migration.status()['files_whole'] < 8 * files, 'all is here already')
        guard.stop(signal.SIGTERM if n % 5 == 4 else signal.SIGKILL)
        guard.start()
    before = sum(seen)
    wait_for('they read', lambda: all_go_on(before))
    stop.value = 1
    for process in readers:
        process.join(120)
        same(process.exitcode, 0, "a reader's status")


@case()
def late(args):
    """What the old server does not deliver is an error after a while, and can be had later; what is
    whole is not late."""
    old, (migration, guard) = guarded.begin_with(args, fill, guard_wait=1)
    listed('a')
    same(read(f'{NEW}/a/0'), content('a0'), 'a file')
    with Stalled(old):
        refused(errno.EIO, f'{NEW}/a/1')
        same(read(f'{NEW}/a/0'), content('a0'), 'what is whole')
    same(read(f'{NEW}/a/1'), content('a1'), 'the file')
    expect(f'{NEW}/a/1: refused to {OUR_NAME} (' in log(guard), 'the log does not say so')
    migration.retriever.stop()
    refused(errno.EIO, f'{NEW}/a/2')
    migration.start_retriever(*guarded.OWN_MOUNTS)
    same(read(f'{NEW}/a/2'), content('a2'), 'the file')


@case()
def descriptors(args):
    """Where the guard gets none for what is opened, that fails."""
    old, (_, guard) = guarded.begin_with(args, fill, guard_wait=1)
    listed('a', 'b', 'c')
    sh('prlimit', f'--pid={guard.process.pid}', '--nofile=24:8192')
    names = [f'{directory}/{n}' for directory in 'abc' for n in range(20)]

    def error_of(name):
        try:
            return read(f'{NEW}/{name}')[:20]
        except OSError as error:
            return error.errno
    with concurrent.futures.ThreadPoolExecutor(64) as pool, Stalled(old):
        same(set(pool.map(error_of, names)), {errno.EIO, errno.EPERM}, 'what they get')
    sh('prlimit', f'--pid={guard.process.pid}', '--nofile=8192:8192')
    same(read(f'{NEW}/c/9'), content('c9'), 'a file')


@case()
def turned_off(args):
    """From then on nobody is asked, and status says so."""
    migration, guard = guarded.begin(args, fill)
    listed('a')
    guard.stop(signal.SIGTERM)
    same(sorted(guard.kept), ['access', 'open'], 'what is kept')
    migration.configure(source=migration.source, guard='no')
    guard.start()
    same(guard.process.wait(60), 0, "the guard's status")
    guard.listen()
    same(guard.kept, {}, 'what is kept')
    expect('read zeros' in migration.ctl('status'), 'status does not say so')
    same(read(f'{NEW}/a/0'), bytes(SIZE), 'a file')


@case()
def storm(args):
    """64 at a time, beside a client; and one that is to have nothing."""
    migration, guard = guarded.begin(args, fill, guard_refuse='dd, other.service')
    client = migration.start_server(host=guarded.OwnMounts).client()
    names = [f'{directory}/{n}' for directory in 'ab' for n in range(20)]
    listed('a', 'b', 'c')
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        got = list(pool.map(lambda name: (name, read(f'{NEW}/{name}')), names * 3))
        same(client.read_all(client.walk('c/1')[0]), content('c1'), 'over NFS')
    same([name for name, data in got if data != content(name.replace('/', ''))], [], 'wrong')
    done = subprocess.run(['dd', f'if={NEW}/c/2'], capture_output=True, text=True, check=False)
    expect(done.returncode and 'Input/output error' in done.stderr, f'dd: {done}')
    wait_for('the log says so', lambda: 'guard-refuse' in log(guard))
    same(len(os.listdir(f'/proc/{guard.process.pid}/fd')) < 20, True, 'few descriptors')
    same(read(f'{NEW}/c/2'), content('c2'), 'for others')


@case()
def older_kernel(args):
    """Files are refused until they are here."""
    migration, guard = guarded.begin(args, fill, options=['--refuse'])
    same(listed('a'), [20], 'names')
    refused(errno.EPERM, f'{NEW}/a/0')
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_TRUNC):
        try:
            os.open(f'{NEW}/a/0', flags)
            expect(False, 'it could be opened')
        except PermissionError:
            pass
    wait_for('the log says so', lambda: f'{NEW}/a/0: refused to {OUR_NAME} (' in log(guard))
    migration.crawl()
    for directory in 'abc':
        same(read(f'{NEW}/{directory}/0'), content(f'{directory}0'), 'a file')


@case()
def strict(args):
    """Nothing is to be had before all names are here."""
    migration, _ = guarded.begin(args, fill, guard='strict')
    try:
        os.listdir(NEW)
        expect(False, 'the root could be listed')
    except BlockingIOError:
        pass
    same(migration.start_crawler('--metadata-only').wait(120), 0, "the crawler's status")

    def is_open():
        try:
            return os.listdir(NEW)
        except BlockingIOError:
            return False
    wait_for('it is open', is_open)
    same(read(f'{NEW}/a/0'), content('a0'), 'a file')


if __name__ == '__main__':
    sys.exit(main())
