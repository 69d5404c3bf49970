# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `takeover`: how long a reader waits while an address goes to the new server, and back: when all is
ready there before, and with everything that is to be done once the old server is fenced."""
import json
import os

import sandbox
from measure import FACTS, median, table
from sandbox import Failure
from servers import OLD
from switching import BELOW, FILE, Switching, old_ganesha

GOAL = 1.0                      # s, there


def alone(what, *args):
    """What a function returns that has a sandbox of its own."""
    reading, writing = os.pipe()

    def body():
        try:
            os.write(writing, json.dumps(what(*args)).encode())
        except BaseException:
            sandbox.show_logs()
            raise
    child = os.fork()
    if child == 0:
        os._exit(sandbox.private(body))
    os.close(writing)
    with open(reading) as result:
        text = result.read()
    if os.waitpid(child, 0)[1]:
        raise Failure(f'{what.__name__}{args[1:]} failed')
    return json.loads(text)


def ready(args, takeover):
    """The waits of both ways; the volume and its server wait for the address."""
    world = Switching(args, old_ganesha(), OLD, 2 * args.runs, takeover=takeover,
                      takeover_directories=f'{OLD}/{BELOW}')
    world.migration.attach()
    world.migration.start_server(takeover=FILE)
    if takeover == 'all':
        world.migration.crawl()
    waits = [], []
    for _ in range(args.runs):
        waits[0].append(world.switch(world.to_new))
        waits[1].append(world.switch(world.to_old))
    world.end()
    return waits


def whole(args, takeover):
    """The wait, and what was done meanwhile, by its steps."""
    world = Switching(args, old_ganesha(), OLD, takeover=takeover,
                      takeover_directories=f'{OLD}/{BELOW}')
    wait = world.switch(world.there)
    world.end()
    return {'whole': wait, **{step: took for step, (took,) in world.steps.items()}}


def run(args):
    rows, line = [], []

    def add(what, key, waits):
        rows.append([what, f'{median(waits):.2f}', f'{max(waits):.2f}'])
        line.append(f'{key}={median(waits):.2f}')
        FACTS[key] = waits
    for takeover in ('mounts', 'all'):
        there, back = alone(ready, args, takeover)
        add(f'{takeover}: ready before', f'{takeover}_there', there)
        add(f'{takeover}: back', f'{takeover}_back', back)
        found = [alone(whole, args, takeover) for _ in range(args.runs)]
        for step, what in (('whole', f'{takeover}: fence, attach, start, address'),
                           ('attach', '  of these attach'), ('start', '  of these the start of Ganesha')):
            add(what, f'{takeover}_{step}', [one[step] for one in found])
    table(f'the longest wait of a reader, s, of {args.runs} switches each', ['', 'median', 'longest'],
          rows)
    print('takeover', *line, f'goal={GOAL}')
