"use strict";
(() => {
  const LARGEST = 2 ** 30; // bytes of an unpacked data file, as check.js reads in node
  // The program of a worker, so that the page stays usable: a message {file, facts} is answered by the lines to show.
  function program() {
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

    const { statements, refusal, isPacked, OTHER_FILE, PROVED_HERE, PACKED } = require("./check.js"), { refuse } = require("./values.js");
    async function digestOf(bytes) {
      if (!globalThis.crypto || !crypto.subtle) return null;
      return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map(v => v.toString(16).padStart(2, "0")).join("");
    }
    async function unpacked(bytes, largest) {
      const parts = [], reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
      for (let size = 0; ;) {
        const { done, value } = await reader.read().catch(() => refuse(PACKED));
        if (done) return new Blob(parts).arrayBuffer();
        if ((size += value.length) > largest) refuse(`the data file unpacks to more than ${largest} bytes`);
        parts.push(value);
      }
    }
    return async function check({ file, facts, largest }) {
      let digest = null;
      try {
        const bytes = await file.arrayBuffer(), packed = isPacked(file.name, new Uint8Array(bytes));
        digest = facts.data.sha256 ? await digestOf(bytes) : null;
        const plain = packed ? await unpacked(bytes, largest) : bytes;
        const lines = statements(facts, file.name, new Uint8Array(plain));
        if (digest === null) lines.push("the SHA-256 of the data file was not compared, because the certificate states none or this browser computes none");
        else lines.push(digest === facts.data.sha256 ? "the data file is the one that the certificate was made of (its SHA-256 is equal)" : PROVED_HERE);
        return lines;
      } catch (problem) { return [refusal(problem), ...(digest !== null && digest !== facts.data.sha256 ? [OTHER_FILE] : [])]; }
    };
  }

  const input = document.getElementById("checked-file"), button = document.getElementById("check-now"), said = document.getElementById("checked");
  let end = null; // of the present check
  function say(...lines) {
    said.replaceChildren(...lines.map(line => Object.assign(document.createElement("p"), { textContent: line })));
  }
  function finish(...lines) {
    if (end) end();
    end = null;
    button.textContent = "Check the certificate";
    say(...lines);
  }
  function check(file) {
    const source = `"use strict"; const check = (${program})(); onmessage = async ({ data }) => postMessage(await check(data));`;
    const place = URL.createObjectURL(new Blob([source], { type: "text/javascript" })), worker = new Worker(place);
    end = () => { worker.terminate(); URL.revokeObjectURL(place); };
    worker.onmessage = ({ data }) => finish(...data);
    worker.onerror = problem => finish(`refused: ${problem.message || "this browser runs no checker"}`);
    let facts = null;
    try { facts = JSON.parse(document.getElementById("certificate").textContent); } catch (problem) { throw new Error(`the certificate in this page is damaged (${problem.message})`); }
    worker.postMessage({ file, facts, largest: LARGEST });
  }
  button.addEventListener("click", () => {
    const [file] = input.files;
    if (end) return finish("The check was cancelled.");
    if (!file) return say("Choose the data file first.");
    say("Checking …");
    button.textContent = "Cancel";
    try { check(file); } catch (problem) { finish(`refused: ${problem.message}`); }
  });
  input.addEventListener("change", () => finish());
})();
