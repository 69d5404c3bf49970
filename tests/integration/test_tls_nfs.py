#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An old NFS server that lets in nobody without TLS (RFC 9289): the whole way, and with Kerberos on
top; certificates that end and are renewed meanwhile; and every way in which they are of no use, each
with one clear line."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import kdc                                                              # noqa: E402
import knfsd                                                            # noqa: E402
import qemu                                                             # noqa: E402
import tlshd                                                            # noqa: E402
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Host, sh, volume                              # noqa: E402
from secured import (HOST, KEYTAB, SELF, SERVER_KEYTAB, WORDS, begin_again, breaks,     # noqa: E402
                     comes_whole, fill, fill_all, goes_on, krb5, on_the_wire, refused, said, start)
from servers import NEW, OLD, Ganesha, Migration                        # noqa: E402
from tls import Authority, TlsProxy                                     # noqa: E402


def world(args, make=fill, sec='sys', **settings):
    """(the realm, the authority, the old server's front, Migration); of the authority are old.test and
    new.test."""
    volume(OLD, '1G')
    volume(NEW, '1G')
    make(OLD)
    realm = kdc.Kdc()
    host = Host('old')
    realm.name(host.address, HOST, 'alias.test')
    if sec != 'sys':
        realm.start()
        realm.add(SELF, KEYTAB)
        realm.add(f'nfs/{HOST}', SERVER_KEYTAB)
    old = Ganesha('old-server', OLD, host=host, port=20490, announced=2049,
                  export=f'SecType = {sec};', blocks='' if sec == 'sys' else krb5(SERVER_KEYTAB)).start()
    authority = Authority()
    front = TlsProxy(old, *authority.certify(HOST, f'DNS:{HOST}', f'IP:{host.address}'))
    authority.certify('new.test')
    settings.setdefault('nfs_ca', authority.certificate)
    return realm, authority, front, Migration(args.build, url(), **settings)


def url(version=3, host=HOST, more='tls'):
    path = OLD if version == 3 else '/export'
    return f'nfs://{host}{path}?version={version}&nfsport=2049&xprtsec={more}'


def own():
    """The settings of this host's certificate."""
    return {'nfs_certificate': BASE + '/new.test.crt', 'nfs_key': BASE + '/new.test.key'}


@case(short=True)
def whole(args):
    """By version 3 and 4, with a certificate of this host's, by Kerberos in TLS, and to an address;
    nothing is seen."""
    _, authority, front, migration = world(args, fill_all, sec='sys, krb5i')
    own_key = BASE + '/new.test.key'
    os.chmod(own_key, 0o600)
    for version, host, more in ((3, HOST, 'tls'), (4.2, HOST, 'tls'), (4.1, HOST, 'mtls'),
                                (3, HOST, 'tls&sec=krb5i'), (4.2, front.server.address, 'tls')):
        print(version, host, more, flush=True)
        if more == 'mtls':
            front.present(BASE + f'/{HOST}.crt', BASE + f'/{HOST}.key', authority.certificate)
        began = front.began
        with on_the_wire(front.server.host, WORDS) as found:
            crawler = start(migration, source=url(version, host, more), nfs_ca=authority.certificate,
                            nfs_keytab=KEYTAB, **own())
            comes_whole(migration, crawler)
        same(found, [0], 'the bytes are seen')
        expect(front.began > began, 'not by TLS')
        begin_again(migration)
        front.present(BASE + f'/{HOST}.crt', BASE + f'/{HOST}.key')


@case()
def certificates_end_and_are_renewed(args):
    """Nothing is lost, it is said what is wrong, and it goes on."""
    _, authority, front, migration = world(args, lambda root: fill(root, 390, 100000))
    crawler = start(migration, source=url(), nfs_ca=authority.certificate, bandwidth='300K')
    good = f'{BASE}/{HOST}.crt', f'{BASE}/{HOST}.key'

    def trouble(words, happen, mend):
        goes_on(migration, crawler)
        breaks(migration, crawler, words, lambda: (happen(), front.reset()), mend)

    stranger = Authority('stranger').certify('other', f'DNS:{HOST}')
    trouble('set nfs-ca to the file of its CA', lambda: front.present(*stranger),
            lambda: front.present(*good))
    expect(said('connected again'), 'it is not said that all is well again')
    trouble('nfs-ca = ', lambda: shutil.move(authority.certificate, authority.certificate + '.away'),
            lambda: shutil.move(authority.certificate + '.away', authority.certificate))
    front.reset()
    migration.retriever.stop()
    migration.configure(source=url(), nfs_ca=authority.certificate)         # the rest at once
    migration.start_retriever()
    comes_whole(migration, crawler)


@case(guest=qemu.CURRENT, long=True)
def from_the_kernels_server(args):
    """By tlshd, in a guest with a current kernel."""
    realm, authority = kdc.Kdc(), Authority()
    old = tlshd.server(fill_all, authority.certificate, *authority.certify(HOST), 'new.test').start()
    realm.name(old.address, HOST)
    migration = Migration(args.build, url())
    for version in (4.2, 3):
        volume(NEW, '1G')
        path = knfsd.EXPORT if version == 3 else '/'
        with on_the_wire(old.guest, WORDS) as found:
            crawler = start(migration, source=f'nfs://{HOST}{path}?version={version}&xprtsec=tls',
                            nfs_ca=authority.certificate)
            same(crawler.wait(300), 0, 'exit status of the crawler')
            migration.retriever.stop()
        same(found, [0], 'the bytes are seen')
        if version != 3:
            sh('umount', NEW)
    refused(migration, 'set nfs-ca to the file of its CA', source=f'nfs://{HOST}/?version=4.2&xprtsec=tls')
    old.stop()
    with old.mounted('ro,noload') as root:
        no_differences(tree.compare(root, NEW))


@case()
def what_is_wrong_is_said(args):
    realm, authority, front, migration = world(args, lambda root: fill(root, 3))
    realm.name(front.server.address, 'plain.test')
    ca = {'nfs_ca': authority.certificate}

    def refuses(words, source=url(), **settings):
        refused(migration, words, source=source, **(settings or ca))

    for version in (3, 4.2):
        refuses('with AUTH_SYS (or write sec=krb5), or xprtsec=tls', url(version, more='none'))
    refuses('does not offer TLS', url().replace('2049', '20490'))
    refuses('set nfs-ca to the file of its CA', nfs_keytab=KEYTAB)      # the system's
    refuses('write the name in the URL that it is for', url(host='alias.test'))
    refuses('nfs-ca = /run/qm/old.test.key: has no certificate', nfs_ca=f'{BASE}/{HOST}.key')
    refuses('set nfs-certificate and nfs-key', url(more='mtls'))
    os.chmod(own()['nfs_key'], 0o644)
    refuses('chmod 600', url(more='mtls'), **ca, **own())
    os.chmod(own()['nfs_key'], 0o600)
    refuses('nfs-certificate = ', url(more='mtls'), **ca, nfs_key=own()['nfs_key'],
            nfs_certificate=authority.certificate)
    front.present(f'{BASE}/{HOST}.crt', f'{BASE}/{HOST}.key', authority.certificate)
    refuses('it may want a certificate (xprtsec=mtls)')
    front.present(*authority.certify('late', f'DNS:{HOST}', ended=True))
    refuses('see to it there, and to both clocks')
    front.present(f'{BASE}/{HOST}.crt', f'{BASE}/{HOST}.key')
    front.behind = b'this was never encrypted'
    refuses('does not offer TLS')
    front.behind, front.starttls = b'', b'STARTSSL'
    refuses('does not offer TLS')
    front.starttls = b'STARTTLS'
    migration.configure(source=url(), **ca)
    migration.start_retriever()


if __name__ == '__main__':
    if {'--long', 'from_the_kernels_server'} & set(sys.argv):
        knfsd.fetch()
        tlshd.fetch()
    sys.exit(main())
