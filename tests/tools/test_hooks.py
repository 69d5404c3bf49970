#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each operation of the hosts' interfaces is one of ours, or the module's README.md says why not.

    test_hooks.py BUILD        compares with the releases that BUILD is made for
"""
import json
import os
import re
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Module, the header, its structures, how we set their members.
DOORS = (
    ('fsal_migrate', 'fsal_api.h', ('fsal_obj_ops', 'export_ops'), r'ops(?:->|\.)(\w+) = '),
    ('vfs_migrate', 'vfs.h', ('vfs_fn_pointers',), r'fns(?:->|\.)(\w+)_fn = '),
)


def read(path):
    with open(path) as file:
        return file.read()


def compiled(build, module):
    """The sources of the module that are built there, of this tree or a copy of it, and where they
    look for headers."""
    sources, folders = [], set()
    for entry in json.loads(read(build + '/compile_commands.json')):
        found = re.search(f'/({module}/[^/]*)$', entry['file'])
        if found:
            sources.append(f'{TREE}/{found[1]}')
            folders.update(re.findall(r'-(?:I|isystem )(\S+)', entry['command']))
    return sources, sorted(folders)


def members(text, structure):
    body = re.search(r'^struct %s \{(.*?)^\};' % structure, text, re.M | re.S)[1]
    return set(re.findall(r'\(\*\s*(\w+?)(?:_fn)?\)\s*\(', re.sub(r'/\*.*?\*/', '', body, flags=re.S)))


def excused(module):
    """What the table `Not hooked` of its README.md names; a_send/recv is two."""
    text = read(f'{TREE}/{module}/README.md')
    names = set()
    for row in re.findall(r'^\| ([a-z_0-9/, ]+) \|', text[text.index('Not hooked:'):], re.M):
        for name in row.split(', '):
            first, *more = name.split('/')
            names |= {first} | {first.rpartition('_')[0] + '_' + other for other in more}
    return names


def main(build):
    bad = 0
    for module, header, structures, setting in DOORS:
        sources, folders = compiled(build, module)
        if not sources:
            print(f'{module}: not in this build, not compared')
            continue
        text = next(read(f'{folder}/{header}') for folder in folders
                    if os.path.exists(f'{folder}/{header}') and
                    f'struct {structures[0]} {{' in read(f'{folder}/{header}'))
        ours = {name for source in sources for name in re.findall(setting, read(source))}
        there, named = set().union(*(members(text, s) for s in structures)), excused(module)
        for name in sorted(there - ours - named):
            print(f'{module}: {name} goes by: hook it, or say why not in {module}/README.md')
        for name in sorted(ours & named):
            print(f'{module}: {name} is hooked, and {module}/README.md says that it is not')
        bad += len(there - ours - named) + len(ours & named)
        print(f'{module}: {len(there)} operations, {len(there & ours)} of them ours')
        if len(there) < 50:
            bad += 1
            print(f'{module}: {header} is not understood')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
