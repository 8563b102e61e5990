// Day or night: as the system has it, or as somebody chose, kept in this browser.
import {announce, darkScheme, iconButton} from './dom.js';
import {saveSettings, settings} from './store.js';

const themes = ['auto', 'light', 'dark'];
const choices = {auto: undefined, light: false, dark: true};
const names = {auto: 'as the system', light: 'light', dark: 'dark'};

export class ThemeSwitch {
  constructor(container) {
    this.container = container;
    if (!themes.includes(settings.theme)) settings.theme = 'auto';
    this.show();
  }

  show() {
    darkScheme.choose(choices[settings.theme]);
    const label = `Colours: ${names[settings.theme]}`;
    this.button = iconButton(settings.theme, label, () => this.next(), {'data-theme': settings.theme});
    this.container.replaceChildren(this.button);
  }

  next() {
    settings.theme = themes[(themes.indexOf(settings.theme) + 1) % themes.length];
    saveSettings();
    this.show();
    this.button.focus();
    announce(`Colours: ${names[settings.theme]}.`);
  }
}
