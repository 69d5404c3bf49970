#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An old SMB server: the whole way, behind the NFS door, while it is restarted, frozen, cut off, and
its workers are killed; and every way in which it cannot be used, each with one clear line."""
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading

from impacket import smbconnection

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import memgroup                                                         # noqa: E402
import nfs3                                                             # noqa: E402
import smb2                                                             # noqa: E402
import smbd                                                             # noqa: E402
import smbproxy                                                         # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import BASE, Process, sh, wait_for                         # noqa: E402
from servers import NEW, OLD, VOLUME, Migration, volume                 # noqa: E402
from smbsource import (SECRET, begin, confined_workers, finish, is_own_user, password,    # noqa: E402
                       put, reaches, refusal, workers)

MIB = 1 << 20
CUT_PORT = 4450
NAMES = ('plain', 'with space', 'Grüße', '日本語のファイル', 'UPPER', 'lower.txt', 'a.b.c', '~x', 'ﬁ', '😀')


def fill(root, files=600, large=16 * MIB):
    for d in range(6):
        top = f'{root}/dir-{d}'
        os.mkdir(top)
        for i in range(files // 6):
            put(f'{top}/file-{i:04d}', os.urandom(i * 37 % 20000))
    os.mkdir(root + '/names')
    for name in NAMES:
        put(f'{root}/names/{name}', name.encode() * 100)
    os.mkdir(root + '/names/empty directory')
    put(root + '/large', os.urandom(large))
    with open(root + '/sparse', 'wb') as out:
        out.truncate(30 * MIB)
        out.seek(20 * MIB)
        out.write(b'here')
    put(root + '/linked', b'one file')
    os.link(root + '/linked', root + '/names/other name')
    deep = root
    for i in range(20):
        deep += f'/level {i}'
        os.mkdir(deep)
    put(deep + '/bottom', b'reached')


def world(args, make=fill, port=None, server=None, **settings):
    volume(OLD)
    volume(NEW)
    make(OLD)
    old = smbd.old_smbd(OLD, **(server or {}))
    where = f'127.0.0.1:{port}' if port else old.address
    settings = {'smb_password_file': password(), 'smb_modes': 'open', **settings}
    migration = Migration(args.build, f'smb://root@{where}/old', **settings)
    return old, migration




@case(short=True)
def whole(args):
    """Used by clients, then crawled to the end."""
    _, migration = world(args)
    begin(migration)
    client = migration.server.client()
    handle, attr = client.walk('names/Grüße')
    same(bytes(client.read(handle, 0, 1000)[0])[:7], 'Grüße'.encode(), 'what a client reads')
    same(attr.size, len('Grüße'.encode()) * 100, 'its size')
    for wrong in ('names/GRÜSSE', 'names/Plain', 'LARGE'):
        same(nfs3.status_of(lambda: client.walk(wrong)), nfs3.NOENT, wrong)
    migration.crawl()
    comparison = finish(migration)
    expect(comparison.files > 600, f'only {comparison.files} files were compared')


@case()
def names_alone(args):
    """Nobody's data is moved who asked for names only."""
    _, migration = world(args, lambda root: fill(root, 60, MIB))
    begin(migration)
    crawler = migration.start_crawler('--metadata-only')
    same(crawler.wait(300), 0, "the crawler's status")
    same(migration.status()['bytes_fetched'], 0, 'bytes fetched')
    migration.crawl()
    finish(migration)


@case()
def signed_and_encrypted(args):
    """The server's settings, and ours."""
    old, migration = world(args, lambda root: fill(root, 60, 3 * MIB), smb_encryption='required',
                           smb_signing='required')
    begin(migration)
    status = subprocess.run(['smbstatus', '-s', old.config], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    expect('AES' in status, f'not encrypted: {status}')
    migration.crawl()
    finish(migration)


def received():
    """Bytes from other hosts so far."""
    with open('/proc/net/dev') as lines:
        return sum(int(line.split()[1]) for line in lines if ':' in line and 'lo:' not in line)


@case()
def holes_are_not_fetched(args):
    """Of a file that the server calls sparse."""
    def make(root):
        with open(root + '/holes', 'wb') as out:
            out.truncate(600 * MIB)
            for at, data in (0, b'first'), (300 * MIB + 100_000, b'middle' * 20_000), (600 * MIB - 4, b'last'):
                out.seek(at)
                out.write(data)
    old, migration = world(args, make)
    client = smbconnection.SMBConnection(old.address, old.address)
    client.login('root', smbd.PASSWORD)
    files, tree = client.getSMBServer(), client.connectTree('old')
    fid = files.create(tree, 'holes', 0x12019f, 7, 0x40, 1, 0)
    files.ioctl(tree, fid, 0x900c4, 1, b'\1')       # FSCTL_SET_SPARSE
    files.close(tree, fid)
    begin(migration)
    before = received()
    migration.crawl()
    expect(received() - before < 60 * MIB, f'{received() - before} bytes came')
    expect(os.stat(NEW + '/holes').st_blocks < 4096, 'it takes room here')
    finish(migration)


@case()
def workers_have_no_rights(args):
    _, migration = world(args, lambda root: fill(root, 6, 100))
    begin(migration)
    migration.crawl()
    found = confined_workers(migration, 4)
    same(len(found), 4, 'workers')
    for pid, fields in found.items():
        expect(is_own_user(fields), f'ids: {fields["Uid"]}, {fields["Gid"]}')
        same(fields['Groups'].strip(), '', 'groups')
        for kind in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb'):
            same(int(fields[kind], 16), 0, kind)
        same(fields['NoNewPrivs'].strip(), '1', 'no new privileges')
        with open(f'/proc/{pid}/cmdline') as file:
            same(file.read().rstrip('\0').rpartition('/')[2], 'migrate-smb-worker', 'command line')
        with open(f'/proc/{pid}/environ') as file:
            same(file.read(), '', 'environment')
        for fd in os.listdir(f'/proc/{pid}/fd'):
            target = os.readlink(f'/proc/{pid}/fd/{fd}')
            expect(not target.startswith(('/run', OLD, NEW)) or '/log/' in target,
                   f'has {target} open')


@case()
def jailed_before_the_first_byte(args):
    """Who is asked to negotiate, and has said nothing, is asked by a worker that can do nothing else."""
    with socket.create_server(('127.0.0.1', CUT_PORT)) as listening:
        _, migration = world(args, lambda root: None, port=CUT_PORT)
        migration.retriever = Process('retriever', [migration.program('migrate-retriever'), '--config',
                                                    migration.config, VOLUME])
        with listening.accept()[0] as connection:
            expect(connection.recv(1) == b'\0', 'it does not negotiate')
            found = workers(migration)
            filters = [fields['Seccomp_filters'] for fields in found.values()]
            has = [reaches(pid) for pid in found]
    same(filters, ['2'], 'the filters of workers: of those that look for servers, and of those that talk to one')
    same(has, [{'/dev/null', 'anon_inode:[eventpoll]', 'socket:'}], 'what they have open')


# ---- servers that go and come ----------------------------------------------------------------

class Trouble:
    """Something happens again and again while the crawler runs."""

    def __init__(self, migration, happen, times):
        self.migration, self.happen, self.times = migration, happen, times

    def run(self):
        crawler = self.migration.start_crawler()
        done = 0
        for fraction in range(1, self.times + 1):
            wanted = fraction / (self.times + 1)
            wait_for(f'{wanted:.0%} of it are here', lambda: self.share() >= wanted or
                     crawler.poll() is not None, 120)
            self.happen()
            done += 1
        same(crawler.wait(300), 0, 'exit status of the crawler')
        same(done, self.times, 'times')

    def share(self):
        status = self.migration.status()
        return int(status['files_whole']) / max(int(status['files_found']), 620)


@case()
def a_server_is_restarted(args):
    old, migration = world(args, bandwidth='12M')
    begin(migration)
    Trouble(migration, lambda: old.restart(signal.SIGKILL), 3).run()
    finish(migration)


@case()
def workers_are_killed(args):
    _, migration = world(args, bandwidth='12M')
    begin(migration)

    def kill():
        for pid in workers(migration):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    Trouble(migration, kill, 5).run()
    finish(migration)


@case()
def a_server_is_frozen(args):
    """Clients wait no longer than ever for what is here, and the rest comes when it thaws."""
    old, migration = world(args)
    begin(migration)
    client = migration.server.client()
    handle, _ = client.walk('names/plain')
    same(len(client.read(handle, 0, 1000)[0]), 500, 'bytes of a file')
    with old.stalled():
        crawler = migration.start_crawler()
        wait_for('the old server is missed', lambda: int(migration.status()['source_away_seconds']) > 1)
        same(len(client.read(handle, 0, 1000)[0]), 500, 'bytes of a file that is here')
    same(crawler.wait(300), 0, 'exit status of the crawler')
    finish(migration)


class Cutter:
    """A way to the old server that ends, as a reset, after so many bytes of answers."""

    def __init__(self, server, limit):
        self.server, self.limit, self.cuts = server, limit, 0
        self.socket = socket.create_server(('127.0.0.1', CUT_PORT))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.socket.accept()
            far = socket.create_connection((self.server.address, self.server.port))
            for pair in ((near, far, None), (far, near, self.limit)):
                threading.Thread(target=self.carry, args=pair, daemon=True).start()

    def carry(self, source, sink, limit):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if limit is not None and self.limit:
                    limit -= len(data)
                    if limit < 0:
                        self.cuts += 1
                        break
                sink.sendall(data)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                sock.shutdown(socket.SHUT_RDWR)
                sock.close()


@case()
def connections_are_reset(args):
    """In the middle of answers, each time further on."""
    old, migration = world(args, port=CUT_PORT)
    cutter = Cutter(old, 4 * MIB)
    begin(migration)
    migration.crawl()
    expect(cutter.cuts >= 3, f'only {cutter.cuts} resets')
    finish(migration)


class Poison:
    """Ends the connection of who opens one file, reads another, lists a directory; its answer about a
    fourth makes no sense."""

    ENDS = {('dir-1/opened', smb2.CREATE), ('dir-2/read', smb2.READ), ('shut', smb2.QUERY_DIRECTORY)}

    def __init__(self, server):
        self.server, self.active, self.ended = server, True, 0
        smbproxy.Proxy(server, CUT_PORT, self.on_request, self.on_reply)

    def on_request(self, call):
        if self.active and (call.path, call.command) in self.ENDS:
            self.ended += 1
            raise ConnectionError('panic')

    def on_reply(self, call, pdu):
        if self.active and call.command == smb2.QUERY_INFO and call.path == 'dir-3/answered' and \
                call.level == smbproxy.ALL_INFORMATION:
            self.ended += 1
            struct.pack_into('<H', pdu, 64, 0)


@case()
def what_ends_connections_is_given_up_alone(args):
    """A panic over one object: it is listed, the rest comes, and the server is not asked to death."""
    def make(root):
        fill(root, 600, MIB)
        os.mkdir(root + '/shut')
        put(root + '/shut/inside', b'inside')
        for path in ('dir-1/opened', 'dir-2/read', 'dir-3/answered'):
            put(f'{root}/{path}', os.urandom(200000))

    old, migration = world(args, make, port=CUT_PORT)
    poison = Poison(old)
    begin(migration)
    client = migration.server.client()
    same(nfs3.status_of(client.walk, 'dir-1/opened'), nfs3.IO, 'what a client is told')
    client.walk('dir-4/file-0001')
    migration.start_crawler().wait(300)
    found = migration.errors()
    listed = {path for path, reason in found.items() if 'connection ends' in reason}
    same(listed, {'dir-1/opened', 'dir-2/read', 'dir-3/answered', 'shut'}, 'errors')
    same(set(found) - listed, {'dir-1', 'dir-3'}, 'directories with names that are missing')
    expect(poison.ended <= 40, f'{poison.ended} connections ended')
    poison.active = False
    migration.ctl('retry')
    migration.crawl()
    finish(migration)


@case(long=True)
def what_takes_the_memory_is_given_up_alone(args):
    """The server makes a worker take 15 MiB for one file: the kernel ends workers, and nothing else."""
    def make(root):
        fill(root, 60, MIB)
        put(root + '/dir-1/huge', os.urandom(200000))

    old, migration = world(args, make, port=CUT_PORT)
    swollen = True
    smbproxy.Proxy(old, CUT_PORT, on_reply=lambda call, pdu: pdu + bytes(15 * MIB) if swollen and (
        call.path, call.command) == ('dir-1/huge', smb2.READ) else None)
    with memgroup.MemoryGroup() as group:
        begin(migration)
        # what a process is worth to the kernel is counted in parts of the limit
        sh('sh', '-c', f'echo $$ >{group.path}/cgroup.procs; head -c 400M /dev/zero >{BASE}/filled')
        group.add(migration.retriever.pid, *workers(migration))
        group.limit(24 * MIB)
        crawler = migration.start_crawler()
        wait_for('the crawler has ended', lambda: crawler.poll() is not None, 100, migration.retriever)
        expect(group.killed() > 0, 'no worker was killed')
        found = migration.errors()
        same(set(found), {'dir-1/huge'}, f'errors: {found}')
        swollen = False
        group.limit(None)
        migration.ctl('retry')
        migration.crawl()
        finish(migration)


# ---- what is wrong with files ----------------------------------------------------------------

@case()
def files_that_others_have_to_themselves(args):
    """They fail by themselves, and can be had when they are free."""
    old, migration = world(args, lambda root: fill(root, 60, MIB))
    begin(migration)
    session = old.session('root')
    reply = session.ask(smb2.create('dir-1\\file-0003', share=0))
    same(reply.failed, False, 'the open')
    crawler = migration.start_crawler()
    crawler.wait(300)
    found = migration.errors()
    same(list(found), ['dir-1/file-0003'], 'errors')
    expect('lets nobody else read it' in found['dir-1/file-0003'], f'the reason: {found}')
    session.ask(smb2.close(reply.body[64:80]))
    migration.ctl('retry')
    migration.crawl()
    finish(migration)


@case()
def names_that_cannot_be(args):
    """Too long here, or not to be asked for: listed, and nothing else is held up."""
    def make(root):
        fill(root, 60, MIB)
        os.mkdir(root + '/odd')
        put(root + '/odd/good', b'good')
        put(root + '/odd/a|b', b'x')

    _, migration = world(args, make, server={'settings': {'mangled names': 'no'}})
    begin(migration)
    crawler = migration.start_crawler()
    expect(crawler.wait(300) != 0, 'the crawler says that all is here')
    found = migration.errors()
    same(set(found), {'odd', 'odd/a|b'}, 'errors')
    expect('no file can be asked for by SMB' in found['odd/a|b'], f'the reason: {found}')
    expect(migration.ctl('finalize', may_fail=True) is None, 'finalize takes it for complete')
    with open(NEW + '/dir-1/file-0003', 'rb') as a, open(OLD + '/dir-1/file-0003', 'rb') as b:
        same(a.read(), b.read(), 'content of another file')
    st = os.stat(OLD + '/odd')
    os.rename(OLD + '/odd/a|b', OLD + '/odd/ab')
    os.utime(OLD + '/odd', ns=(st.st_atime_ns, st.st_mtime_ns))
    migration.ctl('retry')
    migration.crawl()
    finish(migration)


@case()
def what_is_refused_stays_alone(args):
    """At the top of the share, to an account that is not an administrator's: it is nobody's here."""
    def make(root):
        os.chmod(root, 0o755)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(root + '/lost+found')
        for name in ('locked', 'fine'):
            os.mkdir(f'{root}/{name}')
            put(f'{root}/{name}/file', name.encode())
            os.chown(f'{root}/{name}/file', 1000, 100)
        put(root + '/secret', b'secret')
        put(root + '/empty', b'')
        for name, mode in (('locked', 0o700), ('secret', 0o600), ('empty', 0o600)):
            os.chmod(f'{root}/{name}', mode)

    old, migration = world(args, make)
    migration.configure(source=f'smb://bob@{old.address}/old', smb_modes='open',
                        smb_password_file=password())
    begin(migration)
    client = migration.server.client()
    _, attr = client.walk('locked')
    same((attr.mode & 0o7777, attr.uid), (0, 0), 'the mode and owner of what is refused')
    same({name.decode() for name, *_ in client.listing(client.root)},
         {'empty', 'fine', 'locked', 'secret'}, 'names')
    handle, _ = client.walk('fine/file')
    same(bytes(client.read(handle, 0, 100)[0]), b'fine', 'what is not refused')
    crawler = migration.start_crawler()
    expect(crawler.wait(300) != 0, 'the crawler says that all is here')
    found = migration.errors()
    same(set(found), {'empty', 'locked', 'secret'}, 'errors')
    for reason in found.values():
        expect("let this machine's account read it" in reason, f'the reason: {reason}')
    expect(migration.ctl('finalize', may_fail=True) is None, 'finalize takes it for complete')
    for name, mode in (('locked', 0o755), ('secret', 0o644), ('empty', 0o644)):
        os.chmod(f'{OLD}/{name}', mode)
    migration.ctl('retry')
    migration.crawl()
    same(migration.errors(), {}, 'errors')
    for name in ('locked', 'secret', 'empty'):
        expect(os.stat(f'{NEW}/{name}').st_mode & 0o7777, f'{name} is still nobody\'s')
    finish(migration)


# ---- servers that cannot be used -------------------------------------------------------------

@case()
def what_is_wrong_is_said(args):
    old, migration = world(args, lambda root: put(root + '/file', b'x'))
    where, base = old.address, dict(smb_modes='open', smb_password_file=SECRET)

    def said(words, source=f'smb://root@{where}/old', status=None, **settings):
        settings = {**base, **settings}
        migration.configure(source=source, **{k: v for k, v in settings.items() if v})
        line = refusal(migration, status)
        print(line)
        for word in (words,) if isinstance(words, str) else words:
            expect(word in line, f'{word!r} is not in {line!r}')
        expect(smbd.PASSWORD not in line, f'the password is in {line!r}')

    said('wrong user name or password', f'smb://stranger@{where}/old')
    password('wrong')
    said('wrong user name or password', status=2)       # not to be tried again and again
    password(mode=0o640)
    said('chmod 600')
    os.chown(password(), 1000, 0)
    said('chown it to root')
    os.unlink(SECRET)
    said('is not there: write')
    password('')
    said('first line is empty')
    password()
    said('no share "missing": correct the URL (migratectl discover', f'smb://root@{where}/missing', status=1)
    os.environ['MIGRATE_DISCOVER'] = f'{args.build}/ctl/migrate-discover'
    said('no share "missing"; it shares old: correct the URL', f'smb://root@{where}/missing', status=1)
    said('no directory "not/there"', f'smb://root@{where}/old/not/there')
    said('not a directory', f'smb://root@{where}/old/file')
    said('no password', smb_password_file='')
    said('no user', f'smb://{where}/old')
    said('does not belong into a URL', f'smb://root:{smbd.PASSWORD}@{where}/old')
    old.configure(server_min_protocol='NT1', server_max_protocol='NT1')
    old.restart()
    said('turn on SMB 2 there')
    old.configure(server_min_protocol='SMB2_02', server_max_protocol='SMB2_10')
    old.restart()
    said('cannot encrypt', smb_encryption='required')
    migration.configure(source=f'smb://root@{where}/old', **base)
    migration.start_retriever()


@case(long=True)
def a_server_that_is_not_there(args):
    """Half a minute is given to each."""
    _, migration = world(args, lambda root: None)
    base = dict(smb_modes='open', smb_password_file=SECRET)
    for source, words in (('smb://root@nowhere.invalid/old', '"nowhere.invalid" is not known'),
                          ('smb://root@127.0.0.1:999/old', 'no connection to port 999')):
        migration.configure(source=source, **base)
        line = refusal(migration)
        expect(words in line, f'{words!r} is not in {line!r}')


if __name__ == '__main__':
    sys.exit(main())
