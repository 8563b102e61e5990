import assert from 'node:assert/strict';
import {suite} from './support.mjs';

const onPage = suite();

const setOffline = (page, offline) =>
  page.send('Network.emulateNetworkConditions', {
    offline,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
const dot = (page) => page.run(() => document.querySelector('.dot').ariaLabel);

onPage('the dot tells that the server is gone, and that it is back', {}, async (page) => {
  await page.waitFor(() => document.querySelector('.dot.ready'));
  assert.equal(await dot(page), 'The model is ready.');
  await setOffline(page, true);
  await page.waitFor(() => document.querySelector('.dot.failed')); // nobody asked anything
  assert.equal(await dot(page), 'The server cannot be reached.');
  assert.equal(await page.text('.foot .notice'), 'The server cannot be reached.');
  await page.screenshot('gone');
  await setOffline(page, false);
  await page.waitFor(() => document.querySelector('.dot.ready'));
  assert.equal(await page.text('#status'), 'The server is back.');
  assert.equal(await page.run(() => document.querySelector('.foot .notice').hidden), true);
});

onPage('a server that takes requests and does not answer is gone, too', {}, async (page, mock) => {
  await page.waitFor(() => document.querySelector('.dot.ready'));
  mock.isStuck = true;
  await page.waitFor(() => document.querySelector('.dot.failed'));
  assert.equal(await dot(page), 'The server does not answer.');
  mock.isStuck = false;
  await page.waitFor(() => document.querySelector('.dot.ready'));
});

onPage('a request that fails is enough to know', {}, async (page) => {
  await page.waitFor(() => document.querySelector('.dot.ready'));
  await setOffline(page, true);
  await page.say('plain');
  await page.waitFor(() => document.querySelector('.dot.failed') && document.querySelector('.answer .error'));
  await setOffline(page, false);
  await page.waitFor(() => document.querySelector('.dot.ready'));
});

onPage('what is offered is what the model can do', {}, async (page, mock) => {
  const models = mock.models;
  mock.models = [...models, {...models[0], id: 'large'}];
  await page.goto(mock.url);
  await page.waitFor(() => document.querySelector('.model-picker select').options.length === 2);
  assert.ok((await page.texts('.suggestion')).includes('What is 348 plus 275?'));
  await page.run(() => {
    const select = document.querySelector('.model-picker select');
    select.value = 'large';
    select.dispatchEvent(new Event('change'));
  });
  assert.ok((await page.texts('.suggestion')).includes('Why is the sky blue?'));
  mock.models = models;
});

onPage('every view has one heading of the first level', {}, async (page) => {
  for (const view of ['chat', 'transcribe', 'inside', 'engine']) {
    await page.click(`#tab-${view}`);
    assert.equal(await page.count(`#view-${view} h1`), 1, view);
  }
  await page.click('#tab-chat');
  await page.say('plain');
  await page.answered();
  assert.equal(await page.count('#view-chat h1'), 1);
});
