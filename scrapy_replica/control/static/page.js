"use strict";
// Everything that the crawl tells is shown as text: nothing here makes markup of a string.

const token = new URLSearchParams(location.search).get("token");
const headers = { Authorization: `Bearer ${token}` };
const at = (id) => document.getElementById(id);

/** Make an element: its name, properties (data-* and aria-* as attributes) and children, strings as text. */
function make(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key.includes("-")) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// Orders

let silence;

/** Tell the person what came of an order. */
function say(text, command, isBad) {
  clearTimeout(silence);
  const line = make("p", { className: isBad ? "bad" : "" }, text);
  if (command) line.append(make("code", {}, command));
  at("said").replaceChildren(line);
  silence = setTimeout(() => at("said").replaceChildren(), isBad ? 15000 : 8000);
}

/** Give an order; tells whether it was taken. */
async function order(kind, what) {
  try {
    const response = await fetch("/api/orders", {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify({ kind, what }),
    });
    const answer = response.headers.get("Content-Type").startsWith("application/json")
      ? await response.json()
      : { error: await response.text() };
    if (!response.ok) throw new Error(answer.error);
    say("The crawl was told so. The same as a command:", answer.said);
    return true;
  } catch (error) {
    say(`Not done: ${error.message}`, "", true);
    return false;
  }
}

/** A button that gives an order. */
function orderButton(text, described, kind, what) {
  const button = make("button", { type: "button", className: "small", "aria-label": described, "data-act": `${kind} ${JSON.stringify(what)}` }, text);
  button.addEventListener("click", async () => {
    button.disabled = true;
    button.disabled = await order(kind, what);
  });
  return button;
}

/** Replace the children of *parent*; the button that had the focus has it again. */
function show(parent, children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.act : null;
  parent.replaceChildren(...children);
  if (focused) parent.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus();
}

// One site or two?

let pairs = [];
let ordered = new Set(); // pairs that were decided and wait for the crawl
const later = [];
let current = null;

const nameOf = (pair) => [pair.copy, pair.keeper].sort().join(" ");

function showPairs() {
  const open = pairs.filter((pair) => !ordered.has(nameOf(pair)));
  open.sort((a, b) => later.indexOf(nameOf(a)) - later.indexOf(nameOf(b)));
  at("pairs-count").textContent = open.length ? `${open.length} to decide` : "";
  const shown = open.find((pair) => nameOf(pair) === current) || open[0];
  if (!shown) {
    current = null;
    at("pair").replaceChildren(make("p", { className: "none" }, "No pair of hosts is uncertain by now."));
    return;
  }
  current = nameOf(shown);
  show(at("pair"), [pairCard(shown)]);
}

async function decide(pair, kind, what) {
  const name = nameOf(pair);
  ordered.add(name);
  next();
  if (!(await order(kind, what))) {
    ordered.delete(name);
    showPairs();
  }
}

function next() {
  current = null;
  showPairs();
  (at("pair").querySelector("[data-act=same]") || at("pairs-title")).focus();
}

function putOff(pair) {
  const name = nameOf(pair);
  if (later.includes(name)) later.splice(later.indexOf(name), 1);
  later.push(name);
  next();
}

function pairCard(pair) {
  const { copy, keeper, copy_prefix, keeper_prefix } = pair;
  const decisions = {
    s: () => decide(pair, "block", { host: copy, keeper, copy_prefix, keeper_prefix }),
    d: () => decide(pair, "different", { host: copy, other: keeper }),
    l: () => putOff(pair),
  };
  const choice = (key, text, name, className) => {
    const button = make("button", { type: "button", className, "data-act": name, "aria-keyshortcuts": key }, text, make("kbd", { "aria-hidden": "true" }, key));
    button.addEventListener("click", decisions[key]);
    return button;
  };
  const card = make(
    "div", { className: "card" },
    make("p", { className: "question" }, "Is ", make("b", {}, copy), " the same site as ", make("b", {}, keeper), pair.place ? ` (${pair.place})?` : "?"),
    make("div", {}, `The judge: ${pair.scores}; a verdict takes ${pair.wanted}. Why not yet: ${pair.why}.`),
    make("ul", { className: "evidence" }, ...pair.evidence.map((line) => make("li", {}, line))),
    ...pair.pages.map(([mine, theirs]) => make("div", { className: "side" }, side(mine, theirs, copy, "would not be fetched any more"), side(theirs, mine, keeper, "would be kept"))),
    pair.pages.length ? null : make("p", { className: "none" }, "The texts of their pages are not at hand; the next pages bring some."),
    make("div", { className: "decide", role: "group", "aria-label": "Decide" },
      choice("s", "Same site", "same", "main"), choice("d", "Different sites", "different", ""), choice("l", "Later", "later", "")),
  );
  card.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (decisions[event.key]) {
      event.preventDefault();
      decisions[event.key]();
    }
  });
  return card;
}

/** One page of a pair; the words that the other page lacks are marked. */
function side(page, other, host, role) {
  const url = make(page.is_link ? "a" : "span", { className: "url" }, page.url);
  if (page.is_link) Object.assign(url, { href: page.url, target: "_blank", rel: "noreferrer noopener" });
  const known = new Set(other.text.toLowerCase().split(/\s+/));
  const text = make("p", {});
  for (const part of page.text.split(/(\s+)/)) {
    text.append(part.trim() && !known.has(part.toLowerCase()) ? make("mark", {}, part) : part);
  }
  return make("div", {}, make("h3", {}, make("span", { className: "role" }, `${host} ${role}`), page.title || "(no title)"), url, text);
}

// What else is shown

const count = (number, most) => (number ? `${number.toLocaleString("en")}${number === most ? " last" : ""}` : "");

function showRows(id, rows, empty, row) {
  at(`${id}-count`).textContent = rows.length ? rows.length.toLocaleString("en") : "";
  show(at(`${id}-rows`), rows.length ? rows.map(row) : [make("li", { className: "none" }, empty)]);
}

const sections = {
  state(state) {
    document.title = `${state.is_running ? "▶ " : ""}${state.job}`;
    at("job").textContent = state.job;
    running(state.is_running ? "runs" : "ended", state.is_running ? "running" : "not running: what is told waits");
    at("problem").hidden = !state.problem;
    if (at("problem").textContent !== state.problem) at("problem").textContent = state.problem;
  },
  figures({ figures, hosts, n_hosts }) {
    at("figures").replaceChildren(
      ...figures.map(({ name, value, note }) =>
        make("div", {}, make("dd", { className: "note" }, note), make("dd", { className: "value" }, value), make("dt", {}, name))));
    at("hosts-count").textContent = n_hosts > hosts.length ? `${hosts.length} of ${n_hosts.toLocaleString("en")}` : "";
    show(at("hosts-rows"), hosts.map(({ host, cells, is_paused }) =>
      make("tr", {}, make("td", {}, host), ...cells.map((cell) => make("td", { className: "number" }, cell.toLocaleString("en"))),
        make("td", {}, is_paused ? orderButton("Resume", `Resume ${host}`, "resume", { host }) : orderButton("Pause", `Pause ${host}`, "pause", { host })))));
  },
  pairs(told) {
    pairs = told;
    const names = new Set(pairs.map(nameOf));
    ordered = new Set([...ordered].filter((name) => names.has(name)));
    showPairs();
  },
  copies(copies) {
    showRows("copies", copies, "No host is taken for a copy of another.", ({ copy, keeper, told, evidence, saved }) =>
      make("li", {},
        make("div", {}, make("b", {}, copy), ` is ${keeper}`, make("small", {}, `${told}; ${saved} URLs not fetched`),
          evidence.length ? make("small", {}, evidence.join("; ")) : null),
        orderButton("Allow", `Allow ${copy}: no copy`, "allow", { host: copy })));
  },
  rules(rules) {
    showRows("rules", rules, "No rule is in force.", ({ id, rule, told, saved }) =>
      make("li", {}, make("div", {}, rule, make("small", {}, `rule ${id}, ${told}; ${saved} URLs not fetched`)),
        orderButton("Disable", `Disable rule ${id}`, "disable-rule", { id })));
  },
  acts(acts) {
    showRows("acts", acts, "Nothing was told by hand yet.", ({ at: when, kind, what, command, answer, is_open }) =>
      make("li", {}, make("div", {}, make("code", {}, command || `${kind}: ${Object.values(what).join(", ")}`),
        make("small", { className: answer.startsWith("not done") ? "bad" : "" },
          `${new Date(when * 1000).toLocaleTimeString()}: ${is_open ? "waits for the crawl" : answer}`))));
  },
};

function running(kind, text) {
  at("running").className = `pill ${kind}`;
  if (at("running").textContent !== text) at("running").textContent = text;
}

// Forms

const whatOf = {
  seeds: (fields) => ({ urls: fields.urls.value.split("\n").map((line) => line.trim()).filter(Boolean) }),
  exclude: (fields) => ({ pattern: fields.pattern.value }),
  block: (fields) => ({ host: fields.host.value, keeper: fields.keeper.value }),
  allow: (fields) => ({ host: fields.host.value }),
};

for (const form of document.querySelectorAll("form[data-kind]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await order(form.dataset.kind, whatOf[form.dataset.kind](form.elements))) form.reset();
  });
}

// Server-sent events, read with fetch: EventSource cannot send the token in a header.

function dispatch(block) {
  const field = (name) => block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const section = field("event");
  if (sections[section]) sections[section](JSON.parse(field("data")));
}

async function listen() {
  const response = await fetch("/api/events", { headers });
  if (!response.ok) throw new Error(await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    blocks.forEach(dispatch);
  }
}

async function listenForEver() {
  for (let wait = 500; ; wait = Math.min(2 * wait, 10000)) {
    try {
      await listen();
      wait = 500;
    } catch (error) {
      console.info(error.message);
    }
    running("lost", "no connection: is serve still running?");
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

listenForEver();
