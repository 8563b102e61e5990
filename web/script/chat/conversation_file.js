// A conversation as a file: written, and read again with nothing taken on trust.
import {el} from '../dom.js';
import {newConversation, settings, titleOf} from '../store.js';

const format = 'wick-conversation';
const most = 8 << 20; // bytes
const deepest = 40; // versions within versions

// Hands the conversation to the browser as a file: messages, statistics and, while they are known, token probabilities.
export function exportConversation(conversation) {
  const {model, probabilities, theme, ...parameters} = settings;
  const text = JSON.stringify({format, version: 1, parameters, ...conversation}, null, 2);
  const address = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
  const name = (conversation.title || 'conversation')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40);
  el('a', {href: address, download: `${name || 'conversation'}.json`}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const text = (value) => (typeof value === 'string' ? value : '');
const number = (value) => (Number.isFinite(value) ? value : undefined);
const list = (value) => (Array.isArray(value) ? value : []);

function readCall(call) {
  return {id: text(call?.id), name: text(call?.name), arguments: text(call?.arguments)};
}

function readStats(stats) {
  const names = ['tokens', 'tokensPerSecond', 'prefillTokens', 'prefillPerSecond', 'firstTokenSeconds'];
  names.push('thinkingSeconds', 'promptTokens', 'cachedTokens');
  return Object.fromEntries(names.map((name) => [name, number(stats?.[name])]));
}

function readMessage(message, depth) {
  const {role} = message ?? {};
  if (!['user', 'assistant', 'tool'].includes(role) || typeof message.content !== 'string')
    throw new Error('The file has a message that is neither a question nor an answer.');
  const read = {role, content: message.content};
  if (role === 'user') {
    read.files = list(message.files).map((file) => ({name: text(file?.name), text: text(file?.text)}));
  } else if (role === 'tool') {
    read.id = text(message.id);
    read.name = text(message.name);
  } else {
    read.model = text(message.model);
    read.reasoning = text(message.reasoning);
    read.calls = list(message.calls).map(readCall);
    read.finish = text(message.finish);
    read.error = text(message.error);
    read.stats = readStats(message.stats);
  }
  const versions = list(message.versions);
  const isOpen = versions[message.version] === null && versions.filter((tail) => tail === null).length === 1;
  if (depth < deepest && isOpen && versions.every((tail) => tail === null || tail?.length)) {
    read.versions = versions.map((tail) => tail && list(tail).map((one) => readMessage(one, depth + 1)));
    read.version = message.version;
  }
  return read;
}

// A new conversation. Throws an Error whose message is one sentence.
export async function importConversation(file) {
  if (file.size > most) throw new Error(`${file.name} has more than ${most >> 20} MiB.`);
  let read;
  try {
    read = JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} is not JSON.`);
  }
  if (read?.format !== format || read.version !== 1 || !Array.isArray(read.messages))
    throw new Error(`${file.name} is no conversation that this page has exported.`);
  const messages = read.messages.map((message) => readMessage(message, 0));
  const title = text(read.title).slice(0, 200) || titleOf(messages[0]?.content ?? '') || 'Imported';
  return {...newConversation(), title, messages};
}
