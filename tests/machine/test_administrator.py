#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole migration as an administrator does it, from apt install to apt purge, with the commands
and files of the guide as they stand there: packages, units, a packaged Ganesha and smbd under systemd,
the kernel's NFS client and an SMB client."""
import base64
import fileinput
import glob
import os
import re
import socket
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import tree                                                             # noqa: E402
from debs import OF_DPKG                                                # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from machine import Machine                                             # noqa: E402
from sandbox import Host, sh, volume, wait_for                          # noqa: E402
from servers import REPO, Ganesha                                       # noqa: E402
from uml import Guest                                                   # noqa: E402

OLD, ROOT = '/export/projects', '/srv/projects'
# A container lacks a capability, and the client is root.
GANESHA = '''
NFS_CORE_PARAM { Allow_Set_Io_Flusher_Fail = true; }
EXPORT_DEFAULTS { Squash = No_Root_Squash; }
'''
# Runs commands that come by a connection.
AGENT = '''
mkdir /projects
echo "$2" >>/etc/hosts
exec 3<>/dev/tcp/$VM_HOST/$1
while read -r command <&3; do
        echo "$command" | base64 -d >/tmp/command
        bash /tmp/command >/tmp/output 2>&1 </dev/null
        status=$?
        echo "$(base64 -w 0 /tmp/output) $status" >&3
done
'''
# A byte of each file of the old server, and where it is, for LOAD, which changes nothing with it.
BYTES = '''
mkdir /tmp/bytes && mkfifo /tmp/ended && cd /projects && python3 - <<'EOF'
import os, stat
count = 0
with open('/tmp/files', 'wb') as files:
    for directory, _, names in os.walk(b'.'):
        for path in (os.path.join(directory, name) for name in names):
            st = os.lstat(path)
            if stat.S_ISREG(st.st_mode) and st.st_size:
                count, at = count + 1, st.st_size // 2
                with open(path, 'rb') as file, open(f'/tmp/bytes/{count}.{at}', 'wb') as out:
                    out.write(os.pread(file.fileno(), 1, at))
                files.write(path + b'\\0')
print(count)
EOF
'''
# Writes into the stubs, one after the other, and makes files, until it is told to stop.
LOAD = '''
cd /projects/news
(
        set -e
        n=0
        while [ ! -e /tmp/stop ]; do
                IFS= read -r -d '' file
                n=$((n + 1))
                byte=$(echo /tmp/bytes/$n.*)
                dd if=$byte of="../$file" bs=1 seek=${byte##*.} conv=notrunc status=none
                for m in $(seq 10); do
                        echo $n.$m >$n.$m
                        [ "$(cat $n.$m)" = $n.$m ]
                done
                echo $n >/tmp/rounds
        done </tmp/files
) >/tmp/load 2>&1
echo $? >/tmp/ended
'''
SUMS = 'set -o pipefail; cd /projects && find . -type f -print0 | xargs -0 md5sum'


class Guide:
    """The indented parts of the guide's chapters, by section."""

    def __init__(self):
        self.blocks, section, block = {}, '', []
        with fileinput.input(sorted(glob.glob(REPO + '/docs/*.md'))) as lines:
            for line in [*lines, 'end']:
                if line.startswith('    ') or (block and not line.strip()):
                    block.append(line)
                    continue
                if block:
                    self.blocks.setdefault(section, []).append(textwrap.dedent(''.join(block)).strip())
                    block = []
                if line.startswith('#'):
                    section = line.strip('# \n')

    def __call__(self, section, has):
        """The one part of that section which has this text, or is it."""
        blocks = self.blocks[section]
        found = [has] if has in blocks else [block for block in blocks if has in block]
        same(len(found), 1, f'parts of the section {section} that have {has!r}')
        return found[0] + '\n'


def alike(text):
    """Without what another machine, or another day, has otherwise: numbers, units, times, and how wide columns are."""
    text = re.sub(r'\d[\d.,:-]*', 'N', text.replace('\u00a0', ' '))
    text = re.sub(r'N (?:d|h|min|s)\b(?: N (?:h|min|s)\b)*', 'TIME', re.sub(r'N (?:bytes|[KMGT]iB)\b', 'SIZE', text))
    return re.sub(r' +\n', '\n', re.sub(r' +', ' ', text))


class Straight:
    """The twelve commands of the straight way.  Each prints what the page says; for ... anything."""

    def __init__(self):
        with open(REPO + '/docs/straight.md') as page:
            text = page.read()
        found = re.findall(r'(?m)^## \d+\. .*\n(?:(?!##).*\n)*?    # ((?:.*\n)(?:    .*\n|\n(?=    ))*)', text)
        self.commands = dict(enumerate(found, 1))
        same(len(self.commands), 12, 'commands of the straight way')

    def __call__(self, number, run, terminal=False):
        command, printed = textwrap.dedent('    ' + self.commands[number]).split('\n', 1)
        got = run(f"timeout 300 script -qec '{command}' /dev/null" if terminal else command).replace('\r', '')
        if terminal:                    # what stands there in the end
            got = re.sub(r'\x1b\[[\d;?]*[a-zA-Z]', '', re.split(r'\x1b\[(?:\d+A|J)', got)[-1]).lstrip('\n')
        wanted = ''.join('(?:.*\n)*?' if line == '...\n' else re.escape(alike(line))
                         for line in printed.splitlines(True))
        expect(re.fullmatch(wanted, alike(got)), f'{number}. {command} prints\n{got}and not\n{printed}')
        print(f'# {command}\n{got}', end='')


class Client:
    """A guest with the kernel's NFS client, which runs commands.  hosts: lines of its /etc/hosts."""

    def __init__(self, hosts):
        with socket.create_server(('', 0)) as listening:
            self.guest = Guest(['bash', '-c', AGENT, 'agent', str(listening.getsockname()[1]), hosts])
            listening.settimeout(120)
            self.connection = listening.accept()[0].makefile('rw')

    def sh(self, command):
        self.connection.write(base64.b64encode(command.encode()).decode() + '\n')
        self.connection.flush()
        output, status = self.connection.readline().split(' ')
        output = base64.b64decode(output).decode(errors='replace')
        same(int(status), 0, f'the status of {command}, which printed {output}')
        return output

    def sums(self):
        """Of all files, by name."""
        return dict(line.split('  ', 1)[::-1] for line in
                    self.sh(SUMS).splitlines())


# Users, groups, units in memory, sockets and mounts of ours.
OTHERS = """getent passwd group | grep -E '^quickmigrate|:quickmigrate' || true
systemctl list-units --all --no-legend --plain 'migrate-*' | cut -d ' ' -f 1
systemctl show -P DropInPaths nfs-ganesha smbd
find /run -path '*migrate*'
ps -eo comm | grep '^migrate' || true"""


def files(machine):
    """And what else there is."""
    found = machine.sh('find /etc /usr /var; ' + OTHERS).splitlines()
    return {path for path in found if not OF_DPKG.match(path)}


@case(guest=True)
def from_install_to_purge(args):
    volume(OLD)
    tree.make(OLD, 600, args.seed, 4 << 20)
    host = Host('old')
    old = Ganesha('old-server', OLD, host=host).start()
    with Machine('newserver', {'oldserver': host}) as machine:
        machine.disk(ROOT)
        machine.bring(args.build + '/packages/quickmigrate*.deb', '/root/packages')
        machine.boot()
        before = files(machine)
        client = Client(f'{machine.address} newserver\n{host.address} oldserver')
        migrate(Guide(), machine, client, old)
        client.guest.kill()
        left = {path for path in files(machine) - before if 'migrate' in path}
        state = '/var/lib/quickmigrate'
        same(left, {state, state + '/projects.report', state + '/projects.report.history'},
             'what is left: the reports')


def prepare(guide, way, machine):
    way(1, lambda command: machine.sh('cd /root && ' + command))
    same(machine.sh('systemctl list-units --no-legend "migrate-*"'), '', 'what runs once installed')
    machine.write('/etc/quickmigrate/quickmigrate.conf', guide('1. Install', '[volume projects]'), 'a')
    machine.write('/etc/ganesha/ganesha.conf', GANESHA + guide('1. Install', 'EXPORT {'))
    for unit in 'migrate-retriever', 'migrate-guard':
        drop_in = f'/etc/systemd/system/{unit}@projects.service.d'
        machine.sh(f'mkdir -p {drop_in}')
        machine.write(drop_in + '/override.conf', guide('Prepare', 'RequiresMountsFor'))
    machine.sh('systemctl daemon-reload')
    way(2, machine.sh)
    way(3, machine.sh)
    wait_for('guard and journal have started', lambda: re.search(r'Journal +complete(?s:.*)Guard +on',
                                                                 machine.sh('migratectl status projects')))
    way(4, machine.sh)


def upgrade(machine, client, stubs):
    """Under load: clients wait, what was begun is made again, and there is no error."""
    def rounds():
        return int(client.sh('cat /tmp/rounds 2>/dev/null || echo 0'))

    def retriever():
        return machine.show('migrate-retriever@projects', 'MainPID')

    client.sh(f'({LOAD}) >/dev/null 2>&1 &')
    wait_for('it writes', rounds)
    before, process = rounds(), retriever()
    machine.sh('cd /root && apt install --reinstall ./packages/*.deb')
    expect(retriever() != process, 'the retriever was not restarted')
    after = rounds()
    wait_for('it goes on writing', lambda: rounds() > after + 1)
    same(client.sh('touch /tmp/stop; cat /tmp/ended; cat /tmp/load'), '0\n', 'what the load ended with')
    print(f'{before} of {stubs} stubs were written to before the upgrade, {rounds() - before} since it began')


def migrate(guide, machine, client, old):
    way = Straight()
    prepare(guide, way, machine)
    client.sh(f'mount -t nfs -o vers=3,nolock oldserver:{OLD} /projects')
    wanted = client.sums()
    expect(len(wanted) > 300, 'files')
    stubs = int(client.sh(BYTES))

    def unchanged(when):
        got = client.sums()
        same({path: got.get(path) for path in wanted}, wanted, f'what the client reads {when}')

    old.set(export='Access_Type = RO;')
    old.restart()
    way(5, machine.sh)
    machine.write('/etc/samba/smb.conf', guide('Samba', 'vfs objects'))
    machine.sh('useradd alice && printf "secret\\nsecret\\n" | smbpasswd -as alice')
    way(6, machine.sh)
    machine.sh('systemctl restart smbd')
    way(7, client.sh)
    client.sh('mkdir -m 1777 /projects/news && echo old >/projects/news/held')
    smb = ['smbclient', '-U', 'alice%secret', f'//{machine.address}/projects', '-c']
    wait_for('smbd answers', lambda: subprocess.run([*smb, 'ls'], stdout=subprocess.DEVNULL).returncode == 0)
    sh(*smb, 'cd news; put /etc/hostname by-smb')
    same(client.sh('cat /projects/news/by-smb'), open('/etc/hostname').read(), 'what came by SMB')

    upgrade(machine, client, stubs)
    refusal = machine.run('apt remove quickmigrate-samba')
    expect(refusal.returncode and 'the volume projects is not finished' in refusal.stdout, refusal.stdout)
    unchanged('from stubs')

    way(8, machine.sh)
    way(9, machine.sh, terminal=True)
    wait_for('the crawler ends',
             lambda: machine.show('migrate-crawler@projects', 'ActiveState') == 'inactive')
    same(machine.show('migrate-crawler@projects', 'ExecMainStatus'), '0', "the crawler's status")
    way(10, machine.sh)
    machine.sh("ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519")
    machine.sh(guide('Proof', '--sign /root'))
    machine.sh('cd /root/proof && cp ../.ssh/id_ed25519.pub . && ' +
               guide('Proof', '--signers signers').split('migratectl report --check --tree')[0])
    way(11, machine.sh)

    # The layer goes; a client keeps its mount, and its open file.
    client.sh('mkfifo /tmp/go; (exec 5>>/projects/news/held; read <>/tmp/go; echo new >&5) >/dev/null 2>&1 &')
    config, plain = guide('1. Install', 'EXPORT {'), guide('12. Take the layer out', 'FSAL { Name').strip()
    machine.write('/etc/ganesha/ganesha.conf', GANESHA + re.sub(r'FSAL \{[^{}]*\{[^{}]*\}\s*\}', plain, config))
    machine.sh('sed -i "s/= migrate /= /; /migrate:volume/d" /etc/samba/smb.conf')
    way(12, machine.sh)
    machine.sh('systemctl restart smbd')
    client.sh('echo >/tmp/go; while ! grep -q new /projects/news/held; do :; done')
    machine.sh(guide('Finalize', 'migratectl commit').replace('migratectl commit', 'migratectl commit --yes'))
    unchanged('in the end')
    sh(*smb, 'cd news; get by-smb /dev/null')
    client.sh('umount /projects')
    machine.sh('apt purge quickmigrate quickmigrate-ganesha quickmigrate-samba')


if __name__ == '__main__':
    sys.exit(main())
