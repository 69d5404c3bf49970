# SPDX-License-Identifier: GPL-3.0-or-later
"""The two servers of one protocol, their clients, and the comparison of what these are told."""
import collections
import contextlib
import os
import struct

import compare
import compare_smb
import compare_local
import door_smb
import generate_smb
import smb2
import smbd
from compare import Difference
from door3 import Door3
from door4 import Door4
from door_local import DoorLocal, Local
from execute import ROOT, Side
from execute_smb import SmbSide
from servers import Ganesha
from xdr import RpcError

NAMES = 'migrating', 'plain'


class Pair:
    """servers, sides, comparer: made by start(sequence)."""

    def __init__(self):
        self.servers, self.sides = [], []
        self.statuses = collections.Counter()       # of the plain side, by operation

    def close(self):
        for side in self.sides:
            side.close()

    def restart(self, number):
        """Both, so that both forget what was open."""
        self.stop(number)
        self.resume()

    def stop(self, number):
        for server in self.servers:
            server.stop(number)

    def resume(self):
        for server in self.servers:
            server.start()
        for side in self.sides:
            side.reconnect()

    def do(self, op, lie=None):
        if op['op'] == 'parallel':
            self.comparer.together = True
            for one, *pair in zip(op['ops'], *self.ask(lambda side: side.do_parallel(op['ops']))):
                self.compare(one, pair, lie)
            self.comparer.together = False
        else:
            self.compare(op, self.ask(lambda side: side.do(op)), lie)

    def ask(self, call):
        """One side after the other."""
        results = []
        for side in self.sides:
            try:
                results.append(call(side))
            except (RpcError, smb2.Smb2Error) as error:
                died = [s.name for s in self.servers if s.process.poll() is not None]
                raise Difference('died', f'{side.name} side: {error}; ended: {died}') from error
        return results

    def compare(self, op, results, lie):
        self.statuses[op['op'], str(results[1].get('status', 'missing'))] += 1
        self.lie = lie
        if lie:
            results[0]['side'] = self.sides[0]
            lie(op, results[0])
        try:
            self.comparer.operation(op, *results)
        except Difference as difference:
            difference.results = results
            raise

    def sweep(self, root):
        """All objects; root: the plain side's directory."""
        root = os.fsencode(root)
        for path in sorted(compare.paths(root)):
            name = os.path.relpath(path, root).decode('latin-1')
            for op in self.look_at(path, '' if name == '.' else name):
                self.do(op)


def ganesha_settings(settings):
    """The same for both servers."""
    cache = ''
    if settings.get('dir_chunk') is not None:
        cache += f'\tDir_Chunk = {settings["dir_chunk"]};\n'
    if settings.get('entries'):
        cache += f'\tEntries_HWMark = {settings["entries"]};\n'
    export = ''
    if settings.get('attr_expiration') is not None:
        export = f'Attr_Expiration_Time = {settings["attr_expiration"]};'
    return {'export': export, 'blocks': f'MDCACHE {{\n{cache}}}\n' if cache else ''}


class NfsPair(Pair):
    def start(self, sequence, version):
        settings, more = sequence.settings, ganesha_settings(sequence.settings)
        plain = Ganesha('plain-server', sequence.plain, host=sequence.world.plain_host, **more)
        if sequence.migration:
            self.servers.append(sequence.migration.start_server(**more))
        else:
            self.servers.append(Ganesha('new-server', sequence.migrated, **more).start())
        self.servers.append(plain.start())
        self.comparer = compare.Comparer(sequence.disk, sequence.begin, self.ask_again)
        self.comparer.smb_source = settings.get('source') == 'smb'
        door = {'nfs3': Door3, 'nfs4': Door4}[version]
        for name, server in zip(NAMES, self.servers):
            self.sides.append(Side(name, lambda server=server: door(
                server, sequence.unblock, settings.get('minor', 0)), settings.get('clients', 2)))

    def ask_again(self, fh):
        got = self.sides[0].doors[0].getattr(fh, ROOT)
        return None if got['status'] else got['seen'][0][2]

    @staticmethod
    def look_at(path, name):
        yield {'op': 'getattr', 'at': name}
        if os.path.islink(path):
            yield {'op': 'readlink', 'at': name}
        elif os.path.isdir(path):
            yield {'op': 'list', 'at': name, 'plus': True, 'count': 8192}
        elif os.path.isfile(path):
            yield {'op': 'readall', 'at': name, 'block': 1 << 20}


class LocalPair(NfsPair):
    """Programs of this machine: the migrating side has the guard, the plain side nothing."""

    def start(self, sequence, _version):
        self.guard = sequence.guard
        self.trees = [Local(*pair) for pair in zip(NAMES, (sequence.migrated, sequence.plain))]
        self.comparer = compare_local.LocalComparer(sequence.disk, sequence.begin, self.ask_again)
        for tree in self.trees:
            self.sides.append(Side(tree.name, lambda tree=tree: DoorLocal(tree, sequence.unblock),
                                   sequence.settings['clients']))

    def close(self):
        super().close()
        for tree in self.trees:
            tree.close()

    def restart(self, number):
        """The guard; what is opened meanwhile waits."""
        self.guard.stop(number)
        self.guard.start()


class SmbPair(Pair):
    def start(self, sequence):
        settings, self.disk = sequence.settings, sequence.disk
        # a write shows at the file's close, not some time before it
        more = {'smbd:writetimeupdatedelay': 10**9, **settings.get('smb', {})}
        stack = settings.get('objects', 'streams_xattr acl_xattr')
        plain = smbd.Smbd('plain-smbd', {smbd.SHARE: (sequence.plain, {
            **more, 'vfs objects': stack})}, host=sequence.world.plain_host)
        if sequence.migration:
            self.servers.append(sequence.migration.start_smbd(
                'migrate ' + stack, {**more, 'migrate:hold': settings.get('hold', 15)}))
        else:
            self.servers.append(smbd.Smbd('new-smbd', {smbd.SHARE: (sequence.migrated, {
                **more, 'vfs objects': stack})}).start())
        self.servers.append(plain.start())
        # with a hold of a second, requests are to come to its end
        idle = None if settings.get('hold') == 1 else sequence.unblock
        for name, server in zip(NAMES, self.servers):
            self.sides.append(SmbSide(name, lambda breaks, server=server: door_smb.Door(
                server, sequence.unblock, idle, breaks), settings.get('clients', 2)))
        self.comparer = compare_smb.SmbComparer(sequence.disk, sequence.begin, self.ask_again,
                                                self.again, self.sides)
        self.comparer.births = settings.get('source') == 'smb' and bool(sequence.migration)
        self.comparer.short_hold = settings.get('hold') == 1
        self.comparer.nfs_too = sequence.case['door'] == 'mixed'
        self.comparer.stores = settings.get('smb', {}).get('store dos attributes') != 'no'

    def about(self, op):
        """Inodes of the migrating side, of what an operation may change: what it names, where that is, and what
        is open."""
        found = {opened.fileid for opened in self.sides[0].slots.values()}
        for one in op.get('ops', [op]):
            for path in (one.get(key) for key in ('at', 'to', 'from')):
                for place in (path, os.path.dirname(path)) if isinstance(path, str) else ():
                    with contextlib.suppress(OSError):
                        found.add(os.lstat(os.path.join(self.disk.migrated, place.encode('latin-1'))).st_ino)
        return found

    def again(self, op):
        result = self.sides[0].do(op)
        if self.lie:
            self.lie(op, result)
        return result

    def ask_again(self, key):
        fileid, = struct.unpack('<Q', key)
        root = self.disk.migrated
        for path in compare.paths(root):
            if os.path.lexists(path) and os.lstat(path).st_ino == fileid:
                name = os.path.relpath(path, root).decode('latin-1')
                if not generate_smb.fits(name):
                    continue
                got = self.sides[0].do({'op': 'smb_info', 'level': door_smb.ALL,
                                        'at': '' if name == '.' else name})
                if len(got['seen']) > 1:
                    return got['seen'][1][2]
        return None

    @staticmethod
    def look_at(path, name):
        if not generate_smb.fits(name):
            return
        yield {'op': 'smb_info', 'at': name, 'level': door_smb.ALL}
        if os.path.islink(path):
            return
        yield {'op': 'smb_info', 'at': name, 'level': door_smb.STREAM}
        yield {'op': 'smb_sd', 'at': name, 'what': 7}
        if os.path.isdir(path):
            yield {'op': 'smb_list', 'at': name, 'level': door_smb.ID_BOTH}
        elif os.path.isfile(path):
            yield {'op': 'smb_readall', 'at': name, 'block': 1 << 20}
