#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resource agent under a real systemd, called as a cluster manager calls it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from harness import case, expect, main, same                            # noqa: E402
from machine import Machine                                             # noqa: E402
from sandbox import Host, volume, wait_for                              # noqa: E402
from servers import OLD, Ganesha, Stalled                               # noqa: E402

ROOT, FILES = '/srv/projects', 50
AGENT = '/usr/lib/ocf/resource.d/quickmigrate/migrate'
UNIT = 'migrate-retriever@projects'
DONE, FAILED, UNIMPLEMENTED, CONFIGURED, NOT_RUNNING = 0, 1, 3, 6, 7


def agent(machine, action, status=DONE, volume_name='projects', **parameters):
    """What it says."""
    settings = ''.join(f' OCF_RESKEY_{key}={value}' for key, value in parameters.items())
    return machine.sh(f'OCF_RESKEY_volume={volume_name}{settings} timeout 60 {AGENT} {action} 2>&1', status)


def begin(args, machine, source):
    machine.disk(ROOT)
    machine.bring(args.build + '/packages/quickmigrate_*.deb', '/root')
    machine.boot()
    machine.sh(f'rmdir {ROOT}/lost+found && apt install /root/*.deb')
    machine.write('/etc/quickmigrate/quickmigrate.conf',
                  f'[volume projects]\nroot = {ROOT}\nsource = {source}\n', 'a')
    machine.sh(f'systemctl start {UNIT} && migratectl attach projects && systemctl stop {UNIT} '
               'migrate-guard@projects migrate-journal@projects')


@case()
def a_volume_moves_in_and_out(args):
    """What is started answers, what is stopped lets go of its file system, and neither a hung nor a dead
    retriever counts as one; an old server that stands still does."""
    os.makedirs(volume(OLD) + '/files')
    for n in range(FILES):
        with open(f'{OLD}/files/{n}', 'w') as out:
            out.write(f'{n}\n')
    host = Host('old')
    old = Ganesha('old-server', OLD, host=host).start()
    with Machine('newserver', {'oldserver': host}) as machine:
        begin(args, machine, f'nfs://oldserver{OLD}')
        agent(machine, 'monitor', NOT_RUNNING)
        agent(machine, 'stop')
        agent(machine, 'start', crawler='no')
        agent(machine, 'start', crawler='no')
        same(machine.show('migrate-crawler@projects', 'ActiveState'), 'inactive', 'the crawler')
        agent(machine, 'monitor')
        with Stalled(old):
            agent(machine, 'monitor')

        machine.sh(f'systemctl kill -s STOP --kill-whom=main {UNIT}')
        expect('does not answer' in agent(machine, 'monitor', FAILED), 'it says why')
        machine.sh(f'systemctl kill -s CONT --kill-whom=main {UNIT}')
        agent(machine, 'monitor')
        machine.sh(f'systemctl kill -s KILL --kill-whom=main {UNIT}')
        wait_for('it is dead', lambda: machine.show(UNIT, 'ActiveState') != 'active')
        agent(machine, 'monitor', FAILED)
        agent(machine, 'stop')
        agent(machine, 'monitor', NOT_RUNNING)

        machine.sh(f'umount {ROOT} && truncate -s 64M /other && mkfs.ext4 -q /other && mount /other {ROOT} && '
                   f'rmdir {ROOT}/lost+found')
        said = agent(machine, 'start', FAILED)
        expect('is its file system mounted' in said, f'it says why: {said}')
        agent(machine, 'monitor', NOT_RUNNING)
        machine.sh(f'umount {ROOT} && mount {ROOT}')
        agent(machine, 'start')
        machine.sh('timeout 120 migratectl status --watch projects')
        same(machine.sh(f'cat {ROOT}/files/7'), '7\n', 'a file')
        agent(machine, 'stop')
        same(machine.sh('systemctl list-units --state=active --no-legend "migrate-*@projects.service"'), '',
             'what runs')
        machine.sh(f'umount {ROOT}')


@case()
def what_is_wrong_is_said(args):
    with Machine('newserver') as machine:
        os.makedirs(machine.path('/srv/old'))
        begin(args, machine, 'file:///srv/old')
        agent(machine, 'validate-all')
        agent(machine, 'promote', UNIMPLEMENTED)
        agent(machine, 'validate-all', CONFIGURED, volume_name='')
        agent(machine, 'validate-all', CONFIGURED, crawler='perhaps')
        agent(machine, 'start', CONFIGURED, volume_name='another')
        machine.sh(f'systemctl enable {UNIT}')
        expect('systemctl disable' in agent(machine, 'start', CONFIGURED), 'it says what to do')
        machine.sh(f'systemctl disable {UNIT}')
        # the standard's own tester; the volume is a parameter of each of its calls
        machine.sh(f'ocf-tester -n projects -o volume=projects {AGENT}', timeout=180)
        agent(machine, 'stop')


if __name__ == '__main__':
    sys.exit(main())
