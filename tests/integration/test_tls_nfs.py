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
import tree                                                             # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Host, sh, volume, wait_for                    # noqa: E402
from secured import (HOST, KEYTAB, SELF, SERVER_KEYTAB, WORDS, fill, krb5, on_the_wire, said,    # noqa: E402
                     start)
from servers import NEW, OLD, Ganesha, Migration                        # noqa: E402
from smbsource import refusal                                           # noqa: E402
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


@case()
def whole(args):
    """By version 3 and 4, with a certificate of this host's, by Kerberos in TLS, and to an address;
    nothing is seen."""
    def make(root):
        fill(root)
        with open(root + '/large', 'wb') as out:
            out.write(os.urandom(20 << 20))
        with open(root + '/secret', 'wb') as out:
            out.write(WORDS)

    _, authority, front, migration = world(args, make, sec='sys, krb5i')
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
            same(crawler.wait(300), 0, 'exit status of the crawler')
        same(found, [0], 'the bytes are seen')
        expect(front.began > began, 'not by TLS')
        same(migration.errors(), {}, 'errors')
        no_differences(tree.compare(OLD, NEW))
        migration.retriever.stop()
        sh('umount', NEW)
        volume(NEW, '1G')
        front.present(BASE + f'/{HOST}.crt', BASE + f'/{HOST}.key')


@case()
def certificates_end_and_are_renewed(args):
    """Nothing is lost, it is said what is wrong, and it goes on."""
    _, authority, front, migration = world(args, lambda root: fill(root, 390, 100000))
    crawler = start(migration, source=url(), nfs_ca=authority.certificate, bandwidth='300K')
    good = f'{BASE}/{HOST}.crt', f'{BASE}/{HOST}.key'

    def whole_files():
        return int(migration.status()['files_whole'])

    def breaks(words, happen, mend):
        wait_for('it has begun', lambda: whole_files() > 3, process=crawler)
        happen()
        front.reset()
        wait_for(f'it is said that {words!r}', lambda: said(words), process=crawler)
        mend()
        before = whole_files()
        wait_for('it goes on', lambda: whole_files() > before + 3, process=crawler)

    stranger = Authority('stranger').certify('other', f'DNS:{HOST}')
    breaks('set nfs-ca to the file of its CA', lambda: front.present(*stranger),
           lambda: front.present(*good))
    expect(said('connected again'), 'it is not said that all is well again')
    breaks('nfs-ca = ', lambda: shutil.move(authority.certificate, authority.certificate + '.away'),
           lambda: shutil.move(authority.certificate + '.away', authority.certificate))
    front.reset()
    migration.retriever.stop()
    migration.configure(source=url(), nfs_ca=authority.certificate)         # the rest at once
    migration.start_retriever()
    same(crawler.wait(300), 0, 'exit status of the crawler')
    same(migration.errors(), {}, 'errors')
    no_differences(tree.compare(OLD, NEW))


@case()
def what_is_wrong_is_said(args):
    realm, authority, front, migration = world(args, lambda root: fill(root, 3))
    realm.name(front.server.address, 'plain.test')
    ca = {'nfs_ca': authority.certificate}

    def refused(words, source=url(), **settings):
        migration.configure(source=source, **(settings or ca))
        line = refusal(migration)
        print(line)
        expect(words in line, f'{words!r} is not in {line!r}')

    for version in (3, 4.2):
        refused('with AUTH_SYS (or write sec=krb5), or xprtsec=tls', url(version, more='none'))
    refused('does not offer TLS', url().replace('2049', '20490'))
    refused('set nfs-ca to the file of its CA', nfs_keytab=KEYTAB)      # the system's
    refused('write the name in the URL that it is for', url(host='alias.test'))
    refused('nfs-ca = /run/qm/old.test.key: has no certificate', nfs_ca=f'{BASE}/{HOST}.key')
    refused('set nfs-certificate and nfs-key', url(more='mtls'))
    os.chmod(own()['nfs_key'], 0o644)
    refused('chmod 600', url(more='mtls'), **ca, **own())
    os.chmod(own()['nfs_key'], 0o600)
    refused('nfs-certificate = ', url(more='mtls'), **ca, nfs_key=own()['nfs_key'],
            nfs_certificate=authority.certificate)
    front.present(f'{BASE}/{HOST}.crt', f'{BASE}/{HOST}.key', authority.certificate)
    refused('it may want a certificate (xprtsec=mtls)')
    front.present(*authority.certify('late', f'DNS:{HOST}', days=-1))
    refused('see to it there, and to both clocks')
    front.present(f'{BASE}/{HOST}.crt', f'{BASE}/{HOST}.key')
    front.behind = b'this was never encrypted'
    refused('does not offer TLS')
    front.behind, front.starttls = b'', b'STARTSSL'
    refused('does not offer TLS')
    front.starttls = b'STARTTLS'
    migration.configure(source=url(), **ca)
    migration.start_retriever()


if __name__ == '__main__':
    sys.exit(main())
