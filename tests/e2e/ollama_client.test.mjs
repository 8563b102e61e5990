// Ollama's own client against `wick serve` with Ember.
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {before, test} from 'node:test';

import {model, serve, sum, sumAnswer, weatherAnswer, weatherQuestion, weatherResult, weatherSchema} from './wick_server.mjs';

const {Ollama} = await import(join(process.env.WICK_CLIENT, 'dist/index.mjs'));

let client;
before(async () => {
  client = new Ollama({host: await serve()});
});

const options = {temperature: 0};
const weather = {
  type: 'function',
  function: {name: 'get_weather', description: 'Get the weather of a city', parameters: weatherSchema},
};

test('a chat', async () => {
  const answer = await client.chat({model, messages: sum, options});
  assert.equal(answer.message.role, 'assistant');
  assert.equal(answer.message.content, sumAnswer);
  assert.equal(answer.done, true);
  assert.equal(answer.done_reason, 'stop');
  assert.ok(answer.eval_count > 5 && answer.prompt_eval_count > 5);
  assert.ok(answer.total_duration >= answer.eval_duration && answer.eval_duration > 0);
  assert.ok(!Number.isNaN(Date.parse(answer.created_at)));
});

test('a chat as a stream', async () => {
  let text = '', last = null, parts = 0;
  for await (const part of await client.chat({model: 'ember:latest', messages: sum, options, stream: true})) {
    text += part.message.content;
    last = part;
    ++parts;
  }
  assert.equal(text, sumAnswer);
  assert.ok(parts > 2);
  assert.equal(last.done, true);
  assert.ok(last.eval_count > 5);
});

test('tools: a call and its answer, whole and as a stream', async () => {
  const first = await client.chat({model, messages: [weatherQuestion], tools: [weather], options});
  const call = first.message.tool_calls[0];
  assert.equal(call.function.name, 'get_weather');
  assert.deepEqual(call.function.arguments, {city: 'Lyon'});
  const second = await client.chat({
    model,
    messages: [weatherQuestion, first.message, {role: 'tool', tool_name: 'get_weather', content: weatherResult}],
    tools: [weather],
    options,
  });
  assert.equal(second.message.content, weatherAnswer);
  const calls = [];
  for await (const part of await client.chat({model, messages: [weatherQuestion], tools: [weather], options, stream: true})) {
    calls.push(...(part.message.tool_calls ?? []));
  }
  assert.deepEqual(calls.map((each) => each.function.arguments), [{city: 'Lyon'}]);
});

test('a schema and JSON', async () => {
  const schema = {
    type: 'object',
    properties: {name: {type: 'string'}, age: {type: 'integer'}},
    required: ['name', 'age'],
    additionalProperties: false,
  };
  const messages = [{role: 'user', content: 'Give me JSON with name and age: Tom is 7 years old.'}];
  const answer = await client.chat({model, messages, format: schema, options});
  assert.deepEqual(JSON.parse(answer.message.content), {name: 'Tom', age: 7});
  const any = await client.chat({model, messages, format: 'json', options});
  assert.equal(typeof JSON.parse(any.message.content), 'object');
});

test('generate', async () => {
  const answer = await client.generate({model, prompt: sum[0].content, options});
  assert.equal(answer.response, sumAnswer);
  let text = '';
  for await (const part of await client.generate({model, prompt: sum[0].content, options, stream: true})) text += part.response;
  assert.equal(text, sumAnswer);
  const stopped = await client.generate({model, prompt: sum[0].content, options: {...options, stop: ['= 6']}});
  assert.equal(stopped.response, '348 + 275 ');
  const short = await client.generate({model, prompt: 'Once upon a time', raw: true, options: {...options, num_predict: 3}});
  assert.equal(short.done_reason, 'length');
  assert.equal(short.eval_count, 3);
  assert.equal((await client.generate({model, prompt: ''})).done_reason, 'load');
});

test('models', async () => {
  assert.deepEqual((await client.list()).models.map((each) => each.name), [model]);
  const shown = await client.show({model});
  assert.ok(shown.capabilities.includes('completion') && shown.capabilities.includes('tools'));
  assert.equal(shown.model_info[`${shown.model_info['general.architecture']}.context_length`], 4096);
  assert.equal((await client.ps()).models[0].model, model);
  assert.match((await client.version()).version, /^[0-9]+\.[0-9]+\.[0-9]+$/);
});

test('keeping and unloading a model', async () => {
  const other = new Ollama({host: await serve()});
  assert.equal((await other.generate({model, prompt: '', keep_alive: '5m'})).done_reason, 'load');
  const [kept] = (await other.ps()).models;
  assert.ok(Math.abs(new Date(kept.expires_at) - Date.now() - 300e3) < 60e3);
  assert.equal((await other.generate({model, prompt: '', keep_alive: 0})).done_reason, 'unload');
  for (let tries = 0; tries < 100 && (await other.ps()).models.length > 0; ++tries) await new Promise((wake) => setTimeout(wake, 20));
  assert.deepEqual((await other.ps()).models, []);
});

test('stopping a stream', async () => {
  const stream = await client.chat({model, messages: [{role: 'user', content: 'Tell me a story.'}], stream: true});
  setTimeout(() => stream.abort(), 20);
  await assert.rejects(async () => {
    for (;;) for await (const part of stream) void part;
  });
});

test('errors', async () => {
  const says = (status, text) => (error) => {
    assert.equal(error.status_code, status);
    assert.match(error.message, text);
    return true;
  };
  await assert.rejects(client.chat({model: 'other', messages: sum}), says(404, /there is no model 'other'/));
  await assert.rejects(client.chat({model, messages: sum, options: {temperature: 3}}), says(400, /options.temperature is 3/));
  await assert.rejects(client.chat({model, messages: [{...sum[0], images: [new Uint8Array([1])]}]}), says(400, /images/));
  await assert.rejects(client.chat({model: 'other', messages: sum, stream: true}), says(404, /there is no model/));
  await assert.rejects(client.delete({model}), says(404, /wick serve was started with/));
});

test('keys', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wick-keys-'));
  writeFileSync(join(folder, 'keys'), 'me: secret\n');
  const host = await serve('--api-keys', join(folder, 'keys'));
  rmSync(folder, {recursive: true});
  await assert.rejects(new Ollama({host}).list(), /API key is needed/);
  const known = new Ollama({host, headers: {Authorization: 'Bearer secret'}});
  assert.equal((await known.list()).models[0].name, model);
});
