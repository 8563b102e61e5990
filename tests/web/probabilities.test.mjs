import assert from 'node:assert/strict';
import {tokenize} from './mock_answers.mjs';
import {suite} from './support.mjs';

const onPage = suite();
const toggle = '.tool[aria-pressed]';

async function ask(page) {
  await page.say('write a haiku');
  await page.answered();
}

onPage('tokens are tinted and show their alternatives on hover', {}, async (page) => {
  await ask(page);
  const text = await page.run(() => document.querySelector('.answer > .body').innerText);
  await page.click(toggle);
  assert.deepEqual(await page.texts('.token'), tokenize(text));
  // The less likely, the stronger.
  const surprises = await page.run(() =>
    [...document.querySelectorAll('.token')].map((token) => ({
      surprise: Number(token.style.getPropertyValue('--surprise')),
      unlikely: token.classList.contains('unlikely'),
    })),
  );
  assert.ok(surprises.some(({unlikely}) => unlikely) && surprises.some(({unlikely}) => !unlikely));
  for (const {surprise, unlikely} of surprises) assert.equal(unlikely, surprise > 0.5);
  await page.pointAt('.token:nth-child(2)');
  await page.waitFor(() => document.querySelector('.token-popover:not([hidden]) .chosen'));
  assert.equal(await page.count('.token-popover li'), 5);
  assert.equal(await page.text('.token-popover .chosen .text'), '·small');
  const listed = (await page.texts('.token-popover .p')).map(parseFloat);
  assert.deepEqual(
    listed,
    [...listed].sort((one, other) => other - one),
  );
  assert.ok(listed.reduce((sum, share) => sum + share) <= 100.3);
  await page.screenshot('chat-probabilities');
  await page.click(toggle);
  assert.equal(await page.count('.token'), 0);
  assert.equal(await page.run(() => document.querySelector('.answer > .body').innerText), text);
});

onPage('tokens can be walked by keyboard', {}, async (page) => {
  await ask(page);
  await page.click(toggle);
  await page.run(() => document.querySelector('.thread').focus());
  await page.tabTo('.token:first-child');
  assert.equal(await page.text('.token-popover:not([hidden]) .chosen .text'), 'A');
  await page.press('ArrowRight');
  await page.press('ArrowRight');
  assert.equal(await page.run(() => document.activeElement.textContent), ' flame');
  assert.equal(await page.text('.token-popover .chosen .text'), '·flame');
  assert.equal(await page.run(() => document.activeElement.getAttribute('aria-describedby')), 'token-popover');
  await page.press('Escape');
  assert.equal(await page.count('.token-popover:not([hidden])'), 0);
  await page.press('Tab');
  assert.equal(await page.run(() => document.activeElement.matches('.token')), false);
});

onPage('they are shown while an answer arrives, and missing ones are admitted', {}, async (page, mock) => {
  await page.click(toggle);
  await page.say('forever');
  await page.waitFor(() => document.querySelectorAll('.answer.live .token').length > 20);
  await page.press('Escape');
  await page.answered();
  await page.say('plain');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  assert.match(await page.text('.answer:last-child > .body'), /^Just text\./);
  assert.match(await page.text('.answer:last-child .note'), /were not kept/);
  await page.goto(mock.url);
  assert.equal(await page.count('.token'), 0);
  assert.equal(await page.count('.note'), 2);
});
