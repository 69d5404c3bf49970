#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resource agent under a real systemd, called as a cluster manager calls it, and the doors' units of the
guide."""
import os
import re
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import nfs4                                                             # noqa: E402
import smb2                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from machine import Machine                                             # noqa: E402
from sandbox import Host, sh, volume, wait_for                          # noqa: E402
from servers import OLD, REPO, Ganesha, Stalled, core_settings          # noqa: E402

ROOT, FILES = '/srv/projects', 50
AGENTS = '/usr/lib/ocf/resource.d/quickmigrate'
AGENT, LOCKS = AGENTS + '/migrate', AGENTS + '/locks'
UNIT = 'migrate-retriever@projects'
UNITS = [f'migrate-{kind}@projects' for kind in
         ('retriever', 'crawler', 'copy', 'verify', 'journal', 'guard', 'rollback')]
DONE, FAILED, UNIMPLEMENTED, INSTALLED, CONFIGURED, NOT_RUNNING = 0, 1, 3, 5, 6, 7


def agent(machine, action, status=DONE, volume_name='projects', **parameters):
    """What it says."""
    settings = ''.join(f' OCF_RESKEY_{key}={value}' for key, value in parameters.items())
    return machine.sh(f'OCF_RESKEY_volume={volume_name}{settings} timeout 60 {AGENT} {action} 2>&1', status)


def locks(machine, action, settings, status=DONE):
    """What the agent of the locks says."""
    settings = settings and 'OCF_RESKEY_' + settings
    return machine.sh(f'{settings} timeout 60 {LOCKS} {action} 2>&1', status)


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
        machine.sh(f'umount {ROOT} && systemctl start {" ".join(UNITS)}')
        for unit in UNITS:
            same(machine.show(unit, 'ActiveState'), 'inactive', f'{unit}, as the volume is on another node')


@case()
def what_is_wrong_is_said(args):
    with Machine('newserver') as machine:
        os.makedirs(machine.path('/srv/old'))
        begin(args, machine, 'file:///srv/old')
        agent(machine, 'validate-all')
        agent(machine, 'promote', UNIMPLEMENTED)
        agent(machine, 'validate-all', CONFIGURED, volume_name='')
        agent(machine, 'validate-all', CONFIGURED, crawler='perhaps')
        agent(machine, 'validate-all', CONFIGURED, rollback='perhaps')
        agent(machine, 'start', INSTALLED, volume_name='another')
        machine.sh(f'systemctl enable {UNIT}')
        expect('systemctl disable' in agent(machine, 'start', INSTALLED), 'it says what to do')
        machine.sh(f'systemctl disable {UNIT}')
        # the standard's own tester; the volume is a parameter of each of its calls
        machine.sh(f'ocf-tester -n projects -o volume=projects {AGENT}', timeout=180)
        agent(machine, 'stop')


@case(long=True)
def clients_of_a_ganesha_are_told(args):
    """The agent of the locks, whose first resource wants an NFS server and its own rpc.statd."""
    with Machine('newserver') as machine:
        os.makedirs(machine.path('/srv/old'))
        begin(args, machine, 'file:///srv/old')
        machine.sh('systemctl stop nfs-ganesha')
        for settings in '', 'address=10.79.0.2':
            said = locks(machine, 'start', settings, INSTALLED)
            expect('state-directory-path' in said, f'it says what to do: {said}')
        machine.write('/etc/nfs.conf', f'[statd]\nstate-directory-path = /srv/statd\n', 'a')
        said = locks(machine, 'start', 'address=10.79.0.3', INSTALLED)
        expect('/etc/hosts' in said, f'it says what to do: {said}')
        machine.sh('systemctl start nfs-ganesha')
        said = locks(machine, 'start', '', FAILED)
        expect('systemctl mask --now nfs-ganesha-lock' in said, f'it says what to do: {said}')
        locks(machine, 'stop', '')
        machine.sh('systemctl mask --now nfs-ganesha-lock')
        for settings in '', '-o address=10.79.0.2':
            machine.sh(f'ocf-tester -n locks {settings} {LOCKS}', timeout=180)
        machine.sh(f'ocf-tester -n connections -o address=10.79.0.2 -o file=/srv/connections {AGENTS}/connections',
                   timeout=180)


DOORS = {
    '/etc/ganesha/{name}.conf': """NFS_CORE_PARAM {{ Bind_Addr = {address}; Protocols = 4; Enable_NLM = false; {core} }}
NFSv4 {{ RecoveryRoot = "/srv/{name}/nfs"; Graceless = true; Only_Numeric_Owners = true; }}
EXPORT {{ Export_Id = 7; Path = /srv/{name}/tree; Pseudo = /{name}; Access_Type = RW; Squash = None; SecType = sys;
    FSAL {{ Name = MIGRATE; Volume = "{name}"; FSAL {{ Name = VFS; }} }} }}
""", '/etc/samba/{name}.conf': """[global]
    private dir = /srv/{name}/samba/private
    state directory = /srv/{name}/samba
    interfaces = {address}/24
    bind interfaces only = yes
    lock directory = /run/samba-{name}
    pid directory = /run/samba-{name}
    cache directory = /run/samba-{name}
    ncalrpc dir = /run/samba-{name}/ncalrpc
    disable netbios = yes
    kernel change notify = no
[share]
    path = /srv/{name}/tree
    vfs objects = migrate streams_xattr acl_xattr
    migrate:volume = {name}
"""}


def unit_of_the_guide(name):
    with open(REPO + '/docs/cluster.md') as guide:
        return textwrap.dedent(re.search(rf'{name}@\.service:\n\n((?:    .*\n)+)', guide.read())[1])


def begin_two(args, machine):
    """Volumes one and two, with what the guide says of several."""
    addresses = {'one': '10.79.0.11', 'two': '10.79.0.12'}
    for name in addresses:
        machine.disk('/srv/' + name)
        os.makedirs(machine.path('/srv/old/' + name))
        with open(machine.path(f'/srv/old/{name}/file'), 'w') as out:
            out.write(name)
    machine.bring(args.build + '/packages/quickmigrate*.deb', '/root')
    machine.boot()
    # what is in /etc/sysctl.d on a machine that has it of its own
    sh('nsenter', '-t', machine.first(), '--net', 'sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind')
    machine.sh('apt install /root/*.deb; useradd alice')
    for server in 'nfs-ganesha', 'smbd':
        machine.write(f'/etc/systemd/system/{server}@.service', unit_of_the_guide(server))
    machine.sh('systemctl daemon-reload')
    for name, address in addresses.items():
        machine.write('/etc/quickmigrate/quickmigrate.conf', f'[volume {name}]\nroot = /srv/{name}/tree\n'
                      f'source = file:///srv/old/{name}\nreport = /srv/{name}/report\n'
                      f'journal = /srv/{name}/journal\n', 'a')
        machine.sh(f'mkdir -p /srv/{name}/tree /srv/{name}/nfs /srv/{name}/samba/private')
        for file, text in DOORS.items():
            machine.write(file.format(name=name), text.format(name=name, address=address, core=core_settings()))
        machine.sh(f'systemctl start migrate-retriever@{name} && migratectl attach {name} && '
                   f'printf "secret\\nsecret\\n" | smbpasswd -c /etc/samba/{name}.conf -sa alice')
    return addresses


@case(long=True)
def two_volumes_are_served_by_units_of_the_guide(args):
    """By Pacemaker, with what cluster config prints; and cluster check knows them.  In a tree that has
    Pacemaker, as this machine's has in a night (tests/support/packages)."""
    with Machine('newserver') as machine:
        addresses = begin_two(args, machine)
        machine.sh('systemctl enable smbd && systemctl disable --now nfs-ganesha && systemctl stop smbd')
        said = machine.sh('migratectl cluster check one', 1)
        for line in ('unit nfs-ganesha.service: disabled', 'unit smbd.service: enabled', 'state ganesha: /srv/one/nfs',
                     'state samba: /srv/one/samba/private', 'fencing: enabled, without a device'):
            expect(f'\n{line}\n' in said, f'"{line}" is among {said}')
        expect('systemctl disable --now smbd.service' in said, f'what to do is said: {said}')
        machine.sh('migratectl cluster check one >/one.txt 2>/dev/null', 1)
        machine.sh('systemctl disable smbd')
        same(machine.sh('migratectl cluster check --compare=/one.txt one 2>/dev/null', 1),
             'unit smbd.service: here disabled, there enabled\n', 'what differs')
        machine.sh('systemctl stop "migrate-*@*.service"')
        text = machine.sh('migratectl cluster config --doors=nfs,smb one two')
        for name, address in addresses.items():
            text = text.replace('ADDRESS-' + name, address)
            machine.sh(f'umount /srv/{name}')
        machine.write('/groups.crm', 'property stonith-enabled=false\n' + text)
        # before that --wait ends at once
        wait_for('the cluster has a controller', lambda: 'Current DC: node1' in machine.sh('crm_mon --one-shot'))
        machine.sh('crm --force configure load update /groups.crm')
        machine.sh('crm_resource --wait --timeout=120', timeout=150)
        for name, address in addresses.items():
            expect(address in machine.sh('ip addr show dev eth0'), f'{name} has its address')
            client = nfs4.Client(address, 1, '/' + name)
            same(client.read_all(client.walk('file')[0]), name.encode(), 'a file by NFS')
            status, session = smb2.Connection(address).session('alice', 'secret', 'share')
            same(status, smb2.SUCCESS, 'a session')
            opened = session.ask(smb2.create('file', smb2.READ_DATA))
            same(smb2.output(session.ask(smb2.read(opened.body[64:80], 0, 100))), name.encode(), 'a file by SMB')


if __name__ == '__main__':
    sys.exit(main())
