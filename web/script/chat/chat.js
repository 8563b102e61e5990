// The chat: one conversation, the answer that is being written, and the panels around it.
import {el, icon, announce, flame} from '../dom.js';
import {AnswerView} from './answer.js';
import {QuestionView} from './question.js';
import {Composer} from './composer.js';
import {Thread} from './thread.js';
import {ParametersPanel} from './parameters.js';
import {ConversationsPanel} from './conversations.js';
import {Drawer} from './drawer.js';
import {chatRequest, receiveAnswer} from './run.js';
import {exportConversation, importConversation} from './conversation_file.js';
import {Attachments} from './attachments.js';
import {ToolResultView} from './tool_call.js';
import {VoiceInput} from './voice.js';
import {setAside, turnTo} from './versions.js';
import {chatSuggestions, suggestionList} from '../suggestions.js';
import {
  settings,
  saveSettings,
  listConversations,
  loadConversation,
  newConversation,
  saveConversation,
  titleOf,
} from '../store.js';

const byTouch = matchMedia('(pointer: coarse)'); // its keyboard would cover the page

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
      load: (file) => this.load(file),
      renamed: (id, title) => id === this.conversation.id && (this.conversation.title = title),
      complain: (text) => this.showNotice(text),
      close: () => this.historyDrawer.close(),
    });
    this.attachments = new Attachments({
      complain: (text) => this.showNotice(text),
      changed: () => this.composer.changed(),
    });
    this.voice = new VoiceInput({
      read: () => this.composer.text.value,
      write: (text) => this.composer.write(text),
      complain: (text) => this.showNotice(text),
    });
    this.addTools();
    this.element = el(
      'div',
      {class: 'chat'},
      el('h1', {class: 'unseen'}, 'Chat'),
      this.history.element,
      el('div', {class: 'talk'}, this.thread.element, el('div', {class: 'foot'}, this.notice, this.composer.element)),
      this.parameters.element,
    );
    this.attachments.acceptDrops(this.element.querySelector('.talk'));
    document.addEventListener('keydown', (event) => this.press(event));
    addEventListener('pagehide', () => this.saveUnfinished());
    picker.addEventListener('change', () => this.showNotice(picker.trouble));
    picker.addEventListener('change', () => this.suggest());
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
    const attach = tool('clip', 'Attach', 'Attach text files');
    attach.addEventListener('click', () => this.attachments.choose());
    this.composer.attachments = this.attachments;
    this.composer.above.append(this.attachments.list, this.attachments.input);
    this.composer.tools.append(list, tune, this.tint, attach, this.voice.button);
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
      el('h2', {}, 'Light a thought.'),
      el('p', {}, 'Answers come from the machine that serves this page. Nothing is sent anywhere else.'),
      this.suggestions(),
    );
  }

  suggestions() {
    this.suggestedFor = settings.model;
    return suggestionList(chatSuggestions(settings.model), (text) => this.ask(text));
  }

  // Another model was chosen: what it can answer.
  suggest() {
    if (this.suggestedFor === settings.model) return;
    this.thread.list.querySelector('.suggestions')?.replaceWith(this.suggestions());
  }

  viewOf(message, index) {
    const onTurn = (version) => this.turn(index, version);
    if (message.role === 'tool') return new ToolResultView(message);
    if (message.role === 'user')
      return new QuestionView(message, {onResend: (text) => this.askAgain(index, text), onTurn});
    return new AnswerView(message, {
      onTurn,
      wantsResult: (call) => this.wantsResult(message, call),
      giveResult: (call, text) => this.giveResult(call, text),
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

  // Sets the messages from this one on aside, as another version.
  cut(index) {
    this.stop();
    const place = setAside(this.conversation.messages, index);
    this.views.splice(index).forEach(({element}) => element.remove());
    return place;
  }

  // Opens another version of a message, and what followed it.
  turn(index, version) {
    this.stop();
    turnTo(this.conversation.messages, index, version);
    this.draw();
    this.save();
    this.views[index].element.querySelector('.turn:not([disabled])').focus();
  }

  ask(text, files = this.attachments.take(), place = {}) {
    this.showNotice('');
    this.voice.stop();
    this.conversation.title ||= titleOf(text || files[0].name);
    this.add({role: 'user', content: text, ...(files.length ? {files} : {}), ...place});
    for (const view of this.views) view.showCalls?.(); // no results from now on
    return this.answer();
  }

  askAgain(index, text) {
    const {files = []} = this.conversation.messages[index];
    const place = this.cut(index);
    this.composer.text.focus();
    return this.ask(text, files, place);
  }

  answerAgain(index) {
    const place = this.cut(index);
    this.composer.text.focus();
    return this.answer(place);
  }

  // While nothing but other results followed the answer that calls.
  wantsResult(message, call) {
    const {messages} = this.conversation;
    const isLast = messages.findLast(({role}) => role !== 'tool') === message;
    return isLast && !messages.some(({role, id}) => role === 'tool' && id === call.id);
  }

  // What a tool returned; once all that were called have, the model goes on.
  giveResult({id, name}, text) {
    this.add({role: 'tool', id, name, content: text});
    const {messages} = this.conversation;
    const caller = messages.findLast(({role}) => role === 'assistant');
    this.draw();
    this.thread.toEnd();
    if (!caller.calls.some((call) => this.wantsResult(caller, call))) return this.answer();
    this.save();
    return null;
  }

  async load(file) {
    try {
      const conversation = await importConversation(file);
      if (!saveConversation(conversation)) throw new Error('This browser’s storage is full.');
      this.showNotice('');
      this.open(conversation.id);
    } catch (error) {
      this.showNotice(error.message);
    }
  }

  async answer(place = {}) {
    const {conversation} = this;
    const message = {
      ...place,
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
      const body = chatRequest(settings.model, conversation.messages.slice(0, -1));
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
