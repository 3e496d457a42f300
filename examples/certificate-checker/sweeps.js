// What subtrees cost at least over many thresholds, for constrained.js beside this file: no pair of splits is counted.
//
// Splits of a column of which each sends left some of the rows of the one before are a chain; a row goes left at the
// first so many of them as its code says. With x < f < y on a chain, the rows right of f are among those right of y,
// and the rows left of f among those left of x; a tree of fewer rows is one of more rows that pays at most its dearest
// label for each row added. So the two sides of y and x, less the dearest labels of the rows with codes in (x, y],
// bound all roots between.
"use strict";

module.exports = (problem) => {
  const { rows, depth, K, column, names } = problem, n = rows.length;
  const chains = [];
  names.forEach((_, c) => {
    const mine = [...column.keys()].filter((f) => column[f] === c), own = [];
    const size = new Map(mine.map((f) => [f, rows.reduce((sum, row) => sum + (row.goes[f] ? 1 : 0), 0)]));
    for (const f of mine.sort((a, b) => size.get(b) - size.get(a) || a - b)) {
      const chain = own.find((candidates) => rows.every(({ goes }) => !goes[f] || goes[candidates[candidates.length - 1]]));
      if (chain) chain.push(f); else own.push([f]);
    }
    for (const candidates of own) {
      const code = new Int32Array(n);
      rows.forEach(({ goes }, r) => { for (const f of candidates) if (goes[f]) code[r]++; });
      chains.push({ candidates, code, column: c });
    }
  });

  // At multipliers: `values` holds of each row what it costs with each label, then what it counts for each condition.
  return ({ values, beside, node, held }) => {
    const H = held.length, wide = K + H;
    const lasting = held.map((_, h) => values.every((line) => line[K + h] >= 0)); // what more rows cannot break
    const dearest = values.map((line) => Math.max(...line.slice(0, K)));
    const least = (keep) => held.map(({ least }, h) => (keep && !lasting[h] ? least.map(() => -Infinity) : least));
    const bounds = { false: least(false), true: least(true) };
    const leaf = (sums, minus, at, low) => {
      // The best leaf of `sums`, less what stands in `minus` from `at` on.
      let best = Infinity;
      label: for (let k = 0; k < K; k++) {
        for (let h = 0; h < H; h++) if (sums[K + h] - minus[at + K + h] < low[h][k]) continue label;
        best = Math.min(best, sums[k] - minus[at + k] + beside[k]);
      }
      return best;
    };
    const none = new Float64Array(wide);
    const all = (some) => { const sums = new Float64Array(wide); for (const r of some) for (let v = 0; v < wide; v++) sums[v] += values[r][v]; return sums; };
    const sums = (chain, some) => {
      // Of each code, the sums of the rows up to it.
      const found = new Float64Array((chain.candidates.length + 1) * wide);
      for (const r of some) for (let v = 0, at = chain.code[r] * wide; v < wide; v++) found[at + v] += values[r][v];
      for (let i = wide; i < found.length; i++) found[i] += found[i - wide];
      return found;
    };
    // Of each split that may be asked at the end of a path, its two best leaves.
    const stumps = (some, asked, keep = false) => {
      const low = bounds[keep], whole = all(some), found = column.map(() => Infinity), part = new Float64Array(wide);
      for (const chain of chains) if (chain.candidates.some((f) => asked[f])) {
        const right = sums(chain, some);
        chain.candidates.forEach((f, place) => {
          if (!asked[f]) return;
          for (let v = 0; v < wide; v++) part[v] = right[place * wide + v];
          found[f] = leaf(part, none, 0, low) + leaf(whole, part, 0, low);
        });
      }
      return found;
    };
    // The least of a subtree over each set of columns; of the first set, in `each`, that behind either answer of a split.
    const subtrees = (some, path, sets, keep = false, each = null) => {
      const low = bounds[keep], whole = all(some), alone = leaf(whole, none, 0, low), found = sets.map(() => alone);
      const used = new Set(sets.flat()), may = problem.may(path);
      const inside = may.map((asked, f) => asked && used.has(column[f]));
      if (depth - path.length === 1) {
        const best = names.map(() => Infinity);
        stumps(some, inside, keep).forEach((value, f) => { best[column[f]] = Math.min(best[column[f]], value); });
        sets.forEach((set, s) => { for (const c of set) found[s] = Math.min(found[s], node + best[c]); });
        return found;
      }
      // Codes of these rows without gaps, and what all rows of each code sum to.
      const mine = chains.filter((chain) => used.has(chain.column)).map((chain) => {
        const known = [...new Set(some.map((r) => chain.code[r]))].sort((a, b) => a - b), dense = new Map(known.map((code, i) => [code, i]));
        return { ...chain, known, of: Int32Array.from(some, (r) => dense.get(chain.code[r])) };
      });
      const start = [0];
      for (const { known } of mine) start.push(start[start.length - 1] + known.length * wide);
      const total = new Float64Array(start[mine.length]), here = new Float64Array(start[mine.length]);
      some.forEach((r, i) => mine.forEach(({ of }, b) => { for (let v = 0, at = start[b] + of[i] * wide; v < wide; v++) total[at + v] += values[r][v]; }));
      const left = new Float64Array(wide), right = new Float64Array(wide), p = new Float64Array(wide), q = new Float64Array(wide);
      const best = [new Float64Array(names.length), new Float64Array(names.length)];
      const plain = K === 2 && (H === 0 || (H === 1 && low[0][0] === low[0][1])), limit = plain && H ? low[0][0] : -Infinity, m = wide - 1;
      mine.forEach((a, number) => {
        if (!inside[a.candidates[0]] || a.known.length < 2) return;
        const below = problem.may([...path, a.candidates[0]]), under = mine.map(({ candidates }) => below[candidates[0]]);
        const order = some.map((_, i) => i).sort((i, j) => a.of[i] - a.of[j]);
        const holding = sets.map((set, s) => (set.includes(a.column) ? s : -1)).filter((s) => s >= 0);
        here.fill(0);
        left.fill(0);
        for (let cut = 0, at = 0; cut + 1 < a.known.length; cut++) {
          for (; at < order.length && a.of[order[at]] === cut; at++) {
            const i = order[at], line = values[some[i]];
            for (let v = 0; v < wide; v++) left[v] += line[v];
            for (let b = 0; b < mine.length; b++) for (let v = 0, to = start[b] + mine[b].of[i] * wide; v < wide; v++) here[to + v] += line[v];
          }
          for (let v = 0; v < wide; v++) right[v] = whole[v] - left[v];
          best[0].fill(leaf(left, none, 0, low));
          best[1].fill(leaf(right, none, 0, low));
          for (let b = 0; b < mine.length; b++) {
            if (!under[b]) continue;
            const c = mine[b].column, end = start[b + 1] - wide;
            let one = best[0][c], two = best[1][c];
            if (plain) {
              const [x, y] = beside;
              let p0 = 0, p1 = 0, pm = 0, q0 = 0, q1 = 0, qm = 0;
              for (let at = start[b]; at < end; at += wide) {
                p0 += here[at]; p1 += here[at + 1]; pm += here[at + m];
                q0 += total[at] - here[at]; q1 += total[at + 1] - here[at + 1]; qm += total[at + m] - here[at + m];
                if (pm >= limit && left[m] - pm >= limit) one = Math.min(one, node + Math.min(p0 + x, p1 + y) + Math.min(left[0] - p0 + x, left[1] - p1 + y));
                if (qm >= limit && right[m] - qm >= limit) two = Math.min(two, node + Math.min(q0 + x, q1 + y) + Math.min(right[0] - q0 + x, right[1] - q1 + y));
              }
            } else {
              p.fill(0);
              q.fill(0);
              for (let at = start[b]; at < end; at += wide) {
                for (let v = 0; v < wide; v++) { p[v] += here[at + v]; q[v] += total[at + v] - here[at + v]; }
                one = Math.min(one, node + leaf(p, none, 0, low) + leaf(left, p, 0, low));
                two = Math.min(two, node + leaf(q, none, 0, low) + leaf(right, q, 0, low));
              }
            }
            best[0][c] = one;
            best[1][c] = two;
          }
          for (const s of holding) {
            let one = Infinity, two = Infinity;
            for (const c of sets[s]) { one = Math.min(one, best[0][c]); two = Math.min(two, best[1][c]); }
            found[s] = Math.min(found[s], node + one + two);
            if (each && !s) for (let f = a.known[cut]; f < a.known[cut + 1]; f++) each[a.candidates[f]] = [two, one]; // left, right
          }
        }
      });
      return found;
    };
    // Takes from `alive`, of roots and sets, the cases whose least weighted cost exceeds a limit, intervals first.
    const exclude = (alive, sets, limit) => {
      const every = rows.map((_, r) => r), strict = lasting.includes(false);
      for (const { candidates, code } of chains) {
        const known = new Map();
        const side = (f, left, live, keep) => {
          const key = `${f},${left},${keep || !strict}`;
          if (!known.has(key)) known.set(key, new Map());
          const mine = known.get(key), lacking = live.filter((s) => !mine.has(s));
          if (lacking.length) {
            const value = subtrees(every.filter((r) => code[r] > f === left), [candidates[0]], lacking.map((s) => sets[s]), keep);
            lacking.forEach((s, i) => mine.set(s, value[i]));
          }
          return (s) => mine.get(s);
        };
        const stack = [[-1, candidates.length]];
        while (stack.length) {
          const [x, y] = stack.pop(), roots = candidates.slice(x + 1, y);
          let live = sets.map((_, s) => s).filter((s) => roots.some((f) => alive[f][s]));
          if (!live.length) continue;
          const between = every.reduce((sum, r) => (code[r] > x && code[r] <= y ? sum + dearest[r] : sum), 0);
          const [low, high] = [side(y, false, live, true), side(x, true, live, true)];
          const out = live.filter((s) => low(s) + high(s) - between + node > limit);
          for (const s of out) for (const f of roots) alive[f][s] = false;
          live = live.filter((s) => !out.includes(s));
          if (!live.length) continue;
          const some = roots.map((f, i) => (live.some((s) => alive[f][s]) ? x + 1 + i : -1)).filter((f) => f >= 0);
          const f = some[some.length >> 1], [zero, one] = [side(f, false, live, false), side(f, true, live, false)];
          for (const s of live) if (zero(s) + one(s) + node > limit) alive[candidates[f]][s] = false;
          stack.push([x, f], [f, y]);
        }
      }
    };
    return { stumps, subtrees, exclude };
  };
};
