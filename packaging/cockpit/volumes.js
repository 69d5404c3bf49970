/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the volumes' retrievers say: one long run of `migratectl --watch --json status`, which prints
 * all of them once a second on a line.  Members of quickmigrate-monitor may do that, too.  What that
 * does not have (guard, journal, doors, room) is asked of one volume at a time.
 */
/* global cockpit */
import { ask } from './dialogs.js';
import { bytes, count, span } from './parts.js';

const QUIET = ['unattached', 'whole', 'finished', 'copied'];     // nothing moves
const ASK_AGAIN_MS = 10000;
const more = new Map();                                          // by name: { at, guard, journal, doors, room }

/* Calls take(volumes) for each line, failed(message) when it ends; it is started again then. */
export function watch(take, failed) {
    let rest = '';
    const run = cockpit.spawn(['migratectl', '--watch', '--json', 'status'],
                              { superuser: 'try', err: 'message' });

    run.stream(data => {
        const lines = (rest + data).split('\n');

        rest = lines.pop();
        const last = lines.filter(line => line.startsWith('[')).pop();
        if (last)
            take(JSON.parse(last).map(volume => ({ ...more.get(volume.volume.name), ...volume })));
    });
    run.catch(error => failed(error.message || error.problem || 'it ended'))
            .finally(() => setTimeout(() => watch(take, failed), 5000));
}

async function room(root) {
    try {
        const [avail, size] = (await ask(['df', '--block-size=1', '--output=avail,size', '--', root]))
                .trim().split('\n').pop().trim().split(/\s+/).map(Number);

        return { avail, size };
    } catch {
        return null;
    }
}

/* The one that was asked longest ago, if that is long; the one that is shown alone comes first. */
export async function askMore(volumes, shown) {
    const at = volume => more.has(volume.volume.name) ? more.get(volume.volume.name).at : 0;
    const [next] = volumes.filter(answers).sort((a, b) => (b.volume.name === shown) - (a.volume.name === shown) || at(a) - at(b))
            .filter(volume => Date.now() - at(volume) > ASK_AGAIN_MS);

    if (!next)
        return;
    const { name, root } = next.volume;
    more.set(name, { ...more.get(name), at: Date.now() });
    try {
        const { guard, journal, doors } = JSON.parse(await ask(['migratectl', '--json', 'status', name]));

        more.set(name, { at: Date.now(), guard, journal: journal || {}, doors, room: await room(root) });
    } catch {
        more.set(name, { at: Date.now() });     // without rights, or it has just ended
    }
}

export function state(volume) {
    return volume.volume.state;
}

export function answers(volume) {
    return !!volume.counters;
}

function moves(volume) {
    return ['copying', 'migrating'].includes(state(volume));
}

/* ---- what needs somebody, and what is next ---- */

/* Doors that serve the root without the layer. */
function unlayered({ doors }) {
    return (doors && doors.without_layer) || '';
}

/* What somebody has to see to, the gravest first. */
export function needs(volume) {
    if (!answers(volume))
        return [volume.volume.note || (state(volume).startsWith('no ') ? `There is ${state(volume)}` : state(volume))];
    const { counters, now, guard, journal, room } = volume;
    const missing = counters.bytes_found - counters.bytes_whole, found = [];

    if (unlayered(volume))
        found.push(`Served without the layer by ${unlayered(volume)}: stop it, or put the layer into its configuration`);
    if (volume.volume.root_replaced)
        found.push('Another directory is at the root than the retriever has open: restart it');
    if (now.source_away_seconds > 0)
        found.push(`The old server is away, for ${span(now.source_away_seconds)}`);
    if (counters.errors > 0)
        found.push(`${count(counters.errors, 'object')} failed`);
    if (room && moves(volume) && missing > room.avail)
        found.push(`${bytes(missing)} are to come, and ${bytes(room.avail)} are free`);
    if (state(volume) === 'migrating' && guard && guard.wanted && !guard.guarded)
        found.push('The guard is not running: programs of this machine may read zeros');
    if (guard && guard.exported)
        found.push(`The kernel's NFS server exports ${guard.exported} for writing: export it "ro"`);
    if (journal && journal.complete === false && !journal.closed && !journal.scanning)
        found.push(`The journal may lack what clients change: ${journal.full ? 'no room' : journal.running ? journal.last_gap : 'it is not running'}`);
    return found;
}

/* The lower, the earlier it is shown. */
export function rank(volume) {
    if (!answers(volume))
        return 0;
    if (needs(volume).length)
        return unlayered(volume) ? 0 : volume.now.source_away_seconds ? 1 : volume.counters.errors ? 2 : 3;
    if (moves(volume))
        return volume.now.paused ? 4 : 5;
    return ['unattached', 'copied'].includes(state(volume)) ? 6 : 7;
}

/* How its card is marked. */
export function mark(volume) {
    return needs(volume).length ? 'help' : moves(volume) ? 'moving' : rank(volume) === 7 ? 'whole' : '';
}

/* In one sentence. */
export function next(volume) {
    if (!answers(volume))
        return `See journalctl -u migrate-retriever@${volume.volume.name}`;
    switch (state(volume)) {
    case 'unattached':
        return 'Check the old server, make it read-only, attach, then switch the clients';
    case 'copying':
        return volume.now.paused ? 'Resume the copy' : 'Nothing: the copy is being made';
    case 'copied':
        return 'Copy again until little is new, make the old server read-only, attach';
    case 'migrating':
        if (volume.now.paused)
            return 'Resume background work';
        if (volume.counters.errors)
            return 'See what failed; then retry, or skip it';
        return volume.now.crawlers ? 'Nothing: everything is being brought' : 'Switch the clients, and bring everything';
    case 'whole':
        return 'Compare contents, then finalize';
    case 'finished':
        return 'Take the layer out of ganesha.conf and smb.conf';
    default:
        return '';
    }
}

/* ---- in numbers ---- */

/* { part: 0 to 100, or null where the total may still grow; text }, or null: nothing is known yet.  By one measure, that of
 * bytes, or where there are none of files. */
export function measure(volume) {
    if (!answers(volume) || ['unattached', 'finished'].includes(state(volume)))
        return null;
    const { bytes_found: bytesFound, bytes_whole: bytesWhole, files_found: filesFound, files_whole: filesWhole } = volume.counters;
    const say = bytesFound ? bytes : n => count(n, 'file');
    const [found, whole] = bytesFound ? [bytesFound, bytesWhole] : [filesFound, filesWhole];
    const left = filesWhole < filesFound && state(volume) !== 'whole';
    const part = found ? Math.min(Math.floor(1000 * whole / found) / 10, left ? 99.9 : 100) : 100;

    if (!volume.namespace.complete && !found)
        return null;
    if (!volume.namespace.complete)
        return { part: null, text: `${say(whole)} of at least ${say(found)}` };
    return { part, text: `${part} % of ${say(found)}` };
}

export function rateText(volume) {
    if (!answers(volume) || QUIET.includes(state(volume)) || volume.now.paused || !volume.now.bytes_per_second)
        return '';
    return `${bytes(volume.now.bytes_per_second)}/s`;
}

export function remainingText(volume, range = true) {
    if (!answers(volume) || QUIET.includes(state(volume)))
        return '';
    if (volume.now.paused)
        return 'paused';
    const { seconds, low, high, unknown } = volume.rest;

    if (seconds === undefined)
        return range ? `cannot be told yet: ${unknown}` : '';
    return `about ${span(seconds)}` + (range ? ` (${span(low)} to ${span(high)})` : '');
}

export function limitsText(volume) {
    const { bandwidth, requests, throttled, paused } = volume.now;
    const limits = [];

    if (bandwidth)
        limits.push(`${bytes(bandwidth)}/s${throttled ? ' (by throttle)' : ''}`);
    if (requests)
        limits.push(`${requests} requests/s`);
    return (paused ? 'paused; ' : '') + (limits.length ? limits.join(' and ') + ' at most' : 'none');
}

export function calendarText(volume) {
    if (!volume.limits)
        return 'none';
    const { rule, until } = volume.limits;

    return (rule || 'no rule for now') + (until ? `, until ${new Date(until * 1000).toLocaleString()}` : '');
}

export function roomText({ room }) {
    return room ? `${bytes(room.avail)} of ${bytes(room.size)}` : '';
}

export function guardText({ guard }) {
    if (!guard)
        return '';
    if (!guard.wanted)
        return 'none: programs of this machine read zeros where data is missing';
    return guard.guarded ? 'on' : 'not running';
}

export function journalText({ journal }) {
    if (!journal)
        return '';
    if (journal.closed)
        return 'closed: there is no way back';
    if (journal.complete === undefined)
        return 'none: there is no way back';
    const since = new Date(journal.since * 1000).toLocaleString();

    return journal.complete ? `complete since ${since}, ${count(journal.changed_objects, 'object')} changed`
                            : `from ${since}; changes may be missing${journal.scanning ? ', it looks for them' : ''}`;
}

export function doorsText({ doors }) {
    return doors && doors.serving !== undefined ? doors.serving || 'none is connected' : '';
}
