import assert from 'node:assert/strict';
import {beyondTheEdge, suite} from './support.mjs';

const onPage = suite({pace: 1});
const phone = {width: 360, height: 740, scale: 2, touch: true};

onPage('nothing reaches beyond a phone’s edge', phone, async (page) => {
  assert.deepEqual(await beyondTheEdge(page), []);
  await page.screenshot('phone-welcome');
  assert.equal(await page.run(() => document.activeElement === document.body), true); // no keyboard over the page
  await page.say('explain');
  await page.answered();
  await page.say('tell: ' + 'unbroken'.repeat(40));
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  assert.deepEqual(await beyondTheEdge(page), []);
  await page.screenshot('phone-answer');
  await page.click('.tool[aria-pressed]');
  assert.deepEqual(await beyondTheEdge(page), []);
  await page.pointAt('.answer:last-child .token:last-child');
  await page.waitFor(() => document.querySelector('.token-popover:not([hidden])'));
  assert.deepEqual(await beyondTheEdge(page), []);
  await page.screenshot('phone-probabilities');
  for (const panel of ['history', 'parameters']) {
    await page.click(`.tool[aria-controls="${panel}"]`);
    assert.deepEqual(await beyondTheEdge(page), []);
    await page.screenshot(`phone-${panel}`);
    await page.press('Escape');
    assert.equal(await page.run((id) => getComputedStyle(document.getElementById(id)).display, panel), 'none');
  }
  await page.click('#tab-engine');
  await page.waitFor(() => document.querySelectorAll('.sequence').length > 3);
  assert.deepEqual(await beyondTheEdge(page), []);
  await page.screenshot('phone-engine');
});

onPage('the dark scheme', {dark: true}, async (page) => {
  await page.say('explain');
  await page.answered();
  await page.screenshot('dark-answer');
  await page.click('#tab-engine');
  await page.waitFor(() => document.querySelectorAll('.sequence').length > 3);
  await page.screenshot('dark-engine');
});

for (const dark of [false, true]) {
  onPage(`text can be read, ${dark ? 'dark' : 'light'}`, {dark}, async (page) => {
    const contrasts = await page.run(() => {
      const style = getComputedStyle(document.documentElement);
      const luminance = (name) => {
        const [r, g, b] = style
          .getPropertyValue(name)
          .match(/\w\w/g)
          .map((pair) => parseInt(pair, 16) / 255)
          .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (one, other) => {
        const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
      };
      const texts = ['ink', 'soft', 'flame', 'bad'].flatMap((text) =>
        ['paper', 'surface', 'sunken'].map((ground) => [text, ground]),
      );
      const codes = ['keyword', 'string', 'number', 'comment', 'name', 'type'].map((kind) => [`hl-${kind}`, 'surface']);
      return Object.fromEntries(
        [...texts, ...codes, ['on-flame', 'flame'], ['flame', 'wash']].map(([text, ground]) => [
          `${text} on ${ground}`,
          contrast(`--${text}`, `--${ground}`),
        ]),
      );
    });
    for (const [pair, value] of Object.entries(contrasts)) assert.ok(value >= 4.5, `${pair}: ${value.toFixed(2)}`);
  });
}

onPage('nothing moves for who asked for that', {reducedMotion: true}, async (page) => {
  await page.say('forever');
  await page.waitFor(() => document.querySelector('.answer.live')?.textContent.includes('word 5'));
  assert.equal(await page.run(() => document.getAnimations().length), 0);
  await page.press('Escape');
  await page.click('#tab-engine');
  await page.waitFor(() => document.querySelectorAll('.sequence').length > 3);
  assert.equal(await page.run(() => document.getAnimations().length), 0);
});

onPage('a flame burns while an answer is written', {}, async (page) => {
  await page.say('forever');
  await page.waitFor(() => document.querySelector('.answer.live .mark .flame'));
  assert.ok((await page.run(() => document.getAnimations().length)) > 0);
  await page.press('Escape');
  await page.answered();
  assert.equal(await page.count('.mark .flame'), 0);
});
