// A tool that the model calls, and what it is told that the tool said.
import {el, icon} from '../dom.js';

// JSON that is whole is shown by its parts.
function laidOut(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// give(text): the tool's result, or null where it has been given.
export function toolCallView({name, arguments: text}, give) {
  const call = el(
    'div',
    {class: 'call'},
    el('p', {}, 'Calls ', el('code', {}, name)),
    el('pre', {tabindex: '0', 'aria-label': `Arguments of ${name}`}, laidOut(text)),
  );
  if (give) call.append(resultForm(name, give));
  return call;
}

function resultForm(name, give) {
  const field = el('textarea', {rows: '2', 'aria-label': `Result of ${name}`, placeholder: `What ${name} returns`});
  return el(
    'form',
    {
      class: 'result-form',
      onsubmit: (event) => {
        event.preventDefault();
        give(field.value);
      },
    },
    field,
    el('button', {class: 'quiet'}, 'Give the result'),
  );
}

// A message {role: 'tool', name, content}.
export class ToolResultView {
  constructor({name, content}) {
    this.element = el(
      'article',
      {class: 'tool-result', 'aria-label': 'Result of a tool'},
      el('p', {class: 'hint'}, icon('right'), `${name} returned`),
      el('pre', {tabindex: '0'}, content),
    );
  }
}

// The tools of the settings as requests carry them: undefined where there are none. Throws an Error in one sentence.
export function readTools(text) {
  if (!text.trim()) return undefined;
  let tools;
  try {
    tools = JSON.parse(text);
  } catch {
    throw new Error('The tools are not JSON.');
  }
  if (!Array.isArray(tools)) throw new Error('The tools are not a list.');
  const wrapped = tools.map((tool) => (tool?.function ? tool : {type: 'function', function: tool}));
  if (wrapped.some(({function: called}) => typeof called?.name !== 'string'))
    throw new Error('A tool has no name.');
  return wrapped.length ? wrapped : undefined;
}
