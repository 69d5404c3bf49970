#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of system calls compile on other architectures: a call that is not in the kernel's generic
table, which newer ones have, stands in an #ifdef of its own."""
import os
import re
import sys

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILTERS = 'lib/base/sandbox.c'
GENERIC = '/usr/include/asm-generic/unistd.h'


def main():
    with open(GENERIC, encoding='utf-8') as file:
        generic = set(re.findall(r'#define __NR_(\w+)', file.read()))
    guard, found, bad = None, 0, []
    with open(f'{TREE}/{FILTERS}', encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            directive = re.match(r'#(?:ifdef SYS_(\w+)|endif)', line)
            if directive:
                guard = directive[1]
                continue
            for call in re.findall(r'\bSYS_(\w+)', line):
                found += 1
                if guard != call and (guard or call not in generic):
                    bad.append(f'{FILTERS}:{number}: SYS_{call}: put #ifdef SYS_{call} round it')
    print('\n'.join(bad) or f'{found} system calls')
    return 1 if bad or found < 50 else 0


if __name__ == '__main__':
    sys.exit(main())
