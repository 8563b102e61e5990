// Numbers as people read them.
export function count(value) {
  return Math.round(value).toLocaleString('en-US');
}

export function percent(part) {
  const value = 100 * part;
  if (value > 0 && value < 0.1) return '<0.1 %';
  return `${value >= 99.95 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}

// Nothing is not less than nothing: never "-0.00".
export function fixed(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace('-', '') : text;
}

export function rate(value) {
  return value >= 100 || value === 0 ? count(value) : value.toFixed(1);
}

export function duration(seconds) {
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
