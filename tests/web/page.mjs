// One page: what a person does with mouse and keyboard, and what can be seen.
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const patience = 20000; // milliseconds until something that should happen is missing
const keys = {
  Enter: {code: 'Enter', windowsVirtualKeyCode: 13, text: '\r'},
  Tab: {code: 'Tab', windowsVirtualKeyCode: 9},
  Escape: {code: 'Escape', windowsVirtualKeyCode: 27},
  ArrowUp: {code: 'ArrowUp', windowsVirtualKeyCode: 38},
  ArrowLeft: {code: 'ArrowLeft', windowsVirtualKeyCode: 37},
  ArrowRight: {code: 'ArrowRight', windowsVirtualKeyCode: 39},
  ArrowDown: {code: 'ArrowDown', windowsVirtualKeyCode: 40},
  End: {code: 'End', windowsVirtualKeyCode: 35},
  ' ': {code: 'Space', windowsVirtualKeyCode: 32, text: ' '},
};

export class Page {
  constructor(send, close) {
    this.send = send;
    this.close = close;
    this.problems = []; // exceptions, errors on the console, violations of the policy
    this.requests = []; // addresses
  }

  async prepare({width = 1280, height = 860, dark = false, reducedMotion = false, scale = 1, touch = false}) {
    await Promise.all(
      ['Page.enable', 'Runtime.enable', 'Log.enable', 'Network.enable'].map((method) => this.send(method)),
    );
    await this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: scale, mobile: touch});
    if (touch) await this.send('Emulation.setTouchEmulationEnabled', {enabled: true});
    await this.send('Emulation.setEmulatedMedia', {
      features: [
        {name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'},
        {name: 'prefers-reduced-motion', value: reducedMotion ? 'reduce' : 'no-preference'},
      ],
    });
  }

  hear(method, params) {
    if (method === 'Runtime.exceptionThrown') {
      this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) {
      this.problems.push(params.args.map(({value, description}) => value ?? description).join(' '));
    } else if (method === 'Log.entryAdded' && params.entry.level === 'error' && params.entry.source !== 'network') {
      this.problems.push(params.entry.text);
    } else if (method === 'Network.requestWillBeSent') {
      this.requests.push(params.request.url);
    } else if (method === 'Page.loadEventFired') {
      this.loaded?.();
    }
  }

  // By way of an empty page: a new fragment alone would load nothing.
  async goto(url) {
    await this.load('about:blank');
    await this.load(url);
    await this.waitFor(() => document.querySelector('[role="tab"]') !== null);
  }

  async load(url) {
    const loaded = new Promise((resolve) => {
      this.loaded = resolve;
    });
    const {errorText} = await this.send('Page.navigate', {url});
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  // Runs a function in the page, with JSON arguments and result.
  async run(fn, ...values) {
    const expression = `(${fn})(...${JSON.stringify(values)})`;
    const {result, exceptionDetails} = await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async waitFor(fn, ...values) {
    const end = Date.now() + patience;
    for (;;) {
      const value = await this.run(fn, ...values);
      if (value) return value;
      if (Date.now() > end) throw new Error(`did not happen: ${fn}(${values.join(', ')})`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  text(selector) {
    return this.run((wanted) => document.querySelector(wanted)?.textContent ?? null, selector);
  }

  texts(selector) {
    return this.run((wanted) => [...document.querySelectorAll(wanted)].map(({textContent}) => textContent), selector);
  }

  count(selector) {
    return this.run((wanted) => document.querySelectorAll(wanted).length, selector);
  }

  // The middle of the element's first box.
  async pointAt(selector) {
    const point = await this.waitFor((wanted) => {
      const element = document.querySelector(wanted);
      element?.scrollIntoView({block: 'nearest'});
      const box = element?.getClientRects()[0];
      return box && box.width > 0 && {x: box.x + box.width / 2, y: box.y + box.height / 2};
    }, selector);
    await this.send('Input.dispatchMouseEvent', {type: 'mouseMoved', ...point});
    return point;
  }

  async click(selector) {
    const point = await this.pointAt(selector);
    for (const type of ['mousePressed', 'mouseReleased']) {
      await this.send('Input.dispatchMouseEvent', {type, ...point, button: 'left', clickCount: 1});
    }
  }

  async press(key, {shift = false} = {}) {
    const event = {key, modifiers: shift ? 8 : 0, ...keys[key]};
    await this.send('Input.dispatchKeyEvent', {type: event.text ? 'keyDown' : 'rawKeyDown', ...event});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...event, text: undefined});
  }

  type(text) {
    return this.send('Input.insertText', {text});
  }

  async say(text) {
    await this.click('#message');
    await this.type(text);
    await this.press('Enter');
  }

  answered() {
    return this.waitFor(() => !document.querySelector('.answer.live') && document.querySelector('.answer') !== null);
  }

  // Tabs until the element has the focus; fails when the focus comes round without it.
  async tabTo(selector, limit = 60) {
    for (let step = 0; step < limit; ++step) {
      if (await this.run((wanted) => document.activeElement?.matches(wanted), selector)) return;
      await this.press('Tab');
    }
    throw new Error(`${selector} is not reached by Tab`);
  }

  async screenshot(name) {
    const folder = process.env.WICK_WEB_SCREENSHOTS ?? 'build/web-screenshots';
    const {data} = await this.send('Page.captureScreenshot', {format: 'png'});
    mkdirSync(folder, {recursive: true});
    writeFileSync(join(folder, `${name}.png`), Buffer.from(data, 'base64'));
  }
}
