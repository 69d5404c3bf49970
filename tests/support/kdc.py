# SPDX-License-Identifier: GPL-3.0-or-later
"""A realm of the sandbox's own: MIT's KDC, keytabs, and tickets; and hosts that have names."""
import os
import re
import subprocess

from sandbox import BASE, Failure, Process, sh, wait_for

REALM = 'QM.TEST'
CONFIG = f'''[libdefaults]
	default_realm = {REALM}
	dns_lookup_kdc = false
	dns_lookup_realm = false
	dns_canonicalize_hostname = false
	rdns = false
	clockskew = 10
[realms]
	{REALM} = {{
		kdc = 127.0.0.1:88
	}}
[domain_realm]
	.test = {REALM}
'''
KDC = '''[kdcdefaults]
	kdc_listen = 0.0.0.0:88
	kdc_tcp_listen = 0.0.0.0:88
[realms]
	{realm} = {{
		database_name = {state}/principal
		key_stash_file = {state}/stash
		acl_file = {state}/acl
		disable_pac = true
		max_life = 10h
		max_renewable_life = 7d
	}}
'''


def mount_file(path, content, mode=0o644):
    """The file is another one from here on, also for hosts that are made later.  Its own path."""
    ours = f'{BASE}/{os.path.basename(path)}'
    with open(ours, 'wb') as out:
        out.write(content)
        os.fchmod(out.fileno(), mode)
    if not os.path.exists(path):
        with open(path, 'w'):
            pass
    sh('mount', '--bind', ours, path)
    return ours


class Kdc:
    """A key distribution centre, for all hosts that are made later."""

    def __init__(self):
        self.state = BASE + '/kdc'
        self.process = None
        os.mkdir(self.state)
        mount_file('/etc/krb5.conf', CONFIG.encode())
        self.hosts = mount_file('/etc/hosts', b'127.0.0.1\tlocalhost\n')
        with open(self.state + '/kdc.conf', 'w') as out:
            out.write(KDC.format(realm=REALM, state=self.state))
        self.environment = {**os.environ, 'KRB5_KDC_PROFILE': self.state + '/kdc.conf'}
        sh('kdb5_util', '-r', REALM, '-P', 'master', 'create', '-s', env=self.environment)

    def name(self, address, *names):
        """Every process of the sandbox knows the address by these names."""
        with open(self.hosts, 'a') as out:
            out.write(f'{address}\t{" ".join(names)}\n')

    def start(self):
        self.process = Process('kdc', ['krb5kdc', '-n', '-r', REALM], env=self.environment)
        wait_for('the KDC answers', self.answers, process=self.process)
        return self

    def answers(self):
        with open('/proc/self/net/udp') as sockets:
            return any(line.split()[1].endswith(':0058') for line in sockets)

    def stop(self):
        self.process.stop()

    def admin(self, command):
        """By the database; kadmin.local tells of failures in its text alone."""
        said = sh('kadmin.local', '-r', REALM, '-q', command, env=self.environment)
        if re.search(r'^kadmin.local: |\w: .* while ', said, re.M):
            raise Failure(f'kadmin {command}: {said}')
        return said

    def add(self, principal, keytab):
        """A principal with keys of chance, which go into the keytab."""
        self.admin(f'addprinc -randkey {principal}')
        return self.new_keys(principal, keytab)

    def new_keys(self, principal, keytab):
        """Tickets from here on are for these."""
        self.admin(f'ktadd -k {keytab} {principal}')
        return keytab


def kinit(principal, keytab, ccache, *options):
    sh('kinit', '-k', '-t', keytab, '-c', ccache, *options, principal)
    return ccache


def valid(ccache):
    """Whether it holds a ticket that can be used now."""
    return subprocess.run(['klist', '-s', '-c', ccache], check=False).returncode == 0
