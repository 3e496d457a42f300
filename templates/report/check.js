"use strict";
(() => {
  // The second checker as node runs it, a function for each of its files.
  const MODULES = {
{% for name, text in checker.modules.items() %}
"./{{ name }}": (module, require) => {
{{ text }}
},
{% endfor %}
  };
  const made = {};
  function require(name) {
    if (!made[name]) MODULES[name](made[name] = { exports: {} }, require);
    return made[name].exports;
  }

  const { statements, refusal, OTHER_FILE } = require("./check.js");
  const input = document.getElementById("checked-file"), button = document.getElementById("check-now"), said = document.getElementById("checked");
  function say(...lines) {
    said.replaceChildren(...lines.map(line => Object.assign(document.createElement("p"), { textContent: line })));
  }
  async function digestOf(bytes) {
    if (!globalThis.crypto || !crypto.subtle) return null;
    return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map(v => v.toString(16).padStart(2, "0")).join("");
  }
  function unpacked(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }
  async function check(file) {
    const facts = JSON.parse(document.getElementById("certificate").textContent), bytes = await file.arrayBuffer();
    const lines = statements(facts, file.name, new Uint8Array(/\.gz$/i.test(file.name) ? await unpacked(bytes) : bytes));
    const digest = facts.data.sha256 ? await digestOf(bytes) : null;
    if (digest === null) lines.push("the SHA-256 of the data file was not compared, because the certificate states none or this browser computes none");
    else lines.push(digest === facts.data.sha256 ? "the data file is the one that the certificate was made of (its SHA-256 is equal)" : OTHER_FILE);
    return lines;
  }
  button.addEventListener("click", async () => {
    const [file] = input.files;
    if (!file) return say("Choose the data file first.");
    say("Checking …");
    button.disabled = true;
    await new Promise(resolve => setTimeout(resolve, 50)); // milliseconds in which the page draws these words
    try { say(...await check(file)); } catch (problem) { say(refusal(problem)); }
    button.disabled = false;
  });
  input.addEventListener("change", () => say());
})();
