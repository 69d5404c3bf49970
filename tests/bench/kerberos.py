# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `kerberos`: a whole migration by NFS version 3 from an old server with Kerberos, by each flavour,
beside one with sec=sys, in turn."""
from measure import MIB, median, table
from migration import KIB, ORDERS, Result, Tree, bring
from sandbox import Host, volume
from secured import HOST, KEYTAB, SERVER_KEYTAB, begin_realm, krb5
from servers import OLD, Ganesha

FLAVOURS = ('sys', 'krb5', 'krb5i', 'krb5p')


def start_server():
    host = Host('old')
    begin_realm(host.address)
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
