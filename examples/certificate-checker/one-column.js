// Trees over nested splits of one column, all of them, for constrained.js beside this file.
//
// Splits are nested if the rows that they separate can be put in an order of which each split cuts off a beginning. Rows
// between two neighbouring splits are a cell, and a tree of depth D parts the cells into at most 2^D intervals with a
// label each; of two neighbours of one label one is made. So all trees are walks over the cells in which the leaf at
// hand goes on by a cell, or one of another label begins.
"use strict";
const { expect } = require("./values.js");

const FROM_DEPTH = 4, DEEPEST = 8, MOST_WALKS = 2e6, MOST_HELD = 5e7;

// The cells of the rows, from 0 without gaps, by some splits: those that separate the first row from another one grow
// in order of size, if the first row is at an end. Null if they are not nested.
function cellsOf({ every, goes }, candidates) {
  const sides = candidates.map((f) => every.map(goes(f))), held = sides.map((side) => side.filter(Boolean).length);
  const few = (i) => Math.min(held[i], every.length - held[i]);
  const parting = sides.map((side, i) => ({ side, held: held[i], few: few(i) })).filter((one) => one.few);
  if (!parting.length) return every.map(() => 0);
  const least = parting.reduce((a, b) => (b.few < a.few ? b : a));
  const first = least.side.indexOf(2 * least.held <= every.length); // of the smallest side, which is at one end
  const beside = parting.map(({ side, held }) => {
    const own = side[first];
    return { side: side.map((left) => left === own), size: own ? held : every.length - held };
  }).sort((a, b) => a.size - b.size).map(({ side }) => side);
  for (let i = 1; i < beside.length; i++) if (beside[i - 1].some((inside, r) => inside && !beside[i][r])) return null;
  const rank = every.map((r) => beside.reduce((sum, side) => sum + (side[r] ? 0 : 1), 0));
  const place = new Map([...new Set(rank)].sort((a, b) => a - b).map((value, i) => [value, i]));
  return rank.map((value) => place.get(value));
}

// Of each of some sets of columns the cells of the rows if its trees are walks, else null.
function nestedSets(problem, sets) {
  const { places, sums, held, depth, column, price } = problem;
  const plain = places.mostSplits === null && !places.together.length && !problem.follows.length && !problem.rises && places.mostColumns !== 0;
  const grows = held.every(({ measure }) => measure.every((value) => value >= 0))
    && sums.every(({ node, leaf }) => node >= 0 && leaf.every((use) => use >= 0));
  return sets.map((set) => {
    if (!plain || !grows || depth < FROM_DEPTH || depth > DEEPEST || price < 0 || set.length !== 1) return null;
    const [own] = set, everywhere = [...Array(depth).keys()].every((level) => problem.may(Array(level).fill(own))[own]);
    return everywhere ? cellsOf(problem, [...column.keys()].filter((f) => column[f] === own)) : null;
  });
}

// Whether a tree over the cells may satisfy everything and cost less than the claim.
function holdsOne(problem, cells, D, multipliers, limit, claim) {
  const { K, sums, held, depth } = problem, n = Math.max(...cells) + 1, plain = 1 + sums.length, L = plain + 1;
  const weigh = (line) => line.reduce((sum, value, i) => sum + value * (i ? multipliers[i - 1] : D), 0);
  const withWeight = (line) => [...line, weigh(line)], labels = [...Array(K).keys()];
  const own = Array.from({ length: n }, () => labels.map(() => new Array(plain).fill(0)));
  const counted = held.map(() => new Array(n).fill(0));
  cells.forEach((c, r) => {
    for (const k of labels) { own[c][k][0] += problem.cost[r][k]; sums.forEach(({ use }, s) => { own[c][k][1 + s] += use[r][k]; }); }
    held.forEach(({ measure }, h) => { counted[h][c] += measure[r]; });
  });
  const node = withWeight([problem.price, ...sums.map((sum) => sum.node)]);
  const limits = [claim - 1, ...sums.map(({ bound }) => bound), limit];
  const cell = own.map((line) => line.map(withWeight)), most = Math.min(2 ** depth, n);
  expect(most * n * L * K <= MOST_HELD, "the splits of a column are too many for trees of this depth to be checked");
  const before = [labels.map(() => new Array(L).fill(0))]; // what the cells before one come to
  for (let c = 0; c < n; c++) before.push(labels.map((k) => before[c][k].map((value, i) => value + cell[c][k][i])));
  // Behind which cell a leaf that begins at one may end first; n + 1 if behind none.
  const end = Array.from({ length: n }, (_, c) => labels.map(() => c + 1));
  held.forEach(({ least }, h) => {
    const upto = [0];
    for (const value of counted[h]) upto.push(upto[upto.length - 1] + value);
    for (const k of labels) if (least[k] > -Infinity) for (let c = 0, e = 0; c < n; c++) {
      while (e <= n && upto[e] < upto[c] + least[k]) e++;
      end[c][k] = Math.max(end[c][k], e);
    }
  });
  const begun = end.map((ends, c) => labels.map((k) => {
    const leaf = withWeight([0, ...sums.map((sum) => sum.leaf[k])]);
    return before[Math.min(ends[k], n)][k].map((value, i) => value - before[c][k][i] + leaf[i]);
  }));
  // The least that is to come at a cell, in a leaf of a label that may end there, with so many more leaves.
  const size = (n + 2) * K * L, at = (c, k) => (c * K + k) * L, come = [];
  for (let more = 0; more < most; more++) {
    const found = new Float64Array(size).fill(Infinity);
    for (const k of labels) for (let i = 0; i < L; i++) {
      found[at(n, k) + i] = 0;
      let best = Infinity; // of another leaf that begins at this cell or later, with the cells up to it
      for (let c = n - 1; c >= 0; c--) {
        if (more) for (const other of labels) if (other !== k) {
          best = Math.min(best, before[c][k][i] + begun[c][other][i] + node[i] + come[more - 1][at(end[c][other], other) + i]);
        }
        found[at(c, k) + i] = Math.min(before[n][k][i], best) - before[c][k][i];
      }
    }
    come.push(found);
  }
  const least = Math.min(...labels.map((k) => begun[0][k][L - 1] + come[most - 1][at(end[0][k], k) + L - 1]));
  if (!(least <= limit)) return false;
  const fits = ({ leaves, label, v }, c) => {
    const to = at(c, label), rest = come[most - leaves];
    return v.every((value, i) => value + rest[to + i] <= limits[i]);
  };
  const cheapest = (walks) => {
    // Of walks with as many leaves, the same label and the same uses the cheapest; of one sum none that another beats.
    const kept = new Map();
    for (const one of walks) {
      const key = [one.leaves, one.label, ...one.v.slice(1, plain)].join(), known = kept.get(key);
      if (!known || one.v[0] < known.v[0]) kept.set(key, one);
    }
    if (plain !== 2) return [...kept.values()];
    const sorted = [...kept.values()].sort((a, b) => a.leaves - b.leaves || a.label - b.label || a.v[1] - b.v[1]);
    let last = null;
    return sorted.filter((one) => {
      const better = !last || last.leaves !== one.leaves || last.label !== one.label || one.v[0] < last.v[0];
      if (better) last = one;
      return better;
    });
  };
  const waiting = Array.from({ length: n + 1 }, () => []);
  let walks = [];
  for (let c = 0; c <= n; c++) {
    walks = cheapest([...walks, ...waiting[c]].filter((one) => fits(one, c)));
    waiting[c] = [];
    expect(walks.length <= MOST_WALKS, "the walks over the splits of a column are too many to be checked");
    if (c === n) return walks.length > 0;
    for (const k of labels) if (end[c][k] <= n) {
      const from = c ? walks.filter(({ label, leaves }) => label !== k && leaves < most) : [null];
      for (const one of from) {
        const v = begun[c][k].map((value, i) => (one ? one.v[i] + value + node[i] : value));
        const grown = { leaves: one ? one.leaves + 1 : 1, label: k, v };
        if (fits(grown, end[c][k])) waiting[end[c][k]].push(grown);
      }
    }
    walks = walks.map(({ leaves, label, v }) => ({ leaves, label, v: v.map((value, i) => value + cell[c][label][i]) }));
  }
  return false;
}

module.exports = { nestedSets, holdsOne };
