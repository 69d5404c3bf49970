#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal knows what clients changed, through either door, whatever happens to it in between."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import doors                                                            # noqa: E402
import nfs3                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from servers import NEW, stack                                          # noqa: E402


def fill(root):
    for directory in 'abc':
        os.mkdir(f'{root}/{directory}')
        for n in range(8):
            with open(f'{root}/{directory}/{n}', 'w') as file:
                file.write(f'{directory}{n}' * 1000)


def begin(args, journal=True):
    _, migration = stack(args.build, fill)
    if journal:
        migration.start_journal()
    migration.attach()
    return migration


def whats(changes):
    """{path: what is said of it}"""
    return {path: set(c['what']) for path, c in changes.items()}


@case()
def over_nfs(args):
    """Each kind of change; nothing else has a row, though everything was fetched meanwhile."""
    migration = begin(args)
    migration.start_server()
    client = migration.server.client()
    a, b = client.walk('a')[0], client.walk('b')[0]
    client.write(client.walk('a/0')[0], 0, b'changed', nfs3.FILE_SYNC)
    client.setattr(client.walk('a/1')[0], mode=0o600)
    client.rename(a, '2', b, 'moved')
    client.remove(a, '3')
    client.mkdir(b, 'made')
    client.link(client.walk('b/1')[0], a, 'link')
    migration.crawl()
    got = migration.changes()
    same(whats(got), {
        'a': {'entries'}, 'b': {'entries'}, 'a/0': {'data'}, 'a/1': {'attributes'},
        'b/moved': {'names'}, 'a/3': {'attributes', 'names', 'removed'}, 'b/made': {'made'},
        'a/link': {'attributes', 'names'}}, 'changes')
    same(got['b/moved']['before'], ['a/2'], 'where it was')


if __name__ == '__main__':
    sys.exit(main())
