// The field a message is written in: Enter sends, Shift+Enter begins a line, and it grows with its text.
import {el, icon} from '../dom.js';

export class Composer {
  constructor({send, stop, recall}) {
    this.send = send;
    this.stop = stop;
    this.recall = recall;
    this.text = el('textarea', {
      id: 'message',
      rows: '1',
      placeholder: 'Ask something',
      'aria-label': 'Message',
      enterkeyhint: 'send',
      oninput: () => this.changed(),
      onkeydown: (event) => this.press(event),
    });
    this.button = el('button', {class: 'send', title: 'Send', 'aria-label': 'Send', disabled: true}, icon('send'));
    this.above = el('div', {class: 'above'});
    this.tools = el('div', {class: 'tools'});
    this.element = el(
      'form',
      {
        class: 'composer',
        onsubmit: (event) => {
          event.preventDefault();
          this.submit();
        },
      },
      this.above,
      this.text,
      el('div', {class: 'bar'}, this.tools, this.button),
    );
    this.setRunning(false);
  }

  press(event) {
    if (event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      if (!this.isRunning) this.submit();
    } else if (event.key === 'ArrowUp' && this.text.value === '') {
      if (this.recall()) event.preventDefault();
    }
  }

  submit() {
    if (this.isRunning) return this.stop();
    if (!this.hasSomething) return;
    const text = this.text.value.trim();
    this.write('');
    this.send(text);
  }

  write(text) {
    this.text.value = text;
    this.changed();
  }

  // Files may be sent without a text.
  get hasSomething() {
    return Boolean(this.text.value.trim() || this.attachments?.files.length);
  }

  changed() {
    fitHeight(this.text);
    this.button.disabled = !this.isRunning && !this.hasSomething;
  }

  setRunning(isRunning) {
    this.isRunning = isRunning;
    const label = isRunning ? 'Stop' : 'Send';
    this.button.replaceChildren(icon(isRunning ? 'stop' : 'send'));
    this.button.title = isRunning ? 'Stop (Escape)' : label;
    this.button.setAttribute('aria-label', label);
    this.changed();
  }
}

export function fitHeight(area) {
  if (!area.isConnected) return;
  area.style.height = 'auto';
  area.style.height = `${area.scrollHeight + 2}px`;
}
