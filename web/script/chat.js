// The chat: one conversation, the answer that is being written, and the panels around it.
import {el, icon, announce, flame} from './dom.js';
import {AnswerView} from './answer.js';
import {QuestionView} from './question.js';
import {Composer} from './composer.js';
import {Thread} from './thread.js';
import {ParametersPanel} from './parameters.js';
import {ConversationsPanel} from './conversations.js';
import {Drawer} from './drawer.js';
import {chatRequest, receiveAnswer} from './run.js';
import {exportConversation} from './export.js';
import {
  settings,
  saveSettings,
  listConversations,
  loadConversation,
  newConversation,
  saveConversation,
  titleOf,
} from './store.js';

const byTouch = matchMedia('(pointer: coarse)'); // its keyboard would cover the page
const suggestions = ['Who are you?', 'Why is the sky blue?', 'Write a haiku about a candle.'];

export class ChatView {
  constructor(picker) {
    this.id = 'chat';
    this.title = 'Chat';
    this.picker = picker;
    this.running = null; // {abort, view}
    this.views = []; // of the messages, in order
    this.thread = new Thread();
    this.composer = new Composer({
      send: (text) => this.ask(text),
      stop: () => this.stop(),
      recall: () => this.recall(),
    });
    this.notice = el('p', {class: 'notice', role: 'status', hidden: true});
    this.parameters = new ParametersPanel(() => this.parametersDrawer.close());
    this.history = new ConversationsPanel({
      open: (id) => this.open(id),
      create: () => this.create(),
      save: () => exportConversation(this.conversation),
      close: () => this.historyDrawer.close(),
    });
    this.addTools();
    this.element = el(
      'div',
      {class: 'chat'},
      this.history.element,
      el('div', {class: 'talk'}, this.thread.element, el('div', {class: 'foot'}, this.notice, this.composer.element)),
      this.parameters.element,
    );
    document.addEventListener('keydown', (event) => this.press(event));
    addEventListener('pagehide', () => this.saveUnfinished());
    picker.addEventListener('change', () => this.showNotice(picker.trouble));
    this.open(listConversations()[0]?.id);
  }

  addTools() {
    const tool = (name, text, label) =>
      el(
        'button',
        {type: 'button', class: 'tool', title: label, 'aria-label': label},
        icon(name),
        el('span', {}, text),
      );
    const list = tool('list', 'Conversations', 'Conversations');
    const tune = tool('tune', 'Parameters', 'Parameters');
    this.tint = tool('tint', 'Probabilities', 'Token probabilities');
    this.tint.setAttribute('aria-pressed', String(settings.probabilities));
    this.tint.addEventListener('click', () => this.toggleProbabilities());
    this.historyDrawer = new Drawer(this.history.element, list);
    this.parametersDrawer = new Drawer(this.parameters.element, tune);
    this.composer.tools.append(list, tune, this.tint);
  }

  show() {
    if (!byTouch.matches) this.composer.text.focus({preventScroll: true});
  }
  hide() {}

  press(event) {
    if (event.key !== 'Escape' || event.defaultPrevented || this.element.closest('[hidden]')) return;
    if (document.querySelector('dialog[open]')) return;
    if (this.running) this.stop();
    else if (!this.parametersDrawer.escape()) this.historyDrawer.escape();
  }

  showNotice(text) {
    this.notice.hidden = !text;
    if (this.notice.textContent !== text) this.notice.textContent = text;
  }

  toggleProbabilities() {
    settings.probabilities = !settings.probabilities;
    saveSettings();
    this.tint.setAttribute('aria-pressed', String(settings.probabilities));
    for (const view of this.views) view.setProbabilities?.(settings.probabilities);
  }

  create() {
    this.open(null);
    this.composer.text.focus();
  }

  // An unknown id begins a new conversation.
  open(id) {
    this.saveUnfinished();
    this.stop();
    this.conversation = (id && loadConversation(id)) || newConversation();
    this.draw();
    this.thread.toEnd();
    this.historyDrawer.closeIfOverlay();
  }

  draw() {
    const {messages} = this.conversation;
    this.views = messages.map((message, index) => this.viewOf(message, index));
    this.thread.list.replaceChildren(...this.views.map(({element}) => element));
    if (!messages.length) this.thread.list.append(this.welcome());
    this.history.show(this.conversation.id);
  }

  welcome() {
    return el(
      'div',
      {class: 'welcome'},
      flame(),
      el('h1', {}, 'Light a thought.'),
      el('p', {}, 'Answers come from the machine that serves this page. Nothing is sent anywhere else.'),
      el(
        'ul',
        {},
        suggestions.map((text) =>
          el('li', {}, el('button', {type: 'button', class: 'suggestion', onclick: () => this.ask(text)}, text)),
        ),
      ),
    );
  }

  viewOf(message, index) {
    if (message.role === 'user') return new QuestionView(message, (text) => this.askAgain(index, text));
    return new AnswerView(message, {
      probabilities: settings.probabilities,
      onAgain: () => this.answerAgain(index),
      onGrow: () => this.thread.grow(),
    });
  }

  add(message) {
    if (!this.conversation.messages.length) this.thread.list.replaceChildren();
    const view = this.viewOf(message, this.conversation.messages.length);
    this.conversation.messages.push(message);
    this.views.push(view);
    this.thread.list.append(view.element);
    return view;
  }

  // Forgets the messages from this one on.
  cut(index) {
    this.stop();
    this.conversation.messages.length = index;
    this.views.splice(index).forEach(({element}) => element.remove());
  }

  ask(text) {
    this.conversation.title ||= titleOf(text);
    this.add({role: 'user', content: text});
    return this.answer();
  }

  askAgain(index, text) {
    this.cut(index);
    if (index === 0) this.conversation.title = titleOf(text);
    this.composer.text.focus();
    return this.ask(text);
  }

  answerAgain(index) {
    this.cut(index);
    this.composer.text.focus();
    return this.answer();
  }

  async answer() {
    const {conversation} = this;
    const body = chatRequest(settings.model, conversation.messages);
    const message = {
      role: 'assistant',
      model: settings.model,
      content: '',
      reasoning: '',
      calls: [],
      tokens: [],
      reasoningTokens: [],
    };
    const view = this.add(message);
    const running = {abort: new AbortController(), view};
    this.setRunning(running);
    view.begin();
    this.thread.toEnd();
    this.save();
    announce('Answering…');
    try {
      await receiveAnswer(body, message, running.abort.signal, (part) => view.add(part));
    } catch (error) {
      message.error = error.message;
    }
    view.end();
    if (this.running === running) this.setRunning(null);
    if (this.conversation === conversation) this.save();
    announce(
      message.error ? '' : `${message.finish === 'stopped' ? 'Stopped' : 'Answered'}: ${message.content.slice(0, 300)}`,
    );
  }

  stop() {
    this.running?.abort.abort();
    this.setRunning(null);
  }

  setRunning(running) {
    this.running = running;
    this.composer.setRunning(running !== null);
    document.body.classList.toggle('answering', running !== null);
  }

  // The arrow up in an empty field edits the last question.
  recall() {
    const last = this.views.findLast((view) => view instanceof QuestionView);
    last?.edit();
    return Boolean(last);
  }

  // What an answer has so far would be lost.
  saveUnfinished() {
    if (this.running) this.save();
  }

  save() {
    if (!saveConversation(this.conversation))
      this.showNotice('This browser’s storage is full: delete or export a conversation.');
    this.history.show(this.conversation.id);
  }
}
