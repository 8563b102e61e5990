// One message of the person, and its editor.
import {el, copyButton, iconButton} from '../dom.js';
import {sizeOf} from './attachments.js';
import {fitHeight} from './composer.js';
import {versionPager} from './versions.js';

export class QuestionView {
  // message: {content, files, versions, version}
  constructor(message, {onResend, onTurn}) {
    Object.assign(this, {message, onResend, onTurn});
    this.element = el('article', {class: 'question', 'aria-label': 'Question'});
    this.show();
  }

  show() {
    this.editButton = iconButton('edit', 'Edit and send again', () => this.edit());
    const parts = [
      el('p', {class: 'said', hidden: !this.message.content}, this.message.content),
      ...(this.message.files ?? []).map(({name, text}) =>
        el(
          'details',
          {class: 'file'},
          el('summary', {}, `${name}, ${sizeOf(text)}`),
          el('pre', {tabindex: '0'}, text),
        ),
      ),
      el(
        'div',
        {class: 'actions'},
        this.editButton,
        copyButton(() => this.message.content, 'Copy the question'),
        versionPager(this.message, this.onTurn),
      ),
    ];
    this.element.replaceChildren(...parts);
  }

  edit() {
    const area = el('textarea', {
      'aria-label': 'Edit the question',
      value: this.message.content,
      oninput: () => fitHeight(area),
      onkeydown: (event) => {
        if (event.isComposing) return;
        if (event.key === 'Escape') {
          event.stopPropagation();
          this.leave();
        } else if (event.key === 'Enter' && !event.shiftKey) {
          event.preventDefault();
          send();
        }
      },
    });
    const send = () => (area.value.trim() || this.message.files?.length) && this.onResend(area.value.trim());
    this.element.replaceChildren(
      el(
        'form',
        {
          class: 'editor',
          onsubmit: (event) => {
            event.preventDefault();
            send();
          },
        },
        area,
        el(
          'div',
          {class: 'buttons'},
          el('button', {type: 'button', class: 'quiet', onclick: () => this.leave()}, 'Cancel'),
          el('button', {class: 'primary'}, 'Send again'),
        ),
      ),
    );
    fitHeight(area);
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }

  leave() {
    this.show();
    this.editButton.focus();
  }
}
