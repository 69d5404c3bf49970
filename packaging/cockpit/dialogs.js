/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dialogs that say what a command will do, run it, and show what it says. */
/* global cockpit */
import { button, inert, make, pf, say } from './parts.js';

/* Runs argv with root's rights; never by a shell.  lines(text): what it prints, as it comes. */
export function run(argv, lines = () => {}) {
    return cockpit.spawn(argv, { superuser: 'require', err: 'out' }).stream(lines);
}

/* What needs no rights of root, where somebody has none. */
export function ask(argv) {
    return cockpit.spawn(argv, { superuser: 'try', err: 'message' });
}

function alert(text) {
    return make('div', { class: pf('alert', 'danger', 'inline'), role: 'alert' }, text);
}

/*
 * title: of the dialog; what: paragraphs that say what will be done; verb: of the button;
 * fields: [{ name, label, value, help }]; command(values): argv, or a promise of what is shown, or
 * throws what is wrong.  done(): after it went well.
 */
export function action({ title, what, verb, fields = [], command, done = () => {}, danger = false }) {
    const inputs = {};
    const output = make('pre', { 'aria-live': 'polite', 'aria-label': 'What the command says', hidden: true });
    const place = make('div');
    const start = button(verb, () => begin(), danger ? 'danger' : 'primary');
    const close = button('Cancel', () => dialog.close(), 'link');
    const dialog = make('dialog', { 'aria-labelledby': 'dialog-title', class: pf('modal-box', 'md') },
                        make('h1', { id: 'dialog-title', class: pf('title', 'xl') }, title),
                        ...what.map(text => make('p', {}, text)),
                        ...fields.map(field => {
                            const id = 'field-' + field.name;

                            inputs[field.name] = make('input', { type: 'text', id, value: field.value || '',
                                                                 class: pf('form-control'), 'aria-describedby': id + '-help' });
                            return make('div', {}, make('label', { for: id }, field.label), inputs[field.name],
                                        make('small', { id: id + '-help' }, field.help || ''));
                        }),
                        output, place, make('div', { class: 'bar' }, start, close));

    function failed(error) {
        place.replaceChildren(alert(error.message || error.problem || String(error)));
        start.disabled = false;
    }

    async function begin() {
        start.disabled = true;
        place.replaceChildren();
        output.textContent = '';
        try {
            const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]));
            const argv = await command(values);

            if (Array.isArray(argv)) {
                output.hidden = false;
                await run(argv, text => { output.append(inert(text)) });
            }
            say(`${title}: done`);
            done();
            start.remove();
            close.firstChild.textContent = 'Close';
            close.focus();
            if (output.hidden)
                dialog.close();
        } catch (error) {
            failed(error);
        }
    }

    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    (inputs[fields.length && fields[0].name] || start).focus();
}
