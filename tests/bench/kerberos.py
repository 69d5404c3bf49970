# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `kerberos`: a whole migration by NFS version 3 from an old server with Kerberos, by each flavour,
beside one with sec=sys, in turn.  Case `kerberos-mount`: in a guest, beside `cp -a` from a mount of the
kernel's with the same flavour."""
import os
import socket

import guests
import kdc
from measure import MIB, Clock, Target, median, sync, table
from migration import KIB, ORDERS, Result, Tree, bring
from sandbox import BASE, Host, Process, sh, volume, wait_for
from secured import HOST, KEYTAB, SERVER_KEYTAB, begin_realm, krb5
from servers import NEW, OLD, Ganesha

FLAVOURS = ('sys', 'krb5', 'krb5i', 'krb5p')


def start_server():
    host = Host('old')
    begin_realm(host.address).name('127.0.0.1', socket.gethostname())
    return Ganesha('old-server', OLD, host=host, export=f'SecType = {", ".join(FLAVOURS)};',
                   blocks=krb5(SERVER_KEYTAB)).start()


def measure(args, server, tree):
    results = {sec: Result(tree, sec) for sec in FLAVOURS}
    for turn in range(args.runs + 1):
        for sec in FLAVOURS:
            figures = bring(args, server, f'nfs://{HOST}{tree.path}?version=3&sec={sec}', tree,
                            ORDERS[0], nfs_keytab=KEYTAB)
            if turn:                # the first is the warm-up
                results[sec].add(*figures)
    return results


def run(args):
    volume(OLD)
    part = 10 if args.quick else 1
    trees = (Tree('small', 20000 // part, 400 // part, lambda r: r.randrange(32 * KIB + 1)),
             Tree('large', 100 // part, 1, lambda r: 10 * MIB))
    server = start_server()
    found = [measure(args, server, tree) for tree in trees]
    rows = [[f'{r.tree.name}: {r.way}', f'{median(r.wall):.2f}', f'{r.tree.files / median(r.wall):.0f}',
             f'{r.tree.bytes / MIB / median(r.wall):.0f}', f'{r.against(of["sys"]):.2f}',
             f'{median(r.cpu):.2f}', f'{median(r.server):.2f}'] for of in found for r in of.values()]
    table(f'medians of {args.runs}, everything synced; CPU seconds: of retriever and crawler, and of the '
          'old server', ['', 's', 'files/s', 'MiB/s', 'against sys', 'CPU', 'old server'], rows)
    print('kerberos', *(f'{r.tree.name}_{sec}={r.against(of["sys"]):.2f}'
                       for of in found for sec, r in of.items() if sec != 'sys'))


# ---- kerberos-mount ------------------------------------------------------------------------------

MOUNT, PIPES = BASE + '/mounted', '/run/rpc_pipefs'


def run_mount(args):
    guests.run(args, 'kerberos-mount-inside')


def start_client():
    """The kernel's client can speak Kerberos by this host's key."""
    with open(KEYTAB, 'rb') as keys:
        kdc.mount_file('/etc/krb5.keytab', keys.read(), 0o600)
    os.mkdir(PIPES)
    sh('mount', '-t', 'rpc_pipefs', 'sunrpc', PIPES)
    gssd = Process('gssd', ['rpc.gssd', '-f'])
    wait_for('gssd listens', lambda: os.path.exists(f'{PIPES}/gssd/clntXX/info'), process=gssd)


def copy(tree, sec):
    """`cp -a` from a new mount onto a new file system, synced: seconds."""
    guests.mount(f'{HOST}:{OLD}', MOUNT, f',sec={sec}')
    with Target(), Clock() as clock:
        sh('cp', '-a', f'{MOUNT}/{tree.name}', NEW)
        sync(NEW)
    sh('umount', MOUNT)
    return clock.wall


def inside(args):
    volume(OLD)
    part = 4 if args.quick else 1
    trees = (Tree('small', 4000 // part, 40 // part, lambda r: r.randrange(32 * KIB + 1)),
             Tree('large', 40 // part, 1, lambda r: 10 * MIB))
    server = start_server()
    start_client()
    rows, ratios = [], []
    for tree in trees:
        took = {sec: [] for sec in FLAVOURS}
        for turn in range(args.runs + 1):
            for sec in FLAVOURS:
                url = f'nfs://{HOST}{tree.path}?version=3&sec={sec}'
                ours = bring(args, server, url, tree, ORDERS[0], nfs_keytab=KEYTAB)[0]
                cp = copy(tree, sec)
                if turn:            # the first is the warm-up
                    took[sec].append((ours, cp))
        for sec, pairs in took.items():
            ratio = f'{median(cp / ours for ours, cp in pairs):.2f}'
            rate = [f'{tree.bytes / MIB / median(seconds):.0f}' for seconds in zip(*pairs)]
            rows.append([f'{tree.name}: {sec}', *rate, ratio])
            ratios.append(f'{tree.name}_{sec}_vs_cp={ratio}')
    table(f'medians of {args.runs}, everything synced, MiB/s', ['', 'ours', 'cp -a', 'against cp'], rows)
    print('kerberos-mount', *ratios)
