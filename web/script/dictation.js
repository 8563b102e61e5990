// The microphone, written down while somebody speaks: sound goes to /v1/realtime, text comes back.
import {ApiError} from './api.js';
import {apiKey} from './api_key.js';

const rate = 16000;
const item = 'conversation.item.input_audio_transcription.';

export class Dictation {
  // listener: guess(text) for what may still change, segment({start, end, text}) for what is done.
  constructor(model, listener) {
    this.model = model;
    this.listener = listener;
    this.begins = new Map(); // by item
  }

  // Until stop(), and until the last words are written down.
  async run() {
    this.isStopping = false;
    const stream = await this.openMicrophone();
    try {
      await this.connect();
      await this.record(stream);
      await this.finished;
    } finally {
      for (const track of stream.getTracks()) track.stop();
      this.context?.close();
      this.socket?.close();
    }
  }

  stop() {
    if (this.isStopping) return;
    this.isStopping = true;
    this.endRecording?.();
  }

  async openMicrophone() {
    if (!navigator.mediaDevices) {
      throw new ApiError('The browser gives the microphone only to pages over HTTPS or from this machine');
    }
    try {
      return await navigator.mediaDevices.getUserMedia({audio: {channelCount: 1, echoCancellation: true}});
    } catch (error) {
      throw new ApiError(`The microphone cannot be used: ${error.message || error.name}`);
    }
  }

  connect() {
    const address = new URL('/v1/realtime?intent=transcription', location.href);
    address.protocol = address.protocol.replace('http', 'ws');
    const key = apiKey();
    this.socket = new WebSocket(address, ['realtime', ...(key ? [`openai-insecure-api-key.${key}`] : [])]);
    this.finished = new Promise((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
    this.finished.catch(() => {}); // told by run()
    this.socket.addEventListener('message', ({data}) => this.hear(JSON.parse(data)));
    this.socket.addEventListener('close', () => this.fail(new ApiError('The connection to the server broke')));
    return new Promise((resolve, reject) => {
      this.socket.addEventListener('open', () => {
        this.configure();
        resolve();
      });
      this.socket.addEventListener('error', () => reject(new ApiError('The server cannot be reached')));
    });
  }

  configure() {
    const input = {
      format: {type: 'audio/pcm', rate},
      transcription: {model: this.model},
      turn_detection: {type: 'server_vad', create_response: false},
    };
    this.send({type: 'session.update', session: {type: 'transcription', audio: {input}}});
  }

  send(event) {
    this.socket.send(JSON.stringify(event));
  }

  hear(event) {
    if (event.type === 'input_audio_buffer.speech_started') {
      this.begins.set(event.item_id, event.audio_start_ms / 1000);
    } else if (event.type === 'input_audio_buffer.speech_stopped') {
      this.end = event.audio_end_ms / 1000;
    } else if (event.type === `${item}partial`) {
      this.listener.guess(event.text);
    } else if (event.type === `${item}completed`) {
      const start = this.begins.get(event.item_id) ?? 0;
      this.listener.segment({start, end: this.end ?? start, text: event.transcript});
    } else if (event.type === 'input_audio_buffer.committed' && this.hasCommitted) {
      this.lastItem = event.item_id;
    } else if (event.type === 'error') {
      // Nothing was left to write down: that is no trouble at the end.
      if (this.hasCommitted && event.error.code === 'input_audio_buffer_commit_empty') this.finish();
      else this.fail(new ApiError(event.error.message));
    }
    if (event.type === `${item}completed` && event.item_id === this.lastItem) this.finish();
  }

  // Sends sound until stop() is called, then asks for the rest.
  async record(stream) {
    this.context = new AudioContext({sampleRate: rate});
    await this.context.audioWorklet.addModule('/microphone_worklet.js');
    const source = this.context.createMediaStreamSource(stream);
    const worklet = new AudioWorkletNode(this.context, 'microphone', {numberOfOutputs: 0});
    worklet.port.onmessage = ({data}) => this.socket.readyState === WebSocket.OPEN && this.socket.send(data);
    source.connect(worklet);
    await Promise.race([new Promise((resolve) => (this.endRecording = resolve)), this.finished]);
    source.disconnect();
    this.hasCommitted = true;
    this.send({type: 'input_audio_buffer.commit'});
  }
}
