# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a failing sequence short (delta debugging: A. Zeller, R. Hildebrandt, Simplifying and
Isolating Failure-Inducing Input, 2002)."""


def shrink(case, verdict, play, tries=250):
    """play(case, ops) gives a Verdict.  Keeps what differs, not how.  (case, operations,
    difference) of the shortest that was found."""
    tag = verdict.difference.tag
    found = [case, [op for op in verdict.ops if op['op'] != 'finish'], verdict.difference]
    left = [tries]

    def differs(case, ops):
        if not left[0]:
            return False
        left[0] -= 1
        again = play(case, ops)
        if not again.difference or again.difference.tag != tag:
            return False
        found[:] = [case, [op for op in again.ops if op['op'] != 'finish'], again.difference]
        return True

    if not any(differs(case, found[1]) for _ in range(8)):
        print(f'  seed {case["seed"]}: does not differ when it is repeated', flush=True)
        return tuple(found)
    minimum(lambda: found[1], lambda ops: differs(found[0], ops))
    minimum(lambda: found[0]['tree'], lambda tree: differs({**found[0], 'tree': tree}, found[1]))
    minimum(lambda: found[1], lambda ops: differs(found[0], ops))
    for kind in found[0]['settings'].get('odd', ()):
        left_out = [k for k in found[0]['settings']['odd'] if k != kind]
        differs({**found[0], 'settings': {**found[0]['settings'], 'odd': left_out}}, found[1])
    simple = {'fs': 'ext4', 'clients': 1, 'source': 'nfs', 'attr_expiration': None,
              'dir_chunk': None, 'entries': None, 'hold_ms': 500, 'bandwidth': 0,
              'stub_attributes': 'eager', 'crawler_order': 'namespace-first'}
    for key, value in simple.items():
        now = found[0]['settings']
        if now.get(key) != value:
            differs({**found[0], 'settings': {**now, key: value}}, found[1])
    return tuple(found)


def minimum(current, differs):
    """Leaves out pieces, the last first, halving them."""
    size = max(1, len(current()) // 2)
    while True:
        at = len(current())
        while at > 0:
            items = current()
            begin = max(0, min(at, len(items)) - size)
            differs(items[:begin] + items[begin + size:])
            at = begin
        if size == 1:
            return
        size //= 2
