#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The switch without a remount: a kernel client goes on with what it has mounted, while the address
goes from an old server to the new one (switching.py).  What the client does is in guest/takeover.py."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
import knfsd                                # noqa: E402
import nfs3                                 # noqa: E402
from harness import case, expect, main, same    # noqa: E402
from sandbox import LOGS, sh, volume, wait_for          # noqa: E402
from servers import NEW, OLD, Migration     # noqa: E402
from switching import BELOW, FILE, ROOT, SERVICE, Switching, fill, old_ganesha      # noqa: E402
from xdr import opaque                      # noqa: E402


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
    expect(f'2 old handles are in {FILE}' in attached, attached)
    migration.start_server(takeover=FILE)
    for n in range(switches):
        wait = world.switch(world.to_old if n % 2 else world.to_new)
        print(f'longest wait of the reader: {wait:.2f} s {"back" if n % 2 else "there"}')
    world.end()
    migration.server.stop()                 # so that counts are in the file
    status = migration.status()
    expect(status['old_handles'] >= 2 and status['clients_recently'] == 1, status)
    refused = migration.ctl('takeover', argument='end', may_fail=True)
    expect(refused is None, f'the end, while a client used old handles today: {refused}')
    migration.crawl()
    migration.ctl('finalize')
    finished(migration)
    for n in range(0, switches, 2):
        for top in (ROOT, f'{ROOT}/{BELOW}'):
            with open(f'{top}/made{n}/link') as file:
                same(file.read(), str(n), 'what the client wrote')


def finished(migration):
    """A volume that is done with knows old handles until it is told to forget them."""
    with open(FILE) as file:
        old = bytes.fromhex(file.read().splitlines()[1].split()[0])
    client = migration.server.start().client()
    same(client.getattr(old).type, nfs3.DIR, 'an old handle of a finished volume')
    migration.ctl('takeover', '--accept', argument='end')
    expect(not os.path.exists(FILE), 'the file is still there')
    wait_for('old handles are forgotten',
             lambda: client.once(nfs3.GETATTR, opaque(old))[0] == nfs3.STALE)


@case(guest=True)
def from_the_kernels_server(args):
    goes_on(args, knfsd.KernelServer(fill, service=SERVICE).start(), knfsd.EXPORT, 1)


@case(guest=True)
def from_ganesha_and_back(args):
    goes_on(args, old_ganesha(), OLD, 3, told=False, takeover_directories=f'{OLD}/{BELOW}')


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


@case(guest=True, long=True)
def there_and_back_a_hundred_times(args):
    world = Switching(args, old_ganesha(), OLD, 100, takeover_directories=f'{OLD}/{BELOW}')
    world.migration.attach()
    world.migration.start_server(takeover=FILE)
    waits = [world.switch(world.to_old if n % 2 else world.to_new) for n in range(100)]
    for way, some in (('there', waits[::2]), ('back', waits[1::2])):
        print(f'longest wait of the reader {way}: {max(some):.2f} s, median {sorted(some)[25]:.2f} s')
    world.end()


if __name__ == '__main__':
    knfsd.fetch()
    sys.exit(main())
