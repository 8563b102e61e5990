// The few things that can be done with a chosen cell.
import {el} from '../dom.js';

let close = () => {};

// actions: [[label, run], ...]. The focus goes back where it was.
export function openMenu(title, actions, {x, y}) {
  close();
  const back = document.activeElement;
  const menu = el(
    'div',
    {class: 'cell-menu', role: 'menu', 'aria-label': title},
    el('p', {class: 'hint'}, title),
    actions.map(([label, run]) =>
      el(
        'button',
        {
          type: 'button',
          role: 'menuitem',
          onclick: () => {
            close();
            run();
          },
        },
        label,
      ),
    ),
  );
  const leave = (event) => menu.contains(event.target) || close();
  close = () => {
    menu.remove();
    removeEventListener('pointerdown', leave, true);
    close = () => {};
    back?.focus({preventScroll: true});
  };
  menu.addEventListener('keydown', (event) => {
    const buttons = [...menu.querySelectorAll('button')];
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (event.key === 'Escape' || event.key === 'Tab') close();
    else if (step) buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.body.append(menu);
  const size = menu.getBoundingClientRect();
  menu.style.left = `${Math.min(Math.max(8, x), innerWidth - size.width - 8)}px`;
  menu.style.top = `${y + size.height + 12 < innerHeight ? y + 4 : Math.max(8, y - size.height - 8)}px`;
  addEventListener('pointerdown', leave, true);
  menu.querySelector('button').focus({preventScroll: true});
}

export function closeMenu() {
  close();
}
