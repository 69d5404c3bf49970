/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the volumes' retrievers say: one long run of `migratectl --watch --json status`, which
 * prints all of them once a second on a line.  Members of quickmigrate-monitor may do that, too. */
/* global cockpit */
import { bytes, span } from './parts.js';

const QUIET = ['unattached', 'whole', 'finished', 'copied'];     // nothing moves

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
            take(JSON.parse(last));
    });
    run.catch(error => failed(error.message || error.problem || 'it ended'))
            .finally(() => setTimeout(() => watch(take, failed), 5000));
}

export function state(volume) {
    return volume.volume.state;
}

export function answers(volume) {
    return !!volume.counters;
}

/* Whether somebody has to do something. */
export function needsHelp(volume) {
    return !answers(volume) || volume.counters.errors > 0 || volume.now.source_away_seconds > 0;
}

/* 0 to 100, or null: the total may still grow. */
export function portion(volume) {
    if (!answers(volume) || !volume.namespace.complete)
        return null;
    const { bytes_found: found, bytes_whole: whole } = volume.counters;

    return found ? Math.floor(1000 * whole / found) / 10 : 100;
}

export function progressText(volume) {
    if (!answers(volume))
        return volume.volume.note || 'its retriever is not running';
    if (state(volume) === 'unattached')
        return '';
    const { files_found: found, files_whole: whole } = volume.counters;
    const part = portion(volume);

    return part === null ? `${whole} of at least ${found} files` : `${part} %, ${whole} of ${found} files`;
}

export function rateText(volume) {
    if (!answers(volume) || QUIET.includes(state(volume)))
        return '';
    return `${volume.now.files_per_second} files/s, ${bytes(volume.now.bytes_per_second)}/s`;
}

export function remainingText(volume) {
    if (!answers(volume) || QUIET.includes(state(volume)))
        return '';
    if (volume.now.paused)
        return 'paused';
    const { seconds, low, high, unknown } = volume.rest;

    if (seconds === undefined)
        return `cannot be told yet: ${unknown}`;
    return `about ${span(seconds)} (${span(low)} to ${span(high)})`;
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
