#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many volumes: what they have in common in the configuration, and commands for several of them."""
import csv
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import Process, wait_for                                   # noqa: E402
from peer import NAME, RANGE, Peer                                      # noqa: E402
from servers import BASE, NEW, OLD, VOLUME, Failure, Stalled, old_server, stack   # noqa: E402
from volumes import TREES, Volumes                                      # noqa: E402
import nfs3                                                             # noqa: E402
import smbd                                                             # noqa: E402
import tree                                                             # noqa: E402

RUN = '/run/quickmigrate'
NO_RETRIEVER = 3


@case(short=True)
def several_at_once(args):
    """Waves, names and all of them: each has a line, and one that fails does not stop the others."""
    v = Volumes(args.build, ['a', 'b', 'c', 'd'], 'wave = 1\nbandwidth = 3M', c='wave = 2',
                d='wave = 2\nbandwidth = 0')
    v.start('a', 'b', 'c', 'd')
    same([v.status(n)['now']['bandwidth'] for n in 'abcd'], [3 << 20, 3 << 20, 3 << 20, 0],
         'bandwidth of [defaults]')
    expect('no volume' in v.ctl('pause', '--wave=3', status=2), 'a wave that is none')
    expect('no such volume' in v.ctl('pause', 'a', 'x', status=2), 'a name that is none')
    same(v.ctl('attach', '--wave=1').count('attached; clients'), 2, 'volumes of a wave')
    same([v.status(n)['volume']['state'] for n in 'abcd'],
         ['migrating', 'migrating', 'unattached', 'unattached'], 'states')

    v.retrievers['b'].stop()
    text = v.ctl('pause', 'c', 'b', 'a', 'c', status=NO_RETRIEVER)
    same([line.split(':')[0] for line in text.splitlines()], ['c', 'a', 'migratectl'],
         'a line each, and what is wrong')
    expect('migrate-retriever@b' in text, text)
    text = v.ctl('retry', '--code', 'QM1201', '--wave=1', status=NO_RETRIEVER)
    same([line.split(':')[0] for line in text.splitlines()], ['a', 'migratectl'], 'of a code')
    v.start('b')
    same([v.status(n)['now']['paused'] for n in 'abcd'], [True, False, True, False], 'pauses')
    same(len(v.ctl('resume', '--all').splitlines()), 4, 'lines of resume')
    same([v.status(n)['now']['paused'] for n in 'abcd'], [False] * 4, 'pauses')
    same(len(v.ctl('throttle', '--wave=2', '7M').splitlines()), 2, 'lines of throttle')
    same(len(v.ctl('throttle', 'a', 'b', '0').splitlines()), 2, 'lines of throttle')
    same([v.status(n)['now']['bandwidth'] for n in 'abcd'], [0, 0, 7 << 20, 7 << 20], 'bandwidth')
    same(len(v.ctl('retry', '--wave=1').splitlines()), 2, 'lines of retry')
    v.ctl('retry', '--all', 'a', status=2)
    v.ctl('pause', '--all', '--wave=1', status=2)
    v.ctl('trace', '--all', status=2)
    v.ctl('errors', 'a', 'b', status=2)
    v.ctl('errors', '--summary', 'a', 'b')

    v.crawl('a')
    text = v.ctl('verify', 'a', 'b', status=1)
    expect('a: 4 objects, all whole' in text and 'b: ' in text, text)
    text = v.ctl('finalize', '--wave=1', status=1)
    expect(text.startswith('finalize of 2 volumes, one after the other: a, b\n'), text)
    expect('a: finished' in text, 'a, though b is not whole')
    expect('not all are finished' in text, text)
    v.crawl('b')
    text = v.ctl('finalize', '--wave=1')
    expect('b: finished' in text and text.endswith('one grace period, does\n'), text)
    no_differences(tree.compare(f'{TREES}/old/a', f'{TREES}/new/a'))


def screen_of(v, rows, columns, *argv, until):
    """What a terminal is sent until that pattern matches."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    text = b''
    with subprocess.Popen([v.program('migratectl'), '--config', v.config, *argv],
                          stdin=slave, stdout=slave, stderr=slave) as watch:
        os.close(slave)
        while not re.search(until, text):
            text += os.read(master, 65536)
        watch.terminate()
    os.close(master)
    return text.decode().replace('\u00a0', ' ')


def shown_on(text, columns):
    """The lines that a terminal of so many columns shows after it; what is sent here, and no more."""
    lines, row, column = [[]], 0, 0
    for code, number, char in re.findall(r'(?s)(\x1b\[(\d*)[AJ])|(.)', text):
        if code.endswith('A'):
            row = max(row - int(number), 0)
        elif code:
            lines = lines[:row] + [lines[row][:column]]
        elif char in '\r\n':
            row, column = row + (char == '\n'), 0
        else:
            if column == columns:
                row, column = row + 1, 0
            lines += [[] for _ in range(row + 1 - len(lines))]
            lines[row] = lines[row][:column] + [char]
            column += 1
        lines += [[] for _ in range(row + 1 - len(lines))]
    return [''.join(line) for line in lines]


@case()
def watched_at_any_width(args):
    """One volume, again and again: no line stays of what was drawn before."""
    v = Volumes(args.build, ['projects'])
    v.start('projects')
    v.ctl('attach', 'projects')
    for columns in (80, 60, 200, 20):
        text = screen_of(v, 24, columns, 'status', '--watch', 'projects', until=rb'(?s)(\x1b\[J.*){3}')
        frame = shown_on(text[:text.rindex('\r\x1b[')], columns)
        same(len(frame), 6, f'lines on {columns} columns: {frame}')
        expect(frame[0] == 'projects: migrating'[:columns - 1] and frame[5] == '', frame)
        same(frame[3], 'remaining: no crawler runs: systemctl start migrate-crawler@projects'[:columns - 1], 'rest')


@case(short=True)
def a_table_of_status(args):
    """Stable columns, a row for each volume, also for one that does not answer."""
    v = Volumes(args.build, ['a', 'b', 'c'], 'wave = 1', c='wave = 2')
    v.start('a', 'c')
    v.ctl('attach', 'a', 'c')
    v.crawl('a')
    rows = list(csv.DictReader(io.StringIO(v.run('status', '--csv').stdout)))
    same(list(rows[0]), ['volume', 'state', 'note', 'root', 'source', 'directories_found', 'directories_whole',
                         'files_found', 'files_whole', 'bytes_found', 'bytes_whole', 'complete', 'errors', 'losses',
                         'paused', 'demand_waiting', 'source_away_seconds', 'bytes_per_second', 'rest_seconds'], 'columns')
    rows = {row['volume']: row for row in rows}
    same(set(rows), {'a', 'b', 'c'}, 'volumes')
    status = v.status('a')
    same((rows['a']['state'], rows['a']['files_whole'], rows['a']['bytes_found'], rows['a']['complete'], rows['a']['root']),
         ('whole', '3', str(status['counters']['bytes_found']), 'true', f'{TREES}/new/a'), 'a')
    same((rows['b']['state'], rows['b']['files_found'], rows['b']['root']), ('no retriever', '', ''), 'b')
    same(rows['c']['state'], 'migrating', 'c')
    same([line.split(',')[0] for line in v.ctl('status', '--csv', 'a').splitlines()], ['volume', 'a'], 'one volume')
    same(len(v.ctl('status', '--csv', '--wave=2').splitlines()), 2, 'a wave')
    expect('no such' in v.ctl('status', '--csv', 'x', status=2), 'a name that is none')
    v.ctl('status', '--csv', '--json', status=2)
    v.ctl('status', '--csv', '--watch', 'a', status=2)


@case(short=True)
def a_row_of_a_table(args):
    """A volume, its export and its share are made from a row, and the servers include what was written."""
    def fill(root):
        with open(f'{root}/plan', 'wb') as file:
            file.write(b'of the old server')
        os.chmod(f'{root}/plan', 0o644)
    old, migration = stack(args.build, fill)
    migration.retriever.stop()
    os.unlink(migration.config)
    os.mkdir(BASE + '/drafts')
    with open(BASE + '/volumes.csv', 'w', encoding='utf-8') as table:
        table.write('name,root,source,socket,report,journal,clients,share,valid-users\r\n'
                    f'{VOLUME},{NEW},nfs://{old.address}{OLD},{migration.socket},{BASE}/r,{BASE}/j,'
                    '"127.0.0.1, 192.0.2.0/24",Plans,"alice, @nobodys"\r\n'
                    'bad,/srv/bad\r\n')
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'volumes', f'--csv={BASE}/volumes.csv',
                           '--add', f'--write={BASE}/drafts', '--yes'], capture_output=True, text=True, check=False)
    same((done.returncode, done.stderr), (2, f'migratectl: {BASE}/volumes.csv:3: 2 cells for 9 columns\n'), 'the bad row')
    migration.start_retriever()
    migration.attach()

    server = migration.server = migration.new_server()
    with open(server.config) as file:
        text, n = re.subn(r'(?s)\nEXPORT \{.*?\n\}\n', f'\n%include "{BASE}/drafts/exports.conf"\n', file.read())
    same(n, 1, 'exports that are replaced')
    with open(server.config, 'w') as file:
        file.write(text)
    server.start()
    client = server.client(uid=1000, gid=1000)
    fh, _ = client.walk('plan')
    same(client.read_all(fh), b'of the old server', 'by NFS')
    root = server.client()
    try:
        root.create(root.root, 'new')
        raise Failure('root is not squashed')
    except nfs3.NfsError as error:
        same(error.status, 13, 'status')        # NFS3ERR_ACCES
    smbd.install_module(migration.module('migrate.so'))
    smb = smbd.Smbd('new-smbd', {}, smb3_directory_leases=None, include=f'{BASE}/drafts/shares.conf').start()
    expect('plan' in smb.smbclient('ls', share='Plans'), 'by SMB')
    expect('ACCESS_DENIED' in smb.smbclient('ls', share='Plans', user='bob', may_fail=True), 'another user')
    migration.crawl()
    with open(NEW + '/plan', 'rb') as file:
        same(file.read(), b'of the old server', 'in the end')


@case()
def an_overview_of_200(args):
    """A line each and the sums; one that hangs is shown as such, and holds up nobody."""
    names = [f'v{n:03d}' for n in range(200)]
    running = names[:20]
    v = Volumes(args.build, names, 'wave = rest', **{name: 'wave = first' for name in running})
    v.start(*running)
    v.ctl('attach', '--wave=first')
    v.ctl('pause', 'v003')
    v.crawl('v004')
    lines = v.ctl('status', status=NO_RETRIEVER).splitlines()
    same(len(lines), 202, 'lines')
    same([line.split()[0] for line in lines[180:184]], ['v003', 'v000', 'v001', 'v002'], 'order')
    expect(re.match(r'v003 +migrating .* paused$', lines[180]), lines[180])
    expect(re.match(r'v004 +whole +3 of 3 +293\.0 KiB of 293\.0 KiB$', lines[199]), lines[199])
    same(lines[200], '200 volumes, 180 without a retriever, 1 paused, 18 moving, 1 whole', 'sums')
    same(len(v.ctl('status', '--wave=first').splitlines()), 22, 'lines of a wave')

    with Stalled(v.retrievers['v005']):
        began = time.monotonic()
        text = v.ctl('status', '--wave=first', status=NO_RETRIEVER)
        print(f'20 volumes, one of which hangs: {time.monotonic() - began:.1f} s')
        expect(re.match(r'v005 +no answer from the retriever for \d+ s\nv003 ', text), text)
        list_ = json.loads(v.run('status', '--json', '--wave=first').stdout)
        same([s['volume']['state'] for s in list_[3:7]],
             ['migrating', 'whole', 'no answer from the retriever', 'migrating'], 'states')
        text = screen_of(v, 10, 60, 'status', '--watch', '--wave=first',
                         until=rb'no answer[^\x1b]*and \d+ more')
        frame = text.split('\033[J')[-1].splitlines()
        expect(len(frame) <= 10, f'{len(frame)} lines on a terminal of 10')
        expect(max(len(line) for line in frame) <= 60, 'a line is wider than the terminal')
        expect(any(re.match(r'\.\.\. and \d+ more', line) for line in frame), text)
    v.crawl(*[name for name in running if name not in ('v003', 'v004')])
    v.ctl('resume', 'v003')
    v.crawl('v003')
    expect('20 volumes, 20 whole' in v.ctl('status', '--watch', '--wave=first'), 'the end')


def fetch(name, file, length):
    """As a client would have it, over NFS or SMB: its name, then bytes."""
    door = Peer(f'{RUN}/{name}.sock')
    root = os.open(f'{TREES}/new/{name}', os.O_RDONLY)
    same(door.ask(NAME, fds=[root], text=file.encode())[0], 0, 'status of a name')
    fd = os.open(f'{TREES}/new/{name}/{file}', os.O_RDONLY)
    same(door.ask(RANGE, fds=[fd], offset=0, length=length)[0], 0, 'status of a range')
    got = os.pread(fd, length, 0)
    os.close(fd)
    os.close(root)
    door.close()
    with open(f'{TREES}/old/{name}/{file}', 'rb') as old:
        expect(got == old.read(length), f'{file} is not what it was')


@case()
def one_old_server(args):
    """Two volumes of one old server, under a cap that is next to nothing: both wait, clients do not,
    and nobody is left out when a retriever is killed."""
    names = [VOLUME, 'plans']
    v = Volumes(args.build, names)
    host = old_server(f'{TREES}/old').address
    v.source = f'nfs://{host}{TREES}/old'
    v.configure(names, f'[server {host}]\nbandwidth = 1\n[defaults]\nlimits = 00:00-24:00 1000/s\n')
    v.start(*names)
    v.ctl('attach', '--all')
    crawlers = [Process(f'crawler-{n}', [v.program('migrate-crawler'), n]) for n in names]
    for name in names:
        wait_for('both volumes wait for their share',
                 lambda: v.status(name)['server']['waiting'] == 2)
    fetched = [v.status(name)['counters']['bytes_fetched'] for name in names]
    expect(sum(fetched) <= 2 * 100000, f'{fetched} bytes came though there is a cap')
    text = v.ctl('status', VOLUME)
    expect(f'{host}: 1 byte/s at most for all its volumes, of which 2 wait\n' in text, text)
    expect(re.search(r'(?m)^Calendar +00:00-24:00 1000/s$', text), text)
    expect(re.search(r'(?m)^Yields +answers take \d+ ms longer', text), text)
    for n in range(3):
        fetch(VOLUME, f'file{n}', 50000)

    v.retrievers['plans'].stop(signal.SIGKILL)
    wait_for('a killed one does not wait', lambda: v.status(VOLUME)['server']['waiting'] == 1)
    v.retrievers[VOLUME].stop()
    v.configure(names, f'[server {host}]\nbandwidth = 100M\nrequests = 10000\n')
    v.start(*names)
    for crawler in crawlers:
        same(crawler.wait(120), 0, 'exit status of a crawler')
    for name in names:
        same(v.status(name)['volume']['state'], 'whole', 'state')
        no_differences(tree.compare(f'{TREES}/old/{name}', f'{TREES}/new/{name}'))


class Node:
    """With a /run/quickmigrate of its own, in which a volume migrates."""

    def __init__(self, volumes, name):
        self.volumes = volumes
        holder = Process(f'node-{name}', [
            'unshare', '--mount', 'sh', '-ec', f'mount -t tmpfs tmpfs {RUN}; exec tail -f /dev/null'])
        wait_for('it has its own', lambda: self.is_apart(holder.pid), process=holder)
        self.prefix = ['nsenter', '-t', str(holder.pid), '--mount', '--']
        retriever = Process(f'retriever-{name}', [
            *self.prefix, volumes.program('migrate-retriever'), '--config', volumes.config, name])
        wait_for(f'{name} is attached', lambda: self.ctl('attach', name), process=retriever)
        Process(f'crawler-{name}', [*self.prefix, volumes.program('migrate-crawler'), name])

    @staticmethod
    def is_apart(pid):
        with open(f'/proc/{pid}/mounts') as mounts:
            return f'tmpfs {RUN} ' in mounts.read()

    def ctl(self, *argv):
        """What migratectl says, or None."""
        done = subprocess.run([*self.prefix, self.volumes.program('migratectl'), '--config', self.volumes.config,
                               *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None


@case()
def caps_of_nodes(args):
    """Two nodes of a cluster, each with a /run of its own and a volume of one old server: what both ask of it
    together stays under its cap."""
    cap, seconds = 400000, 3
    names = ['a', 'b']
    v = Volumes(args.build, names)
    for name in names:
        for n in range(60):
            with open(f'{TREES}/old/{name}/more{n}', 'wb') as file:
                file.write(os.urandom(50000))
    host = old_server(f'{TREES}/old').address
    v.source = f'nfs://{host}{TREES}/old'
    v.configure(names, f'[server {host}]\nbandwidth = {cap}\nnodes = 2\n')
    nodes = {name: Node(v, name) for name in names}

    def fetched(name):
        return json.loads(nodes[name].ctl('status', '--json', name))['counters']['bytes_fetched']

    wait_for('both fetch', lambda: all(map(fetched, names)))
    before, began = sum(map(fetched, names)), time.monotonic()
    wait_for('time has passed', lambda: time.monotonic() > began + seconds)
    came = sum(map(fetched, names)) - before
    allowed = cap * (time.monotonic() - began) + 2 * cap // 5       # what may come at once (cap.h)
    print(f'{came} bytes came, {allowed:.0f} may', flush=True)
    expect(allowed / 3 < came <= allowed, f'{came} bytes came, and {allowed:.0f} may')


@case()
def limits_that_stay(args):
    """A throttle and a pause live as long as the volume; the calendar's pause is nobody's to end."""
    v = Volumes(args.build, ['a', 'b'], a='bandwidth = 5M', b='limits = 00:00-24:00 pause 9/s')
    v.start('a', 'b')
    v.ctl('attach', '--all')
    v.ctl('throttle', 'a', '7M')
    v.ctl('pause', 'a')
    v.retrievers['a'].stop(signal.SIGKILL)
    v.start('a')
    now = v.status('a')['now']
    same((now['bandwidth'], now['throttled'], now['paused']), (7 << 20, True, True), 'after a kill')
    v.ctl('throttle', 'a', 'default')
    v.ctl('resume', 'a')
    v.retrievers['a'].stop()
    v.start('a')
    now = v.status('a')['now']
    same((now['bandwidth'], now['throttled'], now['paused']), (5 << 20, False, False), 'taken back')

    v.ctl('resume', 'b')
    status = v.status('b')
    same((status['now']['paused'], status['now']['requests'], status['limits']['pause_ordered']),
         (True, 9, False), 'by the calendar')
    v.crawl('a')
    v.ctl('finalize', 'a')
    expect(not os.path.exists(f'{TREES}/new/a/.migrate'), 'something is left of a')


@case(long=True)
def two_hundred_at_work(args):
    """So many retrievers and crawlers at once, on one machine; prints what they take."""
    names = [f'v{n:03}' for n in range(200)]
    v = Volumes(args.build, names, 'crawler-workers = 1')
    v.start(*names)

    def timed(*argv, lines, **kw):
        begun = time.monotonic()
        text = v.ctl(*argv, **kw)
        took.append(f'{" ".join(argv)}={time.monotonic() - begun:.2f}s')
        expect(len(text.splitlines()) >= lines, f'{len(text.splitlines())} lines of {argv}: {text[-2000:]}')
        return text

    took = []
    timed('attach', '--all', lines=200)
    timed('status', lines=200)
    timed('metrics', lines=2000)
    timed('pause', '--all', lines=200)
    crawlers = [Process(f'crawler-{n}', [v.program('migrate-crawler'), n]) for n in names]
    wait_for('every crawler is there', lambda: v.ctl('metrics').count('_crawlers{') == 200 and
             not re.search(r'(?m)^quickmigrate_crawlers\{.*\} 0$', v.ctl('metrics')))
    timed('throttle', '--all', '50M', lines=200)
    with Stalled(v.retrievers['v100']):         # one that hangs holds nobody up
        text = timed('status', lines=200, status=NO_RETRIEVER)
        expect('v100' in text, text)
    timed('resume', '--all', lines=200)
    begun = time.monotonic()
    for crawler in crawlers:
        same(crawler.wait(300), 0, 'exit status of a crawler')
    took.append(f'crawl={time.monotonic() - begun:.2f}s')
    memory = [proportional(v.retrievers[name].pid) for name in names]
    for name in names:
        no_differences(tree.compare(f'{TREES}/old/{name}', f'{TREES}/new/{name}'))
    timed('finalize', '--all', lines=200)
    print(f'figures retrievers={len(names)} pss_mib_each={sum(memory) / len(memory):.2f} '
          f'pss_mib_most={max(memory):.2f}', *took, flush=True)


def proportional(pid):
    """MiB of memory that a process has, what is shared divided by those who share it."""
    with open(f'/proc/{pid}/smaps_rollup') as file:
        return int(re.search(r'(?m)^Pss: +(\d+) kB', file.read())[1]) / 1024


if __name__ == '__main__':
    sys.exit(main())
