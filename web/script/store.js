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
  theme: 'auto',
  tools: '',
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

// Other versions of a message hold what followed it.
const kept = ({tokens, reasoningTokens, versions, ...message}) => ({
  ...message,
  ...(versions ? {versions: versions.map((tail) => tail?.map(kept) ?? null)} : {}),
});

// Token probabilities are large and stay in memory. False when there was no room.
export function saveConversation(conversation) {
  const messages = conversation.messages.map(kept);
  const others = listConversations().filter(({id}) => id !== conversation.id);
  const entry = {id: conversation.id, title: conversation.title, updated: Date.now()};
  return write(keyOf(conversation.id), {...conversation, messages}) && write(listKey, [entry, ...others]);
}

// What restoreConversation() needs to take it back.
export function removeConversation(id) {
  const list = listConversations();
  const removed = {conversation: loadConversation(id), index: list.findIndex((entry) => entry.id === id)};
  removed.entry = list[removed.index];
  localStorage.removeItem(keyOf(id));
  write(
    listKey,
    list.filter((entry) => entry.id !== id),
  );
  return removed;
}

// False when there was no room.
export function restoreConversation({conversation, entry, index}) {
  return write(keyOf(entry.id), conversation) && write(listKey, listConversations().toSpliced(index, 0, entry));
}

export function renameConversation(id, title) {
  const conversation = loadConversation(id);
  if (!conversation) return false;
  const list = listConversations().map((entry) => (entry.id === id ? {...entry, title} : entry));
  return write(keyOf(id), {...conversation, title}) && write(listKey, list);
}

// Those whose title or messages have all the words.
export function findConversations(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return listConversations();
  return listConversations().filter(({id, title}) => {
    const said = (loadConversation(id)?.messages ?? []).map(({content}) => content ?? '');
    const whole = [title, ...said].join('\n').toLowerCase();
    return words.every((word) => whole.includes(word));
  });
}

export function titleOf(text) {
  const line = text.trim().split('\n', 1)[0];
  return line.length > 60 ? `${line.slice(0, 59).trimEnd()}…` : line;
}
