#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""In a guest: a client has written and not committed, the journal is on the disk and the data is
not; the storage goes, the file system is unmounted, and both come back in the same boot.

    storage_lost.py BUILD FS
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'support'))
sys.path.insert(0, HERE)
import sandbox                                              # noqa: E402
from device import Device, write_to                         # noqa: E402
from sandbox import LOGS, Failure, sh                       # noqa: E402
from servers import NEW, OLD, Migration                     # noqa: E402

SIZE, WRITTEN = 1 << 20, 65536
DIRTY = 1 << 7


def show_zeros(data, what):
    for byte, name in ((0, 'zeros'),):
        if data.count(byte):
            return [f'{what}: {data.count(byte)} {name}, from {data.index(byte)} on (I4)']
    return [] if set(data) <= set(b'OW') else [f'{what}: bytes of nobody']


def run(build, fs):
    for directory in (LOGS, OLD, '/var/lib/nfs/ganesha', '/run/ganesha', '/run/rpcbind'):
        os.makedirs(directory, exist_ok=True)
    sh('mount', '-t', 'tmpfs', 'tmpfs', OLD)
    for name in ('file', 'another'):
        with open(f'{OLD}/{name}', 'wb') as file:
            file.write(b'O' * SIZE)
    device = Device('/dev/ubda', fs, NEW)
    device.make()
    device.mount()
    write_to('/proc/sys/vm/dirty_writeback_centisecs', '0')
    migration = Migration(build, 'file://' + OLD, NEW + '/volume')
    migration.start_retriever()
    migration.attach()
    client = migration.start_server().client()
    fh, _ = client.walk('file')
    client.write(fh, 0, b'W' * WRITTEN)
    migration.retriever.stop(9)
    device.commit()
    device.become('error')
    migration.server.stop(9)
    device.unmount()
    device.become('linear')
    device.mount()
    value = os.getxattr(migration.root + '/file', 'security.migrate')
    if not int.from_bytes(value[2:4], 'little') & DIRTY:
        raise Failure('the record that came back has no dirty ranges: nothing is tested')
    migration.start_retriever()
    client = migration.start_server().client()
    fh, _ = client.walk('file')
    problems = show_zeros(client.read_all(fh), 'a client reads')
    migration.crawl()
    migration.ctl('finalize')
    for name in ('file', 'another'):
        with open(f'{migration.root}/{name}', 'rb') as file:
            problems += show_zeros(file.read(), name + ' at the end')
    return problems


def main():
    sh('ip', 'link', 'set', 'lo', 'up')
    try:
        problems = run(*sys.argv[1:3])
    except Failure as failure:
        problems = [str(failure)]
    print(*problems, sep='\n')
    if problems:
        sandbox.show_logs()
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
