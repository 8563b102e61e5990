// Anthropic's own client against `wick serve` with Ember.
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {before, test} from 'node:test';

import {model, serve, sum, sumAnswer, weatherAnswer, weatherQuestion, weatherResult, weatherSchema} from './wick_server.mjs';

const {default: Anthropic} = await import(join(process.env.WICK_CLIENT, 'index.mjs'));

const connect = (baseURL, apiKey = 'none') => new Anthropic({baseURL, apiKey, maxRetries: 0});
let client;
before(async () => {
  client = connect(await serve());
});

const weather = {name: 'get_weather', description: 'Get the weather of a city', input_schema: weatherSchema};
const usual = {model, max_tokens: 200, temperature: 0};

test('a message', async () => {
  const answer = await client.messages.create({...usual, messages: sum});
  assert.equal(answer.type, 'message');
  assert.equal(answer.role, 'assistant');
  assert.deepEqual(answer.content, [{type: 'text', text: sumAnswer}]);
  assert.equal(answer.stop_reason, 'end_turn');
  assert.equal(answer.stop_sequence, null);
  assert.ok(answer.usage.output_tokens > 5);
});

test('the events of a stream, in their order', async () => {
  const kinds = [];
  let text = '';
  for await (const event of await client.messages.create({...usual, messages: sum, stream: true})) {
    if (kinds.at(-1) !== event.type) kinds.push(event.type);
    if (event.type === 'content_block_delta') text += event.delta.text;
  }
  assert.equal(text, sumAnswer);
  assert.deepEqual(kinds, ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop',
                           'message_delta', 'message_stop']);
});

test('the client\'s own collecting of a stream', async () => {
  const whole = await client.messages.create({...usual, messages: sum});
  const collected = await client.messages.stream({...usual, messages: sum}).finalMessage();
  assert.deepEqual(collected.content, whole.content);
  assert.equal(collected.stop_reason, 'end_turn');
  assert.equal(collected.usage.output_tokens, whole.usage.output_tokens);
});

test('tools: a call, its answer, and one that is forced', async () => {
  const first = await client.messages.create({...usual, messages: [weatherQuestion], tools: [weather]});
  assert.equal(first.stop_reason, 'tool_use');
  const call = first.content.find((block) => block.type === 'tool_use');
  assert.deepEqual({name: call.name, input: call.input}, {name: 'get_weather', input: {city: 'Lyon'}});
  const second = await client.messages.create({
    ...usual,
    messages: [
      weatherQuestion, {role: 'assistant', content: first.content},
      {role: 'user', content: [{type: 'tool_result', tool_use_id: call.id, content: weatherResult}]},
    ],
    tools: [weather],
  });
  assert.equal(second.content[0].text, weatherAnswer);
  const forced = await client.messages.create({...usual, messages: sum, tools: [weather], tool_choice: {type: 'any'}});
  assert.equal(forced.content.at(-1).name, 'get_weather');
  const stream = client.messages.stream({...usual, messages: [weatherQuestion], tools: [weather]});
  const streamed = (await stream.finalMessage()).content.at(-1);
  assert.deepEqual(streamed.input, {city: 'Lyon'});
});

test('system, stop sequences and max_tokens', async () => {
  const stopped = await client.messages.create({...usual, messages: sum, stop_sequences: ['= 6']});
  assert.equal(stopped.content[0].text, '348 + 275 ');
  assert.equal(stopped.stop_reason, 'stop_sequence');
  assert.equal(stopped.stop_sequence, '= 6');
  const short = await client.messages.create({...usual, messages: sum, max_tokens: 2});
  assert.equal(short.stop_reason, 'max_tokens');
  const system = [{type: 'text', text: 'You are Ember.', cache_control: {type: 'ephemeral'}}];
  assert.equal((await client.messages.create({...usual, system, messages: sum})).stop_reason, 'end_turn');
});

test('counting tokens', async () => {
  const count = (more) => client.messages.countTokens({model, messages: sum, ...more});
  const plain = (await count()).input_tokens;
  const answer = await client.messages.create({...usual, messages: sum});
  assert.equal(answer.usage.input_tokens + answer.usage.cache_read_input_tokens, plain);
  assert.ok((await count({tools: [weather]})).input_tokens > plain + 10);
  assert.ok((await count({system: 'Be kind.'})).input_tokens > plain);
});

test('models', async () => {
  const ids = [];
  for await (const entry of client.models.list()) ids.push(entry.id);
  assert.ok(ids.includes(model));
  assert.equal((await client.models.retrieve(model)).id, model);
});

test('errors', async () => {
  await assert.rejects(client.messages.create({...usual, model: 'other', messages: sum}), (error) => {
    assert.ok(error instanceof Anthropic.NotFoundError);
    assert.equal(error.error.type, 'error');
    assert.equal(error.error.error.type, 'not_found_error');
    return true;
  });
  await assert.rejects(client.messages.create({...usual, temperature: 3, messages: sum}), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal(error.error.error.type, 'invalid_request_error');
    assert.match(error.error.error.message, /temperature is 3, allowed is 0 to 1/);
    return true;
  });
  const image = {type: 'image', source: {type: 'base64', media_type: 'image/png', data: 'AAAA'}};
  await assert.rejects(client.messages.create({...usual, messages: [{role: 'user', content: [image]}]}),
                       /messages\[0\].content\[0\].type is 'image'/);
});

test('keys', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'wick-keys-'));
  writeFileSync(join(folder, 'keys'), 'me: secret\n');
  const url = await serve('--api-keys', join(folder, 'keys'));
  rmSync(folder, {recursive: true});
  const ask = (key) => connect(url, key).messages.create({...usual, messages: sum});
  await assert.rejects(ask('wrong'), Anthropic.AuthenticationError);
  assert.equal((await ask('secret')).content[0].text, sumAnswer);
});
