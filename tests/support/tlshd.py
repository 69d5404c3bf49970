# SPDX-License-Identifier: GPL-3.0-or-later
"""tlshd, by which the kernel's NFS server speaks TLS: Debian 12 has none, so that of Debian 13, with the
libraries that it was built with."""
import os
import shutil

import knfsd
import qemu
import uml
from sandbox import BASE

SUITE = 'trixie'
LIBRARIES = ('libc6', 'libgnutls30t64', 'libp11-kit0', 'libidn2-0', 'libunistring5', 'libtasn1-6',
             'libnettle8t64', 'libhogweed6t64', 'libgmp10', 'libffi8', 'libnl-3-200', 'libnl-genl-3-200',
             'libkeyutils1', 'libglib2.0-0t64', 'libpcre2-8-0', 'libbrotli1', 'libzstd1', 'zlib1g',
             'libatomic1')
KEYS = BASE + '/tlshd'


def fetch():
    """The directory with it; as uml.unpacked()."""
    return uml.unpacked('ktls-utils', SUITE, LIBRARIES)


def server(fill, authority, certificate, key, client):
    """The kernel's NFS server, with TLS: its certificate, and what it calls the client."""
    os.mkdir(KEYS)
    for name, path, mode in (('ca', authority, 0o644), ('certificate', certificate, 0o644),
                             ('key', key, 0o600)):
        os.chmod(shutil.copy(path, f'{KEYS}/{name}'), mode)
    return knfsd.KernelServer(fill, prepare=(uml.VM + '/tlshd', fetch(), KEYS, client), shares=[KEYS],
                              kind=qemu.Guest)
