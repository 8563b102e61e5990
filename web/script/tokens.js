// An answer as its tokens: each tinted by how unlikely it was, with its alternatives in a popover on hover or focus.
// The arrow keys walk along the tokens; Tab goes past them.
import {el} from './dom.js';
import {percent} from './format.js';

const tokenOf = new WeakMap();

// What the API sends, kept small: {text, p, others: [{text, p}]}.
export function readToken({token, logprob, bytes, top_logprobs: top = []}) {
  const others = top.map((other) => ({text: tokenText(other.token, other.bytes), p: Math.exp(other.logprob)}));
  return {text: tokenText(token, bytes), p: Math.exp(logprob), others};
}

// Part of a character has no text of its own.
function tokenText(text, bytes) {
  if (!text.includes('\ufffd') || !bytes) return text;
  return bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

// The signs of the command's reports: · for a blank, ⏎, ⇥, and pictures of other control characters.
export function visible(text) {
  if (text === '') return '∅';
  const picture = (sign) => String.fromCharCode(sign === '\x7f' ? 0x2421 : 0x2400 + sign.charCodeAt(0));
  return text
    .replaceAll(' ', '·')
    .replaceAll('\n', '⏎')
    .replaceAll('\t', '⇥')
    .replace(/[\x00-\x1f\x7f]/g, picture);
}

export class TokenView {
  constructor(container) {
    this.element = container;
    container.classList.add('tokens');
    container.addEventListener('pointerover', (event) => this.show(event.target));
    container.addEventListener('pointerleave', () => hidePopover(this.element));
    container.addEventListener('focusin', (event) => this.focus(event.target));
    container.addEventListener('focusout', () => hidePopover(this.element));
    container.addEventListener('keydown', (event) => this.walk(event));
  }

  add(tokens) {
    for (const token of tokens) {
      const span = el('span', {class: 'token', tabindex: this.current ? '-1' : '0'}, token.text);
      span.style.setProperty('--surprise', Math.max(0, 1 - token.p).toFixed(3));
      if (token.p < 0.5) span.classList.add('unlikely');
      this.current ??= span;
      tokenOf.set(span, token);
      this.element.append(span);
    }
  }

  show(span) {
    if (tokenOf.has(span)) showPopover(span, tokenOf.get(span));
  }

  focus(span) {
    if (!tokenOf.has(span)) return;
    this.current.tabIndex = -1;
    span.tabIndex = 0;
    this.current = span;
    this.show(span);
  }

  walk(event) {
    if (event.key === 'Escape' && isPopoverOpen()) {
      event.stopPropagation();
      return hidePopover();
    }
    const to = {
      ArrowRight: this.current?.nextElementSibling,
      ArrowLeft: this.current?.previousElementSibling,
      Home: this.element.firstElementChild,
      End: this.element.lastElementChild,
    }[event.key];
    if (!to) return;
    event.preventDefault();
    to.focus();
  }
}

const popover = el('div', {id: 'token-popover', class: 'token-popover', role: 'tooltip', hidden: true});
let described = null;

function isPopoverOpen() {
  return !popover.hidden;
}

function hidePopover() {
  popover.hidden = true;
  described?.removeAttribute('aria-describedby');
  described = null;
}

function bar({text, p}, isChosen) {
  const fill = el('span', {class: 'fill'});
  fill.style.width = `${100 * p}%`;
  return el(
    'li',
    {class: isChosen ? 'chosen' : null},
    el('span', {class: 'text'}, visible(text)),
    el('span', {class: 'track'}, fill),
    el('span', {class: 'p'}, percent(p)),
  );
}

function showPopover(span, {text, p, others}) {
  hidePopover();
  const listed = others.some((other) => other.text === text) ? others : [...others, {text, p}];
  popover.replaceChildren(
    el(
      'ol',
      {},
      listed.map((other) => bar(other, other.text === text)),
    ),
  );
  document.body.append(popover);
  popover.hidden = false;
  described = span;
  span.setAttribute('aria-describedby', popover.id);
  place(span.getClientRects()[0]);
}

// Under the token, or above where there is no room.
function place(token) {
  if (!token || token.bottom < 0 || token.top > innerHeight) return hidePopover();
  const size = popover.getBoundingClientRect();
  const left = Math.min(Math.max(8, token.left), innerWidth - size.width - 8);
  const below = token.bottom + 6;
  const top = below + size.height < innerHeight - 8 ? below : Math.max(8, token.top - size.height - 6);
  popover.style.left = `${left}px`;
  popover.style.top = `${top}px`;
}

addEventListener('scroll', () => described && place(described.getClientRects()[0]), {capture: true, passive: true});
