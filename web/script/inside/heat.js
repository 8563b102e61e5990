// Colours of heat maps: 256 steps as [r, g, b] bytes in a row, for the scheme that is on.
import {darkScheme} from '../dom.js';
import {fromOklch} from '../palette.js';

const steps = 256;

function scale(colorAt) {
  const colors = new Uint8ClampedArray(3 * steps);
  for (let step = 0; step < steps; ++step) colors.set(colorAt(step / (steps - 1)), 3 * step);
  return colors;
}

const mix = (from, to, part) => from + (to - from) * part;

// From nothing to much: paper to flame.
function sequential(isDark) {
  return scale((part) =>
    isDark
      ? fromOklch(mix(0.21, 0.84, part), mix(0.012, 0.135, part ** 0.7), mix(50, 72, part))
      : fromOklch(mix(0.965, 0.6, part), mix(0.012, 0.165, part ** 0.8), mix(80, 48, part)),
  );
}

// From less over nothing to more: blue, paper, flame.
function diverging(isDark) {
  return scale((part) => {
    const size = Math.abs(2 * part - 1);
    const hue = part < 0.5 ? 250 : 55;
    return isDark
      ? fromOklch(mix(0.23, 0.78, size), mix(0.005, 0.135, size), hue)
      : fromOklch(mix(0.97, 0.58, size), mix(0.005, 0.15, size), hue);
  });
}

const made = new Map();

// kind: 'sequential' or 'diverging'.
export function heatColors(kind) {
  const name = `${kind}-${darkScheme.matches}`;
  if (!made.has(name)) made.set(name, (kind === 'diverging' ? diverging : sequential)(darkScheme.matches));
  return made.get(name);
}

export const stepOf = (part) => (part > 0 ? (part < 1 ? Math.round(part * (steps - 1)) : steps - 1) : 0);

// Whether dark text is read better on a colour.
export const isLight = (colors, step) =>
  0.299 * colors[3 * step] + 0.587 * colors[3 * step + 1] + 0.114 * colors[3 * step + 2] > 140;
