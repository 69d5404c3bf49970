# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the comparison sees what it is for: one short sequence is played as it is, and then again
and again with one lie of the migrating side in it, each of which must be found; and each of its exceptions
refuses what it is not for (selftest_exceptions.py)."""
import os

import compare
import selftest_exceptions
import selftest_smb

CASE = {
    'door': 'nfs3', 'seed': 0,
    'settings': {'fs': 'ext4', 'clients': 1},
    'tree': [
        {'path': 'd', 'type': 'd', 'mode': 0o755, 'owner': (1000, 1000),
         'times': (10**18, 10**18 + 1)},
        {'path': 'd/file', 'type': 'f', 'mode': 0o4644, 'owner': (1000, 100), 'size': 300000,
         'times': (10**18 + 2, 10**18 + 3), 'data': [(0, 8192, 1), (65536, 200000, 2)]},
        {'path': 'd/other', 'type': 'h', 'to': 'd/file', 'mode': 0, 'owner': (0, 0),
         'times': (0, 0)},
        {'path': 'd/still', 'type': 'f', 'mode': 0o600, 'owner': (0, 0), 'size': 5000,
         'times': (10**18 + 4, 10**18 + 5), 'data': [(0, 5000, 3)]},
        {'path': 'link', 'type': 'l', 'to': 'd/file', 'mode': 0o777, 'owner': (0, 0),
         'times': (10**18, 10**18)},
        {'path': '', 'type': 'd', 'mode': 0o755, 'owner': (0, 0), 'times': (10**18, 10**18)},
    ]}
OPS = [
    {'op': 'getattr', 'at': 'd/still'},
    {'op': 'list', 'at': 'd', 'plus': True, 'count': 4096},
    {'op': 'read', 'at': 'd/file', 'offset': 70000, 'length': 5000},
    {'op': 'write', 'at': 'd/file', 'offset': 10, 'length': 20, 'fill': 1, 'stable': 2, 'who': 1},
    {'op': 'getattr', 'at': 'd/still'},
    {'op': 'readlink', 'at': 'link'},
    {'op': 'access', 'at': 'd/still', 'bits': 63, 'who': 2},
    {'op': 'remove', 'at': 'd', 'name': 'none'},
]


def attribute(op_name, at=None, **new):
    """A lie about the first attributes of an operation's result.  Values may be functions of the
    true ones."""
    def lie(op, result):
        if op['op'] == op_name and (at is None or op.get('at') == at) and result['seen']:
            what, fh, attr, before = result['seen'][0]
            attr = attr._replace(**{k: v(getattr(attr, k)) if callable(v) else v
                                    for k, v in new.items()})
            result['seen'][0] = (what, fh, attr, before)
    return lie


def value(op_name, key, change):
    def lie(op, result):
        if op['op'] == op_name:
            result[key] = change(result[key])
    return lie


def entry(change):
    def lie(op, result):
        if op['op'] == 'list':
            result['listing'].entries = change(result['listing'].entries)
    return lie


def second(op_name, at, **new):
    """From the second time on: something moves that did not."""
    count = []
    inner = attribute(op_name, at, **new)

    def lie(op, result):
        if op['op'] == op_name and op.get('at') == at:
            count.append(1)
            if len(count) == 2:
                inner(op, result)
    return lie


def on_disk(change):
    def lie(sequence):
        change(sequence.migrated + '/d/still')
    return lie


def overwrite(path):
    st = os.stat(path)
    with open(path, 'r+b') as file:
        file.seek(4096)
        file.write(bytes(100))
    os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))


LIES = {
    'one byte of data': value('read', 'data', lambda d: d[:99] + bytes([d[99] ^ 1]) + d[100:]),
    'zeros for data': value('read', 'data', lambda d: bytes(len(d))),
    'a short read': value('read', 'data', lambda d: d[:-1]),
    'the end of the file': value('read', 'eof', lambda e: not e),
    'a status': value('remove', 'status', lambda s: 13),
    'a write count': value('write', 'count', lambda c: c - 1),
    'a less stable write': value('write', 'committed', lambda c: 0),
    'a link target': value('readlink', 'target', lambda t: t + b'x'),
    'permission': value('access', 'access', lambda a: a | 1),
    'mode': attribute('getattr', 'd/still', mode=lambda m: m ^ 0o100),
    'setuid after a write': attribute('write', mode=lambda m: m | 0o4000),
    'owner': attribute('getattr', 'd/still', uid=7),
    'size': attribute('getattr', 'd/still', size=lambda s: s - 1),
    'links': attribute('getattr', 'd/still', nlink=2),
    'type': attribute('getattr', 'd/still', type=5),
    'space': attribute('getattr', 'd/still', used=1 << 30),
    'mtime by 1 ns': attribute('getattr', 'd/still', mtime=lambda t: t + 1),
    'mtime of now': attribute('getattr', 'd/still', mtime=lambda t: 18 * 10**17),
    'atime': attribute('getattr', 'd/still', atime=lambda t: t + 1),
    'a write that moves no mtime': attribute('write', mtime=10**18 + 3),
    'ctime that moves back': second('getattr', 'd/still', ctime=5),
    'an mtime before that was not': lambda op, result: op['op'] == 'remove' and result[
        'seen'].__setitem__(0, (*result['seen'][0][:3], (0, 5, 5))),
    'another object': lambda op, result: op['op'] == 'read' and result['seen'].__setitem__(
        0, ('object', b'?', *result['seen'][0][2:])),
    'a name too few': entry(lambda e: e[1:]),
    'a name twice': entry(lambda e: e + e[:1]),
    'a name too much': entry(lambda e: e + [(b'new', *e[0][1:])]),
    'an attribute in a listing': entry(lambda e: [
        (*e[0][:3], e[0][3]._replace(mode=0o7777), e[0][4])] + e[1:]),
    'no attributes': lambda op, result: op['op'] == 'write' and result['seen'].__setitem__(
        0, (*result['seen'][0][:2], None, None)),
}
# A program of the machine is told nothing else.
LOCAL_CASE = {**CASE, 'door': 'local'}
LOCAL_OPS = [op for op in OPS if op['op'] != 'access']
LOCAL_LIES = {name: LIES[name] for name in (
    'one byte of data', 'zeros for data', 'a short read', 'a status', 'a write count',
    'a link target', 'mode', 'owner', 'size', 'type', 'a name too few', 'a name too much')}
DISK_LIES = {
    'bytes on disk': on_disk(overwrite),
    'mode on disk': on_disk(lambda path: os.chmod(path, 0o601)),
    'mtime on disk': on_disk(lambda path: os.utime(path, ns=(10**18 + 4, 10**18 + 6))),
    'an extended attribute on disk': on_disk(lambda path: os.setxattr(path, 'user.x', b'')),
    'a name on disk': on_disk(lambda path: os.link(path, path + '2')),
    'a hole on disk': on_disk(lambda path: os.truncate(path, 1)),
}


def run(world, play, tell):
    """Raises no alarm for the honest sequences, and one for each lie."""
    smb = selftest_smb
    answers, bad = selftest_exceptions.check()
    tell(0, answers, bad)
    compare.SETTLE = 3                  # each lie is waited for in vain
    run_case('nfs3', (CASE, OPS), (LIES, DISK_LIES), world, play, tell)
    run_case('local', (LOCAL_CASE, LOCAL_OPS), (LOCAL_LIES, DISK_LIES), world, play, tell)
    run_case('smb', (smb.CASE, smb.OPS), (smb.LIES, DISK_LIES), world, play, tell)
    run_case('smb source', (smb.SOURCE_CASE, smb.SOURCE_OPS),
             (smb.SOURCE_LIES, smb.SOURCE_DISK_LIES), world, play, tell)


def run_case(what, sequence, lies, world, play, tell):
    bad = 0
    honest = play(world, *sequence)
    print(f'{what} honest:', honest.difference or 'no difference', flush=True)
    bad += honest.difference is not None
    for some, keyword in zip(lies, ('lie', 'last_lie')):
        for name, lie in some.items():
            verdict = play(world, *sequence, **{keyword: lie})
            print(f'{what} {name}: {verdict.difference or "NOT FOUND"}', flush=True)
            bad += verdict.difference is None
    tell(1 + sum(map(len, lies)), len(sequence[1]), bad)
