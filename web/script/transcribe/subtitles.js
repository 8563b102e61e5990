// A transcript as text and as subtitles.
import {el} from '../dom.js';

// "1:02" or "1:01:02".
export function clock(seconds) {
  const whole = Math.floor(seconds);
  const two = (value) => String(value).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes}:${two(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

// "00:01:02,500".
function exact(seconds, point) {
  const all = Math.round(seconds * 1000);
  const part = (value, digits) => String(value).padStart(digits, '0');
  const hours = part(Math.floor(all / 3600000), 2);
  const minutes = part(Math.floor(all / 60000) % 60, 2);
  return `${hours}:${minutes}:${part(Math.floor(all / 1000) % 60, 2)}${point}${part(all % 1000, 3)}`;
}

// kind: txt, srt or vtt.
export function inFormat(kind, segments) {
  if (kind === 'txt') return segments.map(({text}) => text).join('\n') + '\n';
  const point = kind === 'srt' ? ',' : '.';
  const shown = (text) =>
    kind === 'srt' ? text : text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const cues = segments.map(({start, end, text}, index) => {
    const number = kind === 'srt' ? `${index + 1}\n` : '';
    return `${number}${exact(start, point)} --> ${exact(end, point)}\n${shown(text)}\n`;
  });
  return (kind === 'vtt' ? 'WEBVTT\n\n' : '') + cues.join('\n');
}

export function saveFile(text, name) {
  const address = URL.createObjectURL(new Blob([text], {type: 'text/plain'}));
  el('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
