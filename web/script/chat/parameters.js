// The panel of request parameters. An empty field leaves the choice to the server.
import {el, iconButton} from '../dom.js';
import {settings, saveSettings} from '../store.js';
import {readTools} from './tool_call.js';

const fields = [
  ['temperature', 'Temperature', {min: 0, max: 5, step: 0.1}, '0 always takes the likeliest token'],
  ['top_p', 'Top-p', {min: 0, max: 1, step: 0.05}, 'likeliest tokens that make up this share'],
  ['top_k', 'Top-k', {min: 0, step: 1}, 'at most this many tokens to draw from'],
  ['min_p', 'Min-p', {min: 0, max: 1, step: 0.01}, 'at least this share of the likeliest'],
  ['repetition_penalty', 'Repetition penalty', {min: 0.1, max: 5, step: 0.05}, '1 changes nothing'],
  ['max_tokens', 'Max tokens', {min: 1, step: 1}, 'length of an answer'],
  ['seed', 'Seed', {step: 1}, 'the same seed gives the same answer'],
];

export class ParametersPanel {
  constructor(onClose) {
    this.rows = fields.map(([name, label, range, hint]) => this.numberRow(name, label, range, hint));
    this.system = el('textarea', {
      id: 'p-system',
      rows: '5',
      value: settings.system,
      placeholder: 'None',
      oninput: () => this.set('system', this.system.value),
    });
    this.trouble = el('p', {class: 'hint', id: 'p-tools-hint'});
    this.tools = el('textarea', {
      id: 'p-tools',
      rows: '3',
      value: settings.tools,
      spellcheck: 'false',
      'aria-describedby': 'p-tools-hint',
      placeholder: '[{"name": "weather", "parameters": {…}}]',
      oninput: () => this.setTools(),
    });
    this.tellTools('');
    this.priority = el(
      'select',
      {id: 'p-priority', onchange: () => this.set('priority', this.priority.value)},
      [
        ['', 'default'],
        ['low', 'low'],
        ['normal', 'normal'],
        ['high', 'high'],
        ['critical', 'critical'],
      ].map(([value, text]) => el('option', {value}, text)),
    );
    this.priority.value = settings.priority;
    this.element = el(
      'aside',
      {class: 'panel parameters', id: 'parameters', 'aria-labelledby': 'parameters-title', hidden: true},
      el(
        'div',
        {class: 'panel-head'},
        el('h2', {id: 'parameters-title'}, 'Parameters'),
        iconButton('close', 'Close the parameters', onClose),
      ),
      el('label', {for: 'p-system'}, 'System message'),
      this.system,
      el('label', {for: 'p-tools'}, 'Tools'),
      this.tools,
      this.trouble,
      el(
        'div',
        {class: 'rows'},
        this.rows,
        el('div', {class: 'row'}, el('label', {for: 'p-priority'}, 'Priority'), this.priority),
      ),
      el('button', {type: 'button', class: 'quiet', onclick: () => this.reset()}, 'Back to the server’s defaults'),
    );
  }

  numberRow(name, label, range, hint) {
    const input = el('input', {
      id: `p-${name}`,
      type: 'number',
      inputmode: 'decimal',
      placeholder: 'default',
      value: settings[name],
      'aria-describedby': `p-${name}-hint`,
      ...range,
      oninput: () => {
        const isValid = input.checkValidity();
        input.setAttribute('aria-invalid', String(!isValid));
        if (isValid) this.set(name, input.value);
      },
    });
    return el(
      'div',
      {class: 'row'},
      el('label', {for: input.id}, label),
      input,
      el('p', {class: 'hint', id: `p-${name}-hint`}, hint),
    );
  }

  // Tools that cannot be understood are told of and not kept.
  setTools() {
    let trouble = '';
    try {
      readTools(this.tools.value);
      this.set('tools', this.tools.value);
    } catch (error) {
      trouble = error.message;
    }
    this.tools.setAttribute('aria-invalid', String(Boolean(trouble)));
    this.tellTools(trouble);
  }

  tellTools(trouble) {
    this.trouble.textContent = trouble || 'JSON of the functions that the model may call; you say what they return';
  }

  set(name, value) {
    settings[name] = value;
    saveSettings();
  }

  reset() {
    for (const field of this.element.querySelectorAll('input, textarea, select')) {
      field.value = '';
      field.removeAttribute('aria-invalid');
      this.set(field.id.slice('p-'.length), '');
    }
    this.tellTools('');
  }
}
