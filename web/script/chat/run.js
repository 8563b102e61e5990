// Asks for one answer and writes it into a message as it arrives.
import {streamChat} from '../api.js';
import {readToken} from '../tokens.js';
import {settings} from '../store.js';
import {readTools} from './tool_call.js';
import {withFiles} from './attachments.js';

const numbers = ['temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'max_tokens', 'seed'];

// The request for the next answer of a conversation. Empty settings are left to the server.
export function chatRequest(model, messages) {
  const said = messages.filter(({role, content, calls}) => role !== 'assistant' || content || calls?.length);
  const body = {model, messages: said.map(forServer)};
  if (settings.system.trim()) body.messages.unshift({role: 'system', content: settings.system});
  for (const name of numbers) if (settings[name] !== '') body[name] = Number(settings[name]);
  if (settings.priority) body.priority = settings.priority;
  const tools = readTools(settings.tools);
  if (tools) body.tools = tools;
  return {...body, logprobs: true, top_logprobs: 5};
}

// Reasoning stays behind, as chat templates expect.
function forServer({role, content, calls, files, id: callId}) {
  if (role === 'tool') return {role, tool_call_id: callId, content};
  if (files?.length) return {role, content: withFiles(content, files)};
  if (!calls?.length) return {role, content};
  const toolCalls = calls.map(({id, name, arguments: text}) => ({
    id,
    type: 'function',
    function: {name, arguments: text},
  }));
  return {role, content: content || null, tool_calls: toolCalls};
}

// Calls onPart for each chunk, after message holds it. Throws ApiError; being stopped is no error.
export async function receiveAnswer(body, message, signal, onPart) {
  const clock = new Clock();
  try {
    for await (const chunk of streamChat(body, signal)) {
      if (chunk.model) message.model = chunk.model;
      const choice = chunk.choices?.[0];
      if (choice) {
        const part = readPart(choice, message);
        clock.see(part);
        onPart(part);
        if (choice.finish_reason) message.finish = choice.finish_reason;
      }
      if (chunk.usage) clock.usage = chunk.usage;
      if (chunk.timings) clock.timings = chunk.timings;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    message.finish = 'stopped';
  } finally {
    message.stats = clock.stats();
  }
}

function readPart({delta = {}, logprobs}, message) {
  const part = {
    text: delta.content || '',
    reasoning: delta.reasoning_content || '',
    calls: delta.tool_calls,
    tokens: (logprobs?.content ?? []).map(readToken),
  };
  message.content += part.text;
  message.reasoning += part.reasoning;
  (part.reasoning && !part.text ? message.reasoningTokens : message.tokens).push(...part.tokens);
  for (const {index = 0, id, function: called = {}} of part.calls ?? []) {
    const call = (message.calls[index] ??= {id, name: '', arguments: ''});
    call.name += called.name ?? '';
    call.arguments += called.arguments ?? '';
  }
  return part;
}

// Rates are the server's own; what a person waits for is measured here.
class Clock {
  constructor() {
    this.start = performance.now();
    this.parts = 0;
  }

  see({text, reasoning, calls, tokens}) {
    if (!text && !reasoning && !calls && !tokens.length) return;
    this.last = performance.now();
    this.first ??= this.last;
    this.parts += Math.max(1, tokens.length);
    if (text) this.firstText ??= this.last;
    if (reasoning) this.firstThought ??= this.last;
  }

  stats() {
    if (this.first === undefined) return {};
    const tokens = this.usage?.completion_tokens ?? this.parts;
    return {
      tokens,
      tokensPerSecond: this.timings?.predicted_per_second || undefined,
      prefillTokens: this.timings?.prompt_n,
      prefillPerSecond: this.timings?.prompt_per_second || undefined,
      firstTokenSeconds: (this.first - this.start) / 1000,
      thinkingSeconds: this.firstThought && ((this.firstText ?? this.last) - this.firstThought) / 1000,
      promptTokens: this.usage?.prompt_tokens,
      cachedTokens: this.usage?.prompt_tokens_details?.cached_tokens,
    };
  }
}
