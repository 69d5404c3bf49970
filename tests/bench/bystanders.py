# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `bystanders`: what those who open good files feel of a volume in which every tenth file is bad."""
import itertools
import multiprocessing
import os
import threading
import time

import nfs3
import smb2
import smbd
import smbproxy
from liar import Liar, Node, record
from measure import Running, median, table
from sandbox import sh, volume
from servers import OLD
from smbsource import password, put
from xdr import u32
from yielding import p99

FILES, SIZE, CLIENTS = 100, 100000, 2           # of each directory, bytes, who open good files
EVERY = 10                                      # so many of them are one bad one
PORT = 4450
FORK = multiprocessing.get_context('fork')


def name(number, bad):
    return f'{"bad" if bad and number % EVERY == 0 else "good"}{number}'


class Tape(Node):
    """READ is answered "later" for ever."""
    status = nfs3.JUKEBOX

    def send(self, connection, xid, procedure, reply):
        if procedure == nfs3.READ:
            reply = record(xid, u32(self.status) + u32(0))
        connection.sendall(reply)


class Refused(Tape):
    status = nfs3.IO


def serve_nfs(pipe, directories, bad):
    def file(number):
        return (bad if bad and number % EVERY == 0 else Node)(size=SIZE)
    root = Node(**{f'd{d}': Node(**{name(n, bad): file(n) for n in range(FILES)})
                   for d in range(directories)})
    pipe.send(Liar(root).url)
    pipe.recv()


def end_connection(call):
    if call.command == smb2.CREATE and os.path.basename(call.path).startswith('bad'):
        raise ConnectionError('the server ends it')


def serve_smb(pipe, server):
    smbproxy.Proxy(server, PORT, on_request=end_connection)
    pipe.send(f'smb://root@127.0.0.1:{PORT}/old')
    pipe.recv()


def make_tree(directories, bad):
    volume(OLD)
    for d in range(directories):
        os.mkdir(f'{OLD}/d{d}')
        for n in range(FILES):
            put(f'{OLD}/d{d}/{name(n, bad)}', os.urandom(SIZE))


KINDS = {'on tape (NFS)': Tape, 'refused (NFS)': Refused, 'ends connections (SMB)': 'smb'}


def opened(client, path):
    """ms to the first bytes."""
    begun = time.monotonic()
    fh, _ = client.walk(path)
    client.read(fh, 0, 4096)
    return (time.monotonic() - begun) * 1000


def open_good(server, client_number, directories, took):
    client = server.client()
    for d in range(client_number, directories, CLIENTS):
        for n in range(1, FILES):
            if n % EVERY:
                took.append(opened(client, f'd{d}/good{n}'))


def open_bad(server, directories, done):
    """What somebody asks for again and again."""
    client = server.client(patience=0)
    for d, n in itertools.cycle(itertools.product(range(directories), range(0, FILES, EVERY))):
        if done.wait(0.02):
            return
        try:
            opened(client, f'd{d}/bad{n}')
        except nfs3.NfsError:
            pass


def opens(args, kind, bad, directories):
    """The times of all opens of good files beside a crawler, and of bad ones."""
    took, done, settings = [], threading.Event(), {}
    near, far = FORK.Pipe()
    if kind == 'smb':
        make_tree(directories, bad)
        settings = {'smb_password_file': password(), 'smb_modes': 'open'}
        server = smbd.old_smbd(OLD)
        old = FORK.Process(target=serve_smb, args=(far, server))
    else:
        old = FORK.Process(target=serve_nfs, args=(far, directories, bad and kind))
    old.start()
    with Running(args.build, near.recv(), **settings) as m:
        m.attach()
        m.start_server()
        crawler = m.start_crawler()
        good = [threading.Thread(target=open_good, args=(m.server, n, directories, took))
                for n in range(CLIENTS)]
        asking = threading.Thread(target=open_bad, args=(m.server, directories, done))
        for thread in good + [asking] * bad:
            thread.start()
        for thread in good:
            thread.join()
        done.set()
        if bad:
            asking.join()
        crawler.stop()
        m.server.stop()
    near.send('end')
    old.join()
    if kind == 'smb':
        server.stop()
        sh('umount', OLD)
    return took


def run(args):
    directories = 4 if args.quick else 20
    rows, said = [], []
    for what, kind in KINDS.items():
        without, beside = [], []
        for _ in range(args.runs):
            without += opens(args, kind, False, directories)
            beside += opens(args, kind, True, directories)
        ratio = p99(beside) / p99(without)
        rows.append([what, *(f'{f(t):.1f}' for t in (without, beside) for f in (median, p99)), f'{ratio:.2f}'])
        said.append(f'{what.split()[0]}={ratio:.2f}')
    table(f'First bytes of good files, {CLIENTS} clients and the crawler; every {EVERY}th file is bad',
          ['a bad file', 'median ms without', 'p99', 'median ms beside', 'p99', 'p99 ratio'], rows)
    print('bystanders', *said)
