// The list of conversations kept in this browser: to open, rename, delete and take back, to search, and as files.
import {el, icon, iconButton} from '../dom.js';
import {findConversations, removeConversation, renameConversation, restoreConversation} from '../store.js';

export class ConversationsPanel {
  // Called back: open(id), create(), save() for the current one as a file, load(file), renamed(id, title), close(),
  // complain(sentence).
  constructor({open, create, save, load, renamed, close, complain}) {
    Object.assign(this, {open, create, renamed, complain});
    this.list = el('ul', {class: 'conversations'});
    this.search = el('input', {
      type: 'search',
      placeholder: 'Search',
      'aria-label': 'Search the conversations',
      oninput: () => this.show(this.currentId),
    });
    this.none = el('p', {class: 'hint', role: 'status', hidden: true}, 'No conversation has that.');
    this.undo = el('p', {class: 'undo', role: 'status', hidden: true});
    this.input = el('input', {
      type: 'file',
      class: 'unseen',
      tabindex: '-1',
      accept: 'application/json,.json',
      'aria-label': 'Conversation to import',
      onchange: () => {
        const [file] = this.input.files;
        if (file) load(file);
        this.input.value = '';
      },
    });
    this.element = this.build({create, save, close});
  }

  build({create, save, close}) {
    return el(
      'nav',
      {class: 'panel history', id: 'history', 'aria-labelledby': 'history-title'},
      el(
        'div',
        {class: 'panel-head'},
        el('h2', {id: 'history-title'}, 'Conversations'),
        iconButton('import', 'Import a conversation from JSON', () => this.input.click()),
        iconButton('export', 'Export this conversation as JSON', save),
        iconButton('close', 'Close the list', close, {class: 'icon-button only-narrow'}),
        this.input,
      ),
      el('button', {type: 'button', class: 'new', onclick: create}, icon('plus'), 'New conversation'),
      this.search,
      this.list,
      this.none,
      this.undo,
      el('p', {class: 'hint'}, 'Kept in this browser only.'),
    );
  }

  show(currentId) {
    this.currentId = currentId;
    const found = findConversations(this.search.value);
    this.none.hidden = found.length > 0 || !this.search.value.trim();
    this.list.replaceChildren(...found.map((entry) => this.row(entry)));
  }

  row({id, title}) {
    const row = el(
      'li',
      {},
      el(
        'button',
        {
          type: 'button',
          class: 'entry',
          'aria-current': id === this.currentId ? 'true' : null,
          title,
          onclick: () => this.open(id),
        },
        title || 'Untitled',
      ),
      iconButton('edit', `Rename “${title}”`, () => this.rename(row, id, title)),
      iconButton('trash', `Delete “${title}”`, () => this.remove(id)),
    );
    return row;
  }

  // A field in the place of the row: Enter and leaving it keep the name, Escape does not.
  rename(row, id, title) {
    const leave = (wanted) => {
      if (!field.isConnected) return;
      field.onblur = null;
      const isNew = wanted && wanted !== title;
      if (isNew && !renameConversation(id, wanted)) this.complain('This browser’s storage is full.');
      else if (isNew) this.renamed(id, wanted);
      this.show(this.currentId);
    };
    const field = el('input', {
      value: title,
      maxlength: '200',
      'aria-label': 'Name of the conversation',
      onkeydown: (event) => {
        if (event.isComposing || !['Enter', 'Escape'].includes(event.key)) return;
        event.preventDefault();
        event.stopPropagation();
        leave(event.key === 'Enter' ? field.value.trim() : '');
        this.list.querySelector('[aria-current]')?.focus();
      },
    });
    field.onblur = () => leave(field.value.trim());
    row.replaceChildren(field);
    field.focus();
    field.select();
  }

  remove(id) {
    const removed = removeConversation(id);
    if (id === this.currentId) this.create();
    else this.show(this.currentId);
    const restore = el('button', {type: 'button', class: 'quiet small', onclick: () => this.restore(removed)}, 'Undo');
    this.undo.replaceChildren(el('span', {}, `Deleted “${removed.entry?.title ?? ''}”.`), restore);
    this.undo.hidden = false;
    restore.focus();
  }

  restore(removed) {
    if (!restoreConversation(removed)) return this.complain('This browser’s storage is full.');
    this.undo.hidden = true;
    this.open(removed.entry.id);
    this.list.querySelector('[aria-current]')?.focus();
  }
}
