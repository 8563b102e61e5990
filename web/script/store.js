// What this browser remembers: settings, and conversations under one key each with a list of their titles.
const listKey = 'wick.conversations';
const settingsKey = 'wick.settings';
const keyOf = (id) => `wick.conversation.${id}`;

function read(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise; // written by hand, or by another version
  }
}

// False when the browser's storage is full.
function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export const settings = {
  temperature: '',
  top_p: '',
  top_k: '',
  min_p: '',
  repetition_penalty: '',
  max_tokens: '',
  seed: '',
  priority: '',
  system: '',
  model: '',
  probabilities: false,
  ...read(settingsKey, {}),
};

export function saveSettings() {
  write(settingsKey, settings);
}

export function listConversations() {
  const list = read(listKey, []);
  return Array.isArray(list) ? list : [];
}

export function newConversation() {
  return {id: crypto.getRandomValues(new Uint32Array(2)).join('-'), title: '', created: Date.now(), messages: []};
}

export function loadConversation(id) {
  const conversation = read(keyOf(id), null);
  return Array.isArray(conversation?.messages) ? conversation : null;
}

// Token probabilities are large and stay in memory. False when there was no room.
export function saveConversation(conversation) {
  const messages = conversation.messages.map(({tokens, reasoningTokens, ...message}) => message);
  const others = listConversations().filter(({id}) => id !== conversation.id);
  const entry = {id: conversation.id, title: conversation.title, updated: Date.now()};
  return write(keyOf(conversation.id), {...conversation, messages}) && write(listKey, [entry, ...others]);
}

export function removeConversation(id) {
  localStorage.removeItem(keyOf(id));
  write(
    listKey,
    listConversations().filter((entry) => entry.id !== id),
  );
}

export function titleOf(text) {
  const line = text.trim().split('\n', 1)[0];
  return line.length > 60 ? `${line.slice(0, 59).trimEnd()}…` : line;
}
