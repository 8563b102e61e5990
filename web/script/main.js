import {ChatView} from './chat/chat.js';
import {EngineView} from './engine/engine.js';
import {InsideView} from './inside/inside.js';
import {ModelPicker} from './models.js';
import {ThemeSwitch} from './theme.js';
import {Tabs} from './tabs.js';
import {TranscribeView} from './transcribe/transcribe.js';

new ThemeSwitch(document.querySelector('.theme'));
const picker = new ModelPicker(document.querySelector('.model-picker'));
// A further view is one more entry here.
const views = [new ChatView(picker), new TranscribeView(), new InsideView(picker), new EngineView(picker)];
new Tabs(document.querySelector('.tabs'), document.getElementById('views'), views);
picker.refresh();
