// The list of conversations kept in this browser.
import {el, icon, iconButton} from './dom.js';
import {listConversations, removeConversation} from './store.js';

export class ConversationsPanel {
  // Called back: open(id), create(), save() for the current one as a file, close().
  constructor({open, create, save, close}) {
    this.open = open;
    this.create = create;
    this.list = el('ul', {class: 'conversations'});
    this.element = el(
      'nav',
      {class: 'panel history', id: 'history', 'aria-labelledby': 'history-title'},
      el(
        'div',
        {class: 'panel-head'},
        el('h2', {id: 'history-title'}, 'Conversations'),
        iconButton('export', 'Export this conversation as JSON', save),
        iconButton('close', 'Close the list', close, {class: 'icon-button only-narrow'}),
      ),
      el('button', {type: 'button', class: 'new', onclick: create}, icon('plus'), 'New conversation'),
      this.list,
      el('p', {class: 'hint'}, 'Kept in this browser only.'),
    );
  }

  show(currentId) {
    this.currentId = currentId;
    this.list.replaceChildren(
      ...listConversations().map(({id, title}) =>
        el(
          'li',
          {},
          el(
            'button',
            {
              type: 'button',
              class: 'entry',
              'aria-current': id === currentId ? 'true' : null,
              title,
              onclick: () => this.open(id),
            },
            title || 'Untitled',
          ),
          iconButton('trash', `Delete “${title}”`, () => this.remove(id)),
        ),
      ),
    );
  }

  remove(id) {
    removeConversation(id);
    if (id === this.currentId) this.create();
    else this.show(this.currentId);
    (this.list.querySelector('.entry') ?? this.element.querySelector('.new')).focus();
  }
}
