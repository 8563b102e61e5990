// What the tests share: one browser and one mock server per file, one page per test.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Browser} from './chromium.mjs';
import {MockServer} from './mock_server.mjs';

export function suite(mockOptions = {}) {
  const shared = {};
  before(async () => {
    shared.mock = await MockServer.start(mockOptions);
    shared.browser = await Browser.launch();
  });
  after(async () => {
    await shared.browser?.close();
    await shared.mock?.close();
  });

  // Opens the page, runs the body, and holds the page to having caused no error and asked no other server.
  return function onPage(name, options, body) {
    test(name, {timeout: 90000}, async () => {
      const {browser, mock} = shared;
      mock.engine.fixed = null;
      const page = await browser.newPage(options);
      const address = options.url ?? mock.url;
      try {
        await page.goto(`${address}/${options.hash ?? ''}`);
        await body(page, mock);
        assert.deepEqual(page.problems, []);
        const elsewhere = page.requests.filter(
          (request) => !/^(data|blob|about):/.test(request) && !request.startsWith(address),
        );
        assert.deepEqual(elsewhere, []);
      } catch (error) {
        await page.screenshot(`failed-${name.replace(/\W+/g, '-')}`).catch(() => {});
        throw error;
      } finally {
        await page.close();
      }
    });
  };
}

// Waits for something on this side of the connection.
export async function until(holds) {
  for (const end = Date.now() + 20000; !(await holds());) {
    assert.ok(Date.now() < end, `did not happen: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// Selectors of what reaches beyond the right edge without an ancestor that scrolls.
export function beyondTheEdge(page) {
  return page.run(() => {
    const scrolls = (element) => ['auto', 'scroll', 'hidden'].includes(getComputedStyle(element).overflowX);
    const found = [];
    if (document.scrollingElement.scrollWidth > innerWidth) found.push('the document');
    for (const element of document.body.querySelectorAll('*')) {
      const box = element.getBoundingClientRect();
      if (box.width === 0 || (box.right <= innerWidth + 0.5 && box.left >= -0.5)) continue;
      let above = element.parentElement;
      while (above !== document.body && !scrolls(above)) above = above.parentElement;
      if (above === document.body || above.matches('.thread, .view'))
        found.push(`${element.tagName}.${element.className}`);
    }
    return found;
  });
}
