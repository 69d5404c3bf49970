# SPDX-License-Identifier: GPL-3.0-or-later
"""The Linux kernel's NFS server, as the old server, in a guest (uml.py): it tells ACLs (NFSACL) and
user extended attributes (version 4.2), which the packaged Ganesha does not."""
import os

import nfs3
import uml
from sandbox import BASE, Failure, Host, sh, wait_for

EXPORT = '/export'
START = r'''
set -e
tools=$1 export=$2 access=$3
shift 3
modprobe nfsd
[ $# = 0 ] || "$@"
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p "$export" /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/v4recovery
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
for disk in /dev/ubda /dev/vda; do
	[ ! -e $disk ] || mountpoint -q "$export" || mount -o noatime $disk "$export"
done
rpcbind -w
echo "$export *($access,no_root_squash,no_subtree_check,insecure,fsid=0)" >/etc/exports
"$tools/exportfs" -ra
"$tools/rpc.mountd" -p 20048
"$tools/rpc.nfsd" -G 10 8
'''


def fetch():
    """The directory of the server's tools.  Needs the network the first time, as uml.fetch() does,
    which it calls, too."""
    uml.fetch()
    return uml.unpacked('nfs-kernel-server') + '/usr/sbin'


class KernelServer:
    """Exports what fill(directory) makes of an empty ext4 as EXPORT, read-only.  service: one more
    address, which can be moved.  access: more of that.  prepare: a command of the guest's, before;
    shares, kind: of the guest."""

    def __init__(self, fill, size='512M', service=None, access='', prepare=(), shares=(), kind=uml.Guest):
        self.image, self.guest, self.service = BASE + '/knfsd.img', None, service
        self.arguments, self.shares, self.kind = ['ro' + access, *prepare], shares, kind
        with open(self.image, 'wb') as image:
            image.truncate(int(size[:-1]) << {'M': 20, 'G': 30}[size[-1]])
        sh('mkfs.ext4', '-q', '-F', '-I', '256', self.image)
        with self.mounted() as directory:
            os.rmdir(directory + '/lost+found')
            fill(directory)

    def mounted(self, options='noatime'):
        """A context: the directory where the tree can be seen while no guest has it."""
        return Mounted(self.image, options)

    def start(self):
        """Returns when NFS is answered."""
        more = f'ip addr add {self.service}/32 dev eth0\n' if self.service else ''
        self.guest = self.kind(['sh', '-c', START + more + 'exec sleep infinity', 'knfsd', fetch(), EXPORT,
                                *self.arguments], disks=[self.image], shares=self.shares, memory=512)
        self.address = self.guest.address
        try:
            wait_for('the kernel answers NFS', lambda: nfs3.alive(self.address, 2049))
            wait_for('its mount service answers', self.mounts)
        except Failure as failure:
            raise Failure(f'{failure}\n{self.guest.console_tail().decode(errors="replace")}') \
                from None
        return self

    def mounts(self):
        try:
            nfs3.Client(self.address, EXPORT, timeout=5).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.guest.kill()
        self.guest.wait()


class HostServer:
    """For who runs in a guest himself: another host of his, whose kernel exports a directory, writable;
    tools: fetch().  It has no caches but the kernel's."""

    def __init__(self, tools, path):
        self.host, self.path = Host('old'), path
        self.address = self.host.address
        sh(*self.host.prefix, 'sh', '-c', START, 'knfsd', tools, path, 'rw')
        wait_for('the kernel answers NFS', lambda: nfs3.alive(self.address, 2049))

    def client(self):
        return nfs3.Client(self.address, self.path)

    def restart(self):
        """Nothing is remembered."""


class Mounted:
    def __init__(self, image, options):
        self.image, self.options, self.directory = image, options, BASE + '/knfsd'

    def __enter__(self):
        os.makedirs(self.directory, exist_ok=True)
        sh('mount', '-o', f'loop,{self.options}', self.image, self.directory)
        return self.directory

    def __exit__(self, *_):
        sh('umount', self.directory)
