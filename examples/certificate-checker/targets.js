// What the tasks read of the columns of their targets.
"use strict";
const { expect, refuse, isNumber, levels, decimal } = require("./values.js");

const WORDS = { 0: false, 1: true, false: false, true: true, no: false, yes: true };
const shortest = (word) => (isNumber(word) ? String(Number(Number(word).toPrecision(6))) : word.toLowerCase());

// The rows with these numbers, of which one may come several times; `lines` is told of each row before.
function taken(data, rows, lines) {
  const only = (line) => rows.map((i) => line[i]);
  const features = (some) => some.map((feature) => ({ ...feature, cells: only(feature.cells) }));
  const more = Object.fromEntries(Object.entries(lines).map(([name, line]) => [name, only(line)]));
  const weight = only(data.weight);
  return { ...data, ...more, weight, features: features(data.features), auxiliaryFeatures: features(data.auxiliaryFeatures), n: rows.length, fileRows: rows.length };
}

function numbersOf(cells, what) {
  expect(cells.every(isNumber), `the data has no finite numbers as ${what}`);
  return cells.map((cell) => Number(cell) + 0);
}

// The lower median of numbers with weights, or the number at another share of the weight.
function medianOf(numbers, weight, share = 0.5) {
  const order = numbers.map((_, i) => i).sort((i, j) => numbers[i] - numbers[j]), part = weight.reduce((a, b) => a + b, 0) * share * (1 - 1e-12);
  let below = 0;
  return numbers[order.find((i) => (below += weight[i]) >= part) ?? order.at(-1)];
}

const classification = {
  columns: (source) => [source.target],
  targeted: (cells, source, data) => {
    const words = cells.map(([cell]) => cell), { key, keys } = levels(words);
    return { ...data, classes: keys, classKey: key, y: words.map((word) => keys.indexOf(key(word))) };
  },
};

const one = (name) => ({ classes: [name], classKey: String });

const regression = {
  columns: (source) => [source.target],
  targeted: (cells, source, data) => {
    const numbers = numbersOf(cells.map(([cell]) => cell), "its target"), { weight } = data, middle = medianOf(numbers, weight);
    const sums = numbers.map((v, i) => [1, weight[i], weight[i] * v, weight[i] * (v - middle), weight[i] * (v - middle) ** 2, v]);
    return { ...data, numbers, sums, y: numbers.map(() => 0), ...one("mean") };
  },
};

// The column of events and, of "column=value", the value that is one.
function eventOf({ event }, names) {
  const at = String(event).indexOf("=");
  return names.includes(event) || at < 0 ? [event, null] : [event.slice(0, at), event.slice(at + 1)];
}

const survival = {
  columns: (source, names) => [source.time, eventOf(source, names)[0]],
  targeted: (cells, source, data) => {
    const times = numbersOf(cells.map(([cell]) => cell), "its times"), { weight } = data;
    expect(times.every((time) => time >= 0), "the data has times below 0");
    const [column, value] = eventOf(source, data.targets);
    const isEvent = (word) => {
      if (value !== null) return isNumber(word) && isNumber(value) ? Number(word) === Number(value) : word === value;
      expect(shortest(word) in WORDS, `the column ${column} holds other than 1 for an event and 0 for none`);
      return WORDS[shortest(word)];
    };
    const events = cells.map(([, cell]) => isEvent(cell)), order = times.map((_, i) => i).sort((i, j) => times[i] - times[j]);
    const hazard = new Array(times.length);
    let atRisk = weight.reduce((a, b) => a + b, 0), sum = 0;
    for (let start = 0, end; start < order.length; start = end) {
      for (end = start; end < order.length && times[order[end]] === times[order[start]];) end++;
      const tied = order.slice(start, end), died = tied.reduce((total, i) => total + (events[i] ? weight[i] : 0), 0);
      sum += died ? died / atRisk : 0;
      for (const i of tied) { hazard[i] = sum; atRisk -= weight[i]; }
    }
    const sums = times.map((time, i) => [1, weight[i], weight[i] * hazard[i], events[i] ? weight[i] : 0, time]);
    return { ...data, times, events, sums, y: times.map(() => 0), ...one("risk") };
  },
};

// Each number is a class of its own, and to answer one for another costs how far they are apart (`price`).
const median = {
  columns: (source) => [source.target],
  targeted: (cells, source, data) => {
    const kept = { ...data, numbers: numbersOf(cells.map(([cell]) => cell), "its target") };
    const values = [...new Set(kept.numbers)].sort((a, b) => a - b);
    const price = (k, c) => Math.abs(values[k] - values[c]);
    const sums = kept.numbers.map((v, i) => [1, kept.weight[i], kept.weight[i] * v, v]);
    const curve = (rows) => [0, 0.25, 0.5, 0.75, 1].map((share) => [share, medianOf(rows.map((i) => kept.numbers[i]), rows.map((i) => kept.weight[i]), share)]);
    return { ...kept, sums, curve, classes: values.map(String), classKey: (name) => String(Number(name)), y: kept.numbers.map((v) => values.indexOf(v)), price };
  },
};

// What each action costs on each row, as the file says, or of inverse propensities: the outcome of the action received
// over its probability. Digits are those that the difference of two such costs has.
function costsOf(cells, source, { weight }) {
  if (source.actions) {
    const sign = source.goal === "max" ? -1 : 1, columns = source.actions.map((name, a) => numbersOf(cells.map((row) => row[a]), name));
    const costs = cells.map((_, i) => columns.map((column) => sign * column[i]));
    return { actions: source.actions, costs, size: (row, w) => w * Math.max(...row.map(Math.abs)), digits: 12 };
  }
  const given = source.propensity || [];
  if (source.scores !== "ips" || !given.length) refuse("its costs are estimates of random forests and logistic regressions, which this checker does not make: it knows --actions, and --scores ips with --propensity");
  const { key, keys: actions } = levels(cells.map(([action]) => action)), received = cells.map(([action]) => actions.indexOf(key(action)));
  expect(given.length === 1 || given.length === actions.length, "it names as many propensities as there are actions, or one");
  const outcome = numbersOf(cells.map((row) => row[1]), source.outcome), chance = given.map((name, g) => numbersOf(cells.map((row) => row[2 + g]), name));
  expect(chance.every((column) => column.every((p) => p > 0 && p <= 1)), "the data has propensities that are no probabilities above 0");
  const sign = source.goal === "min" ? 1 : -1, of = received.map((a, i) => sign * (outcome[i] / chance[given.length === 1 ? 0 : a][i]));
  const costs = received.map((a, i) => actions.map((_, b) => (b === a ? of[i] : 0)));
  return { actions, costs, size: null, digits: 6 };
}

// Each row votes for the actions with what they save of its highest cost: it is a row of the class of each such action,
// and counts as one where its best action does.
const policy = {
  columns: (source) => source.actions || [source.treatment, source.outcome, ...(source.propensity || [])],
  targeted: (cells, source, data) => {
    const { weight } = data, { actions, costs, size, digits } = costsOf(cells, source, data), K = actions.length;
    expect(K >= 2, "it has fewer than two actions");
    const paid = costs.map((row, i) => row.map((v) => weight[i] * (v - Math.min(...row))));
    const above = paid.map((row, i) => (size ? row.map((v) => decimal(v, size(costs[i], weight[i]), digits)) : row));
    const most = above.reduce((v, row) => Math.max(v, ...row), 0), least = above.reduce((v, row) => Math.min(v, ...row.filter((x) => x > 0)), most);
    const single = Math.min(...actions.map((_, a) => above.reduce((sum, row) => sum + row[a], 0))) || least;
    const cap = single < 1e-6 * most ? Number(`1e${Math.ceil(Math.log10(4 * single))}`) : Infinity;
    const votes = above.map((row) => row.map((v) => Math.min(v, cap))).map((row) => row.map((v) => Math.max(...row) - v));
    const largest = votes.reduce((v, row) => Math.max(v, ...row), 0), rows = [], copies = [], y = [], vote = [];
    expect(Number.isFinite(largest), "its costs are too large");
    votes.forEach((row, i) => {
      const said = row.map((v) => decimal(v, size ? Math.max(...row) || 1 : largest, digits)), best = said.indexOf(Math.max(...said));
      said.forEach((v, a) => { if (v > 0 || a === best) { rows.push(i); y.push(a); vote.push(v); copies.push(a === best ? 1 : 0); } });
    });
    const sums = rows.map((i, at) => [1, weight[i], ...costs[i].map((v) => weight[i] * v), weight[i] * Math.min(...costs[i])].map((v) => (copies[at] ? v : 0)));
    let target = source.treatment || "action";
    while (data.features.some((feature) => feature.name === target)) target += "_";
    return { ...taken(data, rows, {}), y, weight: vote, copies, sums, target, classes: actions, classKey: String, price: (k, c) => Number(k !== c), fileRows: cells.length };
  },
};

const TASKS = { classification, regression, linear: regression, survival, median, policy };

module.exports = (source) => {
  const task = source.task || "classification";
  expect(task in TASKS, `it is of the task ${task}, which this checker does not know`);
  return TASKS[task];
};
