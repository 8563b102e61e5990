// What is looked into: a prompt, a second one to compare with, what the answer begins with, and tokens to follow.
import {copyButton, el} from '../dom.js';
import {tokenize} from '../api.js';
import {insideSuggestions, suggestionList} from '../suggestions.js';

const names = ['prompt', 'other', 'prefix', 'follow'];
const mostFollowed = 16;

export class InsideForm {
  // start(): somebody wants to look; stop().
  constructor({start, stop}) {
    this.start = start;
    this.look = el('button', {type: 'submit', class: 'primary'}, 'Look inside');
    this.stop = el('button', {type: 'button', class: 'quiet stop', hidden: true, onclick: stop}, 'Stop');
    this.asChat = el('input', {
      type: 'checkbox',
      id: 'inside-chat',
      disabled: true, // until it is known whether the model has a template
      onchange: () => {
        this.isChosen = true;
        this.setChat(this.asChat.checked);
      },
    });
    this.link = copyButton(() => location.href, 'Copy a link to this');
    this.link.hidden = true;
    this.offers = el('div', {class: 'offers', hidden: true}); // until it is known what the model takes
    this.hasLooked = false;
    this.element = this.build();
    this.fields = Object.fromEntries(names.map((name) => [name, this.element.querySelector(`#inside-${name}`)]));
    this.setChat(false);
  }

  build() {
    const field = (id, label, kind, attributes = {}) =>
      el(
        'label',
        {class: 'field', for: id},
        label,
        el(kind, {id, maxlength: '20000', spellcheck: 'false', autocomplete: 'off', ...attributes}),
      );
    const form = el(
      'form',
      {
        class: 'inside-form',
        onsubmit: (event) => {
          event.preventDefault();
          this.start();
        },
      },
      field('inside-prompt', 'Prompt', 'textarea', {rows: '2'}),
      field('inside-other', 'Second prompt, for patching', 'textarea', {rows: '2'}),
      field('inside-prefix', 'Prefix: what the answer begins with', 'input'),
      field('inside-follow', 'Follow: words whose probability each layer tells', 'input', {placeholder: 'Paris, Madrid'}),
      el(
        'div',
        {class: 'inside-bar'},
        this.look,
        this.stop,
        el('label', {class: 'check', for: 'inside-chat'}, this.asChat, ' through the chat template'),
        this.link,
      ),
      this.offers,
    );
    form.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.target.tagName !== 'TEXTAREA') return;
      event.preventDefault();
      form.requestSubmit();
    });
    return form;
  }

  // The model takes part in chats: its prompts are questions unless somebody chose otherwise.
  offerChat(isChatModel) {
    this.asChat.disabled = !isChatModel;
    if (!isChatModel || !this.isChosen) this.setChat(isChatModel);
    this.offers.hidden = this.hasLooked;
  }

  setChat(isChat) {
    this.asChat.checked = isChat;
    const examples = insideSuggestions(isChat);
    const {prompt, other, prefix} = examples[0];
    this.fields.prompt.placeholder = prompt;
    this.fields.other.placeholder = other;
    this.fields.prefix.placeholder = prefix || 'Nothing';
    const take = (example) => {
      this.fill(example);
      this.start();
    };
    this.offers.replaceChildren(suggestionList(examples, take, ({prompt: text}) => text));
  }

  fill(values) {
    for (const name of names) this.fields[name].value = values[name] ?? '';
  }

  setRunning(isRunning) {
    this.stop.hidden = !isRunning;
    this.hasLooked = this.offers.hidden = true;
  }

  // What a link carries.
  get state() {
    const state = new URLSearchParams();
    for (const name of names) if (this.fields[name].value) state.set(name, this.fields[name].value);
    state.set('chat', this.asChat.checked ? '1' : '0');
    return state;
  }

  set state(state) {
    this.fill(Object.fromEntries(names.map((name) => [name, (state.get(name) ?? '').slice(0, 20000)])));
    if (!state.has('chat')) return;
    this.isChosen = true;
    this.setChat(state.get('chat') === '1');
  }

  // The texts as requests carry them, and the tokens to follow: {text, other, follow}. text is null where there is none.
  async read(model, signal) {
    const text = await this.textOf(this.fields.prompt, model, signal);
    const other = text && (await this.textOf(this.fields.other, model, signal));
    const words = this.fields.follow.value.split(',').map((word) => word.trim());
    const follow = [];
    for (const word of words.filter(Boolean).slice(0, mostFollowed)) {
      // As it stands in a text: behind a blank.
      const [first] = await tokenize({model, content: ` ${word}`, add_special: false}, signal);
      if (!follow.includes(first)) follow.push(first);
    }
    return {text, other, follow};
  }

  async textOf({value}, model, signal) {
    if (!value) return null;
    const prefix = this.fields.prefix.value;
    if (!this.asChat.checked) return {prompt: value + prefix};
    const messages = [{role: 'user', content: value}];
    if (!prefix) return {messages};
    const parts = [{messages}, {content: prefix, add_special: false}];
    const tokens = await Promise.all(parts.map((part) => tokenize({model, ...part}, signal)));
    return {tokens: tokens.flat()};
  }
}
