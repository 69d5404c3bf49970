/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The commands of MIGRATE_OP_CONTROL, which migratectl sends, and the retriever's answers, as
 * key-file text (GKeyFile).  The answer to a refused command has a negative status, and its text is
 * one line that says why and what to do.
 *
 *   attach [WORDS]     binds the directory `root` to the source: one round trip, no scan; adopt,
 *                      content, keep-extra, accept: struct attach
 *   copy [WORDS]       a run of a copy begins, or one that was cut short goes on; accept: copy.h.
 *                      `copy end`, after the crawler: [copy] run seconds objects bytes same made
 *                      bytes-fetched gone aside aside-bytes left whole=true|false next-seconds
 *   accept             any number of names of a copy may go, until the retriever restarts
 *   aside START        what is set aside: [aside N] path (below the root) bytes mtime (s);
 *                      [list] next (-1: no more).  `aside restore PATH`; `aside discard`: all of it
 *   status             [volume] name root (of a copy: its root) source
 *                        state=unattached|copying|copied|migrating|whole|finished
 *                        prior=copied|adopted: how the prior copy was made, where there is one
 *                      [counters] directories-found directories-whole files-found files-whole
 *                        bytes-found bytes-whole (with those within unfinished files)
 *                        bytes-fetched unfilled-directories errors
 *                        errors-since (s since 1970, the oldest reason; 0: none, or not known)
 *                        acls-carried xattrs-carried (objects) losses (lines of the report)
 *                        names-skipped (of those lines)
 *                        of a copy's run, or of the comparison with the prior copy: same left-over
 *                        (names that the old server does not have) aside aside-bytes
 *                        bytes-corrected (that another tool had copied wrong)
 *                        exact=true|false
 *                      [now] files-per-second bytes-per-second demand-waiting background-waiting
 *                        source-away-seconds paused=true|false crawlers objects (that something
 *                        is being done to) bandwidth requests (a second; 0: no limit)
 *                        throttled=true|false (bandwidth is what `throttle` said)
 *                      [yield] target-ms (0: does not) window under-way (background requests)
 *                        delay-ms (what the old server's last answers took beyond the shortest)
 *                      [server] where there is a [server HOST]: host, bandwidth and requests of
 *                        all its volumes together, waiting (retrievers that wait for their share
 *                        now) rule (of its calendar, or "")
 *                      [limits] where there is a calendar: rule (in force, or "") until (s since
 *                        1970: when there is another one; 0: not within 8 days)
 *                        pause-ordered=true|false
 *                      [rest] text: for people, whatever it is (rates.h); unknown: why nobody can
 *                        tell how long it takes, or ""; then seconds low high, by the clock
 *                      [namespace] complete=true|false  (every directory is filled: the totals are
 *                        final and a remaining time can be told)
 *                      [codes] CODE=how many have failed with it (lib/base/error_codes.h)
 *                      with `verbose` also, for each open request, the oldest first, up to 200:
 *                        [request N] peer id operation offset length milliseconds path waits-for
 *   settings           [settings] root hold-ms crawler-workers crawler-order=namespace-first|...
 *                        paused
 *   touched            [touched] N=path below the root, as in a URL: of directories in which a
 *                        client has waited for a file since this was asked last, some; at first
 *                        none
 *   errors START       [errors] total next (-1: no more); [error N] path reason code errno since (s
 *                        from 1970 on), N from START on, with gaps; in further lines: reason TEXT
 *                        (which it contains), below DIRECTORY (a path as it is listed), code CODE.
 *                        `summary START` for START: the same [errors]; [reason N] reason code
 *                        errno since count
 *   trace START        what was done for requests (lib/source/trace.h), from event START on, by
 *                      page: [trace] next overwritten (since START) more=true|false; [events]
 *                      N=time in microseconds since 1970, id, step, operation, offset, length,
 *                      number, result and peer, with blanks between them
 *   report             [report] path: the file with what could not be carried over (losses.h), in
 *                        .migrate/ or, once finished, where it was kept; acls-carried
 *                        xattrs-carried while it is in .migrate/
 *   retry [HOW]        forgets failures, so that the crawler and clients try again; HOW: new, or
 *                      same (enum version_trust); which ones in further lines, as
 *                      errors_filter_take() has them, else all: [retry] forgotten
 *   names HANDLE COOKIE VERIFIER, directory HANDLE: control_old.h; what doors ask
 *   skip HOW PATH      skips names (skip.h); HOW: names, or all (of directories); more paths, or
 *                      other ways to say which, in further lines: [skip] names directories; with
 *                      the line dry-run only [skip] targets (of both), and [target N] path
 *   throttle BYTES     background bytes per second, 0: no limit; `throttle default`: what is
 *                      configured.  It is kept (limits_set.h)
 *   pause, resume      background work; demand goes on.  It is kept, too
 *   verify             walks the whole new tree: [verify] objects unfinished first-unfinished;
 *                      sets the counters right
 *   proof              [proof] state=none|running|stopping|stopped|through number began ended (s)
 *                        sample (of 100000) seed told-by=journal|times objects bytes files-read
 *                        files-cached (not read past the page cache) findings, how many of each
 *                        status (lib/report/manifest/entry.h); error: why it was cut short; while
 *                        it is running bytes-per-second objects-per-second remaining (s, -1: not
 *                        known).  `proof begin SAMPLE [SEED]`: the same, for the run that it has
 *                        begun or goes on with; `proof stop`.  `proof list START`: findings from
 *                        START on: [finding N] path (below the root) kind since (s) text remedy;
 *                        [list] next (-1: no more)
 *   source             asks the old server for the attributes of its root: whether it answers
 *   mend PATH          makes the object at PATH below the root the same as on the old server
 *                      (mend.h): [mend] text
 *   finalize [unwatched]  verify; refuses while anything is unfinished; keeps the report
 *                      elsewhere, removes .migrate/: [finalize] losses report names-skipped.
 *                      unwatched: the administrator says that no program of this machine moves
 *                      objects, where the kernel cannot report such moves
 *   finalizable [unwatched]  the same, but nothing is kept or removed
 *
 * All numbers are decimal, sizes in bytes.  state: unattached: no record at the root and no
 * .migrate/ of a volume; copying, copied: there is a copy, and a run of it is not or is through;
 * whole: every object is normal, .migrate/ is still there; finished: like unattached, but the root
 * is not empty (what finalize leaves).
 */
#ifndef RETRIEVER_SOCKET_CONTROL_H
#define RETRIEVER_SOCKET_CONTROL_H

struct retriever;

/* text may be NULL. */
typedef void (*control_answer_fn)(void *arg, int status, const char *text);

/* Runs a command; its answer comes now or later, once, on any thread.  Main thread. */
void control_command(struct retriever *retriever, const char *command, control_answer_fn answer,
		     void *arg);

#endif
