/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calendar of limits is a line of the configuration. */
/* global cockpit */
import { ask } from './dialogs.js';

const CONFIG = '/etc/quickmigrate/quickmigrate.conf';
const TRIED = '/run/quickmigrate/tried.conf';

/* The configuration with that line in the group of the volume, or without one. */
export function withLimits(text, name, limits) {
    const lines = text.split('\n');
    const begin = lines.findIndex(line => line.replace(/^\s*\[\s*volume\s+(.*?)\s*\]\s*$/, '$1') === name && line.trim().startsWith('['));

    if (begin < 0)
        throw new Error(`${CONFIG} has no group [volume ${name}]`);
    const next = lines.findIndex((line, n) => n > begin && line.trim().startsWith('['));
    const end = next < 0 ? lines.length : next;
    const kept = lines.slice(begin + 1, end).filter(line => !/^\s*limits\s*=/.test(line));

    return [...lines.slice(0, begin + 1), ...(limits ? [`limits = ${limits}`] : []), ...kept, ...lines.slice(end)].join('\n');
}

/* A wrong line is refused before anything is changed. */
export async function setLimits(name, limits) {
    if (/[\n\r]/.test(limits))
        throw new Error('Write it in one line.');
    const file = cockpit.file(CONFIG, { superuser: 'require' });
    const tried = cockpit.file(TRIED, { superuser: 'require' });

    try {
        const [text, tag] = await new Promise((resolve, reject) => file.read().then((...found) => resolve(found), reject));

        if (text === null)
            throw new Error(`${CONFIG} is not there`);
        const changed = withLimits(text, name, limits);

        await tried.replace(changed);
        await ask(['migratectl', `--config=${TRIED}`, 'cutover', name]);
        await file.replace(changed, tag);       // not over what somebody else has written meanwhile
    } finally {
        await tried.replace(null);
        file.close();
        tried.close();
    }
    return ['systemctl', 'restart', `migrate-retriever@${name}.service`];
}
