#pragma once

// Calls `call(n)` with the number of rows as a constant, so that a tile's sums stay in registers.
#define WICK_ROWS(rows, call) \
  switch (rows) {             \
    case 1: return call(1);   \
    case 2: return call(2);   \
    case 3: return call(3);   \
    case 4: return call(4);   \
    case 5: return call(5);   \
    case 6: return call(6);   \
  }
