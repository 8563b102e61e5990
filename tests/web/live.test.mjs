// What must hold for any server: the one named by WICK_WEB_URL, or else the mock.
import assert from 'node:assert/strict';
import {suite} from './support.mjs';

const url = process.env.WICK_WEB_URL?.replace(/\/$/, '');
const onPage = suite();

onPage('a message is answered, with probabilities', {url}, async (page) => {
  await page.waitFor(() => document.querySelector('.model-picker .dot.ready'));
  await page.say('Who are you?');
  await page.answered();
  assert.equal(await page.run(() => document.querySelector('.answer .error').hidden), true);
  const text = await page.run(() => document.querySelector('.answer > .body').innerText);
  assert.ok(text.trim().length > 0);
  assert.match(await page.text('.answer .facts'), /\d+ tokens?.*first token/);
  await page.screenshot('live-answer');
  await page.click('.tool[aria-pressed]');
  assert.ok((await page.count('.answer .token')) > 0);
  await page.pointAt('.answer > .body .token');
  await page.waitFor(() => document.querySelectorAll('.token-popover:not([hidden]) li').length >= 2);
});

onPage('what is offered can be answered', {url}, async (page) => {
  await page.waitFor(() => document.querySelector('.model-picker .dot.ready'));
  const offered = await page.texts('.thread .suggestion');
  assert.ok(offered.length > 2);
  for (const [at] of offered.entries()) {
    if (at) await page.click('.new');
    await page.click(`.thread .suggestions li:nth-child(${at + 1}) .suggestion`);
    await page.answered();
    const text = await page.run(() => document.querySelector('.answer > .body').innerText);
    assert.ok(text.trim().length > 0 && !/do not know/.test(text), `${offered[at]}: ${text}`);
    assert.match(await page.text('.answer .facts'), /tokens\/s/, 'the server tells its timings');
  }
});

onPage('the engine is seen at work', {url, hash: '#engine'}, async (page) => {
  await page.waitFor(() => /^\d/.test(document.querySelector('[data-fact="running"]').textContent));
  await page.waitFor(() =>
    /\d used, [\d,]+ cached, [\d,]+ free/.test(document.querySelector('.block-grid').getAttribute('aria-label')),
  );
  assert.equal(await page.run(() => document.querySelector('.engine .notice').hidden), true);
  await page.screenshot('live-engine');
});

onPage('a model is looked into and changed', {url, hash: '#inside'}, async (page) => {
  await page.waitFor(() => document.querySelector('.model-picker .dot.ready'));
  await page.waitFor(() => document.querySelector('.inside-closed').hidden);
  await page.run(() => {
    document.getElementById('inside-prompt').value = 'The red fox ran to the river';
    document.getElementById('inside-other').value = 'The old fox ran to the river';
  });
  await page.click('.inside-form .primary');
  await page.waitFor(
    () => document.querySelectorAll('.head').length > 0 && document.querySelectorAll('.next-tokens li').length > 0,
  );
  await page.click('[data-card="patching"] .small');
  await page.waitFor(() => document.querySelector('[data-card="patching"] progress').hidden);
  await page.run(() => document.querySelector('[data-card="lens"] .cell-window').focus());
  for (const key of ['End', 'Enter', 'Enter']) await page.press(key); // zeroes what leaves the last layer
  await page.waitFor(() => /KL \d/.test(document.querySelector('[data-card="answer"]').textContent));
  assert.equal(await page.run(() => document.querySelector('.inside .notice').hidden), true);
  assert.equal(await page.count('.edit-list li'), 1);
  await page.screenshot('live-inside');
  await page.run(() => document.querySelector('[data-card="patching"]').scrollIntoView());
  await page.screenshot('live-inside-patching');
});

onPage('a dropped recording is written down', {url, hash: '#transcribe'}, async (page) => {
  await page.waitFor(() => document.querySelector('.transcribe select').options.length > 0);
  // Half a second of silence as WAV: nobody speaks in it.
  await page.run(() => {
    const wav = new Uint8Array(44 + 16000);
    const view = new DataView(wav.buffer);
    const text = (at, letters) => [...letters].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
    text(0, 'RIFF');
    view.setUint32(4, wav.length - 8, true);
    text(8, 'WAVEfmt ');
    view.setUint32(16, 16, true);
    view.setUint16(20, 1, true);
    view.setUint16(22, 1, true);
    view.setUint32(24, 16000, true);
    view.setUint32(28, 32000, true);
    view.setUint16(32, 2, true);
    view.setUint16(34, 16, true);
    text(36, 'data');
    view.setUint32(40, 16000, true);
    const files = new DataTransfer();
    files.items.add(new File([wav], 'silence.wav', {type: 'audio/wav'}));
    document.querySelector('.drop-zone').dispatchEvent(new DragEvent('drop', {dataTransfer: files, bubbles: true}));
  });
  await page.waitFor(() => document.querySelector('.transcribe .card-head .hint').textContent.includes('Nobody speaks'));
  assert.equal(await page.run(() => document.querySelector('.transcribe .notice').hidden), true);
});

// The mock has no web socket.
if (url) {
  onPage('what is said is written into the field of the chat', {url}, async (page) => {
    await page.waitFor(() => document.querySelector('.model-picker .dot.ready'));
    await page.click('.tool.voice');
    await page.waitFor(() => /key/.test(document.querySelector('#message').value));
    await page.click('.tool.voice');
    await page.waitFor(() => document.querySelector('.tool.voice').dataset.on === 'false');
    assert.match(await page.run(() => document.querySelector('#message').value), /key/);
    assert.equal(await page.run(() => document.querySelector('.foot .notice').hidden), true);
  });

  onPage('what is said into the microphone is written down', {url, hash: '#transcribe'}, async (page) => {
    await page.waitFor(() => document.querySelector('.transcribe select').options.length > 0);
    await page.click('.record');
    await page.waitFor(() => /key/.test(document.querySelector('.segments').textContent));
    await page.click('.record');
    await page.waitFor(() => document.querySelector('.record').getAttribute('aria-pressed') === 'false');
    assert.equal(await page.run(() => document.querySelector('.transcribe .notice').hidden), true);
    // Where exactly it was stopped differs, and with it what the model makes of the word before.
    assert.match((await page.texts('.segment:not(.open) p')).join(' '), /look(ed|s) at the key/);
    await page.screenshot('live-microphone');
  });
}

onPage('files come with the policy, their types and nothing foreign', {url}, async (page) => {
  const files = await page.run(async () =>
    Promise.all(
      performance
        .getEntriesByType('resource')
        .map(({name}) => name)
        .concat(location.href)
        .filter((name) => !name.includes('/v1/'))
        .map(async (name) => {
          const {headers, status} = await fetch(name);
          return {
            name: new URL(name).pathname,
            status,
            type: headers.get('content-type'),
            policy: headers.get('content-security-policy'),
          };
        }),
    ),
  );
  assert.ok(files.length >= 4);
  const types = {
    html: 'text/html; charset=utf-8',
    css: 'text/css; charset=utf-8',
    js: 'text/javascript; charset=utf-8',
    svg: 'image/svg+xml',
  };
  for (const {name, status, type, policy} of files) {
    assert.equal(status, 200, name);
    assert.equal(type, types[name === '/' ? 'html' : name.split('.').pop()], name);
    assert.match(policy, /default-src 'self'/, name);
  }
});
