// One message of the person, and its editor.
import {el, copyButton, iconButton} from './dom.js';
import {fitHeight} from './composer.js';

export class QuestionView {
  constructor(message, onResend) {
    this.message = message;
    this.onResend = onResend;
    this.element = el('article', {class: 'question', 'aria-label': 'Question'});
    this.show();
  }

  show() {
    this.editButton = iconButton('edit', 'Edit and send again', () => this.edit());
    this.element.replaceChildren(
      el('p', {class: 'said'}, this.message.content),
      el(
        'div',
        {class: 'actions'},
        this.editButton,
        copyButton(() => this.message.content, 'Copy the question'),
      ),
    );
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
    const send = () => area.value.trim() && this.onResend(area.value.trim());
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
