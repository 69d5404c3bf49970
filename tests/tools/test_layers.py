#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dependencies of the product's files go one way: no arrow runs up, from a folder to one that it must
not know, and no files need each other in a circle.

    test_layers.py BUILD       a C file and its header are one

An arrow is an #include, or a symbol that one object file of BUILD uses and another defines: a header
that declares everything for everybody hides nothing.
"""
import collections
import glob
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What the files of a folder may use, beside those of their own.
FOLDERS = {
    'common': [],
    'fsal_migrate': ['common'],
    'vfs_migrate': ['common'],
    'crawler': ['common'],
    # what a manifest consists of
    'proof': [],
    # what anybody may read, so it knows nothing of the retriever
    'journal/store': ['common'],
    # reads the configuration
    'journal': ['journal/store', 'retriever/config', 'retriever/source', 'retriever/volume', 'common'],
    # likewise
    'guard': ['retriever/config', 'retriever/source', 'common'],
    'retriever/source/smb/worker': ['retriever/source/smb', 'retriever/source'],
    'retriever/source/file': ['retriever/source', 'common'],
    'retriever/source/nfs': ['retriever/source', 'common'],
    'retriever/source/smb': ['retriever/source', 'common'],
    'retriever/source': ['common'],
    'retriever/config': ['retriever/source', 'retriever/source/nfs', 'retriever/source/smb', 'common'],
    'retriever/volume': ['retriever/config', 'retriever/source', 'proof', 'common'],
    'retriever/ways': ['retriever/volume', 'retriever/config', 'retriever/source', 'journal/store',
                       'common'],
    'retriever/proving': ['retriever/ways', 'retriever/volume', 'retriever/config',
                          'retriever/source', 'proof', 'journal/store', 'common'],
    'retriever/door': ['retriever/proving', 'retriever/ways', 'retriever/volume',
                       'retriever/config', 'retriever/source', 'common'],
    # puts the floors together
    'retriever': ['retriever/door', 'retriever/proving', 'retriever/ways', 'retriever/volume',
                  'retriever/config', 'retriever/source', 'retriever/source/nfs', 'retriever/source/smb',
                  'retriever/source/file', 'common'],
    # the final report, and what checks it
    'report': ['retriever/volume', 'retriever/config', 'retriever/source', 'proof', 'common'],
    # of the retriever it uses the configuration and formats
    'rollback': ['journal/store', 'retriever/config', 'retriever/volume', 'retriever/source',
                 'retriever/source/smb', 'common'],
    # asks what brings objects whether it could
    'survey': ['report', 'retriever', 'retriever/ways', 'retriever/volume', 'retriever/config',
               'retriever/source', 'retriever/source/smb', 'common'],
    # what an old server has; speaks with it in a process of its own
    'discover/worker': ['discover', 'retriever/source'],
    'discover': ['retriever/config', 'retriever/source', 'retriever/source/nfs', 'retriever/source/smb',
                 'common'],
    # reads the configuration
    'cluster': ['retriever/config', 'retriever/source'],
    # reads the configuration, the report's format and the journal
    'ctl': ['survey', 'discover', 'cluster', 'rollback', 'report', 'journal/store', 'retriever/config',
            'retriever/volume', 'retriever/source', 'retriever/source/smb', 'proof', 'common'],
}
PUBLIC = {'fsal_migrate': 'migrate.h', 'vfs_migrate': 'migrate.h', 'crawler': 'migrate.h'}


def unit(path):
    return re.sub(r'\.[ch]$', '', path)


def sources():
    for folder in FOLDERS:
        for path in glob.glob(f'{TREE}/{folder}/*.[ch]'):
            yield os.path.relpath(path, TREE)


def includes(files):
    """(from, to, why) of each #include of a file of the product."""
    for path in sorted(files):
        folder = os.path.dirname(path)
        # Samba's headers are called like some of common/
        roots = ['', 'retriever/', 'journal/'] + ['common/'] * ('common' in FOLDERS[folder])
        with open(f'{TREE}/{path}') as text:
            for name in re.findall(r'^\s*#\s*include "([^"]+)"', text.read(), re.M):
                for root in [folder + '/', *roots]:
                    target = os.path.normpath(root + name)
                    if target in files:
                        yield path, target, f'includes {name}'
                        break


def object_files(build):
    """The object files of the product, by their sources."""
    found = {}
    for path in glob.glob(f'{build}/**/*.c.o', recursive=True):
        match = re.fullmatch(r'(.*/)?CMakeFiles/[^/]+\.dir/(.*)\.o', os.path.relpath(path, build))
        source = os.path.normpath((match.group(1) or '') + match.group(2)) if match else ''
        if os.path.dirname(source) in FOLDERS and os.path.exists(f'{TREE}/{source}'):
            found[source] = path
    return found


def symbols(build, missing):
    """(from, to, why) of each symbol that one file uses and another defines."""
    objects = object_files(build)
    missing.extend(sorted({f for f in sources() if f.endswith('.c')} - set(objects)))
    by_object = {path: source for source, path in objects.items()}
    definers, users = collections.defaultdict(set), collections.defaultdict(set)
    listing = subprocess.run(['nm', '-A', *by_object], check=True, text=True, capture_output=True)
    for line in listing.stdout.splitlines():
        path, rest = line.split(':', 1)
        kind, symbol = rest.split()[-2:]
        if kind == 'U':
            users[symbol].add(by_object[path])
        elif kind.isupper():
            definers[symbol].add(by_object[path])
    for symbol, where in users.items():
        # libraries', in whose place programs that speak SMB have some of their own
        if symbol.startswith('krb5_') or symbol == 'connect':
            continue
        for source in sorted(where):
            # programs have symbols of the same names
            near = [d for d in definers.get(symbol, ()) if may_use(source, d)]
            for target in near or definers.get(symbol, ()):
                yield source, target, f'uses {symbol}'


def may_use(source, target):
    a, b = os.path.dirname(source), os.path.dirname(target)
    return a == b or b in FOLDERS[a]


def circles(arrows):
    """Strongly connected components of more than one unit (Tarjan)."""
    graph = collections.defaultdict(set)
    for a, b, _ in arrows:
        if unit(a) != unit(b):
            graph[unit(a)].add(unit(b))
    index, low, stack, found = {}, {}, [], []

    def visit(u):
        index[u] = low[u] = len(index)
        stack.append(u)
        for v in sorted(graph.get(u, ())):
            if v not in index:
                visit(v)
                low[u] = min(low[u], low[v])
            elif v in stack:
                low[u] = min(low[u], index[v])
        if low[u] == index[u]:
            circle = []
            while not circle or circle[-1] != u:
                circle.append(stack.pop())
            if len(circle) > 1:
                found.append(sorted(circle))

    sys.setrecursionlimit(10000)
    for u in sorted(graph):
        if u not in index:
            visit(u)
    return found


def main():
    files, missing = set(sources()), []
    arrows = list(includes(files)) + list(symbols(sys.argv[1], missing))
    faults = []
    for a, b, why in arrows:
        public = PUBLIC.get(os.path.dirname(a))
        if not may_use(a, b):
            faults.append(f'{a} {why} of {b}: an arrow that runs up')
        elif public and why.startswith('includes') and os.path.dirname(b) == 'common' and \
                os.path.basename(b) != public:
            faults.append(f'{a} {why}: of common/ it may include {public} only')
    for circle in circles(arrows):
        faults.append('a circle: ' + ' '.join(circle))
        members = set(circle)
        for a, b, why in arrows:
            if unit(a) != unit(b) and unit(a) in members and unit(b) in members:
                faults.append(f'    {a} -> {b}: {why}')
    print(*faults, sep='\n')
    # of the releases of Ganesha and Samba one is installed
    absent = [f for f in missing if not os.path.basename(f).startswith('compat_')]
    if absent or len(files) < 200:
        sys.exit('not built there: ' + ' '.join(absent))
    print(f'{len(files)} files, {len(arrows)} arrows, {len(faults)} faults')
    sys.exit(bool(faults))


if __name__ == '__main__':
    main()
