// What leaves cost that are no sums over their rows, exactly or between two ends: squares, likelihoods, lines.
//
// A measure holds of each row some numbers (`rows`), of which the sums tell nearly what a leaf costs (`near`, within
// `off`), and whole numbers of which `low` and `high` count it again.
"use strict";
const { expect } = require("./values.js");
const { Fraction, ZERO } = require("./fractions.js");

const LARGEST = 2 ** 40, MOST_BITS = 1000; // of scales
const bitsOf = (whole) => BigInt(whole.toString(2).length);
const upward = (a, b) => a / b + (a % b ? 1n : 0n); // of a >= 0, b > 0

// The decimal that prints as a double, times a scale.
const scaled = (value, scale) => Fraction.decimal(String(value)).times(new Fraction(scale));

function wholeOf(number, what) {
  expect(number.below === 1n, `${what} of the data are not whole numbers at the scale of the certificate`);
  return number.above;
}

function weightsOf(data, scale) {
  expect(Number.isSafeInteger(scale) && scale > 0 && scale < LARGEST, "its scale of weights is not a whole number above 0");
  const found = data.weight.map((w) => wholeOf(scaled(w, BigInt(scale)), "the weights"));
  expect(found.every((w) => w > 0n), "the weights of the data are not whole numbers at the scale of the certificate");
  return found;
}

const sum = (rows, line) => rows.reduce((total, i) => total + line[i], 0n);

// Σ w y² - (Σ w y)² / Σ w, of numbers and weights that are whole at the scales of the certificate. The numbers are
// counted from one in their middle, which changes no cost and keeps the doubles near. At a scale of 2^number_bits they
// are rounded down, which moves the square root of a tree's cost by sqrt(Σ w / 4) at most: `ends` widens by that.
function squares(facts, data) {
  const binary = "number_bits" in facts, scale = binary ? 2 ** facts.number_bits : facts.number_scale;
  if (binary) expect(Number.isSafeInteger(facts.number_bits) && facts.number_bits >= 0 && facts.number_bits <= MOST_BITS && !("number_scale" in facts), "its numbers are counted in no power of two");
  else expect(Number.isSafeInteger(scale) && scale > 0 && scale < LARGEST, "its scale of numbers is not a whole number above 0");
  const w = weightsOf(data, facts.weight_scale), numbers = data.numbers.map((v) => scaled(v, BigInt(scale)));
  const y = numbers.map((v) => (binary ? v.floor(1n) : wholeOf(v, "the numbers")));
  const rounded = numbers.some((v) => v.below !== 1n), all = new Fraction(sum(y.map((_, i) => i), w));
  const middle = [...y].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[y.length >> 1], t = y.map((v) => v - middle);
  const s = t.map((v, i) => w[i] * v), q = t.map((v, i) => w[i] * v * v);
  const low = (rows) => {
    const [weight, one, two] = [w, s, q].map((line) => sum(rows, line));
    return weight ? new Fraction(two * weight - one * one, weight) : ZERO;
  };
  return {
    unit: new Fraction(BigInt(facts.weight_scale) * BigInt(scale) ** 2n), low, high: low, alone: false,
    ends: (...costs) => (rounded ? widened(all, ...costs) : costs),
    rows: [w, s, q].map((line) => line.map(Number)),
    near: ([a, b, c]) => (a > 0 ? c - (b * b) / a : 0),
    off: 1e-12 * Number(sum(y.map((_, i) => i), q)),
  };
}

// The least root of whole numbers whose square is more.
function rootAbove(square) {
  if (!square) return 1n;
  let root = 1n << BigInt(square.toString(2).length / 2 + 1 | 0);
  for (let next = (root + square / root) >> 1n; next < root; next = (root + square / root) >> 1n) root = next;
  return root + 1n;
}

// C - 2 E sqrt(C) + E² and C + 2 E sqrt(C) + E² with E² = Σ w / 4: what a tree costs at least and at most, and all trees.
function widened(all, low, high, bound) {
  const quarter = all.over(new Fraction(4n)), root = (cost) => new Fraction(rootAbove(-new Fraction(-cost.above * all.above, cost.below * all.below).floor(1n << 64n)), 1n << 32n);
  const least = (cost) => {
    const found = cost.minus(root(cost)).plus(quarter);
    return cost.less(quarter) || found.less(ZERO) ? ZERO : found;
  };
  return [least(low), high.plus(root(high)).plus(quarter), least(bound)];
}

// D - D log(D/H), of D events and the hazard H. Hazards are rounded down and up to whole numbers of 2^-128, those of
// rows, times their weights, to 2^-bits; the upper end of a row's is at most two of these above the lower one. A
// logarithm is rounded to 40 digits; what that can change by is taken off, and added. The cost rises with H.
const FINE = 128n, BETWEEN = 2n, DIGITS = 40, SLACK = 10n ** 36n;

function likelihood(facts, data) {
  const w = weightsOf(data, facts.weight_scale), every = w.map((_, i) => i), all = sum(every, w);
  expect(all < 2n ** 40n, "the weights of the data are too large");
  const bits = 60n - bitsOf(all), d = w.map((one, i) => (data.events[i] ? one : 0n));
  const h = new Array(w.length), order = [...every].sort((i, j) => data.times[i] - data.times[j]);
  let atRisk = all, lower = 0n, upper = 0n;
  for (let start = 0, end; start < order.length; start = end) {
    for (end = start; end < order.length && data.times[order[end]] === data.times[order[start]];) end++;
    const tied = order.slice(start, end), died = sum(tied, d) << FINE;
    lower += died / atRisk;
    upper += upward(died, atRisk);
    for (const i of tied) {
      h[i] = (w[i] * lower) >> (FINE - bits);
      expect(upward(w[i] * upper, 1n << (FINE - bits)) - h[i] <= BETWEEN, "the hazards of the data cannot be rounded as narrowly as a certificate needs");
    }
    atRisk -= sum(tied, w);
  }
  const cost = (events, hazard) => {
    if (!events) return ZERO;
    expect(hazard > 0n, "the hazard of a leaf with an event is too small to differ from 0");
    const log = logarithm(events << bits, hazard);
    return new Fraction(events * (log.below - log.above), log.below);
  };
  const root = 2 ** Number(bits);
  return {
    unit: new Fraction(BigInt(facts.weight_scale)), alone: true, ends: (...costs) => costs,
    low: (rows) => { const events = sum(rows, d); return cost(events, sum(rows, h)).minus(new Fraction(events, SLACK)); },
    high: (rows) => { const events = sum(rows, d); return cost(events, sum(rows, h) + BETWEEN * BigInt(rows.length)).plus(new Fraction(events, SLACK)); },
    rows: [h.map(Number), d.map(Number), d.map(() => 0)],
    near: ([a, b]) => (a > 0 && b > 0 ? b * (1 - Math.log((b * root) / a)) : 0),
    off: 1e-10 * Number(sum(every, d)),
  };
}

// The nearest fraction of 40 decimal digits, of two that are as near the even one.
function decimal(above, below) {
  const sign = above < 0n ? -1n : 1n, limit = 10n ** BigInt(DIGITS);
  let [a, b, places] = [above * sign, below, 0n];
  if (!a) return ZERO;
  while (a / b >= limit) { b *= 10n; places -= 1n; }
  while (a / b < limit / 10n) { a *= 10n; places += 1n; }
  const down = a / b, twice = 2n * (a % b), digits = down + (twice > b || (twice === b && down % 2n) ? 1n : 0n);
  return places < 0n ? new Fraction(sign * digits * 10n ** -places) : new Fraction(sign * digits, 10n ** places);
}

// log(x) = k log 2 + log(y) with x = 2^k y, 2/3 <= y < 4/3, and log(y) = 2 artanh((y - 1)/(y + 1)), whose series loses
// two bits a term or more; in whole numbers of 2^-320, of which it is wrong by fewer than 2^20.
const WORK = 320n, WRONG = 1n << 20n, known = new Map();

function artanhTwice(above, below) {
  const z = (above << WORK) / below, square = (z * z) >> WORK;
  let total = 0n;
  for (let power = z, n = 1n; power !== 0n && power !== -1n; power = (power * square) >> WORK, n += 2n) total += power / n;
  return 2n * total;
}

const LOG_2 = artanhTwice(1n, 3n);

function logarithm(above, below) {
  const key = `${above}/${below}`;
  if (known.has(key)) return known.get(key);
  const x = decimal(above, below);
  let a = x.above, b = x.below, k = 0n;
  while (3n * a >= 4n * b) { b *= 2n; k += 1n; }
  while (3n * a < 2n * b) { a *= 2n; k -= 1n; }
  const found = artanhTwice(a - b, a + b) + k * LOG_2, [one, two] = a === b && !k ? [ZERO, ZERO] : [found - WRONG, found + WRONG].map((end) => decimal(end, 1n << WORK));
  expect(one.equals(two), "a logarithm is too near to the middle of two decimals");
  known.set(key, one);
  return one;
}

// The least of Σ w (y - a - b x)² + ridge b² over the columns x of numbers without missing cells, or with b = 0. All sums
// are whole numbers of any size. With a ridge two leaves may cost more than one for the rows of both, so no cost of rows
// that no column separates is taken off (`noFloor`).
function lines(facts, data) {
  const scaleOf = (scale) => { expect(Number.isFinite(scale) && Number.isInteger(scale) && scale > 0, "a scale is not a whole number above 0"); return BigInt(scale); };
  const features = data.features.filter((f) => f.numeric && !f.cells.some(Number.isNaN)), told = facts.lines;
  expect(Array.isArray(told) && told.length === features.length && features.every((f, j) => f.name === told[j].feature), "the columns of its lines are not the columns of numbers of the data");
  const wholes = (cells, scale, what) => cells.map((v) => wholeOf(scaled(v, scale), what));
  const weightScale = scaleOf(facts.weight_scale), scale = scaleOf(facts.number_scale), scales = told.map((one) => scaleOf(one.scale));
  const w = wholes(data.weight, weightScale, "the weights"), order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  expect(w.every((one) => one > 0n), "the weights of the data are not whole numbers at the scale of the certificate");
  const numbers = [wholes(data.numbers, scale, "the numbers"), ...features.map((f, j) => wholes(f.cells, scales[j], "the numbers"))];
  const middles = numbers.map((line) => [...line].sort(order)[line.length >> 1]), [y, ...xs] = numbers.map((line, j) => line.map((v) => v - middles[j]));
  const times = (...all) => w.map((one, i) => all.reduce((product, line) => product * line[i], one));
  const rows = [w, times(y), times(y, y), ...xs.flatMap((x) => [times(x), times(x, x), times(x, y)])];
  const penalty = scaled(facts.data.ridge || 0, weightScale), ridges = scales.map((one) => new Fraction(penalty.above * one * one, penalty.below));
  const cost = ([n, s, q, ...rest]) => {
    let [above, below] = [0n, 1n]; // of the gain of the best line, times n
    ridges.forEach((ridge, j) => {
      const [x, xx, xy] = rest.slice(3 * j, 3 * j + 3), spread = n * xx - x * x;
      if (!spread) return;
      const a = (n * xy - x * s) ** 2n * ridge.below, b = spread * ridge.below + ridge.above * n;
      if (a * below > above * b) [above, below] = [a, b];
    });
    return n ? [(n * q - s * s) * below - above, n * below] : [0n, 1n];
  };
  const sumsOf = (own) => rows.map((line) => sum(own, line)), low = (own) => new Fraction(...cost(sumsOf(own)));
  const nearly = (above, below) => {
    const shift = BigInt(Math.max(0, 64 + below.toString(16).length * 4 - above.toString(16).length * 4));
    return Number((above << shift) / below) / 2 ** Number(shift);
  };
  const expectLine = (line, own) => {
    const [n, s, q, ...rest] = sumsOf(own).map((one) => new Fraction(one));
    const product = (...all) => all.reduce((a, b) => new Fraction(a.above * b.above, a.below * b.below));
    // What the rounding of a slope and an intercept to doubles may cost is less than `rounded`.
    let [slope, move, x, xx, xy, rounded] = [ZERO, s.over(n), ZERO, ZERO, ZERO, ZERO];
    const size = (one) => (one.less(ZERO) ? ZERO.minus(one) : one), most = (line) => line.reduce((a, v) => (v > a ? v : -v > a ? -v : a), 0n);
    if (line) {
      const j = told.findIndex((one) => one.feature === line.feature);
      expect(j >= 0 && [line.slope, line.intercept].every(Number.isFinite), "a leaf of the tree predicts a line in no column of numbers");
      [x, xx, xy] = rest.slice(3 * j, 3 * j + 3);
      xx = xx.plus(ridges[j]);
      const double = new Fraction(1n, 2n ** 52n);
      slope = new Fraction(scaled(line.slope, scale).above, scaled(line.slope, scale).below * scales[j]);
      move = scaled(line.intercept, scale).minus(new Fraction(middles[0])).plus(product(slope, new Fraction(middles[1 + j])));
      const step = product(double, size(scaled(line.intercept, scale)).plus(product(size(slope), new Fraction(most(numbers[1 + j])))));
      rounded = product(n, step, step).plus(product(ridges[j], double, slope, double, slope));
    }
    // Σ w (y - move - slope x)² + ridge slope²
    const two = new Fraction(2n), paid = q.minus(product(two, product(move, s).plus(product(slope, xy)))).plus(product(move, move, n)).plus(product(two, move, slope, x)).plus(product(slope, slope, xx));
    const more = paid.minus(low(own)), around = q.minus(product(s, s).over(n));
    expect(!new Fraction(around.above, around.below * 10n ** 9n).plus(rounded).less(more), "a leaf of the tree predicts another line than the best of its rows");
  };
  return {
    unit: new Fraction(weightScale * scale * scale), low, high: low, alone: false, noFloor: true, ends: (...costs) => costs, expectLine,
    rows, near: (sums) => nearly(...cost(sums)), off: 1e-12 * Number(sum(y.map((_, i) => i), rows[2])),
  };
}

const MEASURES = { regression: squares, survival: likelihood, linear: lines };

module.exports = { MEASURES, logarithm, scaled, wholeOf };
