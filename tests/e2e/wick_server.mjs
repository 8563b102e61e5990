// `wick serve` with Ember, for tests of clients; Ember's sure-fire answers are in models/ember/README.md.
import {spawn} from 'node:child_process';
import {after} from 'node:test';

const running = [];
after(() => running.forEach((server) => server.kill()));

// Starts a server on a free port and waits until it says where.
export function serve(...options) {
  const server = spawn(process.env.WICK_PROGRAM, ['serve', '--port', '0', '--kv-memory', '64MiB', ...options]);
  running.push(server);
  return new Promise((resolve, reject) => {
    let output = '';
    server.stdout.on('data', (data) => {
      output += data;
      const url = output.match(/http:\/\/[0-9.:]+/);
      if (url) resolve(url[0]);
    });
    server.stderr.on('data', (data) => process.stderr.write(data));
    server.on('exit', (code) => reject(new Error(`wick serve ended with ${code}`)));
  });
}

export const model = 'ember';
export const sum = [{role: 'user', content: 'What is 348 plus 275?'}];
export const sumAnswer = '348 + 275 = 623';
export const weatherQuestion = {role: 'user', content: 'What is the weather in Lyon?'};
export const weatherSchema = {
  type: 'object',
  properties: {city: {type: 'string', description: 'The name of the city'}},
  required: ['city'],
};
export const weatherResult = '{"temperature": 12, "sky": "cloudy"}';
export const weatherAnswer = 'In Lyon it is cloudy and 12 degrees.';
