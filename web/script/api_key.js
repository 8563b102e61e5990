// The API key: asked for when the server answers 401, kept for this tab or, if wanted, on this device.
import {el} from './dom.js';

const name = 'wick.key';
let asking = null;
let gaveUp = false; // from then on only a message asks again

export function apiKey() {
  return sessionStorage.getItem(name) ?? localStorage.getItem(name);
}

function keep(key, onDevice) {
  sessionStorage.setItem(name, key);
  if (onDevice) localStorage.setItem(name, key);
  else localStorage.removeItem(name);
}

// True once there is another key than the refused one; false when the person gives up. Requests that fail together ask
// once.
export function askForKey(refused, reason, {isBackground}) {
  if (apiKey() !== refused) return Promise.resolve(true);
  if (gaveUp && isBackground) return Promise.resolve(false);
  asking ??= showDialog(refused, reason).finally(() => {
    asking = null;
  });
  return asking;
}

function showDialog(refused, reason) {
  return new Promise((resolve) => {
    const field = el('input', {
      id: 'key',
      type: 'password',
      autocomplete: 'off',
      spellcheck: 'false',
      required: true,
      'aria-describedby': 'key-reason',
    });
    const onDevice = el('input', {type: 'checkbox', id: 'key-keep'});
    let given = false;
    const dialog = el(
      'dialog',
      {
        class: 'key-dialog',
        'aria-labelledby': 'key-title',
        onclose: () => {
          dialog.remove();
          gaveUp = !given;
          resolve(given);
        },
      },
      el(
        'form',
        {
          onsubmit: (event) => {
            event.preventDefault();
            keep(field.value.trim(), onDevice.checked);
            given = true;
            dialog.close();
          },
        },
        el('h2', {id: 'key-title'}, refused ? 'The key was not accepted' : 'This server asks for a key'),
        el('p', {id: 'key-reason'}, reason),
        el('label', {for: 'key'}, 'API key'),
        field,
        el('label', {class: 'check'}, onDevice, 'Keep it on this device'),
        el(
          'div',
          {class: 'buttons'},
          el('button', {type: 'button', class: 'quiet', onclick: () => dialog.close()}, 'Cancel'),
          el('button', {class: 'primary'}, 'Use this key'),
        ),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  });
}
