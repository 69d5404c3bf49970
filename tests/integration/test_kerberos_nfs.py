#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An old NFS server that lets in nobody without Kerberos: the whole way by every flavour and version,
with keys and tickets that end, go and come back meanwhile; and every way in which they are of no use,
each with one clear line."""
import functools
import os
import pwd
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import kdc                                                              # noqa: E402
import knfsd                                                            # noqa: E402
import tree                                                             # noqa: E402
import uml                                                              # noqa: E402
from harness import case, expect, main, no_differences, same            # noqa: E402
from sandbox import BASE, Failure, Host, sh, volume, wait_for           # noqa: E402
from secured import (HOST, KEYTAB, SELF, SERVER_KEYTAB, WORDS, begin_again, begin_realm,     # noqa: E402
                     breaks, comes_whole, fill, fill_all, goes_on, krb5, of_contexts, on_the_wire,
                     packets, refused, said, start)
from servers import NEW, OLD, Ganesha, Migration, release               # noqa: E402
from xdr import RpcError                                                # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CCACHE = BASE + '/ccache'
THIRD = BASE + '/third'


def world(args, make=fill, sec='krb5p', flavours='krb5, krb5i, krb5p', **settings):
    """(the realm, the old server, Migration)"""
    volume(OLD, '1G')
    volume(NEW, '1G')
    make(OLD)
    host = Host('old')
    realm = begin_realm(host.address, 'alias.test')
    old = Ganesha('old-server', OLD, host=host, export=f'SecType = {flavours};',
                  blocks=krb5(SERVER_KEYTAB)).start()
    settings.setdefault('nfs_keytab', KEYTAB)
    return realm, old, Migration(args.build, url(sec), **settings)


def url(sec, version=3):
    path = OLD if version == 3 else '/export'
    return f'nfs://{HOST}{path}?version={version}&sec={sec}'


@case(short=True)
def every_flavour(args):
    """By version 3 and 4: all that is there comes, large files do in many pieces; krb5p hides it."""
    _, old, migration = world(args, fill_all)
    for version in (3, '4.0', 4.1, 4.2):
        for sec in ('krb5', 'krb5i', 'krb5p'):
            print(version, sec, flush=True)
            with on_the_wire(old.host, WORDS) as found:
                crawler = start(migration, source=url(sec, version), nfs_keytab=KEYTAB)
                comes_whole(migration, crawler)
            same(found[0] > 0, sec != 'krb5p', f'with {sec} the bytes are seen')
            begin_again(migration)


@case()
def keys_and_tickets_end_and_come_back(args):
    """Nothing is lost, each time it is said what is wrong, and it goes on."""
    realm, old, migration = world(args, lambda root: fill(root, 390, 100000), bandwidth='150K')
    settings = {'source': url('krb5i'), 'bandwidth': '150K'}
    realm.admin(f'modprinc -maxlife 4s {SELF}')
    crawler = start(migration, nfs_keytab=KEYTAB, **settings)
    trouble = functools.partial(breaks, migration, crawler)     # contexts are made every some seconds

    for _ in range(4):          # longer than a ticket lives
        goes_on(migration, crawler)
    same(said('ticket'), [], 'what is said of tickets')
    trouble('is not there: write keys into it', lambda: shutil.move(KEYTAB, KEYTAB + '.away'),
            lambda: shutil.move(KEYTAB + '.away', KEYTAB))
    expect(said('connected again'), 'it is not said that all is well again')
    trouble('can be read or changed by others', lambda: os.chmod(KEYTAB, 0o644),
            lambda: os.chmod(KEYTAB, 0o600))
    realm.stop()
    trouble('Cannot contact any KDC', lambda: None, realm.start)
    trouble('the old server refuses the ticket',
            lambda: realm.new_keys(f'nfs/{HOST}', BASE + '/later'),
            lambda: (shutil.copy(BASE + '/later', SERVER_KEYTAB), old.restart()))
    trouble('put the present ones into the keytab',
            lambda: realm.new_keys(SELF, BASE + '/own-later'),
            lambda: shutil.copy(BASE + '/own-later', KEYTAB))
    old.restart(9)
    goes_on(migration, crawler)
    migration.retriever.stop()

    # of a ticket cache that somebody renews
    kdc.kinit(SELF, KEYTAB, CCACHE)
    migration.configure(nfs_ccache=CCACHE, **settings)
    migration.start_retriever()
    wait_for('the ticket ends', lambda: said('ticket for nfs/old.test from ' + CCACHE),
             process=crawler)
    expect(said('renew the tickets'), 'it is not said what to do')
    realm.admin(f'modprinc -maxlife 1h {SELF}')
    kdc.kinit(SELF, KEYTAB, CCACHE)
    goes_on(migration, crawler)
    migration.retriever.stop()
    migration.configure(source=url('krb5i'), nfs_ccache=CCACHE)         # the rest at once
    migration.start_retriever()
    comes_whole(migration, crawler)


@case()
def contexts_are_ended_there(args):
    """The server is told of each that is not needed any more, and takes it."""
    _, old, migration = world(args)
    with packets(old.host) as seen:
        comes_whole(migration, start(migration, source=url('krb5', 4.2), nfs_keytab=KEYTAB))
        migration.retriever.stop()
    made = of_contexts(seen, 1)
    print(made, 'contexts')
    expect(made > 2, f'{made} contexts')
    same(of_contexts(seen, 3), made, 'contexts that were ended')


@case()
def another_flavour_below(args):
    """An export below the export: what it wants is asked for and said, and the rest comes."""
    below = (f'EXPORT {{ Export_Id = 78; Path = {OLD}/dir-1; Pseudo = /export/dir-1; SecType = krb5p; '
             'FSAL { Name = VFS; } }')
    _, old, migration = world(args, flavours='krb5i')
    old.stop()
    old.blocks += below
    old.configure('Name = VFS;')
    old.start()
    crawler = start(migration, source=url('krb5i', 4.2), nfs_keytab=KEYTAB)
    same(crawler.wait(300), 2, 'exit status of the crawler')
    whole = release() == 6      # refuses to list what it is in
    same(sorted(migration.errors()), [''] if whole else ['', 'dir-1'], 'errors')
    expect(said("the source's root is left out" if whole else
                'krb5p: set sec=krb5p, or make a volume of its own'), 'it is not said what is wanted')


@case(guest=True)
def from_the_kernels_server(args):
    """Each flavour; contexts that are ended, and what is asked of flavours."""
    realm = kdc.Kdc().start()
    realm.add(SELF, KEYTAB)
    keys = BASE + '/keys'
    os.mkdir(keys)
    realm.add(f'nfs/{HOST}', keys + '/server')
    old = knfsd.KernelServer(fill, access=',sec=krb5:krb5i:krb5p', shares=[keys], prepare=(
        uml.VM + '/svcgssd', keys + '/server', f'{SELF}@{kdc.REALM}')).start()
    realm.name(old.address, HOST)
    migration = Migration(args.build, url('sys'))
    for version, sec in ((4.2, 'krb5'), (4.1, 'krb5p'), (3, 'krb5i')):
        volume(NEW, '1G')
        path = knfsd.EXPORT if version == 3 else '/'
        with packets(old.guest) as seen:
            crawler = start(migration, source=f'nfs://{HOST}{path}?version={version}&sec={sec}',
                            nfs_keytab=KEYTAB)
            same(crawler.wait(300), 0, 'exit status of the crawler')
            migration.retriever.stop()
        if version != 3:
            sh('umount', NEW)
            expect(of_contexts(seen, 1) > 2, 'contexts that were made')
            same(of_contexts(seen, 3), of_contexts(seen, 1), 'contexts that were ended')
    refused(migration, 'the old server wants krb5: set', source=f'nfs://{HOST}/?version=4.2&sec=sys')
    old.stop()
    with old.mounted('ro,noload') as root:
        no_differences(tree.compare(root, NEW))


@case()
def the_door(args):
    """Clients with Kerberos alone, before anything has come: one is a retriever, of another volume."""
    realm, _, migration = world(args, lambda root: fill(root, 300))
    migration.configure(source=url('krb5p'), nfs_keytab=KEYTAB)
    migration.start_retriever()
    migration.attach()
    server = migration.start_server(export='SecType = krb5, krb5i, krb5p;', blocks=krb5(KEYTAB))
    stranger = server.client()
    try:
        stranger.getattr(stranger.root)
        raise Failure('a client without Kerberos is let in')
    except RpcError as error:
        print(error)
    realm.name(server.address, 'new.test')
    volume(THIRD, '1G')
    client = Migration(args.build, '', root=THIRD)
    client.socket, client.config = '/run/quickmigrate/client.sock', BASE + '/client.conf'
    for version, sec in ((3, 'krb5i'), (4.1, 'krb5p')):
        path = NEW if version == 3 else '/export'
        crawler = start(client, source=f'nfs://new.test{path}?version={version}&sec={sec}',
                        nfs_keytab=SERVER_KEYTAB)
        same(crawler.wait(300), 0, 'exit status of the crawler')
        no_differences(tree.compare(OLD, THIRD))
        client.retriever.stop()
        sh('umount', THIRD)
        volume(THIRD, '1G')
        migration.crawl()


USER, STRANGER = 'games', 'news'


@case(guest=True)
def the_door_to_the_kernel(args):
    """The kernel's client, by each flavour, as root of a machine and as users with tickets."""
    def make(root):
        fill(root, 100, directories=5)
        for d in range(5):
            with open(f'{root}/dir-{d}/private', 'w') as out:
                out.write('for one user')
                os.fchmod(out.fileno(), 0o600)
                os.fchown(out.fileno(), pwd.getpwnam(USER).pw_uid, 0)
            os.chmod(f'{root}/dir-{d}', 0o777)
    realm, _, migration = world(args, make)
    kdc.mount_file('/etc/idmapd.conf', b'[General]\nDomain = qm.test\n')
    keys = BASE + '/keys'
    os.mkdir(keys)
    realm.add('host/guest.test', keys + '/machine')
    for name in (USER, STRANGER):
        realm.add(name, f'{keys}/{name}')
    migration.start_retriever()
    migration.attach()
    migration.start_server(export='SecType = krb5, krb5i, krb5p;', blocks=krb5(KEYTAB))
    same(uml.run([HERE + '/guest/kerberos.sh', OLD, keys, NEW, '/export', USER, STRANGER], timeout=300,
                 shares=[OLD, keys]), 0, 'exit status of the guest')
    migration.crawl()
    migration.ctl('finalize')
    same(tree.records(NEW), [], 'objects with a record')


@case()
def what_is_wrong_is_said(args):
    def make(root):
        fill(root, 3)
        os.chmod(root, 0o700)
    realm, old, migration = world(args, make, flavours='krb5i')

    def refuses(words, source=url('krb5i'), **settings):
        refused(migration, words, source=source, **(settings or {'nfs_keytab': KEYTAB}))

    for version, words in ((3, 'or write another one of sec='),
                           (4.2, 'for /export the old server wants krb5i: set sec=krb5i')):
        refuses(words, url('sys', version))
        refuses(words, url('krb5p', version))
    refuses('by their names', f'nfs://{old.address}{OLD}?sec=krb5i')
    refuses('has no nfs/NAME of that server', f'nfs://alias.test{OLD}?sec=krb5i')
    refuses('is not there: write keys into it', nfs_keytab=BASE + '/none')
    refuses('is not there: get a ticket', nfs_ccache=CCACHE)
    refuses('remove one of them', nfs_ccache=CCACHE, nfs_keytab=KEYTAB)
    refuses('or name another one with nfs-principal', nfs_keytab=KEYTAB, nfs_principal='nfs/other')
    with open(BASE + '/text', 'w') as out:
        os.fchmod(out.fileno(), 0o600)
        out.write('this is neither\n')
    refuses('it has no key of the principal', nfs_keytab=BASE + '/text')
    refuses('it is no ticket cache', nfs_ccache=BASE + '/text')
    realm.admin(f'modprinc -allow_tix {SELF}')
    refuses('credentials have been revoked')
    realm.admin(f'modprinc +allow_tix {SELF}')
    stranger = realm.add('stranger', BASE + '/stranger.keytab')
    migration.configure(source=url('krb5i', 4.2), nfs_keytab=stranger)
    migration.start_retriever()
    same(migration.ctl('attach', may_fail=True), None, 'what attach says to one who is not root there')
    migration.retriever.stop()
    realm.stop()
    refuses('Cannot contact any KDC')
    realm.start()
    migration.configure(source=url('krb5i'), nfs_keytab=KEYTAB, nfs_principal=SELF)
    migration.start_retriever()


if __name__ == '__main__':
    knfsd.fetch()
    sys.exit(main())
