// 512 tokens by 36 layers, and a server that is closed.
import assert from 'node:assert/strict';
import {suite} from './support.mjs';

const onPage = suite({inside: {layers: 36, heads: 16}});
const words = Array.from({length: 512}, (_, at) => `w${at}`).join(' ');

onPage('512 tokens by 36 layers: only what is seen is drawn', {hash: '#inside'}, async (page) => {
  await page.waitFor(() => document.querySelector('.inside-closed').hidden);
  await page.run((text) => {
    document.getElementById('inside-prompt').value = text;
  }, words);
  await page.click('.inside-form .primary');
  await page.waitFor(
    () => document.querySelectorAll('.head').length === 16 && document.querySelector('.inside-bar .stop').hidden,
  );
  const drawn = await page.run(async () => {
    const window = document.querySelector('[data-card="lens"] .cell-window');
    const canvas = window.querySelector('canvas');
    const proto = CanvasRenderingContext2D.prototype;
    const {fillText} = proto;
    let texts = 0;
    proto.fillText = function count(...values) {
      ++texts;
      return fillText.apply(this, values);
    };
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const most = [];
    for (let at = 1; at <= 20; ++at) {
      texts = 0;
      window.scrollLeft = at * 997;
      await frame();
      most.push(texts);
    }
    proto.fillText = fillText;
    return {
      most: Math.max(...most),
      least: Math.min(...most),
      scrolled: window.scrollLeft,
      width: window.scrollWidth,
      pixels: canvas.width,
      shown: window.clientWidth,
    };
  });
  assert.equal(drawn.pixels, drawn.shown);
  assert.ok(drawn.width > 20000, 'cells can be read, so most of them are beyond the edge');
  assert.ok(drawn.scrolled > 15000);
  assert.ok(drawn.least > 100 && drawn.most < 2000, `${drawn.least} to ${drawn.most} texts per frame`);
  await page.screenshot('inside-512x36');
  await page.click('[data-card="lens"] [aria-label="Fit the width"]');
  await page.waitFor(() => {
    const window = document.querySelector('[data-card="lens"] .cell-window');
    return window.scrollWidth <= window.clientWidth;
  });
  await page.screenshot('inside-512x36-fit');
  await page.run(() => document.querySelector('.head-list').scrollIntoView());
  await page.screenshot('inside-512-heads');
});

onPage('a closed server says how to open it', {hash: ''}, async (page, mock) => {
  mock.inside.isOpen = false;
  await page.run(() => {
    location.hash = 'inside';
  });
  await page.waitFor(() => !document.querySelector('.inside-closed').hidden);
  assert.match(await page.text('.inside-closed'), /wick serve --inspect/);
  assert.equal(await page.run(() => document.querySelector('.inside-form').hidden), true);
  await page.screenshot('inside-closed');
  mock.inside.isOpen = true;
});
