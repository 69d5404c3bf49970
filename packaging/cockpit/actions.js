/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be done with a volume.  Commands that take hours are units, which go on without this page. */
import { action, ask } from './dialogs.js';
import { setLimits } from './schedule.js';

const ctl = (...words) => ['migratectl', ...words];
const unit = (verb, name) => ['systemctl', '--no-block', verb, name];

/* { state: where it is offered }, of a volume's name. */
export const actions = [
    {
        label: 'Check', in: ['unattached', 'copying', 'copied'],
        open: name => action({
            title: `Check the old server of ${name}`,
            what: ['Looks through the whole tree of the old server, only reading: what can come and what cannot, ' +
                   'whether it fits, and how long it takes.',
                   'With millions of files it takes a while; if it is stopped, the next check goes on there. ' +
                   'What it finds is kept beside the report.'],
            verb: 'Check', command: () => ctl('--progress', 'check', name),
        }),
    },
    {
        label: 'Copy', in: ['unattached', 'copied'],
        open: name => action({
            title: `Copy ${name} beforehand`,
            what: ['Copies the tree of the old server, or brings the copy up to date, while clients go on using the old server.',
                   'It goes on in the background as a service, also when this page is closed.'],
            verb: 'Copy', command: () => unit('start', `migrate-copy@${name}.service`),
        }),
    },
    {
        label: 'Attach', in: ['unattached', 'copied'],
        open: name => action({
            title: `Attach ${name}`,
            what: ['Binds the root to the old server: from then on clients can be switched to this server, ' +
                   'and every file is brought when somebody uses it.',
                   'Before, make the old server\'s export read-only, so that nobody changes anything there any more.'],
            verb: 'Attach', command: () => ctl('attach', name),
        }),
    },
    {
        label: 'Bring everything', in: ['migrating'],
        open: name => action({
            title: `Bring everything of ${name}`,
            what: ['Starts the crawler, a service that brings what nobody has asked for yet. It yields to clients.'],
            verb: 'Start', command: () => unit('start', `migrate-crawler@${name}.service`),
        }),
    },
    {
        label: 'Verify', in: ['migrating', 'whole'],
        open: name => action({
            title: `Verify ${name}`,
            what: ['Walks the whole tree on this server and counts what is unfinished. It changes nothing.'],
            verb: 'Verify', command: () => ctl('verify', name),
        }),
    },
    {
        label: 'Compare contents', in: ['whole'],
        open: name => action({
            title: `Compare the contents of ${name}`,
            what: ['Reads both sides again and compares every byte, as a service that goes on when this page is closed.',
                   'The old server must still be there.'],
            verb: 'Compare', command: () => unit('start', `migrate-verify@${name}.service`),
        }),
    },
    {
        label: 'Report', in: ['migrating', 'whole', 'finished'],
        open: name => action({
            title: `Report of ${name}`,
            what: ['Lists what could not be carried over, and why. It changes nothing.'],
            verb: 'Show', command: () => ctl('report', name),
        }),
    },
    {
        label: 'Plan the way back', in: ['migrating', 'whole', 'finished'],
        open: name => action({
            title: `Plan the way back of ${name}`,
            what: ['Says what would be carried back to the old server, of what clients changed since the switch. ' +
                   'It carries nothing.'],
            verb: 'Plan', command: () => ctl('--plan', 'rollback', name),
        }),
    },
    {
        label: 'Finalize', in: ['whole'], danger: true,
        open: name => action({
            title: `Finalize ${name}`,
            what: ['Verifies that everything is here, and removes all that the migration keeps on the volume. ' +
                   'Then the old server is not needed any more.',
                   'If anything is unfinished it refuses, and nothing is changed.'],
            verb: 'Finalize', danger: true, command: () => ctl('finalize', name),
        }),
    },
    {
        label: 'Pause', in: ['copying', 'migrating'], when: volume => !volume.now.paused,
        open: name => action({
            title: `Pause ${name}`,
            what: ['Background work pauses until it is resumed. Clients are served as before.'],
            verb: 'Pause', command: () => ctl('pause', name),
        }),
    },
    {
        label: 'Resume', in: ['copying', 'migrating'], when: volume => volume.now.paused,
        open: name => action({
            title: `Resume ${name}`, what: ['Background work goes on.'],
            verb: 'Resume', command: () => ctl('resume', name),
        }),
    },
    {
        label: 'Throttle', in: ['copying', 'migrating'],
        open: name => action({
            title: `Throttle ${name}`,
            what: ['Limits what background work reads from the old server, until it is set to "default". ' +
                   'What clients wait for is not limited.'],
            fields: [{ name: 'bytes', label: 'Bytes a second', value: 'default',
                       help: 'For example 50M; 0 for no limit; default for what the configuration says' }],
            verb: 'Throttle', command: ({ bytes }) => ctl('throttle', name, bytes),
        }),
    },
    {
        label: 'Schedule', in: ['unattached', 'copying', 'copied', 'migrating'],
        open: (name, volume) => action({
            title: `Schedule of ${name}`,
            what: ['Limits by weekday and time: days, hours, then bytes and requests a second, or pause; the first that fits counts.',
                   'The line is written to the configuration, and the volume\'s retriever restarts, for which clients wait some seconds.'],
            fields: [{ name: 'limits', label: 'Limits', value: volume.limits ? volume.limits.rule : '',
                       help: 'For example: Mon-Fri 08:00-18:00 10M 200/s; Sat,Sun 00:00-24:00 0. Empty: none' }],
            verb: 'Save', command: ({ limits }) => setLimits(name, limits),
        }),
    },
];

export function retry(name, reason, done) {
    action({
        title: 'Try it again',
        what: [`Tries all objects of ${name} again that failed for this reason:`, reason],
        verb: 'Retry', command: () => ctl(`--reason=${reason}`, 'retry', name), done,
    });
}

export function skip(name, reason, done) {
    action({
        title: 'Skip it',
        what: [`Skips what of ${name} failed for this reason, and can never come:`, reason,
               'Names that cannot be made here, and what the old server refuses, stay behind there. The report has them, with your reason.'],
        fields: [{ name: 'because', label: 'Why', help: 'For the report, in one line' }],
        verb: 'Skip', danger: true, done,
        command: ({ because }) => {
            if (!because)
                throw new Error('Say why, for the report.');
            return ctl('--yes', `--reason=${reason}`, '--leave', `--because=${because}`, 'skip', name);
        },
    });
}

/* [{ reason, errno, count }] */
export async function reasons(name) {
    return JSON.parse(await ask(ctl('--summary', '--json', 'errors', name)));
}

/* The first paths that failed for this reason.  There may be a million: no more are asked for. */
export async function paths(name, reason, most) {
    const found = [];
    let rest = '';
    const run = ask(ctl('--json', `--reason=${reason}`, 'errors', name));

    run.stream(data => {
        const lines = (rest + data).split('\n');

        rest = lines.pop();
        found.push(...lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line.replace(/,$/, '')).path));
        if (found.length >= most)
            run.close('terminated');
    });
    try {
        await run;
    } catch (error) {
        if (found.length < most)
            throw error;
    }
    return found.slice(0, most);
}

/* By errno: what passes when this machine or the network is mended, and can never be skipped. */
const PASSES = { 5: '', 11: '', 12: '', 23: '', 24: '', 28: 'Make room on the new server, then retry.', 30: '', 112: '',
                 122: 'Raise the quota on the new server, then retry.', 125: '' };

export const canSkip = errno => !(errno in PASSES);
export const remedy = errno => PASSES[errno] || '';
