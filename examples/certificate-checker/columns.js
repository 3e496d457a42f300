// Splits: which rows they send left, in columns of nested splits, and which ways to separate the rows they leave out.
"use strict";
const { expect } = require("./values.js");

function leftOf(split, data) {
  // For each row whether it goes left; a missing cell does so only where that is asked.
  const feature = data.features.find((f) => f.name === split.feature);
  expect(feature, `the certificate splits on the column ${split.feature}, which is not a column of the data`);
  if (split.kind === "missing") return feature.cells.map((v) => Number.isNaN(v));
  if (split.kind === "threshold") {
    expect(Number.isFinite(split.threshold), "a threshold is not a finite number");
    return feature.cells.map((v) => v <= split.threshold);
  }
  expect(split.kind === "subset" && Array.isArray(split.values), "a split has an unknown kind");
  expect(split.values.every((v) => typeof v === "string" || Number.isFinite(v)), "a level of a split is no number and no text");
  const wanted = new Set(split.values.map((v) => (feature.numeric ? Number(v) : feature.keys.indexOf(feature.key(v)))));
  return feature.cells.map((v) => !Number.isNaN(v) && v >= (feature.numeric ? -Infinity : 0) && wanted.has(v));
}

// The rows of equal ranks, which no cut separates: a list of rows for each kind.
function kindsOf(ranks) {
  const kinds = new Map();
  ranks[0].forEach((_, i) => {
    const key = ranks.map((rank) => rank[i]).join();
    if (!kinds.has(key)) kinds.set(key, []);
    kinds.get(key).push(i);
  });
  return [...kinds.values()];
}

// By column the cuts that separate rows, by rising rank: {cut, group, turned, copy}. Cuts of one group separate the rows
// in the same way, if the left rows of those that are turned count as right; a copy is not the first of its group. Sums
// of random numbers find them, then all rows are compared.
function cutGroups(ranks) {
  let state = 12345, groups = 0;
  const random = ranks[0].map(() => (state = (state * 1103515245 + 12345) % 2147483648) + 1);
  const all = random.reduce((a, b) => a + b, 0), known = new Map();
  return ranks.map((rank) => {
    const order = [...rank.keys()].sort((i, j) => rank[i] - rank[j]), found = [];
    let sum = 0;
    order.forEach((i, at) => {
      const cut = rank[i], turned = rank[0] > cut;
      sum += random[i];
      if (at + 1 === order.length || rank[order[at + 1]] === cut) return;
      const key = Math.min(sum, all - sum), others = known.get(key) || [];
      const same = (one) => rank.every((r, j) => (r <= cut !== turned) === (one.rank[j] <= one.cut !== one.turned));
      const first = others.find(same);
      found.push({ cut, group: first ? first.group : groups, turned, copy: Boolean(first) });
      if (!first) known.set(key, [...others, { rank, cut, turned, group: groups++ }]);
    });
    return found;
  });
}

// The feature of each column of a certificate, where constraints distinguish them.
function featuresOf(columns) {
  return columns.map(({ feature, splits }) => {
    const names = new Set(splits ? splits.map((split) => split.feature) : [feature]);
    expect(names.size === 1, "a column has splits on several features, which its constraints distinguish");
    return [...names][0];
  });
}

// Columns of a certificate: the rank of each row, so that cut k of a column sends the rows of rank <= k left; the number
// of cuts of each, and of all; and the features of which all thresholds are cuts.
function rankColumns(columns, data) {
  const complete = new Set(), sizes = [];
  const nested = ({ splits: own, turned }) => {
    expect(own.length === turned.length, "a column of nested splits does not say which of them are turned");
    let before = data.features[0].cells.map(() => true);
    const rank = before.map(() => 0);
    own.forEach((split, at) => {
      const right = leftOf(split, data).map((left) => left === Boolean(turned[at]));
      expect(right.every((is, i) => !is || before[i]), "a column has splits that are not nested");
      right.forEach((is, i) => { if (is) rank[i]++; });
      before = right;
    });
    sizes.push(own.length);
    return rank;
  };
  const ranks = columns.map((column) => {
    if (column.kind === "nested") return nested(column);
    if (column.kind !== "threshold") { sizes.push(1); return leftOf(column, data).map((left) => (left ? 0 : 1)); }
    const feature = data.features.find((f) => f.name === column.feature);
    expect(feature, `the certificate splits on the column ${column.feature}, which is not a column of the data`);
    let cuts = column.thresholds;
    if (cuts == null) {
      cuts = [...new Set(feature.cells.filter((v) => !Number.isNaN(v)))].sort((a, b) => a - b).slice(0, -1);
      complete.add(column.feature);
    }
    expect(cuts.every((v, i) => Number.isFinite(v) && (!i || cuts[i - 1] < v)), "its thresholds are not in rising order");
    sizes.push(cuts.length);
    return feature.cells.map((v) => {
      if (Number.isNaN(v)) return cuts.length;
      let low = 0, high = cuts.length; // the first threshold that the cell is not above
      while (low < high) { const mid = (low + high) >> 1; if (cuts[mid] < v) low = mid + 1; else high = mid; }
      return low;
    });
  });
  expect(ranks.length > 0, "it has no columns of splits");
  return { ranks, sizes, candidates: sizes.reduce((a, b) => a + b, 0), complete };
}

// How many ways there are to separate the rows by one split, each counted for its column, and how many are no cut; with
// `names`, the column of the data of each column of splits, no cut of the same one.
function countSplits(data, { ranks: columns, complete }, names = null) {
  const isCut = (side, name) => columns.some((ranks, at) => {
    if (names && names[at] !== name) return false;
    const of = [[Infinity, -Infinity], [Infinity, -Infinity]];
    ranks.forEach((r, i) => { const range = of[side[i] ? 1 : 0]; range[0] = Math.min(range[0], r); range[1] = Math.max(range[1], r); });
    return of[0][1] < of[1][0] || of[1][1] < of[0][0];
  });
  let splits = 0, absent = 0;
  for (const feature of data.features) {
    const count = (side) => {
      if (!side.includes(true) || !side.includes(false)) return;
      splits += 1;
      if (!isCut(side, feature.name)) absent += 1;
    };
    const known = [...new Set(feature.cells.filter((v) => !Number.isNaN(v)))].sort((a, b) => a - b), gaps = feature.cells.some(Number.isNaN);
    if (data.missing === "separate" && gaps) count(feature.cells.map((v) => Number.isNaN(v)));
    if (feature.numeric && complete.has(feature.name)) splits += Math.max(0, known.length - 1);
    else if (feature.numeric || feature.ordered) for (const value of known.slice(0, -1)) count(feature.cells.map((v) => v <= value));
    else for (const value of known.length === 2 && !gaps ? known.slice(0, 1) : known) count(feature.cells.map((v) => v === value));
  }
  return { splits, absent };
}

module.exports = { leftOf, kindsOf, cutGroups, featuresOf, rankColumns, countSplits };
