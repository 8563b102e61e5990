// What can be done with a conversation beside talking.
import assert from 'node:assert/strict';
import {suite} from './support.mjs';

const onPage = suite({pace: 1});

async function converse(page, ...questions) {
  for (const [at, question] of questions.entries()) {
    if (at) await page.click('.new');
    await page.say(question);
    await page.answered();
  }
}

// Gives a file to the field that takes it.
const give = (page, selector, name, content) =>
  page.run(
    (wanted, fileName, text) => {
      const files = new DataTransfer();
      files.items.add(new File([text], fileName));
      const input = document.querySelector(wanted);
      input.files = files.files;
      input.dispatchEvent(new Event('change'));
    },
    selector,
    name,
    content,
  );
const importField = '[aria-label="Conversation to import"]';
const notice = (page) => page.waitFor(() => document.querySelector('.foot .notice:not([hidden])')?.textContent);

onPage('deleting is undone, in the place where it was', {}, async (page, mock) => {
  await converse(page, 'number one', 'number two', 'number three');
  const before = await page.texts('.entry');
  await page.click('.conversations li:nth-child(2) [aria-label^="Delete"]');
  assert.deepEqual(await page.texts('.entry'), ['number three', 'number one']);
  assert.match(await page.text('.undo'), /Deleted “number two”/);
  await page.screenshot('chat-undo');
  await page.press('Enter'); // the focus is on Undo
  assert.deepEqual(await page.texts('.entry'), before);
  assert.deepEqual(await page.texts('.said'), ['number two']);
  assert.equal(await page.run(() => document.querySelector('.undo').hidden), true);
  await page.goto(mock.url);
  assert.deepEqual(await page.texts('.entry'), before);
});

onPage('conversations are renamed and found', {}, async (page, mock) => {
  await converse(page, 'number one', 'plain two');
  await page.click('.conversations li:nth-child(2) [aria-label^="Rename"]');
  await page.type('Numbers <b>');
  await page.press('Enter');
  assert.deepEqual(await page.texts('.entry'), ['plain two', 'Numbers <b>']);
  await page.click('.conversations li:nth-child(1) [aria-label^="Rename"]');
  await page.type('not this');
  await page.press('Escape');
  await page.click('[aria-label="Search the conversations"]');
  await page.type('ANSWER number'); // what the model said
  assert.deepEqual(await page.texts('.entry'), ['Numbers <b>']);
  await page.type(' nowhere');
  assert.deepEqual(await page.texts('.entry'), []);
  assert.equal(await page.text('.history [role="status"]:not([hidden])'), 'No conversation has that.');
  await page.goto(mock.url);
  assert.deepEqual(await page.texts('.entry'), ['plain two', 'Numbers <b>']);
  // What is said next does not take the name away.
  await page.click('.conversations li:nth-child(2) .entry');
  await page.say('plain');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  assert.deepEqual(await page.texts('.entry'), ['Numbers <b>', 'plain two']);
});

onPage('what was exported is imported, with its versions, and nothing else is', {}, async (page) => {
  await converse(page, 'number one');
  await page.click('.answer [aria-label="Answer again"]');
  await page.waitFor(() => document.querySelector('.versions') && !document.querySelector('.answer.live'));
  const answer = await page.text('.answer > .body');
  const exported = await page.run(async () => {
    let blob;
    URL.createObjectURL = (given) => {
      blob = given;
      return '#chat';
    };
    HTMLAnchorElement.prototype.click = () => {};
    document.querySelector('[aria-label="Export this conversation as JSON"]').click();
    return blob.text();
  });
  await give(page, importField, 'mine.json', exported);
  await page.waitFor(() => document.querySelectorAll('.entry').length === 2);
  assert.equal(await page.text('.answer > .body'), answer);
  assert.equal(await page.text('.versions span'), '2 / 2');
  const hurt = (change) => {
    const read = JSON.parse(exported);
    change(read);
    return JSON.stringify(read);
  };
  for (const [content, sentence] of [
    ['{', 'mine.json is not JSON.'],
    ['[]', 'mine.json is no conversation that this page has exported.'],
    ['null', 'mine.json is no conversation that this page has exported.'],
    [hurt((read) => (read.messages[0].role = 'system')), 'The file has a message that is neither a question nor an answer.'],
    [hurt((read) => (read.messages[1].content = {})), 'The file has a message that is neither a question nor an answer.'],
  ]) {
    await give(page, importField, 'mine.json', content);
    await page.waitFor((said) => document.querySelector('.foot .notice').textContent === said, sentence);
  }
  // Fields of other types than they should be are left out.
  const odd = hurt(({messages}) => {
    Object.assign(messages[1], {reasoning: 7, calls: 'x', stats: [], version: 9, model: null, finish: {}});
    messages[0].files = [{name: 1}];
  });
  await give(page, importField, 'odd.json', odd);
  await page.waitFor(() => document.querySelectorAll('.entry').length === 3);
  assert.equal(await page.text('.answer > .body'), answer);
  assert.equal(await page.count('.versions'), 0);
});

onPage('answers and questions keep their earlier versions', {}, async (page, mock) => {
  await converse(page, 'number one');
  const first = await page.text('.answer > .body');
  await page.say('number two');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  const second = (await page.texts('.answer > .body'))[1];
  await page.click('.answer [aria-label="Answer again"]');
  await page.waitFor(() => document.querySelectorAll('.answer').length === 1 && !document.querySelector('.answer.live'));
  const other = await page.text('.answer > .body');
  assert.notEqual(other, first);
  assert.equal(await page.text('.versions span'), '2 / 2');
  await page.click('.answer [aria-label="Earlier version"]');
  assert.deepEqual(await page.texts('.answer > .body'), [first, second]); // with what followed it
  assert.equal(await page.text('.versions span'), '1 / 2');
  assert.equal(await page.run(() => document.activeElement.getAttribute('aria-label')), 'Later version');
  await page.press('Enter');
  assert.deepEqual(await page.texts('.answer > .body'), [other]);
  // The same for a question, after the page was left.
  await page.goto(mock.url);
  await page.click('.question [aria-label="Edit and send again"]');
  await page.type(', changed');
  await page.press('Enter');
  await page.waitFor(() => document.querySelector('.question .versions') && !document.querySelector('.answer.live'));
  assert.deepEqual(await page.texts('.said'), ['number one, changed']);
  await page.screenshot('chat-versions');
  await page.click('.question [aria-label="Earlier version"]');
  assert.deepEqual(await page.texts('.said'), ['number one']);
  assert.deepEqual(await page.texts('.answer > .body'), [other]);
  await page.click('.answer [aria-label="Earlier version"]');
  assert.deepEqual(await page.texts('.answer > .body'), [first, second]);
  assert.deepEqual(await page.texts('.answer .facts span:first-child'), ['ember', 'ember']); // who answered
});

onPage('text files go along, others are refused', {}, async (page, mock) => {
  const field = '[aria-label="Text files"]';
  await give(page, field, 'notes.md', 'One ``` two\n');
  await page.waitFor(() => document.querySelector('.attached li'));
  assert.match(await page.text('.attached li'), /notes\.md, 12 bytes/);
  await give(page, field, 'large.txt', 'x'.repeat(300000));
  assert.equal(await notice(page), 'large.txt does not fit: files may have 256 KiB together.');
  await give(page, field, 'bytes.bin', 'a\0b');
  await page.waitFor(() => document.querySelector('.foot .notice').textContent === 'bytes.bin is no text in UTF-8.');
  assert.equal(await page.count('.attached li'), 1);
  // Dropped on the conversation.
  await page.run(() => {
    const files = new DataTransfer();
    files.items.add(new File(['let x;'], 'x.js'));
    const area = document.querySelector('.talk');
    for (const type of ['dragover', 'drop']) area.dispatchEvent(new DragEvent(type, {dataTransfer: files, cancelable: true}));
  });
  await page.waitFor(() => document.querySelectorAll('.attached li').length === 2);
  await page.screenshot('chat-attached');
  await page.say('plain and short');
  await page.answered();
  assert.equal(
    mock.requests.at(-1).messages[0].content,
    'plain and short\n\nnotes.md:\n````\nOne ``` two\n````\n\nx.js:\n```\nlet x;\n```',
  );
  assert.equal(await page.count('.attached li'), 0);
  assert.equal(await page.text('.said'), 'plain and short');
  assert.deepEqual(await page.texts('.file summary'), ['notes.md, 12 bytes', 'x.js, 6 bytes']);
});

onPage('a tool is called, told of, and its result goes back', {}, async (page, mock) => {
  await page.click('.tool[aria-controls="parameters"]');
  await page.click('#p-tools');
  await page.type('[{"name": ');
  assert.equal(await page.text('#p-tools-hint'), 'The tools are not JSON.');
  assert.equal(await page.run(() => document.querySelector('#p-tools').ariaInvalid), 'true');
  await page.type('"weather", "parameters": {"type": "object"}}]');
  await page.say('tool');
  await page.answered();
  const tool = {type: 'function', function: {name: 'weather', parameters: {type: 'object'}}};
  assert.deepEqual(mock.requests.at(-1).tools, [tool]);
  await page.click('.result-form textarea');
  await page.type('plain rain');
  await page.click('.result-form button');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  assert.deepEqual(mock.requests.at(-1).messages.slice(1), [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{id: 'call_1', type: 'function', function: {name: 'weather', arguments: '{"city":"Ghent"}'}}],
    },
    {role: 'tool', tool_call_id: 'call_1', content: 'plain rain'},
  ]);
  assert.match(await page.text('.tool-result'), /weather returned.*plain rain/);
  assert.equal(await page.count('.result-form'), 0);
  await page.screenshot('chat-tool');
  await page.goto(mock.url);
  assert.match(await page.text('.tool-result'), /plain rain/);
  // A result that nobody gave is not asked for once the talk went on.
  await page.click('.new');
  await page.say('tool');
  await page.answered();
  assert.equal(await page.count('.result-form'), 1);
  await page.say('plain');
  await page.waitFor(() => document.querySelectorAll('.answer:not(.live)').length === 2);
  assert.equal(await page.count('.result-form'), 0);
});

onPage('colours follow the system until somebody chooses', {dark: true}, async (page, mock) => {
  const paper = () => page.run(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.click('.theme button');
  assert.equal(await page.run(() => document.querySelector('.theme button').ariaLabel), 'Colours: light');
  const light = await paper();
  assert.notEqual(light, dark);
  await page.goto(mock.url);
  assert.equal(await paper(), light);
  await page.click('.theme button');
  assert.equal(await paper(), dark);
  await page.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'light'}]});
  assert.equal(await paper(), dark);
  await page.click('.theme button'); // as the system
  assert.equal(await paper(), light);
});

onPage('without a model for speech the microphone says so', {}, async (page, mock) => {
  const models = mock.models;
  mock.models = models.filter(({task}) => !task);
  await page.click('.tool.voice');
  assert.equal(await notice(page), 'The server has no model for speech.');
  assert.equal(await page.run(() => document.querySelector('.tool.voice').ariaLabel), 'Voice input');
  mock.models = models;
});
