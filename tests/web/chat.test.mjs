import assert from 'node:assert/strict';
import {suite, until} from './support.mjs';

const onPage = suite();

onPage('an answer is streamed, with its thoughts folded and its numbers below', {}, async (page, mock) => {
  await page.screenshot('chat-welcome');
  await page.say('Explain paged attention');
  await page.waitFor(() => document.querySelector('.reasoning.thinking summary')?.textContent === 'Thinking…');
  // Seen while it grows: part of the text, not yet its end.
  await page.waitFor(() => document.querySelector('.answer.live > .body p')?.textContent.startsWith('Paged attention'));
  assert.equal(await page.run(() => document.querySelector('.answer > .body').textContent.includes('In short')), false);
  await page.waitFor(() => document.querySelector('.answer.live figure code')?.textContent.includes('try_allocate'));
  await page.screenshot('chat-streaming');
  await page.answered();
  await page.screenshot('chat-answer');
  assert.equal(await page.text('.question .said'), 'Explain paged attention');
  assert.match(await page.text('.reasoning summary'), /^Thought for /);
  assert.equal(await page.run(() => document.querySelector('.reasoning').open), false);
  assert.match(await page.text('.answer .facts'), /^ember\d+ tokens56\.7 tokens\/sfirst token \d+ msprefill \d+ tokens, 1,234 tokens\/s$/);
  await page.click('.reasoning summary');
  await page.waitFor(() => document.querySelector('.reasoning .body').textContent.startsWith('The person asks'));
  const [request] = mock.requests.slice(-1);
  assert.deepEqual(request.messages, [{role: 'user', content: 'Explain paged attention'}]);
  assert.equal(request.stream, true);
  assert.deepEqual(request.stream_options, {include_usage: true});
  assert.equal(request.top_logprobs, 5);
});

onPage('stopping ends the request and keeps what there is', {}, async (page, mock) => {
  await page.say('forever');
  await page.waitFor(() => document.querySelector('.answer > .body')?.textContent.includes('word 5'));
  await until(() => mock.open === 1);
  await page.click('.send');
  await page.answered();
  await until(() => mock.open === 0);
  assert.match(await page.text('.answer .facts'), /^emberStopped\./);
  assert.match(await page.text('.answer > .body'), /word 5/);
  assert.equal(await page.run(() => document.querySelector('.send').getAttribute('aria-label')), 'Send');
});

onPage('answering again replaces the answer and what followed', {}, async (page, mock) => {
  await page.say('number one');
  await page.answered();
  const first = await page.text('.answer > .body');
  await page.say('number two');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  await page.click('.answer [aria-label="Answer again"]');
  await page.waitFor(
    (old) =>
      document.querySelectorAll('.answer').length === 1 &&
      !document.querySelector('.answer.live') &&
      document.querySelector('.answer > .body').textContent !== old,
    first,
  );
  assert.equal(await page.count('.question'), 1);
  assert.deepEqual(mock.requests[mock.requests.length - 1].messages, [{role: 'user', content: 'number one'}]);
});

onPage('a question can be edited and sent again', {}, async (page, mock) => {
  await page.say('number one');
  await page.answered();
  await page.say('number two');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  await page.click('.question [aria-label="Edit and send again"]');
  await page.type(', changed');
  await page.press('Enter');
  await page.waitFor(
    () => document.querySelectorAll('.answer').length === 1 && !document.querySelector('.answer.live'),
  );
  assert.deepEqual(await page.texts('.said'), ['number one, changed']);
  assert.deepEqual(mock.requests[mock.requests.length - 1].messages, [{role: 'user', content: 'number one, changed'}]);
});

onPage('errors are one sentence', {}, async (page, mock) => {
  const errorOf = async (question) => {
    await page.say(question);
    await page.waitFor(
      () =>
        !document.querySelector('.answer.live') && document.querySelector('.answer:last-child .error:not([hidden])'),
    );
    return page.text('.answer:last-child .error');
  };
  assert.equal(await errorOf('refuse'), 'temperature is 9 but must be between 0 and 5.');
  assert.equal(await errorOf('proxy'), 'The server answered 502 Bad Gateway.');
  assert.equal(await errorOf('break'), 'the engine ran out of memory.');
  assert.equal(await page.text('.answer:last-child > .body'), 'This will not');
  await page.screenshot('chat-errors');
  // Only what was said goes along next time.
  await page.say('plain');
  await page.answered();
  assert.deepEqual(
    mock.requests[mock.requests.length - 1].messages.map(({role}) => role),
    ['user', 'user', 'user', 'assistant', 'user'],
  );
});

onPage('parameters are sent when set, and only then', {}, async (page, mock) => {
  await page.say('plain');
  await page.answered();
  const unset = Object.keys(mock.requests[mock.requests.length - 1]).sort();
  assert.deepEqual(unset, ['logprobs', 'messages', 'model', 'stream', 'stream_options', 'top_logprobs']);
  await page.click('.tool[aria-controls="parameters"]');
  const values = {
    temperature: '0.7',
    top_p: '0.9',
    top_k: '40',
    min_p: '0.05',
    repetition_penalty: '1.1',
    max_tokens: '64',
    seed: '7',
  };
  for (const [name, value] of Object.entries(values)) {
    await page.click(`#p-${name}`);
    await page.type(value);
  }
  await page.click('#p-system');
  await page.type('Be brief.');
  await page.run(() => {
    const select = document.querySelector('#p-priority');
    select.value = 'high';
    select.dispatchEvent(new Event('change'));
  });
  await page.say('plain again');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  const request = mock.requests[mock.requests.length - 1];
  for (const [name, value] of Object.entries(values)) assert.equal(request[name], Number(value), name);
  assert.equal(request.priority, 'high');
  assert.deepEqual(request.messages[0], {role: 'system', content: 'Be brief.'});
  // What is out of range is marked and not sent.
  await page.run(() => {
    document.querySelector('#p-top_p').value = '';
  });
  await page.click('#p-top_p');
  await page.type('5');
  assert.equal(await page.run(() => document.querySelector('#p-top_p').getAttribute('aria-invalid')), 'true');
  await page.click('.parameters .quiet');
  assert.equal(await page.run(() => document.querySelector('#p-top_p').value), '');
  await page.say('plain once more');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 3);
  assert.deepEqual(Object.keys(mock.requests[mock.requests.length - 1]).sort(), unset);
});

onPage('conversations stay, and can be exported and deleted', {}, async (page, mock) => {
  await page.say('number one');
  await page.answered();
  const answer = await page.text('.answer > .body');
  await page.goto(mock.url);
  assert.equal(await page.text('.answer > .body'), answer);
  await page.click('.new');
  assert.equal(await page.count('.answer'), 0);
  await page.say('write something');
  await page.answered();
  assert.deepEqual(await page.texts('.entry'), ['write something', 'number one']);
  const exported = await page.run(async () => {
    let blob;
    URL.createObjectURL = (given) => {
      blob = given;
      return '#chat';
    };
    HTMLAnchorElement.prototype.click = () => {};
    document.querySelector('[aria-label="Export this conversation as JSON"]').click();
    return JSON.parse(await blob.text());
  });
  assert.equal(exported.title, 'write something');
  assert.deepEqual(
    exported.messages.map(({role}) => role),
    ['user', 'assistant'],
  );
  assert.equal(exported.messages[1].tokens.map(({text}) => text).join(''), exported.messages[1].content);
  await page.click('.conversations li:nth-child(2) .entry');
  assert.equal(await page.text('.answer > .body'), answer);
  await page.click('.conversations li:nth-child(2) [aria-label^="Delete"]');
  assert.deepEqual(await page.texts('.entry'), ['write something']);
  assert.equal(await page.count('.answer'), 0);
});

onPage('a call of a tool and a limit are shown', {}, async (page) => {
  await page.say('tool');
  await page.answered();
  assert.equal(await page.text('.call code'), 'weather');
  assert.equal(await page.text('.call pre'), '{\n  "city": "Ghent"\n}');
  await page.say('cut');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  assert.match(await page.text('.answer:last-child .facts'), /^emberEnded at the limit of tokens\./);
});

onPage('a model that loads shows how far it is', {}, async (page, mock) => {
  const ready = mock.models;
  mock.models = [
    {...ready[0], status: 'loading', progress: 0.4},
    {...ready[0], id: 'large', status: 'failed', error: 'large/config.json is missing'},
  ];
  await page.goto(mock.url);
  await page.waitFor(() => document.querySelector('.model-picker option')?.text === 'ember · loading 40 %');
  assert.equal(await page.run(() => document.querySelector('.model-picker progress').value), 0.4);
  await page.run(() => {
    const select = document.querySelector('.model-picker select');
    select.value = 'large';
    select.dispatchEvent(new Event('change'));
  });
  assert.equal(await page.text('.foot .notice'), 'large/config.json is missing');
  mock.models = ready;
  await page.waitFor(() => document.querySelector('.model-picker option')?.text === 'ember');
  await page.waitFor(() => document.querySelector('.model-picker select').value === 'ember');
});

onPage(
  'thoughts unfolded while they arrive, and probabilities switched meanwhile, lose and double nothing',
  {},
  async (page) => {
    await page.say('explain');
    await page.click('.reasoning.thinking summary');
    await page.waitFor(() => document.querySelector('.reasoning .body').textContent.length > 20);
    await page.waitFor(() => document.querySelector('.answer.live > .body')?.textContent.length > 60);
    await page.click('.tool[aria-pressed]');
    await page.waitFor(() => document.querySelectorAll('.answer.live > .body .token').length > 40);
    await page.click('.tool[aria-pressed]');
    await page.answered();
    const live = await page.run(() => [...document.querySelectorAll('.answer .body')].map(({innerText}) => innerText));
    assert.match(live[0], /^The person asks for .* one sentence to keep\.$/);
    await page.click('.tool[aria-pressed]');
    await page.click('.tool[aria-pressed]');
    const again = await page.run(() => [...document.querySelectorAll('.answer .body')].map(({innerText}) => innerText));
    assert.deepEqual(live, again);
  },
);

onPage('the conversation follows the answer unless one scrolls away', {height: 500}, async (page) => {
  const gap = () =>
    page.run(() => {
      const {scrollHeight, scrollTop, clientHeight} = document.querySelector('.thread');
      return scrollHeight - scrollTop - clientHeight;
    });
  await page.say('explain');
  await page.answered();
  assert.ok((await gap()) < 2);
  await page.say('forever');
  await page.waitFor(() => document.querySelector('.answer.live')?.textContent.includes('word 9'));
  await page.run(() => document.querySelector('.thread').scrollTo({top: 40, behavior: 'instant'}));
  await page.waitFor(() => !document.querySelector('.latest').hidden);
  await page.waitFor(() => document.querySelector('.answer.live')?.textContent.includes('word 40'));
  assert.equal(await page.run(() => document.querySelector('.thread').scrollTop), 40);
  await page.click('.latest');
  await page.waitFor(() => document.querySelector('.latest').hidden);
  await page.press('Escape');
  await page.answered();
});

onPage('a server that is gone is named as such', {}, async (page, mock) => {
  await page.send('Network.emulateNetworkConditions', {
    offline: true,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  await page.say('plain');
  await page.answered();
  assert.equal(await page.text('.answer .error'), 'The server cannot be reached.');
  await page.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  await page.click('.answer [aria-label="Answer again"]');
  await page.waitFor(() => document.querySelector('.answer:not(.live) > .body')?.textContent === 'Just text.');
  assert.equal(mock.requests[mock.requests.length - 1].messages.length, 1);
});
