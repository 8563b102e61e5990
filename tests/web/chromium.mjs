// Drives headless Chromium over the pipe of the DevTools protocol: JSON messages, each ended by a zero byte.
import {spawn} from 'node:child_process';
import {accessSync, constants, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {delimiter, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Page} from './page.mjs';

const speech = fileURLToPath(new URL('../../models/ember-asr/samples/06.wav', import.meta.url));
const patience = 60000; // milliseconds; a page that hangs does not answer

export function findChromium() {
  if (process.env.WICK_CHROMIUM) return process.env.WICK_CHROMIUM;
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        /* not here */
      }
    }
  }
  return null;
}

export class Browser {
  static async launch() {
    const browser = new Browser();
    await browser.send('Browser.getVersion');
    return browser;
  }

  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), 'wick-web-'));
    this.process = spawn(
      findChromium(),
      [
        '--headless=new',
        '--remote-debugging-pipe',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--no-first-run',
        '--disable-extensions',
        '--disable-background-networking',
        '--disable-component-update',
        '--hide-scrollbars',
        '--force-color-profile=srgb',
        // Somebody speaks into the microphone, once.
        '--use-fake-ui-for-media-stream',
        '--use-fake-device-for-media-stream',
        `--use-file-for-fake-audio-capture=${speech}%noloop`,
        `--user-data-dir=${this.profile}`,
        'about:blank',
      ],
      {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']},
    );
    this.output = this.process.stdio[3];
    this.waiting = new Map(); // message id -> {resolve, reject, method}
    this.sessions = new Map(); // session id -> listener
    this.nextId = 1;
    this.read(this.process.stdio[4]);
    this.exited = new Promise((resolve) => this.process.once('exit', resolve));
    this.exited.then(() => this.fail(new Error('Chromium has ended')));
  }

  read(input) {
    let parts = [];
    input.on('data', (data) => {
      for (let from = 0; from < data.length;) {
        const end = data.indexOf(0, from);
        parts.push(data.subarray(from, end < 0 ? data.length : end));
        if (end < 0) return;
        this.receive(JSON.parse(Buffer.concat(parts).toString()));
        parts = [];
        from = end + 1;
      }
    });
  }

  receive({id, result, error, method, params, sessionId}) {
    if (id === undefined) return this.sessions.get(sessionId)?.(method, params);
    const {resolve, reject, method: asked} = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) reject(new Error(`${asked}: ${error.message}`));
    else resolve(result);
  }

  fail(error) {
    for (const {reject} of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.nextId++;
    this.output.write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), patience);
      const settle = (end) => (value) => {
        clearTimeout(timer);
        end(value);
      };
      this.waiting.set(id, {resolve: settle(resolve), reject: settle(reject), method});
    });
  }

  // A page with a storage of its own.
  async newPage(options = {}) {
    const {browserContextId} = await this.send('Target.createBrowserContext');
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank', browserContextId});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(
      (method, params) => this.send(method, params, sessionId),
      () => this.send('Target.disposeBrowserContext', {browserContextId}),
    );
    this.sessions.set(sessionId, (method, params) => page.hear(method, params));
    await page.prepare(options);
    return page;
  }

  async close() {
    this.send('Browser.close').catch(() => {});
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 3000);
    await this.exited;
    clearTimeout(timer);
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}
