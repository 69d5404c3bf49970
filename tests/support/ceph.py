# SPDX-License-Identifier: GPL-3.0-or-later
"""A CephFS of one monitor, one MDS and one OSD, which keeps everything in memory, in a sandbox.  Kernels of guests
mount it: that of the machine may have no client."""
import os
import uuid

from sandbox import BASE, LOGS, Process, sh, wait_for

ADDRESS = '10.78.255.1'                 # that guests reach through their own host
HOME = BASE + '/ceph'
CONFIGURATION = f'''[global]
fsid = {{fsid}}
mon host = {ADDRESS}:6789
mon initial members = a
public addr = {ADDRESS}
cluster addr = {ADDRESS}
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
osd objectstore = memstore
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail crit = 0
run dir = {HOME}
admin socket = {HOME}/$name.asok
log file = {HOME}/$name.log
mon data = {HOME}/mon
osd data = {HOME}/osd
mds data = {HOME}/mds
keyring = {HOME}/$type/keyring
[client]
keyring = {HOME}/admin
log file =
'''
ENVIRONMENT = {'CEPH_CONF': HOME + '/ceph.conf'}


def ceph(*words):
    """What a command of the cluster prints."""
    return sh('ceph', '--connect-timeout', '60', *words)


class Ceph:
    """key: that of client.admin."""

    def __init__(self):
        os.environ.update(ENVIRONMENT)
        sh('ip', 'address', 'add', ADDRESS + '/32', 'dev', 'lo')
        for daemon in ('mon', 'osd', 'mds'):
            os.makedirs(f'{HOME}/{daemon}')
        fsid = str(uuid.uuid4())
        with open(HOME + '/ceph.conf', 'w') as out:
            out.write(CONFIGURATION.format(fsid=fsid))
        self.make_keys()
        sh('monmaptool', '--create', '--add', 'a', ADDRESS + ':6789', '--fsid', fsid, HOME + '/monmap')
        sh('ceph-mon', '--mkfs', '-i', 'a', '--monmap', HOME + '/monmap', '--keyring', HOME + '/mon.key')
        self.processes = [self.start('mon', 'a')]
        ceph('auth', 'import', '-i', HOME + '/osd/keyring')
        ceph('auth', 'import', '-i', HOME + '/mds/keyring')
        osd = str(uuid.uuid4())
        ceph('osd', 'new', osd, '0')
        sh('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osd)
        self.processes += [self.start('osd', '0'), self.start('mds', 'a')]
        for pool in ('names', 'data'):
            ceph('osd', 'pool', 'create', pool)
        ceph('fs', 'new', 'tree', 'names', 'data')
        wait_for('an MDS serves', lambda: 'up:active' in ceph('mds', 'stat'), 120)
        self.key = ceph('auth', 'get-key', 'client.admin').strip()

    @staticmethod
    def make_keys():
        everything = [word for kind in ('mon', 'osd', 'mds') for word in ('--cap', kind, 'allow *')]
        profiles = {'osd/keyring': ('osd.0', ['--cap', 'mon', 'allow profile osd', '--cap', 'osd', 'allow *']),
                    'mds/keyring': ('mds.a', ['--cap', 'mon', 'allow profile mds', '--cap', 'osd', 'allow *',
                                              '--cap', 'mds', 'allow *']),
                    'admin': ('client.admin', everything),
                    'mon.key': ('mon.', ['--cap', 'mon', 'allow *'])}
        for file, (name, rights) in profiles.items():
            sh('ceph-authtool', '--create-keyring', f'{HOME}/{file}', '--gen-key', '--name', name, *rights)
        sh('ceph-authtool', HOME + '/mon.key', '--import-keyring', HOME + '/admin')

    @staticmethod
    def start(daemon, name):
        return Process(f'ceph-{daemon}', [f'ceph-{daemon}', '-i', name, '-f'])
