#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fails has its code wherever it is told, and retry and skip take it."""
import json
import os
import re
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import fake                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from sandbox import wait_for                                            # noqa: E402
from servers import NEW, OLD, VOLUME, stack                             # noqa: E402

JOURNAL = '/run/systemd/journal'
FAILED, SKIPPED = '7ff32713cfcd4764a490c8570c6f8a21', '832002ec643c427d93cc673da05c9bcc'
# What wraps the retriever: its standard error is a stream of the journal's.
TO_THE_JOURNAL = ['/usr/bin/python3', '-c', 'import os, socket, sys; s = socket.socket(socket.AF_UNIX); '
                  f's.connect("{JOURNAL}/stdout"); os.dup2(s.fileno(), 2); os.execv(sys.argv[1], sys.argv[1:])']
RESERVED, FORBIDDEN, CHANGED, NAMES = 'QM1006', 'QM1201', 'QM1401', 'QM1013'
WANTED = {'': NAMES, '.migrate': RESERVED, 'secret': FORBIDDEN, 'changed': CHANGED}


class Journal:
    """Where systemd's would be, on this run's own /run."""

    def __init__(self):
        os.makedirs(JOURNAL)
        self.stream, self.entries = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.stream.bind(JOURNAL + '/stdout')
        self.stream.listen()
        self.entries.bind(JOURNAL + '/socket')
        self.entries.setblocking(False)

    def codes(self, event):
        """By path: those of the events that came since the last time."""
        found = {}
        while True:
            try:
                text = self.entries.recv(1 << 16).decode()
            except BlockingIOError:
                return found
            fields = dict(line.split('=', 1) for line in text.splitlines())
            if fields.get('MESSAGE_ID') == event:
                found[fields['QUICKMIGRATE_PATH'][len(NEW) + 1:]] = fields['QUICKMIGRATE_CODE']


def fill(root):
    os.chmod(root, 0o755)
    if os.path.isdir(root + '/lost+found'):     # it would be one more that is refused
        os.rmdir(root + '/lost+found')
    os.mkdir(root + '/.migrate')
    for name in ('secret', 'changed', 'fine'):
        with open(f'{root}/{name}', 'w') as out:
            out.write(name * 5000)
    os.chown(root + '/secret', 1000, 1000)
    os.chmod(root + '/secret', 0o600)


def listed(migration, *options):
    """Codes by path, alike in lines and in JSON."""
    lines = migration.ctl('errors', *options).splitlines()
    said = {re.match(f'{NEW}/?(.*?): ', line)[1]: re.search(r' \[(QM\d{4})\]$', line)[1] for line in lines}
    found = {e['path'][len(NEW) + 1:]: e['code'] for e in json.loads(migration.ctl('errors', '--json', *options))}
    same(said, found, 'the lines, beside JSON')
    return found


def counted(migration):
    text = subprocess.run([migration.program('migratectl'), '--config', migration.config, 'metrics'], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout
    found = dict(re.findall(r'^quickmigrate_failures\{volume="%s",code="(QM\d+)"\} (\d+)$' % VOLUME, text, re.M))
    status = json.loads(migration.ctl('status', '--json'))
    same({code: int(number) for code, number in found.items()}, status.get('codes', {}), 'metrics, beside status')
    return status.get('codes', {})


def fails(migration, *argv, said, status=2):
    done = subprocess.run([migration.program('migratectl'), '--config', migration.config, *argv],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    same(done.returncode, status, f'status of {argv}')
    expect(said in done.stderr, done.stderr)


@case()
def codes_wherever_it_is_told(args):
    journal = Journal()
    _, migration = stack(args.build, fill, wrapper=TO_THE_JOURNAL, old={
        'export': 'Squash = Root_Squash; Attr_Expiration_Time = 0;'})
    migration.attach()
    same(migration.start_crawler('--metadata-only').wait(100), 2, 'exit status of the crawler')
    with open(OLD + '/changed', 'a') as out:
        out.write('more')
    same(migration.start_crawler().wait(100), 2, 'exit status of the crawler')
    same(listed(migration), WANTED, 'codes')
    same(counted(migration), dict.fromkeys(WANTED.values(), 1), 'counted')
    same(journal.codes(FAILED), WANTED, 'in the journal')
    summary = {r['code']: r['count'] for r in json.loads(migration.ctl('errors', '--summary', '--json'))}
    same(summary, dict.fromkeys(WANTED.values(), 1), 'summary')
    expect(re.search(rf'^ +1  .* \[{CHANGED}\]$', migration.ctl('errors', '--summary'), re.M), 'summary')
    same(listed(migration, '--code', FORBIDDEN), {'secret': FORBIDDEN}, 'of one code')

    migration.retriever.stop()
    migration.start_retriever(*TO_THE_JOURNAL)
    same(listed(migration), WANTED, 'codes after a restart')

    fails(migration, 'retry', '--code', 'QM9999', VOLUME, said='QM9999 is no code')
    fails(migration, 'skip', '--yes', '--code', '1201', VOLUME, said='1201 is no code')
    fails(migration, 'retry', '--code', CHANGED, VOLUME, NEW + '/changed', said='without PATH')
    migration.ctl('retry', '--code', CHANGED)
    same(set(listed(migration)), set(WANTED) - {'changed'}, 'after retry')
    migration.ctl('skip', '--yes', '--code', RESERVED)
    migration.ctl('skip', '--yes', '--leave', '--because', 'nobody needs it', '--code', FORBIDDEN)
    with open(NEW + '/.migrate/report', 'a') as report:     # what a name or an ACL there may be like
        report.write(f'acl\t{NEW}/x\tof somebody [{FORBIDDEN}]\n')
    lines = json.loads(migration.ctl('report', '--json'))[1:]
    same([line.get('code') for line in lines if line['kind'] == 'acl'], [None], 'the code of a loss')
    left = {line['path'][len(NEW) + 1:]: (line['code'], line['text']) for line in lines if line['kind'] == 'name'}
    same({path: code for path, (code, _) in left.items()}, {'.migrate': RESERVED, 'secret': FORBIDDEN}, 'skipped')
    expect(left['secret'][1].endswith(f'skipped because: nobody needs it [{FORBIDDEN}]'), left)
    expect(f'.migrate: name: this name is reserved at the volume\'s root [{RESERVED}]\n' in migration.ctl('report'),
           'the report')
    same(journal.codes(SKIPPED), {'.migrate': RESERVED, 'secret': FORBIDDEN}, 'skipped, in the journal')
    migration.crawl()
    wait_for('it is whole', lambda: migration.status()['state'] == 'whole')
    same((listed(migration), counted(migration)), ({}, {}), 'what is left')


@case()
def a_retriever_that_knows_no_codes(args):
    """One of an earlier release takes --code for nothing: it would list, and forget, all."""
    _, migration = stack(args.build, fill)
    migration.retriever.stop()
    older, asked = fake.Fake(migration.socket), []
    reply = b'[error 0]\npath=/x\nreason=why\nerrno=13\nsince=0\n[errors]\ntotal=1\nnext=-1\n'

    def control(request):
        asked.append(request.text.split()[0])
        request.peer.send(fake.HEADER.pack(b'QMG1', 2, request.op | fake.REPLY, request.id, 0, 0, 0, 0, 0, 0,
                                           len(reply), 0) + reply)
        return fake.HOLD
    older.on[fake.CONTROL] = control
    older.start()
    for command in 'errors', 'retry':
        fails(migration, command, '--code', FORBIDDEN, VOLUME, said='knows no codes', status=1)
    same(set(asked), {b'errors'}, 'what it was asked')
    same(migration.ctl('errors'), '/x: why\n', 'what it lists')
    older.stop()


if __name__ == '__main__':
    sys.exit(main())
