import assert from 'node:assert/strict';
import {suite} from './support.mjs';

const onPage = suite({key: 'open sesame'});

onPage('a server with a key asks for it, refuses wrong ones and remembers the right one', {}, async (page, mock) => {
  await page.waitFor(() => document.querySelector('dialog[open]'));
  assert.equal(await page.text('#key-reason'), 'This server needs an API key in the Authorization header.');
  assert.equal(await page.run(() => document.activeElement.id), 'key');
  await page.screenshot('key');
  await page.type('wrong');
  await page.press('Enter');
  await page.waitFor(() => document.querySelector('#key-title')?.textContent === 'The key was not accepted');
  assert.equal(await page.text('#key-reason'), 'The API key is not known.');
  await page.type('open sesame');
  await page.press('Enter');
  await page.waitFor(() => document.querySelector('.model-picker option')?.text === 'ember');
  assert.equal(await page.count('dialog'), 0);
  await page.say('plain');
  await page.answered();
  assert.equal(await page.text('.answer > .body'), 'Just text.');
  await page.goto(mock.url);
  await page.waitFor(() => document.querySelector('.model-picker option')?.text === 'ember');
  assert.equal(await page.run(() => localStorage.getItem('wick.key')), null); // this tab only, unless asked to keep it
});

onPage('giving up is answered in words', {}, async (page) => {
  await page.waitFor(() => document.querySelector('dialog[open]'));
  await page.press('Escape');
  await page.waitFor(() => !document.querySelector('dialog'));
  await page.waitFor(() => document.querySelector('.foot .notice:not([hidden])'));
  assert.equal(await page.text('.foot .notice'), 'This server needs an API key in the Authorization header.');
});
