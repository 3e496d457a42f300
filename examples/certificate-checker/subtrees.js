// The least costs of subtrees over columns of nested splits, for labels.js and constrained.js.
//
// Splits of which each sends left some of the rows of the one before are a chain, {column, splits, code}: a row goes
// left at the first `code` of its splits. At the root of a tree of two levels the splits of a chain are taken in order,
// and the rows that go left are added to the sums of their codes in all chains, so no pair of splits is counted by itself.
"use strict";

// `values` has for each row its cost with each label, then the amount that it counts for each condition on leaves.
// A leaf costs `beside` of its label, too, and counts `least` of its label or more for each condition; a branch node
// costs `node`. may(path) states which columns may be below splits of some columns.
module.exports = ({ chains, values, beside, node, least, may }) => {
  const K = beside.length, H = least.length, wide = K + H, zeros = () => new Array(wide).fill(0), none = zeros();
  const nColumns = 1 + Math.max(-1, ...chains.map(({ column }) => column));
  // With more rows a leaf costs at most the dearest labels of these more, and still satisfies lasting conditions.
  const dearest = values.map((line) => Math.max(...line.slice(0, K)));
  const lasting = least.map((_, h) => values.every((line) => line[K + h] >= 0));
  const relaxed = least.map((line, h) => (lasting[h] ? line : line.map(() => -Infinity)));
  const rising = !H && values.every((line) => line.every((value) => value >= 0)); // fewer rows cost no more

  // The best leaf of `sums`, less the numbers of `minus` from `at` on.
  const leaf = (sums, minus, at, low) => {
    let best = Infinity;
    label: for (let k = 0; k < K; k++) {
      for (let h = 0; h < H; h++) if (sums[K + h] - minus[at + K + h] < low[h][k]) continue label;
      best = Math.min(best, sums[k] - minus[at + k] + beside[k]);
    }
    return best;
  };
  const add = (sums, at, line) => { for (let v = 0; v < wide; v++) sums[at + v] += line[v]; };
  const sumsOf = (rows) => {
    const sums = zeros();
    for (const r of rows) add(sums, 0, values[r]);
    return sums;
  };

  // A chain on some rows: their different codes, the places of the rows in order of their codes, and where the places
  // of each code begin.
  const dense = (chain, rows) => {
    const { code } = chain, free = new Array(chain.splits.length + 1).fill(0), order = new Array(rows.length), known = [];
    const begin = [0];
    for (const r of rows) free[code[r]] += 1;
    for (let k = 0; k < free.length; k++) {
      const many = free[k];
      free[k] = begin[begin.length - 1];
      if (many) { known.push(k); begin.push(free[k] + many); }
    }
    rows.forEach((r, i) => { order[free[code[r]]++] = i; });
    return { chain, known, order, begin };
  };

  // Calls visit(chain, from, to, left, right) for the splits of a chain, from one to before another, that separate rows
  // in the same way; `left` and `right` are the least costs of their sides over each set of columns with the chain's.
  const roots = (rows, height, path, sets, visit, low = least) => {
    const used = new Set(sets.flat()), allowed = may(path), whole = sumsOf(rows);
    const parts = chains.filter(({ column }) => used.has(column)).map((chain) => dense(chain, rows));
    const pairs = height === 2 ? pairsBelow(rows, parts, whole, low) : null;
    const left = zeros(), right = zeros();
    for (const { chain, known, order, begin } of parts) {
      if (!allowed[chain.column]) continue;
      const own = sets.filter((set) => set.includes(chain.column)), below = [...path, chain.column], second = may(below);
      left.fill(0);
      if (pairs) pairs.begin();
      for (let cut = known.length - 1; cut > 0; cut--) {
        const moved = order.slice(begin[cut], begin[cut + 1]);
        for (const i of moved) add(left, 0, values[rows[i]]);
        for (let v = 0; v < wide; v++) right[v] = whole[v] - left[v];
        let sides;
        if (height === 1) {
          sides = [left, right].map((sums) => own.map(() => leaf(sums, none, 0, low)));
        } else if (height === 2) {
          const least = (best) => own.map((set) => set.reduce((value, c) => Math.min(value, best[c]), Infinity));
          sides = pairs.least(moved, left, right, second).map(least);
        } else {
          const goes = (r) => chain.code[r] >= known[cut];
          sides = [rows.filter(goes), rows.filter((r) => !goes(r))].map((part) => subtrees(part, height - 1, below, own, low));
        }
        visit(chain, known[cut - 1], known[cut], ...sides);
      }
    }
  };

  // By column the least cost of one split or none on the left and right side of the splits of a chain, from its last one.
  const pairsBelow = (rows, parts, whole, low) => {
    const start = [0];
    for (const { known } of parts) start.push(start[start.length - 1] + known.length * wide);
    // Sums by code of each chain, of all rows and of those on the left. Those of the first codes are not needed.
    const total = new Float64Array(start[parts.length]), here = new Float64Array(start[parts.length]);
    const places = rows.map(() => []);
    parts.forEach(({ known, order, begin }, b) => {
      for (let code = 1; code < known.length; code++)
        for (let at = begin[code]; at < begin[code + 1]; at++) places[order[at]].push(start[b] + code * wide);
    });
    const count = (sums, i) => { for (const at of places[i]) add(sums, at, values[rows[i]]); };
    rows.forEach((_, i) => count(total, i));
    const p = zeros(), q = zeros(), best = [new Array(nColumns), new Array(nColumns)];
    const least = (moved, left, right, second) => {
      for (const i of moved) count(here, i);
      best[0].fill(leaf(left, none, 0, low));
      best[1].fill(leaf(right, none, 0, low));
      parts.forEach(({ chain: { column } }, b) => {
        if (!second[column]) return;
        let [one, two] = [best[0][column], best[1][column]];
        p.fill(0);
        q.fill(0);
        for (let at = start[b + 1] - wide; at > start[b]; at -= wide) {
          for (let v = 0; v < wide; v++) { p[v] += here[at + v]; q[v] += total[at + v] - here[at + v]; }
          one = Math.min(one, node + leaf(p, none, 0, low) + leaf(left, p, 0, low));
          two = Math.min(two, node + leaf(q, none, 0, low) + leaf(right, q, 0, low));
        }
        best[0][column] = one;
        best[1][column] = two;
      });
      return best;
    };
    return { begin: () => here.fill(0), least };
  };

  // The least cost of a subtree of so many levels over each set of columns.
  const subtrees = (rows, height, path, sets, low = least) => {
    const alone = leaf(sumsOf(rows), none, 0, low), found = sets.map(() => alone);
    if (height === 1) {
      const best = new Array(nColumns).fill(Infinity);
      roots(rows, 1, path, [[...new Set(sets.flat())]], ({ column }, from, to, [left], [right]) => {
        best[column] = Math.min(best[column], left + right);
      }, low);
      sets.forEach((set, s) => { for (const c of set) found[s] = Math.min(found[s], node + best[c]); });
    } else if (height) {
      roots(rows, height, path, sets, ({ column }, from, to, left, right) => {
        const own = [...sets.keys()].filter((s) => sets[s].includes(column));
        own.forEach((s, i) => { found[s] = Math.min(found[s], node + left[i] + right[i]); });
      }, low);
    }
    return found;
  };

  // Takes from alive[split][set] the roots whose trees cost more than a limit over a set of columns. For splits between
  // x and y of a chain the left rows are among those of x, and the right rows among those of y. So these two sides, less
  // the dearest labels of the rows between, are a bound of all these roots, which are halved until it excludes them.
  const exclude = (rows, height, alive, sets, limit) => {
    const strict = lasting.includes(false);
    for (const { column, splits, code } of chains) {
      const known = new Map();
      const side = (f, left, live, low) => {
        const key = `${f},${left},${low === relaxed || !strict}`;
        if (!known.has(key)) known.set(key, new Map());
        const mine = known.get(key), lacking = live.filter((s) => !mine.has(s));
        if (lacking.length) {
          const some = rows.filter((r) => code[r] > f === left);
          const found = subtrees(some, height - 1, [column], lacking.map((s) => sets[s]), low);
          lacking.forEach((s, i) => mine.set(s, found[i]));
        }
        return (s) => mine.get(s);
      };
      const stack = [[-1, splits.length]];
      while (stack.length) {
        const [x, y] = stack.pop(), between = splits.slice(x + 1, y);
        let live = sets.map((_, s) => s).filter((s) => between.some((f) => alive[f][s]));
        if (!live.length) continue;
        const moved = rows.reduce((sum, r) => (code[r] > x && code[r] <= y ? sum + dearest[r] : sum), 0);
        const [right, left] = [side(y, false, live, relaxed), side(x, true, live, relaxed)];
        const [fewerRight, fewerLeft] = rising ? [side(x, false, live, relaxed), side(y, true, live, relaxed)] : [];
        const bound = (s) => Math.max(left(s) + right(s) - moved, rising ? fewerLeft(s) + fewerRight(s) : -Infinity);
        const out = live.filter((s) => bound(s) + node > limit);
        for (const s of out) for (const f of between) alive[f][s] = false;
        live = live.filter((s) => !out.includes(s));
        if (!live.length) continue;
        const open = between.map((f, i) => (live.some((s) => alive[f][s]) ? x + 1 + i : -1)).filter((f) => f >= 0);
        const f = open[open.length >> 1], [zero, one] = [side(f, false, live, least), side(f, true, live, least)];
        for (const s of live) if (zero(s) + one(s) + node > limit) alive[splits[f]][s] = false;
        stack.push([x, f], [f, y]);
      }
    }
  };
  return { sumsOf, roots, subtrees, exclude };
};
