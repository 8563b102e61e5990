import assert from 'node:assert/strict';
import {suite} from './support.mjs';

const onPage = suite();

const drop = (page, content, name = 'talk.wav') =>
  page.run(
    (text, fileName) => {
      const files = new DataTransfer();
      files.items.add(new File([text], fileName, {type: 'audio/wav'}));
      document.querySelector('.drop-zone').dispatchEvent(new DragEvent('drop', {dataTransfer: files, bubbles: true}));
    },
    content,
    name,
  );
const hint = (page) => page.text('.transcribe .card-head .hint');

onPage('a recording becomes segments with times', {hash: '#transcribe'}, async (page, mock) => {
  await page.waitFor(() => document.querySelector('.transcribe select').value === 'ember-asr');
  await drop(page, 'RIFF');
  await page.waitFor(() => document.querySelectorAll('.segment:not(.open)').length === 2);
  assert.deepEqual(await page.texts('.segment p'), ['Hello there.', 'This is <b>not</b> markup.']);
  assert.deepEqual(await page.texts('.segment .time'), ['0:00', '1:02']);
  await page.waitFor(() => /64|1 min 4 s/.test(document.querySelector('.transcribe .card-head .hint').textContent));
  assert.match(await hint(page), /times real time/);
  assert.equal(await page.count('.segment.open'), 0);
  const form = mock.requests.at(-1);
  assert.match(form, /name="file"; filename="talk.wav"/);
  assert.match(form, /name="model"\r\n\r\nember-asr/);
  assert.match(form, /name="stream"\r\n\r\ntrue/);
  await page.screenshot('transcribe');
});

onPage('text is shown while it comes', {hash: '#transcribe'}, async (page, mock) => {
  mock.pace = 400;
  await drop(page, 'RIFF');
  await page.waitFor(() => document.querySelector('.segment.open p')?.textContent.startsWith('Hello'));
  assert.equal(await page.run(() => document.querySelector('.transcript-tools').hidden), true);
  await page.click('.transcribe-bar button:not(.record)'); // Stop
  await page.waitFor(() => document.querySelector('.transcribe-bar button:not(.record)').hidden);
  mock.pace = 4;
  assert.equal(await page.run(() => document.querySelector('.transcribe .notice').hidden), true);
});

onPage('silence and damage are told', {hash: '#transcribe'}, async (page) => {
  await drop(page, 'silence');
  await page.waitFor(() => document.querySelector('.transcribe .card-head .hint').textContent.includes('Nobody speaks'));
  await drop(page, 'broken');
  await page.waitFor(() => !document.querySelector('.transcribe .notice').hidden);
  assert.equal(await page.text('.transcribe .notice'), 'talk.wav: this is no sound.');
});

onPage('subtitles are what players read', {hash: '#transcribe'}, async (page) => {
  const formats = await page.run(async () => {
    const {clock, inFormat} = await import('/script/transcribe/subtitles.js');
    const segments = [
      {start: 0, end: 1.25, text: 'One.'},
      {start: 3661.5, end: 3662, text: 'a < b & c'},
    ];
    return [inFormat('txt', segments), inFormat('srt', segments), inFormat('vtt', segments), clock(3661.5)];
  });
  assert.deepEqual(formats, [
    'One.\na < b & c\n',
    '1\n00:00:00,000 --> 00:00:01,250\nOne.\n\n2\n01:01:01,500 --> 01:01:02,000\na < b & c\n',
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.250\nOne.\n\n01:01:01.500 --> 01:01:02.000\na &lt; b &amp; c\n',
    '1:01:01',
  ]);
});

onPage('chat models are not mixed with those that listen', {}, async (page) => {
  await page.waitFor(() => document.querySelector('.model-picker select').options.length > 0);
  assert.deepEqual(await page.run(() => [...document.querySelector('.model-picker select').options].map((o) => o.value)), [
    'ember',
  ]);
});

onPage('a click on the example is enough', {hash: '#transcribe'}, async (page, mock) => {
  await page.waitFor(() => document.querySelector('.transcribe select').value === 'ember-asr');
  await page.screenshot('transcribe-empty');
  await page.click('.transcribe .suggestion');
  await page.waitFor(() => document.querySelectorAll('.segment:not(.open)').length === 2);
  assert.match(mock.requests.at(-1), /filename="example.wav"\r\nContent-Type: audio\/wav\r\n\r\nRIFF/);
  assert.equal(await page.run(() => document.querySelector('.transcribe .suggestions').closest('[hidden]') !== null), true);
});
