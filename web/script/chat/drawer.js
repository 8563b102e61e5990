// A panel beside the conversation: a column where there is room, over it where there is none. It traps no focus.
export class Drawer {
  constructor(panel, button) {
    this.panel = panel;
    this.button = button;
    button.setAttribute('aria-controls', panel.id);
    button.addEventListener('click', () => (this.isOpen ? this.close() : this.open()));
    this.setOpen(false);
  }

  get isOpen() {
    return this.button.getAttribute('aria-expanded') === 'true';
  }

  setOpen(isOpen) {
    this.button.setAttribute('aria-expanded', String(isOpen));
    this.panel.classList.toggle('open', isOpen);
    if (this.panel.matches('aside')) this.panel.hidden = !isOpen;
  }

  open() {
    this.setOpen(true);
    this.panel.querySelector('textarea, .new').focus();
  }

  close() {
    const hadFocus = this.panel.contains(document.activeElement);
    this.setOpen(false);
    if (hadFocus) this.button.focus();
  }

  closeIfOverlay() {
    if (this.isOpen && getComputedStyle(this.panel).position === 'fixed') this.close();
  }

  // True when there was something to close.
  escape() {
    if (!this.isOpen) return false;
    this.close();
    return true;
  }
}
