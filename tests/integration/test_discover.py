#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""migratectl discover: what packaged servers export and share, and what it makes of servers that lie,
say nothing or are not there."""
import contextlib
import glob
import json
import os
import re
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import liar                                                             # noqa: E402
import nfs3                                                             # noqa: E402
import smbd                                                             # noqa: E402
from harness import case, expect, main, same                            # noqa: E402
from proxy import read_record                                           # noqa: E402
from sandbox import BASE, Host, Process, sh, volume, wait_for                    # noqa: E402
from servers import NO_RETRIEVER, OLD, Ganesha, Stalled, old_server     # noqa: E402
from smbsource import is_own_user, reaches                              # noqa: E402
from xdr import Reader, opaque, u32                                     # noqa: E402

ROOTS = BASE + '/srv'                   # in place of /srv, where drafts have them
PORTMAPPER = 100000
COMMENT = 'Was wir tun: größer'


def start(args, address, *options, wait=60):
    return subprocess.Popen([f'{args.build}/ctl/migratectl', 'discover', address, '--wait', str(wait),
                             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL)


def discover(args, address, *options, status=0, **kw):
    """(its output, its complaints); status None: 0 or 1."""
    process = start(args, address, *options, **kw)
    out, err = process.communicate(timeout=300)
    expect(process.returncode in ((0, 1) if status is None else (status,)),
           f'discover {address}: exit status {process.returncode}, not {status}: {err}{out}')
    expect(all(re.fullmatch(r'migratectl: [ -~]*', line) for line in err.splitlines()),
           f'complaints are lines of text: {err!r}')
    return out, err


@case()
def everything(args):
    """An old server of both kinds, in one answer."""
    volume(OLD)
    os.mkdir(OLD + '/sub')
    old = old_server(export='CLIENT { Clients = 10.0.0.0/8, 192.0.2.7; Access_Type = RO; }')
    smb = smbd.Smbd('old-smb', {'Projects': (OLD, {'comment': COMMENT}), 'open': (OLD, {'guest ok': 'yes'})},
                    host=old.host, map_to_guest='Bad User').start()
    password = BASE + '/password'
    with open(password, 'w') as out:
        os.fchmod(out.fileno(), 0o600)
        out.write(smbd.PASSWORD + '\n')
    out, err = discover(args, old.address, '--json', '--smb-user', 'alice', '--password-file', password)
    found = json.loads(out)
    same(err, '', 'complaints')
    same(found['nfs'], ['3', '4.0', '4.1', '4.2'], 'versions of NFS')
    same(found['smb'], ['2.0.2', '2.1', '3.0', '3.0.2', '3.1.1'], 'dialects')
    export, = found['exports']
    same(export['path'], OLD, 'path')
    same(export['security'], 'sys', 'flavours')
    same(sorted(rule['clients'] for rule in export['rules']), ['10.0.0.0/8', '192.0.2.7/32'], 'clients')
    room = os.statvfs(OLD)
    same(export['bytes'], room.f_blocks * room.f_frsize, 'size')
    same(export['files'], room.f_files, 'inodes')
    shares = {share['name']: share for share in found['shares']}
    same(shares['Projects'].get('comment'), COMMENT, 'comment')
    same(shares['IPC$']['type'], 'ipc', 'type')
    ports = {(s['name'], s['version']): s['port'] for s in found['services'] if s['transport'] == 'tcp'}
    same((ports['nfs', 3], ports['mountd', 3]), (old.port, old.mount_port), 'ports')

    text, _ = discover(args, old.address)
    expect('Projects' in text and 'NFS: 3, 4.0' in text, f'as nobody: {text}')
    # a wrong password is said, and what is not asked with it comes all the same
    with open(password, 'w') as out:
        out.write('wrong\n')
    text, err = discover(args, old.address, '--smb-user', 'alice', '--password-file', password, status=1)
    expect('password is refused' in err and 'SMB: 2.0.2' in text, f'a wrong password: {err}')
    os.chmod(password, 0o644)
    _, err = discover(args, old.address, '--smb-user', 'alice', '--password-file', password, status=2)
    expect('chmod 600' in err, f'a password for all to read: {err}')
    smb.stop()

    # the one that asks a server that says nothing is nobody's and jailed
    with Stalled(old):
        process = start(args, old.address, wait=3)
        wait_for('it waits, jailed', lambda: jailed(process.pid), process=process)
        out, err = process.communicate(timeout=300)
        same(process.returncode, 1, 'exit status')
        expect('NFS: does not answer within 3 s' in err, f'stalled: {err}')


def jailed(pid, filters=1):
    """Whether the child of pid has been through all of it; it must have no rights left then, nor anything
    open but what it talks by."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f'/proc/{pid}/task/{pid}/children') as file:
            children = file.read().split()
        for child in children:
            with open(f'/proc/{child}/status') as file:
                status = dict(line.rstrip('\n').split(':\t', 1) for line in file if ':\t' in line)
            if int(status['Seccomp_filters']) == filters:
                same(reaches(child) - {'/dev/null', 'anon_inode:[eventpoll]', 'socket:'}, set(), 'open')
                expect(is_own_user(status), f'ids: {status["Uid"]}, {status["Gid"]}')
                same({status[name] for name in ('CapEff', 'CapPrm', 'CapInh', 'CapAmb')},
                     {'0' * 16}, 'capabilities')
                same(status['NoNewPrivs'], '1', 'no_new_privs')
                return True
    return False


class Lies:
    """A portmapper, MOUNT and NFS of a host, and what calls itself SMB.  exports: the reply to
    EXPORT, or None: none comes; mount: likewise to MNT; dump: to DUMP."""

    def __init__(self, host):
        self.exports = self.mount = self.dump = b''
        self.address = host.address
        self.smb = b''
        for port, serve in ((111, self.rpc), (635, self.rpc), (2049, self.rpc), (445, self.smb_peer)):
            ready = threading.Event()
            host.thread(lambda port=port, serve=serve, ready=ready:
                        self.accept(host.address, port, serve, ready))
            expect(ready.wait(60), f'port {port}')

    def accept(self, address, port, serve, ready):
        listener = socket.create_server((address, port))
        ready.set()
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=serve, args=(peer,), daemon=True).start()

    def smb_peer(self, peer):
        with contextlib.suppress(OSError), peer:
            peer.recv(4096)
            if self.smb is None:
                peer.recv(1)            # until it is gone
            else:
                peer.sendall(self.smb)

    def rpc(self, peer):
        with contextlib.suppress(OSError), peer:
            while (call := read_record(peer)) is not None:
                r = Reader(call, 4)
                xid, _, _, program, version, procedure = (r.u32() for _ in range(6))
                body = self.reply(program, version, procedure)
                if body is not None:
                    peer.sendall(liar.record(xid, body))

    def reply(self, program, version, procedure):
        if procedure == 0:
            return b''
        if program == PORTMAPPER and procedure == 3:    # GETPORT, GETADDR
            return u32(635) if version == 2 else opaque(f'{self.address}.2.123'.encode())
        if program == PORTMAPPER:
            return b''.join(u32(1) + u32(number) + u32(3) + u32(6) + u32(port) for number, port in
                            ((nfs3.MOUNT, 635), (nfs3.NFS, 2049))) + u32(0)
        if program == nfs3.MOUNT:
            return {2: self.dump, 5: self.exports}.get(procedure, self.mount)
        return u32(10004) + u32(0) + u32(0)


def export_list(*paths):
    return b''.join(u32(1) + opaque(path) + u32(0) for path in paths) + u32(0)


@case()
def hostile(args):
    """Whatever a server says: one line of it, and what else can be had."""
    host = Host('liar')
    server = Lies(host)
    good = export_list(b'/vol/a')

    def told(words, wait=60, status=1):
        out, _ = discover(args, host.address, '--json', status=status, wait=wait)
        notes = ' | '.join(json.loads(out)['notes'])
        expect(words in notes, f'{words!r} is not in {notes!r}')
        return json.loads(out)

    server.exports, server.mount = good, u32(13)
    found = told('SMB: ', status=0)
    same(found['exports'], [{'path': '/vol/a', 'refused': 'MNT3ERR_ACCES', 'rules': []}], 'exports')
    # names of all kinds, and a list that is longer than anybody's
    server.exports = export_list(b'/a\nb\x1b[2J\xff', b'/"c')
    same([export['path'] for export in told('SMB: ', status=0)['exports']],
         ['/a\\012b\\033[2J\\377', '/"c'], 'names')
    server.exports = export_list(*(b'/%d' % n for n in range(5000)))
    told('exports: its reply makes no sense')
    # lengths that libnfs believes
    for exports in (u32(1) + u32(0xffffffff) + bytes(64), u32(1) + u32(0xfffffffc) + bytes(64),
                    u32(1) + u32(1 << 30) + bytes(64), u32(1) + opaque(b'/a') + u32(1) +
                    u32(0x7fffffff) + bytes(64), (u32(1) + u32(0)) * 200000, b'\xff' * 100, b''):
        server.exports = exports
        told('exports: ')
    server.exports = good
    for mount in (u32(0) + u32(0xffffffff) + bytes(64), u32(0) + opaque(bytes(64)) + u32(0xffffffff),
                  u32(0) + opaque(bytes(8)) + u32(1 << 28) + bytes(64), b''):
        server.mount = mount            # libnfs may make something of it
        same([export['path'] for export in told('SMB: ', status=None)['exports']], ['/vol/a'], 'exports')
    server.mount = u32(0) + opaque(bytes(8)) + u32(100) + u32(1) * 100
    same(told('SMB: ', status=0)['exports'][0]['security'], ', '.join(['sys'] * 16), 'flavours')
    # no reply at all
    server.exports, server.smb = None, None
    told('exports: does not answer within 1 s', wait=1)
    server.exports = good
    process = start(args, host.address, wait=200)
    wait_for('it waits, jailed', lambda: jailed(process.pid, filters=2))
    process.terminate()
    process.communicate(timeout=300)
    for smb in (b'', b'\0\0\0\x40' + b'\xfeSMB' + b'\xff' * 60, b'\0\xff\xff\xff' + bytes(100), b'HTTP/1.1 400\r\n'):
        server.smb = smb
        told('SMB: ', status=0)
    # nobody at all
    _, err = discover(args, Host('nobody').address, status=1)
    expect('NFS: port 2049 lets nobody connect' in err and 'SMB: ' in err and err.count('\n') == 1,
           f'nobody: {err}')


EXPORTS = '''
/export/home 10.0.0.0/255.0.0.0(rw,no_root_squash) 192.0.2.7(ro,all_squash,anonuid=99,anongid=98) \\
             @staff(rw) *.example.com(ro) nobody.invalid(rw) "odd; } client"(rw)
"/plain dir" (ro,sec=sys)
nonsense
'''
SMB_CONF = '''
[global]
        hosts allow = 10.
[Home]
        path = /export/home
        comment = "all"; of [them]
        writeable = yes
        valid users = @staff, "OFFICE\\bob"
        vfs objects = recycle
[Below]
        path = /export/home/below
[elsewhere]
        path = /data
        comment = 100% of %U
[homes]
        browseable = no
'''


@case(short=True)
def drafts(args):
    """Configurations that packaged servers load, whatever an old server calls its exports."""
    # nobody waits for name servers that a sandbox has not
    with open(BASE + '/nsswitch.conf', 'w') as out:
        out.write('passwd: files\ngroup: files\nhosts: files\n')
    sh('mount', '--bind', BASE + '/nsswitch.conf', '/etc/nsswitch.conf')
    host = Host('liar')
    server = Lies(host)
    server.exports = export_list(b'/export/home', b'/a"; }\nEXPORT { Export_Id = 1; }', b'/\xff\xfe', b"/it's",
                                 b'/export/home/below', b'/', b'/x\\', b'/%include "/etc/passwd"')
    server.mount, server.smb = u32(13), b''
    files = {'exports': EXPORTS, 'smb-conf': SMB_CONF}
    options = []
    for name, text in files.items():
        with open(f'{BASE}/{name}', 'w') as out:
            out.write(text)
        options += [f'--{name}', f'{BASE}/{name}']
    made = {}
    for what in ('quickmigrate', 'ganesha', 'samba', 'all'):
        made[what], err = discover(args, host.address, '--draft', what, *options)
        made[what] = made[what].replace('/srv/', ROOTS + '/')
        expect('line 5 is not understood: nonsense' in err and '[homes]' in err, f'notes: {err}')
    for what in ('quickmigrate', 'ganesha', 'samba'):
        expect(made[what] in made['all'], f'{what} is not in all of it')

    config = BASE + '/quickmigrate.conf'
    with open(config, 'w') as out:
        out.write(made['quickmigrate'])
    volumes = re.findall(r'^\[volume (.*)\]$', made['quickmigrate'], re.M)
    same(len(volumes), 9, f'volumes: {volumes}')
    volume(ROOTS)
    for name in volumes:
        os.makedirs(f'{ROOTS}/{name}/below')
    # all at a time: each waits a moment for its retriever
    asked = {name: subprocess.Popen([f'{args.build}/ctl/migratectl', '--config', config, 'status', name],
                                    stderr=subprocess.PIPE, text=True) for name in volumes}
    for name, process in asked.items():
        _, err = process.communicate(timeout=300)
        same(process.returncode, NO_RETRIEVER, f'status {name}: {err}')

    # its blocks are of what is whole already: no retriever is here
    blocks, n = re.subn(r'FSAL {\s*Name = MIGRATE;\s*Volume = "[^"]*";\s*FSAL { Name = VFS; }\s*}',
                        'FSAL { Name = VFS; }', made['ganesha'])
    same(n, 9, 'blocks')
    expect('left out, it has no address here: nobody.invalid' in blocks, blocks)
    new = Ganesha('new-server', ROOTS, host=Host('new'), blocks=blocks).start()
    found = json.loads(discover(args, new.address, '--json')[0])
    loaded = {export['path']: export for export in found['exports']}
    same(set(loaded), {ROOTS, *re.findall(r'Path = "(.*)";', blocks)}, 'exports that Ganesha has')
    same({rule['clients'] for rule in loaded[ROOTS + '/home']['rules']},
         {'192.0.2.7/32', '10.0.0.0/8', '*.example.com', 'staff'}, 'clients of /srv/home')
    new.stop()

    with open(BASE + '/smb.conf', 'w') as out:
        out.write('[global]\n\tworkgroup = X\n' + made['samba'])
    text = sh('testparm', '-s', '--suppress-prompt', BASE + '/smb.conf')
    shares = {section.partition(']')[0]: section for section in text.split('\n[')[1:]}
    same(set(shares) - {'global'}, {'Home', 'Below', 'elsewhere'}, 'shares')
    for line in (f'path = {ROOTS}/home\n', 'valid users = @staff OFFICE\\bob', 'hosts allow = 10.', 'read only = No',
                 'migrate:volume = home', 'vfs objects = migrate\n', 'comment = "all"; of [them]'):
        expect(line in shares['Home'], f'{line!r} is not in {shares["Home"]}')
    expect(f'path = {ROOTS}/below\n' in shares['Below'], shares['Below'])
    root, = (name for name in volumes if f'[volume {name}]\nroot = {ROOTS}/{name}\n'
             f'source = nfs://{host.address}/\n' in made['quickmigrate'])
    expect(f'path = {ROOTS}/{root}/data\n' in shares['elsewhere'], shares['elsewhere'])


@case()
def smb_as_printed(args):
    """What is drafted for an SMB server is attached and served as it is printed."""
    volume(OLD)
    with open(OLD + '/file', 'w') as out:
        out.write('from the old server')
    old = smbd.Smbd('old-smb', {'plans': OLD}, host=Host('old')).start()
    password = '/etc/quickmigrate/plans.password'
    os.makedirs(BASE + '/etc')
    os.makedirs(os.path.dirname(password), exist_ok=True)
    sh('mount', '--bind', BASE + '/etc', os.path.dirname(password))
    smb_user = ('--smb-user', 'root', '--password-file', password)
    subprocess.run(['install', '-m', '600', '/dev/stdin', password], input=smbd.PASSWORD + '\n', text=True,
                   check=True)
    config, conf = f'{BASE}/quickmigrate.conf', f'{BASE}/drafted.conf'
    for what, path in (('quickmigrate', config), ('samba', conf)):
        made, _ = discover(args, old.address, '--draft', what, *smb_user, status=None)   # it has no NFS
        with open(path, 'w') as out:
            out.write(made.replace('/srv/', ROOTS + '/'))
    volume(ROOTS)
    os.mkdir(ROOTS + '/plans')
    ctl = [f'{args.build}/ctl/migratectl', '--config', config]
    retriever = Process('retriever', [f'{args.build}/retriever/migrate-retriever', '--config', config, 'plans'])
    wait_for('the retriever answers', lambda: subprocess.run([*ctl, 'status', 'plans'], capture_output=True,
                                                            check=False).returncode == 0, process=retriever)
    sh(*ctl, 'attach', 'plans')
    found, = (path for build in (args.build, args.module) if build
              for path in glob.glob(f'{build}/vfs_migrate/migrate.so'))
    smbd.install_module(found)
    new = smbd.Smbd('new-smb', {}, include=conf).start()
    same(json.loads(sh(*ctl, 'status', '--json', 'plans'))['counters']['files_whole'], 0, 'nothing was read')
    expect('from the old server' in new.smbclient('get file -', share='plans'), 'a client reads the file')
    new.stop()
    retriever.stop()


@case()
def cutover(args):
    """The check-list of a switch, with who has the old tree mounted, whatever the old server says."""
    host = Host('liar')
    server = Lies(host)
    os.makedirs(BASE + '/new')
    with open(BASE + '/quickmigrate.conf', 'w') as out:
        out.write(f'[volume a]\nroot={BASE}/new\nsource=nfs://{host.address}/vol/a?version=3\n'
                  f'acl-source=smb://bob@{host.address}/Share\nsmb-password-file=/x\n')
    fstab = f'# {host.address}:/old\n{host.address}:/vol/a /a nfs defaults 0 0\n1{host.address}:/x /x nfs\n'
    with open(BASE + '/fstab', 'w') as out:
        out.write(fstab)
    sh('mount', '--bind', BASE + '/fstab', '/etc/fstab')

    def listed(*mounts):
        server.dump = b''.join(u32(1) + opaque(client) + opaque(path) for client, path in mounts) + u32(0)
        return sh(f'{args.build}/ctl/migratectl', '--config', BASE + '/quickmigrate.conf', 'cutover', 'a')

    text = listed((b'one', b'/vol/a'), (b'two', b'/vol/a/below'), (b'three', b'/vol'), (b'four', b'/vol/ab'),
                  (b'\x1b[2J\xff', b'/vol/a'), (b'five', b'/other'))
    for line in ('one:/vol/a', 'two:/vol/a/below', 'three:/vol', '\\033[2J\\377:/vol/a', '/etc/fstab:2: ',
                 f'\\\\{host.address}\\Share', 'migratectl attach a'):
        expect(line in text, f'{line} is not in {text}')
    for word in ('four', 'five', '/etc/fstab:1', '/etc/fstab:3'):
        expect(word not in text, f'{word} is in {text}')
    expect('none is known there' in listed(), 'nobody')
    expect('and 280 more' in listed(*((b'%d' % n, b'/vol/a') for n in range(300))), 'many')
    server.dump = u32(1) + u32(0xffffffff) + bytes(64)
    text = sh(f'{args.build}/ctl/migratectl', '--config', BASE + '/quickmigrate.conf', 'cutover', 'a')
    expect('it cannot be asked who has (' in text and 'migratectl attach a' in text, text)


if __name__ == '__main__':
    sys.exit(main())
