# SPDX-License-Identifier: GPL-3.0-or-later
"""What an integration test is: a script with cases, each run in a sandbox of its own.

    test_x.py --build DIR [--module DIR] [--cache KIND] [--fs FS|SEED] [--short|--long] [--broken]
              [--seed N] [--keep-logs DIR] [CASE...]
"""
import argparse
import faulthandler
import inspect
import os
import random
import signal
import sys
import tempfile
import time
import traceback

import qemu
import sandbox
import servers
import uml
import xdr
from sandbox import Failure

CASES = {}
SHORT = []                              # of these


def case(guest=False, long=False, broken=None, short=False):
    """Marks a function as a case.  guest: it needs the guest's kernel, or that of a suite; long: run with --long only;
    short: where a script has such, --short runs them alone;
    broken: what is known to be wrong, run with --broken or by its name only.  It is called with the
    arguments of the command line (.build, .long, .seed, .random)."""
    def mark(function):
        CASES[function.__name__] = (function, guest, long, broken)
        if short:
            SHORT.append(function.__name__)
        return function
    return mark


def expect(truth, what):
    if not truth:
        raise Failure(what)


def same(got, wanted, what):
    if got != wanted:
        raise Failure(f'{what}: {shorten(got)}, not {shorten(wanted)}')


def shorten(value):
    text = repr(value)
    return text if len(text) < 300 else text[:200] + ' ... ' + text[-60:]


def no_differences(comparison):
    if comparison.differences:
        raise Failure('the trees differ:\n  ' + '\n  '.join(comparison.differences[:30]))


def why(name, error):
    """The text of a failure."""
    if not isinstance(error, Failure):
        return ''.join(traceback.format_exception(error))
    where = inspect.getinnerframes(error.__traceback__)
    where = where[-2 if len(where) > 1 else -1]
    return f'{name}: {error}  [{os.path.basename(where.filename)}:{where.lineno}]\n'


def file_system(args, name):
    """That of a case which does not say which."""
    return sandbox.draw(args.fs, os.path.basename(sys.argv[0]), name)


AGAIN = 75                              # exit status: that was no test (EX_TEMPFAIL of sysexits.h)
NOTED = 500                             # seconds: less than guests and programs have


def run_case(name, function, args, reasons):
    """Its exit status.  reasons: a file for why it failed."""
    def body():
        sandbox.FS = file_system(args, name)
        args.random = random.Random(args.seed)
        if not args.long:
            faulthandler.dump_traceback_later(NOTED)
        try:
            function(args)
            complaints = sandbox.complaints()
            expect(not complaints, f'complaints in {" ".join(complaints)}')
            return 0
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            text = why(name, error)
            sys.stderr.write(text)
            reasons.write(text)
            reasons.flush()
            if isinstance(error, xdr.NoReply):
                sandbox.show_threads()
            sandbox.show_logs()
            return AGAIN if isinstance(error, uml.Frozen) else 1
        finally:
            if args.keep_logs:
                sandbox.keep_logs(f'{args.keep_logs}/{name}')

    child = os.fork()
    if child == 0:
        sandbox.libc.prctl(sandbox.PR_SET_PDEATHSIG, signal.SIGKILL)
        os._exit(sandbox.private(body))

    def forward(number, _frame):
        os.kill(child, number)
        args.interrupted = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(extra=None):
    """Runs the cases of the calling script; its exit status.  extra(parser) adds options."""
    parser = argparse.ArgumentParser(description=sys.modules['__main__'].__doc__)
    parser.add_argument('--build', required=True, help="the build's directory")
    parser.add_argument('--module', metavar='DIR', help='the build of modules that the other lacks')
    parser.add_argument('--cache', choices=servers.CACHES, default='default',
                        help="the new server's settings of MDCACHE")
    parser.add_argument('--fs', default=os.environ.get('QUICKMIGRATE_FS', 'ext4'), metavar='FS|SEED',
                        help='the file system of cases that do not say which, or what draws one for each '
                        '(default: $QUICKMIGRATE_FS, or ext4)')
    parser.add_argument('--kernel', metavar='SUITE', help="that of guests, of another Debian suite")
    parser.add_argument('--short', action='store_true', default='QUICKMIGRATE_SHORT' in os.environ,
                        help='only what stands for all of it (default: if $QUICKMIGRATE_SHORT is set)')
    parser.add_argument('--long', action='store_true', help='the sizes and repetitions of a night')
    parser.add_argument('--broken', action='store_true', help='also what is known to fail')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--keep-logs', metavar='DIR')
    parser.add_argument('cases', nargs='*', metavar='CASE')
    if extra:
        extra(parser)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    args.module = args.module and os.path.abspath(args.module)
    sandbox.NEEDED += filter(None, (args.build, args.module))
    args.interrupted = False
    servers.MODULE, servers.CACHE, uml.SUITE = args.module, args.cache, args.kernel
    unknown = set(args.cases) - set(CASES)
    if unknown:
        parser.error(f'no such case: {" ".join(unknown)}; there are: {" ".join(CASES)}')
    wanted = args.cases or args.short and SHORT or [n for n, (_, _, long, broken) in CASES.items()
                            if (args.long or not long) and (args.broken or not broken)]
    for guest in {CASES[name][1] for name in wanted} - {False}:
        if guest is True:
            uml.fetch()
        else:
            qemu.fetch(guest)
    failed = []
    reasons = tempfile.TemporaryFile('w+')
    for name in wanted:
        start = time.monotonic()
        status = run_case(name, CASES[name][0], args, reasons)
        if status == AGAIN:
            print(f'again {name}: its guest stood still', flush=True)
            status = run_case(name, CASES[name][0], args, reasons)
        verdict = 'not ok' if status else 'ok'
        print(f'{verdict} {name} (--fs {file_system(args, name)}, {time.monotonic() - start:.1f} s)',
              flush=True)
        if status:
            failed.append(name)
        if args.interrupted:
            return 130
    if len(wanted) > 1 and failed:      # again, behind the logs and the cases that followed
        reasons.seek(0)
        print(f'---- failed: {" ".join(failed)}\n{reasons.read()}', end='')
    return 1 if failed else 0
