// Certificates of trees of numbers and of survival under a limit on all splits of a tree at once, for leaf-sums.js.
//
//   "splits": N                    at most N different splits: the best tree over each set of N splits
//   "together": [["a", "b"], …]   of some columns all are used or none: the best tree that uses at least those needed
//   "features": N                  at most N columns: the best tree over each set of N columns
//   "apart": [["a", "b"], …]      of some columns at most one is used: the best tree over each of them with the others
//
// Nothing is listed in them: all trees are tried, in doubles first, and counted as fractions wherever these are too near
// to be told apart.
"use strict";
const { expect, whole } = require("./values.js");
const { cutGroups, featuresOf } = require("./columns.js");

const MOST_TESTS = 5, MOST_SETS = 50000, LEVELS = 3, MOST_NEEDED = 6, MOST_CHOICES = 1000, FREE = 2;

// The limits of a certificate: {mostSplits, mostColumns, together, apart, ofColumns, words}, null if it has none.
function limitsOf(facts) {
  if (!["splits", "features", "together", "apart"].some((key) => key in facts)) return null;
  const [mostSplits, mostColumns] = ["splits", "features"].map((key) => (key in facts ? whole(facts[key], `the ${key}`) : null));
  const { together = [], apart = [] } = facts, ofColumns = mostColumns !== null || together.length + apart.length > 0;
  for (const groups of [together, apart]) expect(Array.isArray(groups) && groups.every((group) => Array.isArray(group) && new Set(group).size > 1), "its trees split on fewer than two columns together");
  expect(mostSplits === null || !ofColumns, "it is under `splits <= N` and limits on columns at once");
  const quoted = (name) => (/[,"]/.test(name) || name !== name.trim() ? `"${name.replace(/"/g, '""')}"` : name);
  const counts = [["splits", mostSplits], ["features", mostColumns]].filter(([, most]) => most !== null).map(([name, most]) => `${name} <= ${most}`);
  const named = (name, groups) => groups.map((group) => `${name}[${group.map(quoted).join(",")}]`);
  return { mostSplits, mostColumns, together, apart, ofColumns, words: [...counts, ...named("together", together), ...named("never_together", apart)] };
}

function splitsOf(node) {
  return "split" in node ? [node.split, ...splitsOf(node.left), ...splitsOf(node.right)] : [];
}

function expectKept({ mostSplits, mostColumns, together, apart, words }, root) {
  const splits = splitsOf(root), asked = new Set(splits.map((split) => split.feature));
  const kept = (mostSplits === null || new Set(splits.map((split) => JSON.stringify(split))).size <= mostSplits)
    && (mostColumns === null || asked.size <= mostColumns)
    && together.every((group) => new Set(group.map((name) => asked.has(name))).size === 1)
    && apart.every((group) => [...new Set(group)].filter((name) => asked.has(name)).length < 2);
  expect(kept, `its tree does not satisfy ${words.join(" and ")}`);
}

// What no tree costs less than; `some` is {measure, price, ranks, off}, and `at`, `shares`, `ofSides` tell limits on leaves.
function least(limits, some, columns, depth, limit, leaves) {
  if (limits.mostSplits !== null) return setsOfSplits(limits.mostSplits, some, depth, limit, leaves);
  expect(depth <= LEVELS && !limit.leaves, `it has limits on columns and more than ${LEVELS} levels, or a number of leaves`);
  expect(new Set(limits.together.flat()).size <= MOST_NEEDED, `it is of \`together\` of more than ${MOST_NEEDED} columns`);
  return overChoices(limits, some, featuresOf(columns), depth, limit);
}

// ---- at most N different splits ----

// N splits part the rows into cells. What leads to a node is a state, a number of N digits: each split was answered 0 or 1,
// or is still FREE. The best tree below a state is the leaf, or a free split and the best trees below its two answers.
function setsOfSplits(asked, { measure, price, ranks, off }, depth, limit, leaves) {
  const n = ranks[0].length, every = [...ranks[0].keys()], kept = cutGroups(ranks).map((own) => own.filter(({ copy }) => !copy));
  const candidates = kept.flatMap((own, c) => own.map(({ cut }) => ranks[c].map((r) => Number(r <= cut)))), most = Math.min(asked, candidates.length), states = 3 ** most, cells = 2 ** most;
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

// ---- limits on columns ----

// All sets of `size` of some names.
function setsOf(names, size) {
  if (!size) return [[]];
  return names.flatMap((name, at) => setsOf(names.slice(at + 1), size - 1).map((others) => [name, ...others]));
}

// A choice of the groups that are used bars the columns of the others and needs its own; what is needed is dealt to the
// two sides of each split in all ways. Of columns apart a choice bars all but one, and it uses as many as are allowed.
function overChoices({ mostColumns, together, apart }, { ranks, bestOver }, names, depth, limit) {
  const every = [...ranks[0].keys()], all = [...new Set(names)], many = (n, k) => (k ? (many(n - 1, k - 1) * n) / k : 1), most = mostColumns === null ? all.length : Math.min(mostColumns, all.length);
  expect(2 ** together.length * apart.reduce((ways, group) => ways * group.length, 1) * many(all.length, most) <= MOST_CHOICES, `it has more than ${MOST_CHOICES} sets of columns`);
  const found = [], kept = apart.reduce((ways, group) => ways.flatMap((way) => group.map((name) => [...way, name])), [[]]);
  for (let choice = 0; choice < 2 ** together.length; choice++) {
    const [wanted, barred] = [1, 0].map((of) => new Set(together.filter((_, g) => ((choice >> g) & 1) === of).flat()));
    const needed = [...wanted];
    for (const way of kept) {
      const free = all.filter((name) => !barred.has(name) && apart.every((group, g) => name === way[g] || !group.includes(name)));
      for (const chosen of setsOf(free, Math.min(most, free.length))) {
        if (!needed.every((name) => chosen.includes(name))) continue;
        const best = bestOver([...names.keys()].filter((c) => chosen.includes(names[c])), (c) => (wanted.has(names[c]) ? 1 << needed.indexOf(names[c]) : 0));
        const cost = best(every, depth, limit, 2 ** needed.length - 1);
        if (cost) found.push(cost.value);
      }
    }
  }
  expect(found.length, "no tree satisfies its constraints");
  return found.reduce(lesser);
}

module.exports = { limitsOf, expectKept, least };
