// The rows that `--hold-out SHARE` sets aside: the first of a permutation that is the same for tables of one length, as
// the generator PCG64 (O'Neill 2014) with this state and increment shuffles them from the end.
"use strict";
const { nearest } = require("./values.js");

const BITS = (n) => (1n << n) - 1n;
const [STATE, INCREMENT] = [3383365900161324816698418978122629783n, 72763549156770659863042999813056722643n];
const FACTOR = 0x2360ed051fc65da44385df649fccf645n;

function* words() {
  for (let state = STATE; ;) {
    state = (state * FACTOR + INCREMENT) & BITS(128n);
    const mixed = (state >> 64n) ^ (state & BITS(64n)), turn = state >> 122n;
    const drawn = ((mixed >> turn) | (mixed << ((64n - turn) & 63n))) & BITS(64n);
    yield Number(drawn & BITS(32n));
    yield Number(drawn >> 32n);
  }
}

// Of so many rows, whether each is set aside.
function heldOut(n, share) {
  const order = Array.from({ length: n }, (_, i) => i), drawn = words(), out = new Array(n).fill(false);
  for (let i = n - 1; i > 0; i--) {
    const mask = 2 ** (32 - Math.clz32(i)) - 1;
    let j;
    do j = (drawn.next().value & mask) >>> 0; while (j > i);
    [order[i], order[j]] = [order[j], order[i]];
  }
  for (const i of order.slice(0, nearest(share * n))) out[i] = true;
  return out;
}

module.exports = { heldOut };
