#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch without a remount: a kernel client goes on with what it has mounted, while the address
goes from an old server to the new one (switching.py).  What the client does is in guest/takeover.py."""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import knfsd                                # noqa: E402
import nfs3                                 # noqa: E402
import qemu                                 # noqa: E402
from harness import case, expect, main, same    # noqa: E402
from sandbox import BASE, LOGS, sh, volume, wait_for          # noqa: E402
from servers import NEW, OLD, Migration     # noqa: E402
from switching import BELOW, FILE, ROOT, SERVICE, Switching, fill, fill_for_programs, old_ganesha      # noqa: E402
from xdr import opaque, u32, u64                      # noqa: E402

BACK = BASE + '/back'          # the old tree, where it is written for the way back


def log_of(name):
    with open(f'{LOGS}/{name}.log') as log:
        return log.read()


def goes_on(args, old, path, switches, told=True, **settings):
    """told: the old server knows what clients have mounted.  An odd number of switches, every second
    one back."""
    world = Switching(args, old, path, switches, **settings)
    migration = world.migration
    text = migration.ctl('takeover')
    expect(f':{path}/{BELOW}\n' in text or not told, text)
    expect(f'Takeover = "{FILE}"' in text, text)
    attached = migration.ctl('attach')
    expect(f'2 takeover handles are in {FILE}' in attached, attached)
    migration.start_server(takeover=FILE)
    for n in range(switches):
        wait = world.switch(world.to_old if n % 2 else world.to_new)
        print(f'longest wait of the reader: {wait:.2f} s {"back" if n % 2 else "there"}')
    world.end()
    migration.server.stop()                 # so that counts are in the file
    status = migration.status()
    expect(status['handles'] >= 2 and status['clients_recently'] == 1, status)
    refused = migration.ctl('takeover', argument='end', may_fail=True)
    expect(refused is None, f'the end, while a client used takeover handles today: {refused}')
    migration.crawl()
    migration.ctl('finalize')
    finished(migration)
    for n in range(0, switches, 2):
        for top in (ROOT, f'{ROOT}/{BELOW}'):
            with open(f'{top}/made{n}/link') as file:
                same(file.read(), str(n), 'what the client wrote')


def finished(migration):
    """A volume that is done with knows takeover handles until it is told to forget them."""
    with open(FILE) as file:
        old = bytes.fromhex(file.read().splitlines()[1].split()[0])
    client = migration.server.start().client()
    same(client.getattr(old).type, nfs3.DIR, 'a takeover handle of a finished volume')
    migration.ctl('takeover', '--accept', '--yes', argument='end')
    expect(not os.path.exists(FILE), 'the file is still there')
    wait_for('takeover handles are forgotten',
             lambda: client.once(nfs3.GETATTR, opaque(old))[0] == nfs3.STALE)


@case(guest=True, short=True)
def from_the_kernels_server(args):
    goes_on(args, knfsd.KernelServer(fill, service=SERVICE).start(), knfsd.EXPORT, 1)


@case(guest=True)
def from_ganesha_and_back(args):
    goes_on(args, old_ganesha(), OLD, 3, told=False, takeover_directories=f'{OLD}/{BELOW}')


def programs_go_on(args, old, path, **settings):
    """What they have open of the old server they have open of the new one."""
    world = Switching(args, old, path, client='takeover_all.py', takeover='all', **settings)
    print(f'longest wait of the reader: {world.switch(world.there):.2f} s')
    same(world.crawler.wait(300), 0, 'the crawler')
    world.end()
    world.migration.ctl('finalize')
    sh('git', '-c', f'safe.directory={ROOT}/repository', '-C', ROOT + '/repository', 'fsck', '--strict')
    rows = sh('sqlite3', ROOT + '/dir/base.sqlite', 'pragma integrity_check; select count(*) > 3 from t')
    same(rows.split(), ['ok', '1'], 'the data base')


def kernels_server_for_programs():
    return knfsd.KernelServer(fill_for_programs, service=SERVICE, access=',rw').start()


@case(guest=True)
def programs_go_on_from_the_kernels_server(args):
    programs_go_on(args, kernels_server_for_programs(), knfsd.EXPORT)


@case(guest=True)
def programs_go_on_from_ganesha(args):
    programs_go_on(args, old_ganesha(fill_for_programs, 'RW'), OLD)


def directories_are_found(args, there, address, path):
    """Before the crawler comes there, by what they are in; of a file only the name can tell."""
    volume(NEW, '200M')
    migration = Migration(args.build, f'nfs://{address}{path}?version=3', takeover='all',
                          takeover_file=FILE)
    migration.start_retriever()
    deep, attr = there.walk(BELOW + '/more')
    file = there.walk(BELOW + '/more/file7')[0]
    migration.ctl('attach')
    here = migration.start_server(takeover=FILE).client()
    same(here.once(nfs3.GETATTR, opaque(file))[0], nfs3.JUKEBOX, 'a file')
    expect(not os.path.exists(f'{NEW}/{BELOW}'), 'its directory is here already')
    same(here.getattr(deep).fileid, attr.fileid, 'the number of a directory')
    same(here.once(nfs3.GETATTR, opaque(deep[:-1] + bytes([deep[-1] ^ 1])))[0], nfs3.STALE, 'a forged one')
    same(here.lookup(deep, 'file7')[0], file, 'a name in it')
    same(here.getattr(file).size, 7000, 'then the file is known')


@case(guest=True)
def directories_are_found_at_the_kernels_server(args):
    old = knfsd.KernelServer(fill).start()
    directories_are_found(args, nfs3.Client(old.address, knfsd.EXPORT), old.address, knfsd.EXPORT)


@case()
def directories_are_found_at_ganesha(args):
    old = old_ganesha()
    directories_are_found(args, old.client(), old.address, OLD)


@case(guest=True, long=True)
def names_come_meanwhile(args):
    """The client opens every file by its name while the crawler brings them: none is stale."""
    world = Switching(args, old_ganesha(), OLD, takeover='all',
                      takeover_directories=f'{OLD}/{BELOW}')
    world.switch(world.there)
    world.end()


# A client with a current kernel

@case(guest=qemu.CURRENT, long=True)
def current_from_the_kernels_server(args):
    goes_on(args, knfsd.KernelServer(fill, service=SERVICE).start(), knfsd.EXPORT, 1, kind=qemu.Guest)


@case(guest=qemu.CURRENT, long=True)
def current_from_ganesha_and_back(args):
    goes_on(args, old_ganesha(), OLD, 3, told=False, takeover_directories=f'{OLD}/{BELOW}',
            kind=qemu.Guest)


@case(guest=qemu.CURRENT, long=True)
def current_programs_from_the_kernels_server(args):
    programs_go_on(args, kernels_server_for_programs(), knfsd.EXPORT, kind=qemu.Guest)


@case(guest=qemu.CURRENT, long=True)
def current_programs_from_ganesha(args):
    programs_go_on(args, old_ganesha(fill_for_programs, 'RW'), OLD, kind=qemu.Guest)


def page_of(client, handle, plus, cookie, verifier):
    """(names with numbers, where it goes on or None, verifier)."""
    args = opaque(handle) + u64(cookie) + verifier + u32(4096)
    reply = client.call(nfs3.READDIRPLUS, args + u32(8192)) if plus else client.call(nfs3.READDIR, args)
    nfs3.post_attr(reply)
    verifier, names = reply.fixed(8), []
    while reply.u32():
        number, name, cookie = reply.u64(), reply.opaque(), reply.u64()
        if plus:
            nfs3.post_attr(reply)
            if reply.u32():
                reply.opaque()
        names.append((name, number))
    return names, None if reply.u32() else cookie, verifier


def fill_unevenly(path):
    """For what has no room in a page, and is followed by what would have."""
    fill(path)
    for n, name in enumerate(sorted(os.listdir(path + '/wide'))):
        if n % 7 == 0:
            os.rename(f'{path}/wide/{name}', f'{path}/wide/{name}{"x" * 200}')


@case()
def listings_under_way_go_on(args):
    """From the old server's cookies: each name once, with the number that it has there."""
    old = old_ganesha(fill_unevenly)
    volume(NEW, '200M')
    migration = Migration(args.build, f'nfs://{old.address}{OLD}?version=3', takeover='all',
                          takeover_file=FILE)
    migration.start_retriever()
    there = old.client()
    handle = there.walk('wide')[0]
    wanted = sorted((os.fsencode(entry.name), entry.inode()) for entry in os.scandir(OLD + '/wide'))
    begun = [(plus, *page_of(there, handle, plus, 0, bytes(8))) for plus in (False, True)]
    migration.ctl('attach')
    here = migration.start_server(takeover=FILE).client()
    for plus, names, cookie, verifier in begun:
        expect(cookie and len(names) < 200, f'the first page has {len(names)} names')
        while cookie is not None:
            more, cookie, verifier = page_of(here, handle, plus, cookie, verifier)
            expect(more or cookie is None, 'a page of no names')
            names += more
        same(sorted(n for n in names if n[0] not in (b'.', b'..')), wanted, f'names, {plus}')
    old.stop()
    args = opaque(handle) + u64(begun[0][2]) + begun[0][3] + u32(4096)
    same(here.once(nfs3.READDIR, args)[0], nfs3.JUKEBOX, 'while the old server is away')
    same(len(list(here.listing(handle))), 5000, 'one from the start')


@case()
def the_moved_address_is_no_source(args):
    """Who names it gets no bytes from himself."""
    old = old_ganesha()
    sh('ip', 'route', 'add', SERVICE, 'via', old.address)
    volume(NEW, '200M')
    migration = Migration(args.build, f'nfs://{SERVICE}{OLD}?version=3', takeover='mounts',
                          takeover_file=FILE)
    migration.start_retriever()
    migration.attach()
    client = migration.start_server(takeover=FILE).client(patience=0)
    sh('ip', 'route', 'del', SERVICE)
    old.stop()                              # so that the connection ends
    sh('ip', 'addr', 'add', SERVICE + '/32', 'dev', 'lo')
    same(nfs3.status_of(client.walk, 'dir/loop'), nfs3.JUKEBOX, 'a name that is not here')
    wait_for('it is told', lambda: "is this machine's own by now" in log_of('retriever'))
    sh('ip', 'addr', 'del', SERVICE + '/32', 'dev', 'lo')
    sh('ip', 'route', 'add', SERVICE, 'via', old.address)
    old.start()
    client.patience = 60
    same(client.read_all(client.walk('dir/loop')[0]), b'loop', 'what comes when it is put right')


def under_load(args, takeover, switches, **settings):
    """There and back, with programs at work (guest/takeover_load.py).  Back comes what clients changed,
    too, and the next time the new server begins anew."""
    os.makedirs(BACK)
    world = Switching(args, old_ganesha(fill_for_programs, 'RW'), OLD, switches, 'takeover_load.py',
                      takeover, more=[takeover], rollback_source=BACK, **settings)
    sh('mount', '--bind', OLD, BACK)
    go_on_under_load(world, switches)


def there_under_load(args, takeover, **settings):
    world = Switching(args, kernels_server_for_programs(), knfsd.EXPORT, 1, 'takeover_load.py', takeover,
                      more=[takeover], **settings)
    go_on_under_load(world, 1)


def go_on_under_load(world, switches):
    waits = [world.switch(world.back_with_changes if n % 2 else world.there) for n in range(switches)]
    for way, some in (('there', waits[::2]), ('back', waits[1::2])):
        if some:
            print(f'longest wait of the reader {way}: {max(some):.2f} s, median '
                  f'{sorted(some)[len(some) // 2]:.2f} s')
    told = json.loads(world.hear())
    print(f'rounds {told["rounds"]}, refused {told["refused"]}')
    world.end()
    where = OLD
    if switches % 2:
        where = ROOT
        world.migration.crawl()
    for name in told['files']:
        with open(f'{where}/load/files/{name}', 'rb') as file:
            chance = random.Random(name)
            expect(file.read() == chance.randbytes(chance.randrange(40000)), f'the content of {name}')
    with open(where + '/load/log') as file:
        same(file.read(), told['log'], 'the log')
    rows = sh('sqlite3', where + '/load/base', 'pragma integrity_check; select count(*) from t')
    same(rows.split(), ['ok', str(told['rounds']['Database'])], 'the data base')
    sh('git', '-c', f'safe.directory={where}/repository', '-C', where + '/repository', 'fsck', '--strict')


@case(guest=True)
def mounts_under_load(args):
    under_load(args, 'mounts', args.switches or (100 if args.long else 2))


@case(guest=True, long=True)
def all_under_load(args):
    under_load(args, 'all', args.switches or 100)


@case(guest=qemu.CURRENT, long=True)
def current_mounts_under_load(args):
    under_load(args, 'mounts', args.switches or 4, kind=qemu.Guest)


@case(guest=qemu.CURRENT, long=True)
def current_all_under_load(args):
    under_load(args, 'all', args.switches or 4, kind=qemu.Guest)


@case(guest=True, long=True)
def mounts_under_load_from_the_kernels_server(args):
    there_under_load(args, 'mounts')


@case(guest=True, long=True)
def all_under_load_from_the_kernels_server(args):
    there_under_load(args, 'all')


@case(guest=True, long=True)
def there_and_back_many_times(args):
    """Without a change on the way back: the new server is ready each time."""
    switches = args.switches or 100
    world = Switching(args, old_ganesha(), OLD, switches, takeover_directories=f'{OLD}/{BELOW}')
    world.migration.attach()
    world.migration.start_server(takeover=FILE)
    waits = [world.switch(world.to_old if n % 2 else world.to_new) for n in range(switches)]
    for way, some in (('there', waits[::2]), ('back', waits[1::2])):
        print(f'longest wait of the reader {way}: {max(some):.2f} s, median '
              f'{sorted(some)[len(some) // 2]:.2f} s')
    world.end()


def options(parser):
    parser.add_argument('--switches', type=int, help='there and back, under load')


if __name__ == '__main__':
    knfsd.fetch()
    sys.exit(main(options))
