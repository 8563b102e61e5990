// Colours of the engine view, as [r, g, b] from 0 to 255.
import {darkScheme} from './dom.js';

// OKLCH keeps hues equally light, so no request stands out by its number.
export function fromOklch(lightness, chroma, hue) {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((linear) => {
    const value = Math.min(1, Math.max(0, linear));
    return 255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);
  });
}

export const css = ([r, g, b]) => `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;

// Neighbouring requests differ by the golden section. Yellow to orange is left to what is shared.
export function ownerHue(request) {
  let number = Number(request);
  if (!Number.isFinite(number)) {
    number = 0;
    for (const character of String(request)) number = (number * 31 + character.codePointAt(0)) % 9973;
  }
  return 110 + 270 * ((number * 0.618034) % 1);
}

export function ownerColor(request) {
  const isDark = darkScheme.matches;
  return fromOklch(isDark ? 0.74 : 0.64, isDark ? 0.12 : 0.13, ownerHue(request));
}

export function stateColors() {
  return darkScheme.matches
    ? {
        free: [76, 66, 57],
        cached: [120, 96, 66],
        used: [150, 140, 130],
        shared: [255, 214, 140],
        spark: [255, 240, 205],
        prefill: fromOklch(0.7, 0.1, 240),
        decode: [255, 165, 82],
        budget: [162, 150, 138],
        grid: [50, 43, 37],
      }
    : {
        free: [222, 212, 198],
        cached: [205, 172, 126],
        used: [130, 120, 110],
        shared: [214, 138, 20],
        spark: [255, 196, 92],
        prefill: fromOklch(0.6, 0.11, 240),
        decode: [226, 110, 20],
        budget: [111, 101, 90],
        grid: [230, 221, 208],
      };
}
