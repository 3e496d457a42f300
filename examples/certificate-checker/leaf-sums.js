// Checks a certificate of a tree whose leaves cost a function of sums over their rows (leaf-costs.js), for check.js.
//
// What rows cost that no column tells apart is taken off first: no tree avoids it. Beyond that, more rows cost no less;
// so a cut between two tried cuts a < b of a column costs at least what the left side of a and the right side of b do.
// Costs are compared as doubles, and as fractions wherever these are too near to be told apart. Under `splits`,
// `features`, `together` and `apart` all trees are tried (whole-trees.js).
"use strict";
const { expect, whole } = require("./values.js");
const { kindsOf, cutGroups, rankColumns, countSplits } = require("./columns.js");
const { Fraction, Lazy, ZERO, common } = require("./fractions.js");
const { MEASURES } = require("./leaf-costs.js");
const { expectTerms, expectLeaf, walk } = require("./tree.js");
const wholeTrees = require("./whole-trees.js");

const DEEPEST = 8;
const WIDEST = 2n ** 512n; // of a denominator that all floors have in common; beyond it they are rounded down
const NONE = new Lazy(0, () => ZERO);

// What trees must keep: rows of the data in each leaf, and leaves at most, 0 of any number.
const at = (limit, depth) => {
  // No limit on leaves that trees of this depth keep anyway, and no depth that they do not reach.
  if (!limit.leaves) return [limit, depth];
  const reached = Math.min(depth, limit.leaves - 1);
  return [limit.leaves >= 2 ** reached ? { ...limit, leaves: 0 } : limit, reached];
};
const shares = ({ leaves }, depth) => {
  // The leaves that the left side of a root may have.
  const found = [], most = 2 ** (depth - 1);
  for (let share = Math.max(1, leaves - most); share <= Math.min(most, leaves - 1); share++) found.push(share);
  return leaves ? found : [0];
};
// The sets of bits within one.
const subsets = (of) => {
  const found = [];
  for (let some = of; ; some = (some - 1) & of) { found.push(some); if (!some) return found; }
};
const ofSides = (limit, share) => [{ ...limit, leaves: share }, { ...limit, leaves: share ? limit.leaves - share : 0 }];

function treeCost(facts, data, measure, price, limit) {
  let [low, high, leaves] = [ZERO, ZERO, 0];
  const leaf = (node, rows) => {
    expect(data.classes.includes(node.label), "the tree predicts no class of the data");
    if (measure.expectLine) measure.expectLine(node.line, rows);
    expectLeaf(node, data, rows, Boolean(measure.expectLine));
    expect(rows.length >= limit.rows, `a leaf of the tree has fewer than ${limit.rows} rows`);
    leaves += 1;
    low = low.plus(measure.low(rows));
    high = high.plus(measure.high(rows));
  };
  walk(facts, data, leaf, () => {
    low = low.plus(price);
    high = high.plus(price);
  });
  expect(!limit.leaves || leaves <= limit.leaves, `the tree has more than ${limit.leaves} leaves`);
  return [low, high];
}

// The bound of all trees: least(rows, depth, tried, limit), beyond the floor of these rows.
function bounds(columns, measure, price) {
  const n = columns[0].length, off = 64 * (measure.off + 1e-12 * price.toNumber()), priced = Lazy.of(price);

  // What rows cost that no column tells apart, on the first of them.
  const floors = new Array(n).fill(0n);
  const told = (measure.noFloor ? [] : kindsOf(columns)).filter((rows) => measure.alone || rows.length > 1).map((rows) => [rows[0], measure.low(rows)]);
  const shared = told.reduce((unit, [, cost]) => (unit > WIDEST ? unit : unit * cost.below / common(unit, cost.below)), 1n), unit = shared > WIDEST ? 2n ** 64n : shared;
  for (const [i, cost] of told) floors[i] = cost.floor(unit);
  const floor = (rows) => new Fraction(rows.reduce((sum, i) => sum + floors[i], 0n), unit);

  // By column, the cuts that separate all rows as one of another column does: {rank: [group, whether it is turned]}.
  const groups = cutGroups(columns), repeated = new Set(groups.flat().filter(({ copy }) => copy).map(({ group }) => group));
  const grouped = groups.map((own) => new Map(own.filter(({ group }) => repeated.has(group)).map((one) => [one.cut, one])));

  const zeros = measure.rows.map((line) => line[0] - line[0]), added = (sums, i) => sums.map((one, k) => one + measure.rows[k][i]);
  const nearLeaf = (rows) => measure.near(rows.reduce(added, zeros));
  const leaf = (rows) => new Lazy(nearLeaf(rows), () => measure.low(rows));
  const sides = (rows, c, cut) => [rows.filter((i) => columns[c][i] <= cut), rows.filter((i) => columns[c][i] > cut)];

  // The cuts of a column that leave rows on either side: the rank, the rows up to it and their sums; last all rows.
  const cutsOf = (rows, c) => {
    const found = [], order = [...rows].sort((i, j) => columns[c][i] - columns[c][j]);
    let sums = zeros;
    order.forEach((i, place) => {
      sums = added(sums, i);
      if (place + 1 === order.length || columns[c][order[place + 1]] > columns[c][i]) found.push({ rank: columns[c][i], rows: place + 1, sums });
    });
    return found;
  };

  // The function best(rows, depth, limit, need) of some columns: what the best tree over them costs that uses at least
  // those of a set of bits, of which each column has `bit`; null if there is none.
  const bestOver = (used, bit) => {
    const known = new Map();
    const sidesOf = (rows, c, cut, all, depth) => {
      if (depth > 1) {
        const parts = sides(rows, c, cut.rank);
        return (side, own, need) => best(parts[side], depth - 1, own, need);
      }
      const near = [cut.sums, all.sums.map((one, k) => one - cut.sums[k])].map(measure.near);
      return (side, own, need) => (need ? null : new Lazy(near[side], () => measure.low(sides(rows, c, cut.rank)[side])));
    };
    const treesOf = (rows, depth, limit, need) => {
      const found = need ? [] : [leaf(rows)];
      for (const c of depth ? used : []) {
        const cuts = cutsOf(rows, c), all = cuts.pop(), rest = need & ~bit(c);
        for (const cut of cuts) {
          if (cut.rows < limit.rows || rows.length - cut.rows < limit.rows) continue;
          const below = sidesOf(rows, c, cut, all, depth);
          for (const share of shares(limit, depth)) for (const part of subsets(rest)) {
            const own = ofSides(limit, share), one = below(0, own[0], part), two = one && below(1, own[1], rest ^ part);
            if (two) found.push(priced.plus(one).plus(two));
          }
        }
      }
      return found;
    };
    const best = (rows, depth, limit, need = 0) => {
      [limit, depth] = at(limit, depth);
      const key = `${depth},${limit.rows},${limit.leaves},${need}:${rows.join()}`;
      if (!known.has(key)) {
        const found = treesOf(rows, depth, limit, need);
        known.set(key, found.length ? Lazy.least(found, off) : null);
      }
      return known.get(key);
    };
    return best;
  };
  const best = bestOver([...columns.keys()], () => 0);

  const least = (rows, depth, tried, limit) => {
    [limit, depth] = at(limit, depth);
    expect(rows.length > 0, "it bounds a state without rows");
    if (tried === 0 || !depth) return depth > 2 ? NONE : best(rows, depth, limit).minus(Lazy.of(floor(rows)));
    if (tried === "all") {
      expect((depth === 3 || depth === 4) && limit.rows === 1 && !limit.leaves, "it tries all cuts of other trees than those of three or four levels");
      const below = depth === 4 ? "all" : 0;
      tried = columns.flatMap((_, c) => cutsOf(rows, c).slice(0, -1).map(({ rank }) => [c, rank, below, below]));
    }
    expect(Array.isArray(tried), "the tried cuts of a state are no list");
    const possible = shares(limit, depth), free = limit.rows > 1, listed = new Map();
    for (const entry of tried) {
      expect(Array.isArray(entry) && entry.length === 2 + (limit.leaves ? 1 : 0) + (free ? 4 : 2), "a cut that it tries has not its sides");
      const [c, cut] = entry, share = limit.leaves ? entry[2] : 0, below = entry.slice(limit.leaves ? 3 : 2);
      expect(whole(c, "a column") < columns.length && possible.includes(share), "it tries cuts of columns that it has not");
      const parts = sides(rows, c, whole(cut, "a cut"));
      expect(parts.every((part) => part.length), "it tries a cut that separates no rows");
      const rank = parts[0].reduce((most, i) => Math.max(most, columns[c][i]), -1), key = `${c},${share}`;
      if (!listed.has(key)) listed.set(key, new Map());
      expect(!listed.get(key).has(rank), "it tries a cut twice");
      const side = (own, which) => (below[which] === null ? NONE : least(parts[which % 2], depth - 1, below[which], own[which % 2]));
      const own = ofSides(limit, share), wide = own.map((one) => ({ ...one, rows: 1 }));
      const mine = [side(own, 0), side(own, 1)];
      listed.get(key).set(rank, { own: mine, beside: free ? [side(wide, 2), side(wide, 3)] : mine });
    }
    const most = (one, two) => Lazy.most(one, two, off), found = [leaf(rows).minus(Lazy.of(floor(rows)))], alike = new Map();
    columns.forEach((_, c) => {
      const cuts = cutsOf(rows, c), inner = cuts.slice(0, -1), ranks = inner.map(({ rank }) => rank);
      const fits = inner.map((cut) => cut.rows >= limit.rows && rows.length - cut.rows >= limit.rows);
      for (const share of possible) {
        const places = listed.get(`${c},${share}`) || new Map(), bound = [];
        // Of cut k: the most of the left sides of tried cuts up to it, and of the right sides of those from it on.
        let left = NONE, right = NONE;
        ranks.forEach((rank, k) => { if (places.has(rank)) left = most(left, places.get(rank).beside[0]); bound[k] = [left]; });
        for (let k = ranks.length - 1; k >= 0; k--) {
          const tried = places.get(ranks[k]);
          if (tried) right = most(right, tried.beside[1]);
          const [one, two] = tried ? [most(bound[k][0], tried.own[0]), most(right, tried.own[1])] : [bound[k][0], right];
          bound[k] = one.plus(two);
        }
        ranks.forEach((rank, k) => { if (fits[k] && !grouped[c].has(rank)) found.push(priced.plus(bound[k])); });
        for (const { cut, group, turned } of grouped[c].values()) {
          const k = ranks.filter((rank) => rank <= cut).length - 1; // the rank that stands for it on these rows
          if (k < 0 || cut >= cuts[cuts.length - 1].rank || !fits[k]) continue;
          const key = `${group},${turned ? limit.leaves - share : share}`;
          alike.set(key, alike.has(key) ? most(alike.get(key), bound[k]) : bound[k]);
        }
      }
    });
    return Lazy.least([...found, ...[...alike.values()].map((one) => priced.plus(one))], off);
  };
  return { least, floor, bestOver };
}

function checkLeafSums(facts, data) {
  const task = facts.kind, law = MEASURES[task], ends = task === "survival" ? facts.claim : [facts.claim, facts.claim];
  expect(data.task === task, `it is of a ${task}, its data was read for ${data.task}`);
  const depth = whole(facts.depth, "the depth"), price = Fraction.read(facts.penalty), claim = ends.map(Fraction.read);
  expect(depth >= 1 && depth <= DEEPEST && !price.less(ZERO) && claim.length === 2, "the certificate is damaged: its depth, its penalty or its claim is not valid");
  const limit = { rows: "least" in facts ? whole(facts.least, "the least rows") : 1, leaves: "leaves" in facts ? whole(facts.leaves, "the leaves") : 0 };
  expect(limit.rows >= 1, "its leaves may have no rows");
  const measure = law(facts, data), columns = rankColumns(facts.columns, data), limits = wholeTrees.limitsOf(facts);
  const { splits, absent } = countSplits(data, columns, limits && limits.ofColumns ? facts.columns.map((column) => column.feature || "") : null);
  expect(facts.tried === "all" || Array.isArray(facts.tried), "it does not say what was tried");
  const told = [...(limit.rows > 1 ? [`leaf_rows >= ${limit.rows}`] : []), ...(limit.leaves ? [`leaves <= ${limit.leaves}`] : []), ...(limits ? limits.words : [])];
  expect(JSON.stringify(facts.classes) === JSON.stringify(data.classes), "its classes are not those of its task");
  expectTerms(facts, data, columns.candidates, absent === 0, told);
  const [low, high] = treeCost(facts, data, measure, price, limit), unit = measure.unit.plus(price), of = (cost) => cost.over(unit).toNumber();
  expect(low.equals(claim[0]) && high.equals(claim[1]), `the tree costs ${of(low)} to ${of(high)} on the data, it claims ${of(claim[0])} to ${of(claim[1])}`);
  if (limits) wholeTrees.expectKept(limits, facts.tree.root);
  const proof = (below) => {
    const [cheapest, dearest, bound] = measure.ends(low, high, below), reached = !bound.less(cheapest);
    return { objective: of(dearest), bound: of(reached ? cheapest : bound), candidates: columns.candidates, splits, absent, between: cheapest.less(dearest), lambda: of(price) };
  };
  expect(!limits || !measure.noFloor, "limits on all splits of a tree are not known for linear leaves");
  const every = data.y.map((_, i) => i), { least, floor, bestOver } = bounds(columns.ranks, measure, price);
  if (limits) {
    const some = { measure, price, ranks: columns.ranks, off: 64 * (measure.off + 1e-12 * price.toNumber()), bestOver };
    return proof(wholeTrees.least(limits, some, facts.columns, depth, limit, { at, shares, ofSides }));
  }
  const listed = facts.tried === "all" || (Array.isArray(facts.tried) && facts.tried.length > 0), tried = at(limit, depth)[1] > 2 || listed ? facts.tried : 0;
  return proof(floor(every).plus(least(every, depth, tried, limit).value));
}

module.exports = { checkLeafSums };
