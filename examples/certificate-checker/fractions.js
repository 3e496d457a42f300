// Fractions of whole numbers of any size, and numbers that are known nearly until their exact value decides.
"use strict";
const { expect } = require("./values.js");

const size = (a) => (a < 0n ? -a : a);
const common = (a, b) => { while (b) [a, b] = [b, a % b]; return a; };

class Fraction {
  constructor(above, below = 1n) {
    expect(below !== 0n, "a number of the certificate is divided by 0");
    const shared = common(size(above), size(below)) * (below < 0n ? -1n : 1n);
    this.above = above / shared;
    this.below = below / shared;
  }
  static read(text) {
    const found = typeof text === "string" && /^([+-]?[0-9]+)(?:\/([0-9]+))?$/.exec(text.trim());
    expect(found, `${JSON.stringify(text)} is no fraction of whole numbers`);
    return new Fraction(BigInt(found[1].replace("+", "")), BigInt(found[2] || 1));
  }
  // A decimal such as -1.5e-3.
  static decimal(text) {
    const [digits, exponent = "0"] = text.split("e"), [whole, part = ""] = digits.split(".");
    const places = part.length - Number(exponent), power = 10n ** BigInt(Math.abs(places)), above = BigInt(whole + part);
    return places > 0 ? new Fraction(above, power) : new Fraction(above * power);
  }
  plus(other) { return new Fraction(this.above * other.below + other.above * this.below, this.below * other.below); }
  minus(other) { return this.plus(new Fraction(-other.above, other.below)); }
  times(other) { return new Fraction(this.above * other.above, this.below * other.below); }
  over(other) { return new Fraction(this.above * other.below, this.below * other.above); }
  less(other) { return this.above * other.below < other.above * this.below; }
  equals(other) { return this.above === other.above && this.below === other.below; }
  floor(unit) { // in units of 1/unit
    const [whole, rest] = [(this.above * unit) / this.below, (this.above * unit) % this.below];
    return rest < 0n ? whole - 1n : whole;
  }
  toNumber() {
    // About 64 bits, then rounded.
    const shift = BigInt(Math.max(0, 64 + this.below.toString(2).length - size(this.above).toString(2).length));
    return Number((this.above << shift) / this.below) / 2 ** Number(shift);
  }
}

const ZERO = new Fraction(0n);

// A number that is `near` within a tolerance; `exact` is called once, and only where that is not enough.
class Lazy {
  constructor(near, exact) { this.near = near; this.exact = exact; this.known = null; }
  get value() { return this.known || (this.known = this.exact()); }
  plus(other) { return new Lazy(this.near + other.near, () => this.value.plus(other.value)); }
  minus(other) { return new Lazy(this.near - other.near, () => this.value.minus(other.value)); }
  static of(fraction) { return new Lazy(fraction.toNumber(), () => fraction); }
  static least(numbers, off) {
    const near = numbers.reduce((least, one) => Math.min(least, one.near), Infinity);
    const close = numbers.filter((one) => one.near <= near + off);
    return new Lazy(near, () => close.map((one) => one.value).reduce((a, b) => (b.less(a) ? b : a)));
  }
  static most(one, two, off) {
    if (Math.abs(one.near - two.near) > off) return one.near > two.near ? one : two;
    return new Lazy(Math.max(one.near, two.near), () => (one.value.less(two.value) ? two.value : one.value));
  }
}

module.exports = { Fraction, Lazy, ZERO, common };
