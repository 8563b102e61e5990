// The server's OpenAI-compatible API. Whatever goes wrong is an ApiError whose message is one sentence for people.
import {eventData} from './sse.js';
import {apiKey, askForKey} from './api_key.js';

export class ApiError extends Error {
  constructor(message, status = 0) {
    super(sentence(message));
    this.status = status;
  }
}

function sentence(message) {
  const text = String(message).trim().replace(/\s+/g, ' ').slice(0, 400);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

async function errorOf(response) {
  const text = await response.text().catch(() => '');
  try {
    const message = JSON.parse(text).error?.message;
    if (message) return new ApiError(message, response.status);
  } catch {
    // Not JSON: a proxy's page, say. The status tells more.
  }
  return new ApiError(`The server answered ${response.status} ${response.statusText}`, response.status);
}

// Tells when the server could not be reached: event 'gone'.
export const connection = new EventTarget();

async function request(path, {body, signal}) {
  for (;;) {
    const key = apiKey();
    const headers = {};
    if (key) headers.Authorization = `Bearer ${key}`;
    const isForm = body instanceof FormData;
    if (body && !isForm) headers['Content-Type'] = 'application/json';
    let response;
    try {
      response = await fetch(path, {
        method: body ? 'POST' : 'GET',
        headers,
        body: isForm ? body : body && JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (signal?.aborted && signal.reason?.name !== 'TimeoutError') throw error;
      connection.dispatchEvent(new Event('gone'));
      throw new ApiError(signal?.aborted ? 'The server does not answer' : 'The server cannot be reached');
    }
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status !== 401 || !(await askForKey(key, error.message, {isBackground: !body}))) throw error;
  }
}

async function allModels(signal) {
  const response = await request('/v1/models', {signal});
  return (await response.json()).data ?? [];
}

export async function listModels(signal) {
  return (await allModels(signal)).filter(({task}) => !task);
}

export async function listSpeechModels(signal) {
  return (await allModels(signal)).filter(({task}) => task === 'transcription');
}

async function* jsonEvents(path, options) {
  const response = await request(path, options);
  try {
    for await (const data of eventData(response)) {
      if (data === '[DONE]') return;
      const value = JSON.parse(data);
      if (value.error) throw new ApiError(value.error.message ?? value.error);
      yield value;
    }
  } catch (error) {
    if (error instanceof ApiError || options.signal?.aborted) throw error;
    if (!(error instanceof SyntaxError)) connection.dispatchEvent(new Event('gone'));
    throw new ApiError(
      error instanceof SyntaxError ? 'The server sent an event that is not JSON' : 'The connection to the server broke',
    );
  }
}

// The chunks of an answer.
export function streamChat(body, signal) {
  const streaming = {stream: true, stream_options: {include_usage: true}};
  return jsonEvents('/v1/chat/completions', {body: {...body, ...streaming}, signal});
}

// What is said in a recording: deltas, finished segments and the end.
export function streamTranscription(form, signal) {
  form.append('stream', 'true');
  return jsonEvents('/v1/audio/transcriptions', {body: form, signal});
}

// Looking into a model: what = 'lens', 'attention', 'norms', 'heads' or 'run'.
export async function lookInside(what, body, signal) {
  return (await request(`/v1/wick/${what}`, {body, signal})).json();
}

// Whether the server lets one look, and how large its model is.
export async function aboutInside(model, signal) {
  return (await request(`/v1/wick?model=${encodeURIComponent(model)}`, {signal})).json();
}

// The same in events, where it takes long: 'lens' or 'patch'.
export function watchInside(what, body, signal) {
  return jsonEvents(`/v1/wick/${what}`, {body, signal});
}

// How an engine stands, a few times per second, until aborted.
export function watchEngine(model, signal) {
  return jsonEvents(`/v1/engine?model=${encodeURIComponent(model)}`, {signal});
}

// The ids of a text, or of a conversation through the chat template.
export async function tokenize(body, signal) {
  return (await (await request('/tokenize', {body, signal})).json()).tokens;
}
