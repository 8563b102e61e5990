import {ChatView} from './chat.js';
import {EngineView} from './engine.js';
import {InsideView} from './inside.js';
import {ModelPicker} from './models.js';
import {Tabs} from './tabs.js';
import {TranscribeView} from './transcribe.js';

const picker = new ModelPicker(document.querySelector('.model-picker'));
// A further view is one more entry here.
const views = [new ChatView(picker), new TranscribeView(), new InsideView(picker), new EngineView(picker)];
new Tabs(document.querySelector('.tabs'), document.getElementById('views'), views);
picker.refresh();
