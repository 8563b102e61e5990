// Versions of a message: to ask or answer again keeps what was there. The first message of a tail holds all `versions`, of
// which the one that is open is null, and says which it is: {versions: [[message, ...], null], version: 1}.
import {el, iconButton} from '../dom.js';

// Takes the messages from index on away, to be found again; returns what the message in their place begins with.
export function setAside(messages, index) {
  const [first] = messages.slice(index, index + 1);
  const {versions = [null], version = 0} = first;
  const aside = versions.slice();
  delete first.versions;
  delete first.version;
  aside[version] = messages.splice(index);
  return {versions: [...aside, null], version: aside.length};
}

// Puts a version and what followed it in the place of the open one.
export function turnTo(messages, index, wanted) {
  const {versions} = setAside(messages, index);
  versions.pop();
  const tail = versions[wanted];
  versions[wanted] = null;
  Object.assign(tail[0], {versions, version: wanted});
  messages.push(...tail);
}

// "‹ 2 / 3 ›", or nothing.
export function versionPager({versions, version}, turn) {
  if (!versions) return null;
  const arrow = (icon, label, to) =>
    iconButton(icon, label, () => turn(to), {class: 'icon-button turn', disabled: !(to in versions)});
  return el(
    'span',
    {class: 'versions', role: 'group', 'aria-label': 'Versions'},
    arrow('left', 'Earlier version', version - 1),
    el('span', {}, `${version + 1} / ${versions.length}`),
    arrow('right', 'Later version', version + 1),
  );
}
