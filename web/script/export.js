import {el} from './dom.js';
import {settings} from './store.js';

// Hands the conversation to the browser as a file: messages, statistics and, while they are known, token probabilities.
export function exportConversation(conversation) {
  const {model, probabilities, ...parameters} = settings;
  const text = JSON.stringify({format: 'wick-conversation', version: 1, parameters, ...conversation}, null, 2);
  const address = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
  const name = (conversation.title || 'conversation')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40);
  el('a', {href: address, download: `${name || 'conversation'}.json`}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
