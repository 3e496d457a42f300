// Certificates of trees of numbers and of survival under a limit on all splits of a tree at once, for leaf-sums.js.
//
//   "splits": N                    at most N different splits: the best tree over each set of N splits
//   "together": [["a", "b"], …]   of some columns all are used or none: the best tree that uses at least those needed
//
// Nothing is listed in them: all trees are tried, in doubles first, and counted as fractions wherever these are too near
// to be told apart.
"use strict";
const { expect, whole } = require("./values.js");
const { featuresOf } = require("./columns.js");

const MOST_TESTS = 5, MOST_SETS = 50000, LEVELS = 3, MOST_NEEDED = 6, FREE = 2;

// The limits of a certificate: {mostSplits, together, words}, null if it has none.
function limitsOf(facts) {
  if (!("splits" in facts) && !("together" in facts)) return null;
  const mostSplits = "splits" in facts ? whole(facts.splits, "the splits") : null, together = facts.together || [];
  expect(Array.isArray(together) && together.every((group) => Array.isArray(group) && new Set(group).size > 1), "its trees split on fewer than two columns together");
  expect(mostSplits === null || !together.length, "it is under `splits <= N` and `together` at once");
  const quoted = (name) => (/[,"]/.test(name) || name !== name.trim() ? `"${name.replace(/"/g, '""')}"` : name);
  return { mostSplits, together, words: [...(mostSplits === null ? [] : [`splits <= ${mostSplits}`]), ...together.map((group) => `together[${group.map(quoted).join(",")}]`)] };
}

function splitsOf(node) {
  return "split" in node ? [node.split, ...splitsOf(node.left), ...splitsOf(node.right)] : [];
}

function expectKept({ mostSplits, together, words }, root) {
  const splits = splitsOf(root), asked = new Set(splits.map((split) => split.feature));
  const kept = (mostSplits === null || new Set(splits.map((split) => JSON.stringify(split))).size <= mostSplits)
    && together.every((group) => new Set(group.map((name) => asked.has(name))).size === 1);
  expect(kept, `its tree does not satisfy ${words.join(" and ")}`);
}

// What no tree costs less than; `some` is {measure, price, ranks, off}, and `at`, `shares`, `ofSides` tell limits on leaves.
function least(limits, some, columns, depth, limit, leaves) {
  if (limits.mostSplits !== null) return setsOfSplits(limits.mostSplits, some, depth, limit, leaves);
  expect(depth <= LEVELS && !limit.leaves, `it is of \`together\` and of more than ${LEVELS} levels, or of a number of leaves`);
  expect(new Set(limits.together.flat()).size <= MOST_NEEDED, `it is of \`together\` of more than ${MOST_NEEDED} columns`);
  return allOrNone(limits.together, some, featuresOf(columns), depth, limit);
}

// ---- at most N different splits ----

// N splits part the rows into cells. What leads to a node is a state, a number of N digits: each split was answered 0 or 1,
// or is still FREE. The best tree below a state is the leaf, or a free split and the best trees below its two answers.
function setsOfSplits(asked, { measure, price, ranks, off }, depth, limit, leaves) {
  const n = ranks[0].length, every = [...ranks[0].keys()], answers = new Map();
  for (const rank of ranks)
    for (const cut of [...new Set(rank)].sort((a, b) => a - b).slice(0, -1)) {
      const side = rank.map((r) => Number(r <= cut !== rank[0] <= cut)); // which side is the left one tells no splits apart
      answers.set(side.join(""), side);
    }
  const candidates = [...answers.values()], most = Math.min(asked, candidates.length), states = 3 ** most, cells = 2 ** most;
  let sets = 1;
  for (let k = 0; k < most - 1; k++) sets *= (candidates.length - k) / (k + 1);
  expect(most <= MOST_TESTS && sets <= MOST_SETS, `it is of more sets of splits than ${MOST_SETS}, or of more than ${MOST_TESTS} splits`);
  if (!most) return measure.low(every);
  const digit = (state, axis) => Math.floor(state / 3 ** axis) % 3, free = (state) => [...Array(most).keys()].filter((axis) => digit(state, axis) === FREE);
  const frees = [...Array(states).keys()].map(free), held = [...Array(cells).keys()].map((cell) => [...Array(most).keys()].reduce((state, axis) => state + ((cell >> axis) & 1) * 3 ** axis, 0));
  // Sums of states: those with one free digit more come later, each of the two states that its first free digit parts.
  const order = [...Array(states).keys()].filter((state) => frees[state].length).sort((a, b) => frees[a].length - frees[b].length);
  const all = states - 1;

  const below = (leaf, add, least) => {
    const known = new Map();
    const best = (state, height, own) => {
      [own, height] = leaves.at(own, Math.min(height, frees[state].length));
      const key = (own.leaves * (most + 1) + height) * states + state;
      if (known.has(key)) return known.get(key);
      let found = leaf(state);
      for (const axis of height ? frees[state] : []) {
        const unit = 3 ** axis, sides = [state - 2 * unit, state - unit];
        for (const share of leaves.shares(own, height)) {
          const [one, two] = leaves.ofSides(own, share).map((part, side) => best(sides[side], height - 1, part));
          found = least(found, add(one, two));
        }
      }
      known.set(key, found);
      return found;
    };
    return best(all, depth, limit);
  };

  const lines = [...measure.rows, every.map(() => 1)], sums = lines.map(() => new Float64Array(states)), cost = price.toNumber();
  const nearOf = (chosen) => {
    for (const line of sums) line.fill(0);
    for (let i = 0; i < n; i++) {
      let cell = 0;
      chosen.forEach((split, axis) => { cell |= candidates[split][i] << axis; });
      lines.forEach((line, k) => { sums[k][held[cell]] += line[i]; });
    }
    for (const state of order) {
      const unit = 3 ** frees[state][0];
      for (const line of sums) line[state] = line[state - 2 * unit] + line[state - unit];
    }
    const leaf = (state) => (sums[3][state] >= limit.rows ? measure.near([sums[0][state], sums[1][state], sums[2][state]]) : Infinity);
    return below(leaf, (one, two) => cost + one + two, Math.min);
  };
  const exactOf = (chosen) => {
    const leaf = (state) => {
      const rows = every.filter((i) => chosen.every((split, axis) => digit(state, axis) === FREE || digit(state, axis) === candidates[split][i]));
      return rows.length >= limit.rows ? measure.low(rows) : null;
    };
    return below(leaf, (one, two) => one && two && price.plus(one).plus(two), lesser);
  };

  let lowest = Infinity, near = [];
  const choose = (chosen, from) => {
    if (chosen.length < most) {
      for (let split = from; split < candidates.length; split++) choose([...chosen, split], split + 1);
      return;
    }
    const found = nearOf(chosen);
    if (found < lowest) { lowest = found; near = near.filter(([other]) => other <= lowest + off); }
    if (found <= lowest + off && found < Infinity) near.push([found, chosen]);
  };
  choose([], 0);
  const found = near.map(([, chosen]) => exactOf(chosen)).reduce(lesser, null);
  expect(found, "no tree has leaves of so many rows");
  return found;
}

// The lesser of two fractions, of which null stands for no tree.
function lesser(one, two) {
  return !one || (two && two.less(one)) ? two : one;
}

// ---- all or none of some columns ----

// A choice of the groups that are used bars the columns of the others and needs its own. What is needed is a set of
// bits; of the root of a tree the rest is dealt to its two sides in all ways.
function allOrNone(together, { measure, price, ranks, off }, names, depth, limit) {
  const every = [...ranks[0].keys()], cost = price.toNumber(), [A, B, C] = measure.rows;
  const nearLeaf = (rows) => { let [a, b, c] = [0, 0, 0]; for (const i of rows) { a += A[i]; b += B[i]; c += C[i]; } return measure.near([a, b, c]); };
  let found = null;
  for (let choice = 0; choice < 2 ** together.length; choice++) {
    const wanted = new Set(together.filter((_, g) => (choice >> g) & 1).flat()), barred = new Set(together.filter((_, g) => !((choice >> g) & 1)).flat());
    if ([...wanted].some((name) => barred.has(name))) continue;
    const needed = [...wanted], sets = 2 ** needed.length, used = [...names.keys()].filter((c) => !barred.has(names[c]));
    const bit = (c) => (wanted.has(names[c]) ? 1 << needed.indexOf(names[c]) : 0);

    // visit(column, rank, rows of the left side, sums of both sides): the splits that leave rows enough on either side.
    const candidates = (rows, visit) => {
      for (const c of used) {
        const sorted = [...rows].sort((i, j) => ranks[c][i] - ranks[c][j]), all = [0, 0, 0], own = [0, 0, 0];
        for (const i of rows) { all[0] += A[i]; all[1] += B[i]; all[2] += C[i]; }
        sorted.forEach((i, place) => {
          own[0] += A[i]; own[1] += B[i]; own[2] += C[i];
          const many = place + 1, ends = many < sorted.length && ranks[c][sorted[many]] > ranks[c][i];
          if (ends && many >= limit.rows && sorted.length - many >= limit.rows) visit(c, ranks[c][i], own, all);
        });
      }
    };
    const sides = (rows, c, cut) => [rows.filter((i) => ranks[c][i] <= cut), rows.filter((i) => ranks[c][i] > cut)];
    // Nearly what the best trees cost that use at least each set of needed columns; `each` hears of every root.
    const nearest = (rows, levels, each = () => {}) => {
      const best = new Float64Array(sets).fill(Infinity);
      best[0] = nearLeaf(rows);
      if (!levels) return best;
      candidates(rows, (c, cut, [a, b, q], all) => {
        const own = bit(c);
        if (levels === 1) {
          const paid = cost + measure.near([a, b, q]) + measure.near([all[0] - a, all[1] - b, all[2] - q]);
          for (const need of new Set([0, own])) { best[need] = Math.min(best[need], paid); each(need, paid, c, cut, 0, 0); }
          return;
        }
        const [left, right] = sides(rows, c, cut).map((part) => nearest(part, levels - 1));
        for (let need = 0; need < sets; need++)
          for (const one of subsets(need & ~own)) {
            const two = (need & ~own) ^ one, paid = cost + left[one] + right[two];
            if (paid === Infinity) continue;
            best[need] = Math.min(best[need], paid);
            each(need, paid, c, cut, one, two);
          }
      });
      return best;
    };
    const known = new Map();
    const exact = (rows, levels, need) => {
      const key = `${levels},${need}:${rows.join()}`;
      if (known.has(key)) return known.get(key);
      const roots = [];
      const lowest = nearest(rows, levels, (of, ...root) => { if (of === need) roots.push(root); })[need];
      let best = need ? null : measure.low(rows);
      for (const [paid, c, cut, one, two] of roots) {
        if (paid > lowest + off) continue;
        const [left, right] = sides(rows, c, cut).map((part, side) => exact(part, levels - 1, [one, two][side]));
        if (left && right) best = lesser(best, price.plus(left).plus(right));
      }
      known.set(key, best);
      return best;
    };
    found = lesser(found, exact(every, depth, sets - 1));
  }
  expect(found, "no tree satisfies its constraints");
  return found;
}

function subsets(of) {
  const found = [];
  for (let some = of; ; some = (some - 1) & of) { found.push(some); if (!some) return found; }
}

module.exports = { limitsOf, expectKept, least };
