#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the models beside common/record.h with spin, each in full within its limits, and that
every way to break them (FAULT in the models) is found, by the invariant that it breaks.

    test_model.py [--long] [NAME...]
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

COMMON = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'common')

# model, name of a fault, limits, the invariants that may be found broken ('': none)
CHECKS = [
    ('record', '', 'DOORS=2 OPS=1 CRASHES=1 CUTS=0', ''),
    ('record', '', 'DOORS=1 OPS=2 CRASHES=1 CUTS=1', ''),
    ('record', '', 'DOORS=1 OPS=1 CRASHES=2 CUTS=1', ''),
    ('record', 'DROP_BEFORE_SYNC', 'DOORS=1', 'I3'),
    ('record', 'FILLED_BEFORE_WRITE', 'DOORS=1', 'I4'),
    ('record', 'NO_BRACKET', 'DOORS=1', 'I7'),
    ('record', 'NO_DIRTY', 'DOORS=1', 'I7'),
    ('record', 'NO_EPOCH', 'DOORS=1', 'I4 I7'),
    ('record', 'EPOCH_OF_BOOT', 'DOORS=1', 'I4 I7'),
    ('record', 'ANSWER_BEFORE_FLUSH', 'DOORS=1', 'I7'),
    ('record', 'STALE_RECORD', 'DOORS=1', 'I2'),
    ('record', 'NO_SIZE_VOID', 'DOORS=1 OPS=2', 'I7'),
    ('record', 'SIZE_MENDED', 'DOORS=1', 'I4'),
    ('record', 'COMMIT_LOOKS_LATE', 'DOORS=1 OPS=2', 'I7'),
    ('record', 'LOST_IS_DONE', 'DOORS=1', 'I7'),
    ('record', '', 'DOORS=1 OPS=2 CRASHES=0 CUTS=0 FAILS=1', ''),
    ('record', 'CONSUMED_BY_COMMIT', 'DOORS=1 OPS=2 CRASHES=0 CUTS=0 FAILS=1', 'I3 I4'),
    ('record', 'CONSUMED_BY_ROUND', 'DOORS=1 CRASHES=0 CUTS=0 FAILS=1', 'I3 I4'),
    ('record', 'WRITER_NOT_DOUBTED', 'DOORS=1 CRASHES=0 CUTS=0 FAILS=1', 'I3 I4 I7'),
    ('record', 'DOORS_NOT_TOLD', 'DOORS=1 OPS=2 CRASHES=0 CUTS=0 FAILS=1', 'I7'),
    ('record', '', 'DOORS=1 OPS=1 CRASHES=1 CUTS=0 FAILS=1', ''),
    ('record', 'NOT_REWRITTEN', 'DOORS=1 CRASHES=1 CUTS=0 FAILS=1', 'I3 I4'),
    ('record', 'ZEROS_BELIEVED', 'DOORS=1 CRASHES=0 CUTS=0 FAILS=1', 'I4'),
    ('names', '', 'OPS=1', ''),
    ('names', 'NAMES_NOT_FIXED', '', 'I6 I13'),
    ('names', 'FILLED_TOO_EARLY', '', 'I6'),
    ('names', 'CHANGED_UNFILLED', '', 'I6'),
    ('names', 'LOOKUP_NOT_ASKED', '', 'I6'),
    ('names', 'NOT_TAKEN_BACK', 'OPS=1', 'I13'),
    ('names', 'TAKEN_BACK_LATE', 'OPS=1', 'I13'),
    ('places', '', '', ''),
    ('places', 'NOT_MARKED', '', 'I5'),
    ('places', 'MARKED_BOTTOM_UP', '', 'I5'),
    ('places', 'PLACINGS_IGNORED', '', 'I5'),
    ('places', 'MOVED_UNHELD', '', 'I5'),
    ('places', 'BRACKET_LOST', '', 'I5'),
    ('places', 'HELD_LATE', '', 'I5'),
]
LONG = [
    ('record', '', 'DOORS=2 OPS=1 CRASHES=1 CUTS=1', ''),
    ('record', '', 'DOORS=2 OPS=1 CRASHES=0 CUTS=0 FAILS=1', ''),
    ('names', '', 'OPS=2', ''),
    ('names', '', 'OPS=1 FILLS=2', ''),
    ('places', '', 'OPS=2', ''),
]


def faults(model):
    """The names in the model: the definitions between FAULT and the next comment."""
    with open(os.path.join(COMMON, model + '.pml'), encoding='utf-8') as f:
        text = f.read()
    text = text[text.index('#define FAULT 0\n#endif\n') + 23:]
    return re.findall(r'^#define ([A-Z_]{5,})\s+\d+(?:\s+/\*.*\*/)?$', text[:text.index('\n\n')],
                      re.M)


def output(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f'{" ".join(command)}: {done.stdout}{done.stderr}')
    return done.stdout


def check(case):
    """None, or what is wrong; and a line for the log."""
    model, fault, limits, wanted = case
    defines = ['-D' + limit for limit in limits.split()] + ([f'-DFAULT={fault}'] if fault else [])
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        output(['spin', '-a', *defines, os.path.abspath(f'{COMMON}/{model}.pml')], scratch)
        output(['cc', '-O2' if not fault else '-O1', '-w', '-DSAFETY', '-DNOFAIR', '-DCOLLAPSE',
                '-DMEMLIM=4000', '-o', 'pan', 'pan.c'], scratch)
        text = output(['./pan', '-E', '-n', '-m100000', '-w22'], scratch)
    states = re.search(r'(\d+) states, stored', text)
    broken = re.search(r'assertion violated \(*(I\d+)', text)
    errors = re.search(r'errors: (\d+)', text)
    line = (f'{model:7} {fault or "-":20} {limits:30} {broken.group(1) if broken else "holds":6}'
            f'{int(states.group(1)) if states else 0:9} states {time.monotonic() - start:6.1f} s')
    wrong = None
    if not errors or not states or re.search('max search depth too small|out of memory', text):
        wrong = 'was not checked in full:\n' + text
    elif wanted and not broken:
        wrong = f'breaks nothing that is seen: {wanted} should'
    elif wanted and broken.group(1) not in wanted.split():
        wrong = f'breaks {broken.group(1)}, not {wanted}'
    elif not wanted and (broken or errors.group(1) != '0'):
        wrong = 'does not hold:\n' + text
    return line, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--long', action='store_true', help='with wider limits too')
    parser.add_argument('names', nargs='*', help='models or faults')
    args = parser.parse_args()
    failed = 0
    for model in sorted({case[0] for case in CHECKS}):
        checked = {case[1] for case in CHECKS if case[0] == model and case[1]}
        unchecked = set(faults(model)) ^ checked
        if unchecked:
            failed += 1
            print(f'{model}: not checked, or not in the model: {" ".join(sorted(unchecked))}')
    cases = [case for case in CHECKS + (LONG if args.long else [])
             if not args.names or case[0] in args.names or case[1] in args.names]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line, wrong in pool.map(check, cases):
            failed += bool(wrong)
            print(line + (f'\nFAILED: {wrong}' if wrong else ''), flush=True)
    sys.exit(1 if failed or not cases else 0)


if __name__ == '__main__':
    main()
