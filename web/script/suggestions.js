// What the empty pages offer to begin with: things that the model at hand can do. Ember, the small model inside the
// program, tells stories, adds, knows capitals and remembers; it does not explain the world.
import {el} from './dom.js';

const insideChat = [
  {
    prompt: 'What is the capital of France?',
    other: 'What is the capital of Spain?',
    prefix: 'The capital is',
    follow: 'Paris, Madrid',
  },
  {prompt: 'What is 2 plus 3?', other: 'What is 2 plus 6?', prefix: '2 +'},
  {prompt: 'Who are you?'},
];
const insideBase = [
  {prompt: 'The capital of France is', other: 'The capital of Spain is', follow: 'Paris, Madrid'},
  {prompt: 'The red fox ran to the river. The red fox'},
];
const chat = {
  ember: ['Who are you?', 'What is 348 plus 275?', 'What is the capital of France?', 'Tell me a story.'],
  others: ['Who are you?', 'Why is the sky blue?', 'Write a haiku about a candle.'],
};

export function chatSuggestions(model) {
  return chat[model === 'ember' ? 'ember' : 'others'];
}

// Prompts to look into, with their other fields.
export function insideSuggestions(isChat) {
  return isChat ? insideChat : insideBase;
}

// A row of buttons; take(suggestion) when one is chosen.
export function suggestionList(suggestions, take, nameOf = (text) => text) {
  return el(
    'ul',
    {class: 'suggestions'},
    suggestions.map((suggestion) =>
      el(
        'li',
        {},
        el('button', {type: 'button', class: 'suggestion', onclick: () => take(suggestion)}, nameOf(suggestion)),
      ),
    ),
  );
}
