# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are, for the tests in this directory."""

import os
import pathlib
import subprocess

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
UNITS = pathlib.Path(os.environ["UNIT_DIR"])
PROGRAMS = {pathlib.Path(p).name: p for p in os.environ["PROGRAMS"].split(":")}


def run(program, *args, **kwargs):
    """Runs one of the programs to its end; never raises for its exit status."""
    return subprocess.run([PROGRAMS[program], *args], capture_output=True, text=True, timeout=300,
                          check=False, **kwargs)
