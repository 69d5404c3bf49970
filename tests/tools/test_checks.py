#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each C source has a check program of its name: tests/DIR/test_NAME.c for DIR/NAME.c.

The doors and the commands of migratectl are tested with real servers, main.c is tested as the program that it makes, compat_*.c, migrate-smb-worker, migrate-smb-writer
and migrate-discover with real servers.
"""
import glob
import os
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKERS = ('lib/source/smb/worker/', 'ctl/discover/worker/')


def main():
    sources = [path for top in ('common', 'crawler', 'guard', 'journal', 'lib', 'retriever', 'ctl/*')
               for path in glob.glob(f'{top}/**/*.c', root_dir=TREE, recursive=True)]
    missing = []
    for path in sorted(sources):
        *folders, name = path.split('/')
        if name == 'main.c' or name.startswith('compat_') or path.startswith(WORKERS):
            continue
        program = '/'.join(['tests', *folders, f'test_{name}'])
        if not os.path.exists(f'{TREE}/{program}'):
            missing.append(f'{path} has no check program: write {program}')
    if missing or len(sources) < 100:
        sys.exit('\n'.join(missing or ['the sources are not there']))
    print(f'{len(sources)} sources')


if __name__ == '__main__':
    main()
