#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of an old NFS server with Kerberos or TLS have in common.

    secured.py      in a sandbox: begins a realm, with this host as the old server and the new one, and
                    prints what Ganesha is to be told of it
"""
import contextlib
import os
import re
import socket
import struct

import kdc
import tree
from harness import expect, no_differences, same
from sandbox import BASE, LOGS, sh, volume, wait_for
from servers import NEW, OLD
from smbsource import refusal

HOST, SELF = 'old.test', 'nfs/new.test'         # a principal that Ganesha takes for root
KEYTAB, SERVER_KEYTAB = BASE + '/own.keytab', BASE + '/old.keytab'
SO_RCVBUFFORCE = 33                             # whatever net.core.rmem_max says
WORDS = b'only for those who may know' * 8


def begin_realm(address, *more):
    """The realm, started, with keys of both hosts; the old one's address, and further names of it."""
    realm = kdc.Kdc().start()
    realm.add(SELF, KEYTAB)
    realm.add(f'nfs/{HOST}', SERVER_KEYTAB)
    realm.name(address, HOST, *more)
    return realm


def krb5(keytab):
    """Of Ganesha's configuration."""
    return f'''
NFS_KRB5 {{
	PrincipalName = nfs;
	KeytabPath = {keytab};
	CCacheDir = {keytab}.ccache;
	Active_krb5 = true;
}}
'''


def fill(root, files=60, size=5000, directories=3):
    for d in range(directories):
        os.mkdir(f'{root}/dir-{d}')
        for i in range(files // directories):
            with open(f'{root}/dir-{d}/file-{i}', 'wb') as out:
                out.write(os.urandom(size + i))
    os.symlink('dir-0/file-0', f'{root}/link')


def fill_all(root):
    """And a file of many pieces, and one with WORDS."""
    fill(root)
    with open(root + '/large', 'wb') as out:
        out.write(os.urandom(20 << 20))
    with open(root + '/secret', 'wb') as out:
        out.write(WORDS)


def start(migration, *options, **settings):
    migration.configure(**settings)
    migration.start_retriever()
    migration.attach()
    return migration.start_crawler(*options)


@contextlib.contextmanager
def packets(host):
    """A list, afterwards of what went by."""
    found = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        sock.bind((host.interface, 0))
        yield found
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(sock.recv(65536))
        expect(found, 'nothing was seen')


@contextlib.contextmanager
def on_the_wire(host, words):
    """A list, afterwards of how often the words went by."""
    found = []
    with packets(host) as seen:
        yield found
    found.append(sum(packet.count(words) for packet in seen))


def of_contexts(seen, procedure):
    """How many calls of that control procedure (RFC 2203 section 5.2.1) were answered well, by NFS
    version 4."""
    null, by_gss = struct.pack('>5I', 0, 2, 100003, 4, 0), struct.pack('>I', 6)
    call = re.compile(b'(....)' + re.escape(null + by_gss) + b'....' +
                      re.escape(struct.pack('>2I', 1, procedure)), re.S)
    xids = {xid for packet in seen for xid in call.findall(packet)}
    accepted = re.compile(b'(....)' + re.escape(struct.pack('>2I', 1, 0) + by_gss) + b'(....)', re.S)
    return sum(found[1] in xids and
               packet[found.end() + int.from_bytes(found[2], 'big'):][:4] == bytes(4)
               for packet in seen for found in accepted.finditer(packet))


def said(words):
    with open(LOGS + '/retriever.log') as log:
        return [line for line in log if words in line]


def comes_whole(migration, crawler):
    same(crawler.wait(300), 0, 'exit status of the crawler')
    same(migration.errors(), {}, 'errors')
    no_differences(tree.compare(OLD, NEW))


def begin_again(migration):
    """With an empty volume."""
    migration.retriever.stop()
    sh('umount', NEW)
    volume(NEW, '1G')


def goes_on(migration, crawler):
    def whole():
        return int(migration.status()['files_whole'])

    before = whole()
    wait_for('it goes on', lambda: whole() > before + 3, process=crawler)


def breaks(migration, crawler, words, happen, mend):
    """What happens is said in these words, and once it is mended all goes on."""
    happen()
    wait_for(f'it is said that {words!r}', lambda: said(words), process=crawler)
    mend()
    goes_on(migration, crawler)


def refused(migration, words, **settings):
    migration.configure(**settings)
    line = refusal(migration)
    print(line)
    expect(words in line, f'{words!r} is not in {line!r}')


if __name__ == '__main__':
    begin_realm('127.0.0.1')
    with open(KEYTAB, 'rb') as keys:
        kdc.mount_file('/etc/krb5.keytab', keys.read(), 0o600)
    print(krb5(SERVER_KEYTAB))
