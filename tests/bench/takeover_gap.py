# SPDX-License-Identifier: GPL-3.0-or-later
"""Case `takeover`: how long a reader waits while an address goes to the new server, and back."""
from measure import median, table
from servers import OLD
from switching import BELOW, FILE, Switching, old_ganesha

GOAL = 1.0                      # s, there


def run(args):
    world = Switching(args, old_ganesha(), OLD, 2 * args.runs,
                      takeover_directories=f'{OLD}/{BELOW}')
    world.migration.attach()
    world.migration.start_server(takeover=FILE)
    there, back = [], []
    for _ in range(args.runs):
        there.append(world.switch(world.to_new))
        back.append(world.switch(world.to_old))
    world.end()
    table(f'the longest wait of a reader, s, of {args.runs} switches each', ['', 'median', 'longest'],
          [[way, f'{median(some):.2f}', f'{max(some):.2f}']
           for way, some in (('there', there), ('back', back))])
    print(f'takeover there={median(there):.2f} longest={max(there):.2f} goal={GOAL} '
          f'back={median(back):.2f}')
