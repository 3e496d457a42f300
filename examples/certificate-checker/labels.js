// Certificates of labels without constraints (kind "labels"), for check.js: the states of a certificate, level by level.
//
// All numbers are whole, and count from what each row costs at least. A state of two levels or fewer, and one of three
// that names no others, is counted from the data (subtrees.js). The bounds of the others follow from the states that
// they name: rows that come to a side cost no more than their dearest labels, and, unless leaves need a least number
// of rows, fewer rows cost no more.
"use strict";
const { expect, whole, EXACT } = require("./values.js");
const { kindsOf, cutGroups, rankColumns, countSplits } = require("./columns.js");
const { expectTerms, labelCost } = require("./tree.js");
const subtreesOf = require("./subtrees.js");

const MOST_COUNTED = 3; // labels of a state of three levels that names no others
const ENTRY = /^f?[0-9]{1,16}(,[0-9]{1,9},[0-9]{1,9},[0-9]{1,9},[0-9]{1,9})*$/;

function checkLabels(facts, data, loss, { price, scale }) {
  const claim = whole(facts.claim, "the claim"), stated = whole(facts.bound, "the bound");
  const least = whole(facts.least, "the least rows");
  const columns = rankColumns(facts.columns, data), { splits, absent } = countSplits(data, columns);
  expectTerms(facts, data, columns.candidates, absent === 0, least > 1 ? [`leaf_rows >= ${least}`] : []);
  const paid = labelCost(facts, data, loss, price, (k, rows) => {
    const held = rows.reduce((sum, i) => sum + data.copies[i], 0);
    expect(least <= 1 || held >= least, `a leaf of the tree has fewer than ${least} rows`);
  });
  expect(paid === claim, `the tree costs ${paid / scale} on the data, it claims ${claim / scale}`);
  const [rows, floor] = mergedRows(columns.ranks, loss, data.copies, least);
  const found = floor + stateBound(facts, rows, columns.ranks.length, price, Math.max(1, least));
  expect(found === stated && found <= claim, `its states bound all trees by ${found / scale}, it states ${stated / scale}`);
  return { objective: claim / scale, bound: found / scale, candidates: columns.candidates, splits, absent };
}

// Rows of equal ranks, which no tree separates, are one; and what all of them cost at least.
function mergedRows(columns, loss, counts, least) {
  let floor = 0;
  const rows = kindsOf(columns).map((own) => {
    const sums = loss[0].map((_, k) => own.reduce((sum, i) => sum + loss[i][k], 0)), cheapest = Math.min(...sums);
    const extra = sums.map((v) => v - cheapest), count = own.reduce((sum, i) => sum + counts[i], 0);
    floor += cheapest;
    return { rank: columns.map((ranks) => ranks[own[0]]), extra, count, most: Math.max(...extra) };
  });
  return [least > 1 ? rows : rows.filter((row) => row.most > 0), floor]; // all labels cost the same on the others
}

// Bounds of the sides of some cuts of a column, carried to all of its cuts; `whole` is a bound of all rows.
function carried(cuts, left, right, whole, falls) {
  const m = cuts.length, total = cuts[m - 1].moved, L = left.slice(), R = right.slice();
  for (let a = 0; a < m; a++) {
    L[a] = Math.max(L[a], whole - (total - cuts[a].moved));
    R[a] = Math.max(R[a], whole - cuts[a].moved);
  }
  for (let a = m - 2; a >= 0; a--) L[a] = Math.max(L[a], L[a + 1] - (cuts[a + 1].moved - cuts[a].moved));
  for (let a = 1; a < m; a++) R[a] = Math.max(R[a], R[a - 1] - (cuts[a].moved - cuts[a - 1].moved));
  for (let a = 1; a < m && falls; a++) L[a] = Math.max(L[a], L[a - 1]);
  for (let a = m - 2; a >= 0 && falls; a--) R[a] = Math.max(R[a], R[a + 1]);
  return [L, R];
}

function readStates(facts, depth) {
  const { states } = facts, many = Array.isArray(states) && states.length >= 1 && states.length <= Math.max(1, depth - 1);
  expect(many, "it has states of too many levels, or of none");
  return states.map((text) => (text ? text.split(";") : []).map((entry) => {
    expect(ENTRY.test(entry), "a state is not written as a bound and four numbers a cut");
    const [target, ...numbers] = entry.replace("f", "").split(",").map(Number), points = [];
    for (let i = 0; i < numbers.length; i += 4) points.push(numbers.slice(i, i + 4));
    expect(target < EXACT, "a bound is too large");
    return { free: entry[0] === "f", target, points, inside: null };
  }));
}

// What no tree costs less than, above what the rows cost at least.
function stateBound(facts, rows, C, price, least) {
  const { depth } = facts, K = facts.classes.length, all = [...Array(C).keys()], levels = readStates(facts, depth);
  const groups = cutGroups(all.map((c) => rows.map(({ rank }) => rank[c])));
  const copies = groups.map((own) => own.filter(({ copy }) => copy).map(({ cut }) => cut));
  let nSplits = 0;
  const chains = all.map((column) => {
    const size = rows.reduce((most, { rank }) => Math.max(most, rank[column]), 0), splits = [];
    for (let k = 0; k < size; k++) splits.push(nSplits++);
    return { column, splits, code: rows.map(({ rank }) => size - rank[column]) };
  });
  const zeros = new Array(K).fill(0);
  const trees = (conditions) => subtreesOf({
    chains, values: rows.map(({ extra, count }) => (conditions.length ? [...extra, count] : extra)),
    beside: zeros, node: price, least: conditions, may: () => all.map(() => true),
  });
  const free = trees([]), kept = least > 1 ? trees([zeros.map(() => least)]) : free;

  // The cuts of a column among some rows: the rank up to which they send rows left, what these can cost at most, and
  // how many rows of the data they are. The last one has all rows on its left.
  const cutsOf = (inside, c) => {
    const found = [];
    let [moved, held] = [0, 0];
    for (const i of [...inside].sort((a, b) => rows[a].rank[c] - rows[b].rank[c])) {
      const rank = rows[i].rank[c];
      moved += rows[i].most;
      held += rows[i].count;
      if (found.length && found[found.length - 1].rank === rank) found.pop();
      found.push({ rank, moved, held });
    }
    return found;
  };
  const isCopy = (c, from, to) => copies[c].some((cut) => cut >= from && cut < to);
  // Whether a cut is open to a tree that costs less than the target.
  const isOpen = (c, cuts, sides, whole, need, target) => {
    const [L, R] = carried(cuts, sides[0], sides[1], whole[0], true);
    const [l, r] = need > 1 ? carried(cuts, sides[2], sides[3], whole[1], false) : [L, R];
    const total = cuts[cuts.length - 1].held;
    return cuts.slice(0, -1).some(({ rank, held }, a) => held >= need && total - held >= need
      && !isCopy(c, rank, cuts[a + 1].rank) && Math.max(L[a], l[a]) + Math.max(R[a], r[a]) + price < target);
  };

  const checkCounted = (state, height, where) => {
    const own = state.free ? free : kept, less = `${where} claims ${state.target}, but some tree costs less`;
    if (state.target <= price) return;
    if (height === 1) return expect(own.subtrees(state.inside, 1, [], [all])[0] >= state.target, less);
    const alive = Array.from({ length: nSplits }, () => [true]);
    own.exclude(state.inside, height, alive, [all], state.target - 1);
    expect(!alive.some(([open]) => open), less);
  };
  expect(levels[0].length === 1 && !(levels[0][0].free && least > 1), "expected one state of all rows at level 0");
  levels[0][0].inside = rows.map((_, i) => i);
  levels.forEach((states, j) => states.forEach((state, at) => {
    const height = depth - j, { inside, target } = state, need = state.free ? 1 : least, where = `state ${at + 1} of level ${j}`;
    expect(inside, `nothing leads to ${where}`);
    if (!inside.length) return expect(target === 0 && !state.points.length, `${where} holds no rows`);
    const alone = free.subtrees(inside, 0, [], [all])[0];
    expect(alone >= target, `${where} claims ${target}, but one label costs less`);
    if (height <= 2) {
      expect(!state.points.length, `${where} names states of a level that there is not`);
      return checkCounted(state, height, where);
    }
    if (height === 3 && !state.points.length && least === 1) {
      expect(target <= price || K <= MOST_COUNTED, `${where} leaves three levels of ${K} labels to the check`);
      return checkCounted(state, height, where);
    }
    const name = (number, rowsOf) => {
      const child = (levels[j + 1] || [])[number - 1];
      expect(child, `${where} names a state that there is not`);
      expect(!state.free || child.free || least === 1, `${where} has a bound of other trees`);
      // A state of several cuts holds the rows that they have in common, each of its sides these and more.
      const others = child.inside && new Set(rowsOf);
      if (!others) child.inside = rowsOf;
      else if (least === 1 || child.free) child.inside = child.inside.filter((i) => others.has(i));
      else {
        const same = others.size === child.inside.length && child.inside.every((i) => others.has(i));
        expect(same, `${where} names a state of other rows`);
      }
      return child;
    };
    // Bounds of trees whose leaves may have any number of rows, and of the others.
    const enter = (child, bounds, place, free, own) => {
      if (child.free || least === 1) bounds[free][place] = Math.max(bounds[free][place], child.target);
      bounds[own][place] = Math.max(bounds[own][place], child.target);
    };
    const cuts = all.map((c) => cutsOf(inside, c)), whole = [[0], [0]];
    const bounds = cuts.map((own) => [0, 1, 2, 3].map(() => own.map(() => 0)));
    for (const [c, k, a, b] of state.points) {
      expect(c <= C, `${where} evaluates a column that there is not`);
      if (c === C) {
        expect(a === 0 && b > 0, `${where} has no state of all rows`);
        enter(name(b, inside), whole, 0, 0, 1);
        continue;
      }
      const place = cuts[c].filter((cut) => cut.rank <= k).length - 1;
      expect(place >= 0 && place < cuts[c].length - 1, `${where} evaluates a split that separates no rows`);
      if (a) enter(name(a, inside.filter((i) => rows[i].rank[c] <= k)), bounds[c], place, 0, 2);
      if (b) enter(name(b, inside.filter((i) => rows[i].rank[c] > k)), bounds[c], place, 1, 3);
    }
    all.forEach((c) => {
      const short = isOpen(c, cuts[c], bounds[c], whole.flat(), need, target);
      expect(!short, `${where} claims ${target}, but the sides of a split of column ${c} are bounded by less`);
    });
  }));
  return levels[0][0].target;
}

module.exports = { checkLabels };
