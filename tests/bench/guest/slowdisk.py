#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: exports by NFS what is in a file system on a disk each of whose reads takes a while.

    slowdisk.py TOOLS EXPORT DELAY_MS

TOOLS: where the kernel's NFS server has its programs.  /dev/ubda has an ext4 with the file `disk`, an
ext4 with the trees: a server's file system on a disk that reads ahead as disks and arrays do.  Answers
lines on port 7000: `cold` forgets all that is cached, `reads` tells the reads of the disk up to now,
`run COMMAND` how many seconds one takes.
"""
import os
import socketserver
import subprocess
import sys
import time

PORT = 7000
NFSD = r'''
set -e
modprobe nfsd
mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/v4recovery
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
rpcbind -w
echo "$2 *(ro,no_root_squash,no_subtree_check,insecure,fsid=0)" >/etc/exports
"$1/exportfs" -ra
"$1/rpc.mountd" -p 20048
"$1/rpc.nfsd" -G 10 32
'''


def sh(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def slow_disk(delay):
    """The name of a device with what /dev/ubda has."""
    for module in ('dm-mod', 'dm-delay', 'loop'):
        sh('modprobe', module)
    size = sh('blockdev', '--getsz', '/dev/ubda').strip()
    sh('dmsetup', 'create', 'slow', '--noudevsync', '--readonly', '--table',
       f'0 {size} delay /dev/ubda 0 {delay} /dev/ubda 0 0')
    return 'dm-' + sh('dmsetup', 'info', '-c', '--noheadings', '-o', 'minor', 'slow').strip()


def cold():
    with open('/proc/sys/vm/drop_caches', 'w') as file:
        file.write('3')
    return 0


def reads(device):
    with open(f'/sys/block/{device}/stat') as file:
        return int(file.read().split()[0])


def run(command):
    begun = time.monotonic()
    done = subprocess.run(['bash', '-c', command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    return time.monotonic() - begun if not done.returncode else repr(done.stderr[-500:])


def main():
    tools, export, delay = sys.argv[1:]
    device = slow_disk(delay)
    os.makedirs('/outer')
    os.makedirs(export, exist_ok=True)
    sh('mount', '-t', 'ext4', '-o', 'ro,noload', f'/dev/{device}', '/outer')
    loop = sh('losetup', '-r', '-f', '--show', '/outer/disk').strip()
    sh('mount', '-t', 'ext4', '-o', 'ro,noload', loop, export)
    sh('sh', '-c', NFSD, 'nfsd', tools, export)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                what, _, rest = line.decode().strip().partition(' ')
                answer = (cold() if what == 'cold' else reads(device) if what == 'reads'
                          else run(rest))
                self.wfile.write(f'{answer}\n'.encode())

    socketserver.TCPServer.allow_reuse_address = True
    with socketserver.TCPServer(('', PORT), Handler) as server:
        print('serving', flush=True)
        server.serve_forever()


if __name__ == '__main__':
    main()
