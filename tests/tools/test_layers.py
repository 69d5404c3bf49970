#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dependencies of the product's files go one way: no arrow runs up, from a folder to one that it must
not know, and no files need each other in a circle.

    test_layers.py BUILD       a C file and its header are one

An arrow is an #include, or a symbol that one object file of BUILD uses and another defines: a header
that declares everything for everybody hides nothing.

And a name that is no file's own stands in two of them at most: who searches for one finds which is meant.
"""
import collections
import glob
import os
import re
import subprocess
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Folders that are no library of their own, and what their files may use.  Those of the libraries are in
# their CMakeLists.txt: add_folder(LINK...).
OTHERS = {
    'common': [],
    'fsal_migrate': ['common', 'fsal_migrate/takeover'],
    'vfs_migrate': ['common'],
    'lib/source/smb/worker': ['lib/source/smb', 'lib/base'],
    'ctl/discover/worker': ['lib/source', 'lib/base'],
    'ctl': ['ctl/abandon', 'ctl/check', 'ctl/cluster', 'ctl/discover', 'ctl/doctor', 'ctl/doors', 'ctl/report',
            'ctl/rollback', 'retriever/volume'],
}
# one library
OTHERS['fsal_migrate/takeover'] = ['fsal_migrate']
PUBLIC = {'fsal_migrate': 'common/migrate.h', 'fsal_migrate/takeover': 'common/migrate.h',
          'vfs_migrate': 'common/migrate.h', 'crawler': 'common/migrate.h'}


def folders():
    """What each folder's files may use, beside those of their own: what it links, and what that links."""
    linked = dict(OTHERS)
    for path in glob.glob(f'{TREE}/**/CMakeLists.txt', recursive=True):
        folder = os.path.relpath(os.path.dirname(path), TREE)
        with open(path) as text:
            found = re.search(r'^add_folder\(([^)]*)\)', text.read(), re.M)
        if found:
            linked[folder] = [link for link in found[1].split() if os.path.isdir(f'{TREE}/{link}')]

    def closure(folder, seen):
        for link in linked[folder]:
            if link not in seen:
                seen.add(link)
                closure(link, seen)
        return seen

    return {folder: closure(folder, set()) for folder in linked}


FOLDERS = folders()


def unit(path):
    return re.sub(r'\.[ch]$', '', path)


def sources():
    for folder in FOLDERS:
        for path in glob.glob(f'{TREE}/{folder}/*.[ch]'):
            yield os.path.relpath(path, TREE)


def includes(files):
    """(from, to, why) of each #include of a file of the product, by its path from the root."""
    for path in sorted(files):
        with open(f'{TREE}/{path}') as text:
            for name in re.findall(r'^\s*#\s*include "([^"]+)"', text.read(), re.M):
                if name in files:
                    yield path, name, f'includes {name}'


def guards(files):
    """Headers whose guard is not their path."""
    for path in sorted(files):
        guard = re.sub(r'\W', '_', path).upper()
        with open(f'{TREE}/{path}') as text:
            if path.endswith('.h') and f'#ifndef {guard}\n#define {guard}\n' not in text.read():
                yield f'{path}: its guard is not {guard}'


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
        # a library's, in whose place a worker has one of its own
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


def statics(files):
    """Static functions and objects whose name three files have.  Of files for several releases of a
    host one is built."""
    where = collections.defaultdict(set)
    for path in files:
        with open(f'{TREE}/{path}', encoding='utf-8') as file:
            for name in re.findall(r'(?m)^static\s[^;={]*?\b(\w+)\s*[(=;\[]', file.read()):
                where[name].add(re.sub(r'/(compat_\w+)_\d+\.c$', r'/\1', path))
    for name, paths in sorted(where.items()):
        if len(paths) > 2:
            yield f'{name} is static in ' + ' '.join(sorted(paths))


def main():
    files, missing = set(sources()), []
    arrows = list(includes(files)) + list(symbols(sys.argv[1], missing))
    faults = [*guards(files), *statics(files)]
    for a, b, why in arrows:
        public = PUBLIC.get(os.path.dirname(a))
        if not may_use(a, b):
            faults.append(f'{a} {why} of {b}: an arrow that runs up')
        elif public and why.startswith('includes') and os.path.dirname(b) == 'common' and \
                b != public:
            faults.append(f'{a} {why}: of common/ it may include {public} only')
    for circle in circles(arrows):
        faults.append('a circle: ' + ' '.join(circle))
        members = set(circle)
        for a, b, why in arrows:
            if unit(a) != unit(b) and unit(a) in members and unit(b) in members:
                faults.append(f'    {a} -> {b}: {why}')
    print(*faults, sep='\n')
    # of the releases of Ganesha and Samba one is installed; of two settings of a switch one is built
    absent = [f for f in missing if not os.path.basename(f).startswith(('compat_', 'without'))]
    if absent or len(files) < 200:
        sys.exit('not built there: ' + ' '.join(absent))
    print(f'{len(files)} files, {len(arrows)} arrows, {len(faults)} faults')
    sys.exit(bool(faults))


if __name__ == '__main__':
    main()
