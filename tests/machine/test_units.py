#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units under a real systemd: their order at boot, their sandboxes, what is stopped, killed and
started again, and that no program of the machine reads zeros meanwhile."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from machine import Machine                                             # noqa: E402
from sandbox import Host, volume, wait_for                              # noqa: E402
from servers import OLD, Ganesha                                        # noqa: E402

ROOT, FILES, SIZE = '/srv/projects', 400, 20000
OF_THE_MACHINE = '/srv/old'
WHOLE = 'edbf95dd52044b4783b2358e484bdaeb'           # migrate-retriever(8)

# It needs nothing but the file system.
EARLY = f"""[Unit]
RequiresMountsFor={ROOT}
[Service]
Type=oneshot
StandardOutput=truncate:/var/read
StandardError=inherit
ExecStart=/usr/local/bin/early
[Install]
WantedBy=multi-user.target
"""


def content(n):
    return (f'{n}\n'.encode() * SIZE)[:SIZE]


def reader(first, last):
    """A command that prints which of these files are not what they should be, or cannot be read."""
    return f'for n in $(seq {first} {last}); do yes $n 2>/dev/null | head -c {SIZE} | cmp - {ROOT}/files/$n; done'


def begin(args, machine, source, **settings):
    machine.disk(ROOT)
    machine.bring(args.build + '/packages/quickmigrate_*.deb', '/root')
    machine.write('/etc/ganesha/ganesha.conf', 'NFS_CORE_PARAM { Allow_Set_Io_Flusher_Fail = true; }\n')
    machine.boot()
    machine.sh(f'rmdir {ROOT}/lost+found && apt install /root/*.deb')
    machine.write('/etc/quickmigrate/quickmigrate.conf', f'[volume projects]\nroot = {ROOT}\nsource = {source}\n'
                  + ''.join(f'{key} = {value}\n' for key, value in settings.items()), 'a')
    for unit in 'migrate-retriever', 'migrate-guard':
        machine.sh(f'mkdir -p /etc/systemd/system/{unit}@projects.service.d')
        machine.write(f'/etc/systemd/system/{unit}@projects.service.d/override.conf',
                      f'[Unit]\nRequiresMountsFor={ROOT}\n')
    machine.sh('systemctl daemon-reload && systemctl enable migrate-guard@projects && '
               'systemctl enable --now migrate-retriever@projects')


def fill(directory):
    os.makedirs(directory + '/files')
    for n in range(FILES):
        with open(f'{directory}/files/{n}', 'wb') as out:
            out.write(content(n))


@case()
def at_boot(args):
    """Before anything could read a stub there is a guard, and before the file servers a retriever."""
    fill(volume(OLD))
    host = Host('old')
    Ganesha('old-server', OLD, host=host).start()
    with Machine('newserver', {'oldserver': host}) as machine:
        begin(args, machine, f'nfs://oldserver{OLD}')
        machine.sh(f'migratectl attach projects && ls {ROOT} && ls -l {ROOT}/files')
        examined(machine)
        machine.sh('systemctl stop migrate-guard@projects')
        examined(machine, 'Units', 'Guard')
        machine.sh('systemctl start migrate-guard@projects')
        machine.write('/etc/systemd/system/early.service', EARLY)
        machine.sh('systemctl enable early nfs-ganesha')    # the package of 5.9 enables nothing
        for cut, first in (False, 1), (True, 21):
            machine.off(None if cut else 'systemctl poweroff')
            machine.write('/usr/local/bin/early', f'#!/bin/bash\n{reader(first, first + 19)}\necho "all $?"\n')
            os.chmod(machine.path('/usr/local/bin/early'), 0o755)
            machine.boot()
            same(machine.sh('cat /var/read'), 'all 0\n', 'what an early program read')
            for earlier, later in ('guard', 'early'), ('retriever', 'nfs-ganesha'):
                expect(started(machine, f'migrate-{earlier}@projects') < started(machine, later),
                       f'{earlier} before {later}')


def examined(machine, *faults):
    """What doctor finds, and its bundle: just these faults, and no name of what is moved or from where."""
    said = machine.run('rm -f /root/b.tar.gz; migratectl doctor --bundle /root/b.tar.gz projects')
    lines = [line.split()[:2] for line in said.stdout.splitlines()]
    same([what for level, what in lines if level == 'fault'], list(faults), said.stdout)
    expect(['ok', 'Mount'] in lines and ['ok', 'Rights'] in lines, said.stdout)
    expect(said.returncode == 2 if faults else said.returncode < 2, f'exit {said.returncode}: {said.stdout}')
    bundle = machine.sh('tar -xzOf /root/b.tar.gz')
    for shown in 'Id=migrate-guard@projects.service', 'migrate-retriever[', 'source=nfs://#', 'state=migrating':
        expect(shown in bundle, f'{shown} in {bundle}')
    for hidden in ROOT, OLD, 'oldserver':
        expect(hidden not in bundle, f'{hidden} in {bundle}')


def started(machine, unit):
    when = int(machine.show(unit, 'ExecMainStartTimestampMonotonic'))
    expect(when, f'{unit} was started')
    return when


@case()
def the_guard_is_killed(args):
    """What is asked while none runs waits for the next one: systemd keeps its descriptors, or before
    systemd 254 a process does."""
    rounds = 200 if args.long else 20
    with Machine('newserver') as machine:
        fill(machine.path(OF_THE_MACHINE))
        begin(args, machine, f'file://{OF_THE_MACHINE}')
        machine.sh(f'migratectl attach projects && ls {ROOT} && ls {ROOT}/files')
        each = FILES // (rounds + 2)
        ways = ['systemctl restart'] + ['kill'] * rounds + ['systemctl stop']
        for turn, way in enumerate(ways):
            first = turn * each
            reading = machine.start(f'reader-{turn}', reader(first, first + each - 1))
            if way == 'systemctl stop':
                unit = 'migrate-guard@projects'     # within its five seconds
                same(machine.sh(f'systemctl stop {unit}; systemctl show -P ActiveState {unit}; systemctl start {unit}').strip(),
                     'inactive', 'the guard')
            elif way == 'kill':             # the one of before may be dead, and the next not be there yet
                machine.sh('until systemctl kill -s KILL --kill-whom=main migrate-guard@projects; do :; done', timeout=60)
            else:
                machine.sh(f'{way} migrate-guard@projects')
            reading.wait(120)
            with open(reading.log) as log:
                wrong = log.read().splitlines()
            if way == 'kill':               # what it had in hand then is an error
                wrong = [line for line in wrong if not line.endswith('Input/output error')]
            same(wrong, [], f'what was read during {way}')


@case()
def each_unit_in_its_sandbox(args):
    """Copy, verify, crawler with its timers, journal and the way back do their work, and nothing is
    refused to them."""
    with Machine('newserver') as machine:
        old = machine.path(OF_THE_MACHINE)
        os.makedirs(old)
        tree.make(old, 500, args.seed, 1 << 20)
        begin(args, machine, f'file://{OF_THE_MACHINE}', **{'rollback-source': OF_THE_MACHINE})
        machine.sh('systemctl start migrate-copy@projects')
        machine.sh('migratectl attach projects')
        machine.sh('mkdir -p /etc/systemd/system/migrate-crawler@.timer.d')
        machine.write('/etc/systemd/system/migrate-crawler@.timer.d/override.conf',
                      '[Timer]\nOnCalendar=\nOnCalendar=*:*:*\nAccuracySec=100ms\n')
        machine.sh('systemctl daemon-reload && systemctl enable --now migrate-crawler@projects.timer')
        machine.sh('timeout 120 migratectl status --watch projects')
        machine.sh('systemctl disable --now migrate-crawler@projects.timer')
        machine.sh('systemctl start migrate-verify@projects')
        no_differences(tree.compare(old, machine.path(ROOT)))
        machine.sh(f'echo changed >{ROOT}/changed')
        machine.sh('systemctl start migrate-rollback@projects')
        wait_for('it is carried back', lambda: os.path.exists(old + '/changed'))
        metrics(machine)
        machine.sh('useradd -G quickmigrate-monitor watcher && runuser -u watcher -- migratectl status projects && '
                   '! runuser -u watcher -- migratectl errors projects')
        machine.sh('systemctl stop migrate-rollback@projects')
        same(machine.sh('systemctl list-units --failed --no-legend "migrate-*"'), '', 'what failed')
        said = machine.sh('journalctl -qo cat -t migrate-retriever -t migrate-crawler -t migrate-journal '
                          '-t migrate-guard -t migratectl').splitlines()
        same([line for line in said if line.startswith('migrat')], [], 'complaints')
        same(machine.sh('journalctl -qo cat -p warning -t migrate-retriever -t migrate-journal'), '', 'warnings')
        entries = machine.sh(f'journalctl -qo json MESSAGE_ID={WHOLE}').splitlines()
        entry = json.loads(entries[0])
        same((len(entries), entry['_SYSTEMD_UNIT'], entry['PRIORITY'], entry['QUICKMIGRATE_VOLUME'],
              entry['QUICKMIGRATE_PATH']), (1, 'migrate-retriever@projects.service', '5', 'projects', ROOT),
             'that it is whole')
        expect('finalize projects' in machine.sh(f'journalctl -qx MESSAGE_ID={WHOLE}'), 'the catalog has it')


# What purge leaves, but for the reports.
LEFT = """find /etc /run /var/lib/prometheus -name '*migrate*'
getent passwd group | grep quickmigrate
systemctl list-units --all --no-legend --plain 'migrate-*'
ps -eo comm | grep '^migrate'
true"""


@case()
def abandoned_and_purged(args):
    """Nothing hangs whatever is stopped first, what is here alone is not removed unasked, and purge leaves
    nothing."""
    with Machine('newserver') as machine:
        old = machine.path(OF_THE_MACHINE)
        fill(old)
        begin(args, machine, f'file://{OF_THE_MACHINE}', **{'guard-wait': '1'})
        machine.sh(f'migratectl attach projects && ls {ROOT} && ls {ROOT}/files >/dev/null')

        machine.sh('systemctl stop migrate-guard@projects')
        expect('Input/output error' in machine.sh(f'timeout 60 cat {ROOT}/files/1 2>&1', 1), 'what is not here')
        machine.sh('systemctl stop migrate-retriever@projects; '
                   'systemctl start migrate-guard@projects migrate-retriever@projects')
        same(machine.sh(reader(1, 2)), '', 'what is read when they are back')

        refusal = machine.run('apt purge quickmigrate')
        expect(refusal.returncode and 'migratectl abandon projects' in refusal.stdout, refusal.stdout)
        machine.sh(f'echo made here >{ROOT}/files/new')
        refusal = machine.sh('migratectl abandon --yes projects 2>&1', 1)
        for line in ('made,data                 files/new', '2 objects that clients changed are not on the old server',
                     'nobody has compared the whole files', 'nothing was done: --discard removes them all the same'):
            expect(line in refusal, f'{line} is not in {refusal}')
        machine.sh(f'rm {ROOT}/files/new')
        said = machine.sh('migratectl abandon --yes --discard projects 2>&1')
        expect(f'projects: abandoned; {ROOT} is empty' in said, said)
        same(machine.sh(f'timeout 60 find {ROOT} -mindepth 1'), '', 'the root')
        same(machine.sh('systemctl list-units --no-legend "migrate-*"'), '', 'what runs')
        same(len(os.listdir(old + '/files')), FILES, "the old server's files")

        # Another file system there, with nothing of a migration.
        machine.sh('systemctl start migrate-guard@projects')
        machine.sh(f'umount {ROOT}')
        wait_for('the guard ends', lambda: machine.show('migrate-guard@projects', 'ActiveState') == 'inactive')
        machine.sh(f'mount {ROOT} && timeout 60 ls {ROOT} && mkdir -p /var/lib/prometheus/node-exporter && '
                   'systemctl start migrate-guard@projects migrate-textfile && systemctl enable migrate-textfile.timer')
        machine.sh('apt purge quickmigrate')
        machine.sh(f'timeout 60 ls {ROOT}')
        same(machine.sh(LEFT), '', 'what is left')


def metrics(machine):
    """What the journal and the way back know is among them."""
    machine.sh('mkdir -p /var/lib/prometheus/node-exporter && systemctl start migrate-textfile')
    text = machine.sh('cat /var/lib/prometheus/node-exporter/*.prom')
    for line in ('state{volume="projects",state="whole"} 1', 'journal_complete{volume="projects"} 1',
                 'rollback_conflicts{volume="projects"} 0', 'guarded{volume="projects"} 1'):
        expect(f'quickmigrate_{line}\n' in text, f'{line} is not in {text}')


@case()
def stopped_during_a_fill(args):
    """It ends at once, whoever waits; and who waited goes on when it is back."""
    with Machine('newserver') as machine:
        old = machine.path(OF_THE_MACHINE)
        os.makedirs(old)
        with open(old + '/large', 'wb') as out:
            for n in range(4000):
                out.write(content(n))
        begin(args, machine, f'file://{OF_THE_MACHINE}')
        machine.sh(f'migratectl attach projects && ls {ROOT}')
        reading = machine.start('reader', f'cmp {OF_THE_MACHINE}/large {ROOT}/large')
        machine.sh('until [ "$(stat -c %b /srv/projects/large)" -gt 1000 ]; do :; done; '
                   'timeout 20 systemctl stop migrate-retriever@projects')
        expect(reading.poll() is None, 'it waits')
        machine.sh('systemctl start migrate-retriever@projects')
        same(reading.wait(120), 0, 'the reader')


if __name__ == '__main__':
    sys.exit(main())
