// The data of each server-sent event of a response, as text.
export async function* eventData(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  let data = [];
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      buffer += value;
      // A carriage return at the end may be half of a line end.
      const lines = buffer.split(/\r\n|\n|\r(?!$)/);
      buffer = lines.pop();
      for (const line of lines) {
        if (line === '') {
          if (data.length) yield data.join('\n');
          data = [];
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // also when the consumer leaves early
  }
}
