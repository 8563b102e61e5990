// The scrolling conversation. It follows the answer while the person stays at its end.
import {el, icon} from '../dom.js';

const nearEnd = 48; // pixels

export class Thread {
  constructor() {
    this.list = el('div', {class: 'messages'});
    this.scroller = el(
      'div',
      {class: 'thread', tabindex: '0', role: 'region', 'aria-label': 'Conversation'},
      this.list,
    );
    this.latest = el(
      'button',
      {type: 'button', class: 'latest', hidden: true, onclick: () => this.toEnd()},
      icon('down'),
      'Latest',
    );
    this.element = el('div', {class: 'thread-frame'}, this.scroller, this.latest);
    this.follows = true;
    this.scroller.addEventListener(
      'scroll',
      () => {
        const {scrollTop, scrollHeight, clientHeight} = this.scroller;
        this.follows = scrollHeight - scrollTop - clientHeight < nearEnd;
        this.latest.hidden = this.follows;
      },
      {passive: true},
    );
    new ResizeObserver(() => this.grow()).observe(this.list);
  }

  grow() {
    if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  // At once: a smooth way would end where the end was when it began.
  toEnd() {
    this.follows = true;
    this.grow();
  }
}
