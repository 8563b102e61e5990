// One answer of the model, while it arrives and afterwards.
import {el, flame, copyButton, iconButton} from '../dom.js';
import {MarkdownStream} from '../markdown/markdown.js';
import {TokenView} from '../tokens.js';
import {count, duration, rate} from '../format.js';
import {toolCallView} from './tool_call.js';
import {versionPager} from './versions.js';

const endings = {
  length: 'Ended at the limit of tokens.',
  stopped: 'Stopped.',
  content_filter: 'Ended by a filter.',
};

export class AnswerView {
  // message: {model, content, reasoning, calls, tokens, reasoningTokens, stats, finish, error}. wantsResult(call): no result
  // of it was given yet; giveResult(call, text) gives it.
  constructor(message, {probabilities, onGrow = () => {}, onAgain, onTurn, wantsResult, giveResult}) {
    Object.assign(this, {wantsResult, giveResult});
    this.message = message;
    this.probabilities = probabilities;
    this.onGrow = onGrow;
    this.body = el('div', {class: 'body'});
    this.thought = el('div', {class: 'body'});
    this.thinking = el('summary');
    this.reasoning = el(
      'details',
      {class: 'reasoning', hidden: true, ontoggle: () => this.unfold()},
      this.thinking,
      this.thought,
    );
    this.calls = el('div', {class: 'calls'});
    this.error = el('p', {class: 'error', role: 'alert', hidden: true});
    this.facts = el('p', {class: 'facts'});
    this.mark = el('span', {class: 'mark', 'aria-hidden': 'true'});
    this.actions = el(
      'div',
      {class: 'actions'},
      copyButton(() => this.message.content, 'Copy the answer'),
      iconButton('again', 'Answer again', () => onAgain()),
      versionPager(message, onTurn),
    );
    this.element = el(
      'article',
      {class: 'answer', 'aria-label': 'Answer'},
      this.mark,
      this.reasoning,
      this.body,
      this.calls,
      this.error,
      el('footer', {}, this.facts, this.actions),
    );
    this.show();
  }

  // Shows everything the message has; whatever is added later arrives through add().
  show() {
    const {message} = this;
    this.body.replaceChildren();
    this.thought.replaceChildren();
    this.bodyWriter = this.writer(this.body, message.content, message.tokens);
    this.thoughtWriter = null;
    if (message.reasoning) this.showReasoning();
    this.showCalls();
    this.showEnd();
  }

  writer(container, text, tokens) {
    container.classList.remove('tokens');
    const area = el('div');
    container.append(area);
    if (this.probabilities && (tokens?.length || this.isLive)) {
      const view = new TokenView(area);
      view.add(tokens ?? []);
      return {
        add: (_, more) => {
          view.add(more);
          this.onGrow();
        },
        end() {},
      };
    }
    if (this.probabilities && text)
      container.append(el('p', {class: 'note'}, 'The probabilities of this answer were not kept.'));
    const stream = new MarkdownStream(area, this.onGrow);
    if (text) stream.write(text);
    if (!this.isLive) stream.end();
    return {add: (more) => stream.write(more), end: () => stream.end()};
  }

  setProbabilities(on) {
    this.probabilities = on;
    this.bodyWriter.end();
    this.thoughtWriter?.end();
    this.show();
  }

  begin() {
    this.isLive = true;
    this.element.classList.add('live');
    this.element.setAttribute('aria-busy', 'true');
    this.mark.replaceChildren(flame());
    this.show();
  }

  add({text, reasoning, calls, tokens}) {
    if (reasoning) {
      const writer = this.thoughtWriter; // a new one begins with all the message has
      this.showReasoning();
      writer?.add(reasoning, text ? [] : tokens);
    }
    if (text || (!reasoning && tokens.length)) this.bodyWriter.add(text ?? '', tokens);
    if (text) this.sayThinking();
    if (calls) this.showCalls();
  }

  end() {
    this.isLive = false;
    this.element.classList.remove('live');
    this.element.removeAttribute('aria-busy');
    this.mark.replaceChildren();
    this.bodyWriter.end();
    this.thoughtWriter?.end();
    this.sayThinking();
    this.showCalls();
    this.showEnd();
    if (this.probabilities && !this.message.tokens.length) this.show();
  }

  showReasoning() {
    this.reasoning.hidden = false;
    this.sayThinking();
    this.unfold();
  }

  // What is folded is not drawn.
  unfold() {
    if (!this.reasoning.open || this.thoughtWriter || !this.message.reasoning) return;
    this.thoughtWriter = this.writer(this.thought, this.message.reasoning, this.message.reasoningTokens);
  }

  sayThinking() {
    const {message} = this;
    const isThinking = this.isLive && !message.content && !message.calls?.length;
    const seconds = message.stats?.thinkingSeconds;
    this.thinking.textContent = isThinking ? 'Thinking…' : seconds ? `Thought for ${duration(seconds)}` : 'Thoughts';
    this.reasoning.classList.toggle('thinking', isThinking);
  }

  showCalls() {
    const calls = this.message.calls ?? [];
    const give = (call) => (!this.isLive && this.wantsResult(call) ? (text) => this.giveResult(call, text) : null);
    this.calls.replaceChildren(...calls.map((call) => toolCallView(call, give(call))));
  }

  showEnd() {
    const {stats = {}, finish, error} = this.message;
    this.error.hidden = !error;
    this.error.textContent = error ?? '';
    const facts = [];
    if (endings[finish]) facts.push(endings[finish]);
    if (this.message.model) facts.unshift(this.message.model);
    if (stats.tokens) facts.push(`${count(stats.tokens)} ${stats.tokens === 1 ? 'token' : 'tokens'}`);
    if (stats.tokensPerSecond) facts.push(`${rate(stats.tokensPerSecond)} tokens/s`);
    if (stats.firstTokenSeconds !== undefined) facts.push(`first token ${duration(stats.firstTokenSeconds)}`);
    if (stats.prefillPerSecond)
      facts.push(`prefill ${count(stats.prefillTokens)} tokens, ${rate(stats.prefillPerSecond)} tokens/s`);
    if (stats.cachedTokens)
      facts.push(`${count(stats.cachedTokens)} of ${count(stats.promptTokens)} prompt tokens from the prefix cache`);
    this.facts.replaceChildren(...facts.map((fact) => el('span', {}, fact)));
  }
}
