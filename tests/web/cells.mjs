// Where the cells of a grid are on the page.

// The middle of a cell, counted from the top left one that can be seen.
export const cellPoint = (page, card, row, column) =>
  page.run(
    (selector, down, across) => {
      const window = document.querySelector(`${selector} .cell-window`);
      window.scrollIntoView({block: 'nearest'});
      const box = window.getBoundingClientRect();
      const count = (name) => Number(window.parentElement.dataset[name]);
      const {gutter, header, width, height} = {
        gutter: 46,
        header: count('header'),
        width: count('cellWidth'),
        height: count('cellHeight'),
      };
      return {x: box.left + gutter + (across + 0.5) * width, y: box.top + header + (down + 0.5) * height};
    },
    card,
    row,
    column,
  );

export async function clickAt(page, point) {
  await page.send('Input.dispatchMouseEvent', {type: 'mouseMoved', ...point});
  for (const type of ['mousePressed', 'mouseReleased'])
    await page.send('Input.dispatchMouseEvent', {type, ...point, button: 'left', clickCount: 1});
}
