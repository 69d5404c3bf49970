# SPDX-License-Identifier: GPL-3.0-or-later
"""The old tree of guest/kernel.py."""
import os
import shutil
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = HERE + '/guest/kernel.py'
USER = 5                                # as in guest/kernel.py


def names():
    """Of the cases."""
    return [line.split('(')[0][4:] for before, line in pairs(CASES) if before == '@case\n']


def fill(root, random):
    """A directory for each case: "file" and "other" of some MiB, and what the cases want more."""
    for name in names():
        os.makedirs(f'{root}/kernel/{name}')
        for file, size in (('file', (3 << 20) + 1234567), ('other', (2 << 20) + 77)):
            with open(f'{root}/kernel/{name}/{file}', 'wb') as out:
                out.write(random.randbytes(size))
            os.utime(f'{root}/kernel/{name}/{file}', ns=(10**18 + 1, 10**18 + 2))
    where = root + '/kernel/'
    os.unlink(where + 'database/file')
    database = sqlite3.connect(where + 'database/file')
    database.execute('create table t (x integer, y text)')
    database.executemany('insert into t values (?, ?)', ((n, 'y' * 100) for n in range(5000)))
    database.commit()
    database.close()
    os.unlink(where + 'unlinked_elsewhere/other')
    os.link(where + 'unlinked_elsewhere/file', where + 'unlinked_elsewhere/other')
    for name, modes in (('truncated', [0o644] * 5), ('set_user_id_cleared', [0o6755] * 5),
                        ('permissions', [0o600, 0o444, 0o666])):
        for n, mode in enumerate(modes):
            with open(f'{where}{name}/file{n}', 'wb') as out:
                out.write(random.randbytes(1200000))
            if name == 'set_user_id_cleared' or mode == 0o444:
                os.chown(out.name, USER, USER)
            os.chmod(out.name, mode)
    for n in range(11):
        os.mkdir(f'{where}names/unfilled{n}')
        for i in range(5):
            with open(f'{where}names/unfilled{n}/n{i}', 'wb') as out:
                out.write(random.randbytes(30000))
    for tree in 'tar', 'cp', 'sum':
        for n in range(5):
            os.makedirs(f'{where}archived/{tree}/dir{n}')
            for i in range(6):
                with open(f'{where}archived/{tree}/dir{n}/f{i}', 'wb') as out:
                    out.write(random.randbytes(random.choice((0, 1, 5000, 70000, 300000))))
    shutil.copy('/bin/echo', where + 'executed/program')
    with open(where + 'executed/script', 'w') as out:
        out.write('#!/bin/sh\necho "$1 in a script"\n# ' + 'filled up ' * 10000)
        os.fchmod(out.fileno(), 0o755)


def pairs(path):
    """Each line of a text with the one before."""
    with open(path) as file:
        lines = file.readlines()
    return zip(lines, lines[1:])
