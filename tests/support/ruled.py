# SPDX-License-Identifier: GPL-3.0-or-later
"""A volume with rules: what is here, and what the report says of them."""
import json
import os

import tree
from servers import NEW


def names(root):
    found = {os.fsdecode(path)[len(root) + 1:] for path in tree.every(root)}
    return {path for path in found if path and path.split('/')[0] not in ('.migrate', 'lost+found')}


def reported(migration):
    lines = json.loads(migration.ctl('report', '--json'))[1:]
    return {line['path'][len(NEW) + 1:]: line['text'] for line in lines if line['kind'] == 'rule'}


def content(path):
    with open(path, 'rb') as file:
        return file.read()
