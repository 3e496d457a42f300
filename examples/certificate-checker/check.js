#!/usr/bin/env node
// Checks a certificate of odtc against its data, with nothing of odtc: node check.js PROOF.certificate.json [DATA.csv]
//
// It reads the data by itself (data.js), counts what the tree costs, and checks the bound of all trees by the kind of the
// certificate: labels.js, constrained.js, and leaf-sums.js for trees of numbers and of survival. All sums are of whole
// numbers below 2^53, which doubles add exactly, or fractions.
// Exit code 0 and "proved", or 1 and the first thing that is not so. The page of `odtc report` runs this program, too: only
// main and bytesOf use modules of node.
"use strict";
const { Refused, refuse, expect, EXACT, whole } = require("./values.js");
const { readData } = require("./data.js");
const { MEASURES, scaled, wholeOf } = require("./leaf-costs.js");
const { ASKED, UNKNOWN } = require("./tree.js");
const { checkLabels } = require("./labels.js");
const { checkConstrained } = require("./constrained.js");
const { checkLeafSums } = require("./leaf-sums.js");

// What a certificate proves on the data: its objective, its bound, and how many splits it is about.
function check(facts, data) {
  expect(facts.schema === "odtc.proof/1", "it is not a certificate of schema odtc.proof/1");
  if (Object.hasOwn(MEASURES, facts.kind)) return checkLeafSums(facts, data);
  const constrained = facts.kind === "constraints";
  expect(constrained || facts.kind === "labels", `it is of the kind ${facts.kind}, which this checker does not know`);
  const depth = whole(facts.depth, "the depth"), price = whole(facts.penalty, "the price");
  const scale = whole(facts.scale, "the scale"), W = whole(facts.weight_scale, "the scale of weights");
  const scales = depth >= 1 && depth <= 20 && scale >= 1 && W >= 1 && scale % W === 0 && price < scale;
  expect(scales, "the certificate is damaged: its depth, its scales or its penalty are not valid");
  const same = facts.classes.length === data.classes.length && facts.classes.every((name, k) => data.classKey(name) === data.classes[k]);
  expect(same, "its classes, or their order, are not those of the data");
  expectLosses(facts.loss, data, (scale - price) / W);
  const weight = data.weight.map((w) => {
    expect(w >= 0, "a weight of the data is below 0");
    return Number(wholeOf(scaled(w, BigInt(W)), "the weights"));
  });
  const loss = data.y.map((k, i) => facts.loss[k].map((v) => weight[i] * v));
  const total = loss.reduce((sum, line) => sum + line.reduce((a, b) => a + b, 0), 0);
  expect(total < EXACT, "its numbers are too large to be added exactly");
  return constrained ? checkConstrained(facts, data, weight, loss) : checkLabels(facts, data, loss, { price, scale });
}

function expectLosses(loss, data, unit) {
  const K = data.classes.length, square = loss.length === K && loss.every((line) => line.length === K);
  const right = square && loss.every((line, k) => line.every((v, c) => whole(v, "a loss") >= 0 && (k !== c || v === 0)));
  expect(right, "its losses are not a square table with zeros where the label is correct");
  expect(K === 1 || loss.some((line) => line.some((v) => v > 0)), "its losses are all 0");
  const near = (found, told) => Math.abs(found - told) <= 1e-9 * told;
  const known = !data.price || loss.every((line, k) => line.every((v, c) => near(v / unit, data.price(k, c))));
  expect(known, "its losses are not those of its task");
}

// What is priced other than a unit of weight for each error.
function pricesOf({ loss, classes, penalty: price, scale, weight_scale: W }, proof) {
  const lambda = loss ? price / scale : proof.lambda, said = lambda ? [`lambda ${Number(lambda.toPrecision(10))}`] : [];
  const costs = (loss || []).flatMap((line, k) => line.map((v, c) => [k, c, (v * W) / (scale - price)])).filter(([k, c]) => k !== c);
  if (costs.some(([, , v]) => Math.abs(v - 1) > 1e-12)) said.push(`costs ${costs.map(([k, c, v]) => `${classes[k]}:${classes[c]}=${Number(v.toPrecision(10))}`).join(", ")}`);
  return said.length ? ` (${said.join(" and ")})` : "";
}

// What the claim is relative to.
function termsOf(facts, data) {
  const read = (key, words) => (facts.data[key] || []).map((name) => `${name} is read as ${words}`);
  const left = [[data.nSetAside, "set aside at random"], [data.nDropped - data.nUnlabelled, "with missing cells"], [data.nUnlabelled, "without a label or a weight"]];
  const asked = ASKED.filter((key) => facts.data[key] && facts.data[key].length !== 0).map((key) => `${key} ${[].concat(facts.data[key]).join(", ")}`);
  return [
    ...(data.task === "classification" ? [] : [`task ${data.task}`, ...asked]),
    `target '${data.target}' (${facts.classes.join(", ")})`,
    facts.data.weights == null ? "every row counts 1" : `weights in column '${facts.data.weights}'`,
    ...read("categorical", "a category"), ...read("numeric", "numbers"),
    ...((facts.data.ignore || []).length ? [`ignored columns: ${facts.data.ignore.map((name) => name || "column 1 (no name)").join(", ")}`] : []),
    ...(facts.data.decimal ? [`numbers have the decimal sign '${facts.data.decimal}'`] : []),
    ...((facts.data.missing_mark || []).length ? [`also missing: ${facts.data.missing_mark.join(", ")}`] : []),
    ...(facts.data.ordered || []).map((text) => `the levels of a column have an order, ${text}`),
    ...(data.auxiliary.length ? [`no split uses ${data.auxiliary.join(", ")}`] : []),
    `rows left out: ${left.filter(([n]) => n).map(([n, why]) => `${n} ${why}`).join(", ") || "none"}`,
    ...(data.missing === "separate" ? ["splits may separate missing cells"] : []),
  ].join("; ");
}

function readNamed(file, bytes, source) {
  try { return readData(file, bytes, source); } catch (problem) {
    const options = UNKNOWN.filter((key) => source[key] !== undefined && source[key] !== null);
    if (!(problem instanceof Refused) || !options.length) throw problem;
    return refuse(`${problem.message}; odtc read the file with ${options.join(" and ")}, which this checker does not know: use \`odtc verify --certificate\``);
  }
}

// The two lines that state what a certificate proves on the bytes of a data file.
function statements(facts, file, bytes) {
  const data = readNamed(file, bytes, facts.data), proof = check(facts, data);
  const kept = (facts.of && facts.of.constraints) || [], asked = kept.length ? ` that satisfies ${kept.join(" and ")}` : "";
  return [
    (proof.infeasible ? `proved: no tree of depth ${facts.depth} over ${proof.candidates} splits${asked.replace(" that", "")} on ${data.fileRows} rows; `
      : `proved: no tree of depth ${facts.depth} over ${proof.candidates} splits${asked} costs less than ${proof.bound} on ${data.fileRows} rows${pricesOf(facts, proof)}; `) +
      (proof.bound < proof.objective ? `its own tree costs ${proof.between ? "up to " : ""}${proof.objective}; ` : "") +
      (proof.absent ? `${proof.absent} of the ${proof.splits} thresholds between neighbouring values and single levels are not among these`
        : `these include all ${proof.splits} thresholds between neighbouring values and single levels`),
    `of: ${termsOf(facts, data)}`,
  ];
}

const OTHER_FILE = "the data file is not the one that the certificate was made of (its SHA-256 differs)";
const PROVED_HERE = `${OTHER_FILE}; it proves its tree here too`;
// A file that lacks a part, or is not JSON, ends in an error of the language; one that cannot be read has a code.
const refusal = (problem) => `refused: ${problem instanceof Refused || problem.code ? problem.message : `the certificate is damaged (${problem.name}: ${problem.message})`}`;

const isPacked = (file, bytes) => /\.gz$/i.test(file) || (bytes[0] === 0x1f && bytes[1] === 0x8b);
const PACKED = "the data file is packed, and cannot be unpacked here; unpack it first";

function bytesOf(file) {
  const bytes = require("fs").readFileSync(file);
  try { return isPacked(file, bytes) ? require("zlib").gunzipSync(bytes, { maxOutputLength: 2 ** 30 }) : bytes; } catch { return refuse(PACKED); }
}

function main([file, given]) {
  if (!file) { console.error("usage: node check.js PROOF.certificate.json [DATA.csv]"); return 2; }
  const [crypto, fs, path] = ["crypto", "fs", "path"].map(require);
  let other = false;
  try {
    const facts = JSON.parse(fs.readFileSync(file, "utf8")), source = given || path.resolve(path.dirname(file), facts.data.path);
    const digest = crypto.createHash("sha256").update(fs.readFileSync(source)).digest("hex");
    other = Boolean(facts.data.sha256) && facts.data.sha256 !== digest;
    for (const line of statements(facts, source, bytesOf(source))) console.log(line);
    if (other) console.error(PROVED_HERE);
    return 0;
  } catch (problem) {
    console.error(refusal(problem));
    if (other) console.error(OTHER_FILE);
    return 1;
  }
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));
module.exports = { check, statements, refusal, bytesOf, isPacked, OTHER_FILE, PROVED_HERE, PACKED };
