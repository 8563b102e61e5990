// Views as tabs: {id, title, element, show(), hide(), open(query)}. The address says which one is open: /#engine, and what
// it is to show: /#inside?prompt=...
import {el} from './dom.js';

export class Tabs {
  constructor(bar, container, views) {
    this.views = views;
    this.buttons = views.map(({id, title}) =>
      el(
        'button',
        {type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': `view-${id}`, onclick: () => this.choose(id)},
        title,
      ),
    );
    this.panels = views.map(({id, element}) =>
      el(
        'section',
        {id: `view-${id}`, class: 'view', role: 'tabpanel', 'aria-labelledby': `tab-${id}`, hidden: true},
        element,
      ),
    );
    bar.append(...this.buttons);
    container.replaceChildren(...this.panels);
    bar.addEventListener('keydown', (event) => this.press(event));
    addEventListener('hashchange', () => this.openFromAddress());
    this.openFromAddress();
  }

  choose(id) {
    if (location.hash.split('?')[0] !== `#${id}`) location.hash = id;
    else this.openFromAddress();
  }

  openFromAddress() {
    const [wanted, query] = location.hash.slice(1).split(/\?(.*)/s);
    const index = Math.max(
      0,
      this.views.findIndex(({id}) => id === wanted),
    );
    if (query && this.views[index].id === wanted) this.views[index].open?.(query);
    if (index === this.open) return;
    const byKeyboard = this.buttons.includes(document.activeElement);
    if (this.open !== undefined) this.views[this.open].hide();
    this.open = index;
    this.buttons.forEach((button, at) => {
      button.setAttribute('aria-selected', String(at === index));
      button.tabIndex = at === index ? 0 : -1;
      this.panels[at].hidden = at !== index;
    });
    document.title = index === 0 ? 'Wick' : `${this.views[index].title} · Wick`;
    this.views[index].show();
    if (byKeyboard) this.buttons[index].focus();
  }

  press(event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (this.open + step + this.views.length) % this.views.length;
    this.buttons[next].focus();
    this.choose(this.views[next].id);
  }
}
