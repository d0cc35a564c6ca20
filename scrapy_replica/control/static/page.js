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
let awaited = null; // the order whose answer is to be told

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
    const isJson = response.headers.get("Content-Type").startsWith("application/json");
    const answer = isJson ? await response.json() : { error: await response.text() };
    if (!response.ok) throw new Error(answer.error);
    awaited = answer.id;
    say("The crawl was told. As a command:", answer.command);
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

// Questions, one at a time: an answer or "later" brings the next

/** The questions of the section *id*; *card* makes what is shown of one, *first* names the button that gets the focus. */
function questions(id, place, none, nameOf, card, first) {
  let asked = [];
  let current = null; // stays before the person's eyes while others come and go
  let answered = new Set(); // until the crawl has heard it
  const later = [];

  const next = () => {
    current = null;
    showOne();
    (at(place).querySelector(`[data-act=${first}]`) || at(`${id}-title`)).focus();
  };
  const actions = (question) => ({
    async answer(kind, what) {
      answered.add(nameOf(question));
      next();
      if (await order(kind, what)) return;
      answered.delete(nameOf(question));
      showOne();
    },
    later() {
      const name = nameOf(question);
      if (later.includes(name)) later.splice(later.indexOf(name), 1);
      later.push(name);
      next();
    },
  });
  const showOne = () => {
    const open = asked.filter((question) => !answered.has(nameOf(question)));
    open.sort((a, b) => later.indexOf(nameOf(a)) - later.indexOf(nameOf(b)));
    at(`${id}-count`).textContent = open.length ? `${open.length} to decide` : "";
    const shown = open.find((question) => nameOf(question) === current) || open[0];
    current = shown ? nameOf(shown) : null;
    show(at(place), [shown ? card(shown, actions(shown)) : make("p", { className: "quiet" }, none)]);
  };
  return (told) => {
    asked = told;
    const names = new Set(asked.map(nameOf));
    answered = new Set([...answered].filter((name) => names.has(name)));
    showOne();
  };
}

/** The buttons below a question; *choices* are [key, text, name, what it does], and the key works within *card*. */
function choose(card, choices) {
  const buttons = choices.map(([key, text, name, act]) => {
    const button = make("button", { type: "button", "data-act": name, "aria-keyshortcuts": key }, text, make("kbd", { "aria-hidden": "true" }, key));
    button.addEventListener("click", act);
    return button;
  });
  card.append(make("div", { className: "decide", role: "group", "aria-label": "Decide" }, ...buttons));
  card.addEventListener("keydown", (event) => {
    const choice = choices.find(([key]) => key === event.key);
    if (!choice || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    choice[3]();
  });
  return card;
}

const showPairs = questions("decide", "decided", "No pair of hosts is uncertain by now.", (pair) => [pair.copy, pair.canonical].sort().join(" "), pairCard, "same");
const showAsked = questions("asking", "asked", "No page is to be asked about by now.", (page) => page.url, pageCard, "yes");

function pairCard(pair, { answer, later }) {
  const { copy, canonical, copy_prefix, canonical_prefix } = pair;
  const name = (host) => make("b", {}, make("bdi", {}, host));
  const card = make("div", { className: "card" },
    make("p", { className: "question" }, "Is ", name(pair.names[0]), " the same site as ", name(pair.names[1]), "?"),
    make("p", {}, `The judge: ${pair.scores}; a verdict takes ${pair.wanted}. Why there is none: ${pair.why}.`),
    make("ul", { className: "evidence" }, ...pair.evidence.map((line) => make("li", {}, line))),
    ...pair.pages.map(([mine, theirs]) => make("div", { className: "side" }, side(mine, theirs, copy, "would not be fetched any more"), side(theirs, mine, canonical, "would be kept"))),
    pair.pages.length ? null : make("p", { className: "quiet" }, "The texts of their pages are not at hand; the next pages bring some."));
  return choose(card, [
    ["s", "Same site", "same", () => answer("block", { host: copy, canonical, copy_prefix, canonical_prefix })],
    ["d", "Different sites", "different", () => answer("different", { host: copy, other: canonical })],
    ["l", "Later", "later", later],
  ]);
}

function pageCard(page, { answer, later }) {
  const card = make("div", { className: "card" },
    make("p", { className: "question" }, "Is ", make("b", {}, make("bdi", {}, page.title || "this page")), " on the topic?"),
    make("p", {}, addressOf(page.shown)),
    make("p", {}, page.excerpt),
    make("p", { className: "quiet" }, `Score ${page.relevance}; above 0.50 the crawl takes a page for relevant.`));
  return choose(card, [
    ["y", "Yes", "yes", () => answer("mark", { url: page.url, is_relevant: true })],
    ["n", "No", "no", () => answer("mark", { url: page.url, is_relevant: false })],
    ["l", "Later", "later", later],
  ]);
}

/** The URL of a page as a link, unless it is none or holds what another host must not hear. */
function addressOf({ url, is_link }) {
  const bidi = make("bdi", { className: "url" }, url);
  return is_link ? make("a", { href: url, target: "_blank", rel: "noreferrer noopener" }, bidi) : bidi;
}

/** One page of a pair; the words that the other page lacks are marked. */
function side(page, other, host, role) {
  const known = new Set(other.text.toLowerCase().split(/\s+/));
  const text = make("p", {});
  for (const part of page.text.split(/(\s+)/)) {
    text.append(part.trim() && !known.has(part.toLowerCase()) ? make("mark", {}, part) : part);
  }
  return make("div", {}, make("h3", {}, make("span", { className: "role" }, `${host} ${role}`), page.title || "(no title)"), addressOf(page), text);
}

// What else is shown

function showRows(id, rows, empty, row) {
  at(`${id}-count`).textContent = rows.length ? rows.length.toLocaleString("en") : "";
  show(at(`${id}-rows`), rows.length ? rows.map(row) : [make("li", { className: "quiet" }, empty)]);
}

const sections = {
  state(state) {
    document.title = `${state.is_running ? "▶ " : ""}${state.job}`;
    at("job").textContent = state.job;
    running(state.is_running ? "runs" : "ended", state.is_running ? "running" : "not running: orders wait");
    at("problem").hidden = !state.problem;
    if (at("problem").textContent !== state.problem) at("problem").textContent = state.problem;
  },
  figures({ headline, figures, hosts, n_hosts }) {
    at("headline").textContent = headline;
    at("figures").replaceChildren(
      ...figures.map(({ name, value, note }) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, value), make("dd", { className: "note" }, note))));
    at("known-hosts").replaceChildren(...hosts.map(({ host }) => make("option", { value: host })));
    showRows("hosts", hosts, "Nothing was fetched yet.", ({ host, told, is_paused }) =>
      make("li", {}, make("div", {}, make("bdi", {}, host), make("small", {}, told)),
        is_paused ? orderButton("Resume", `Resume ${host}`, "resume", { host }) : orderButton("Pause", `Pause ${host}`, "pause", { host })));
    if (n_hosts > hosts.length) at("hosts-count").textContent = `${hosts.length} of ${n_hosts.toLocaleString("en")}`;
  },
  pairs: showPairs,
  asking(told) {
    at("asking").hidden = false;
    showAsked(told);
  },
  copies(copies) {
    showRows("copies", copies, "No host is taken for a copy of another.", ({ copy, canonical, told, evidence, saved }) =>
      make("li", {},
        make("div", {}, make("bdi", {}, copy), " is ", make("bdi", {}, canonical), make("small", {}, `${told}; ${saved} URLs not fetched`),
          evidence.length ? make("small", {}, evidence.join("; ")) : null),
        orderButton("Allow", `Allow ${copy}: no copy`, "allow", { host: copy })));
  },
  rules(rules) {
    showRows("rules", rules, "No rule is in force.", ({ id, rule, told, saved }) =>
      make("li", {}, make("div", {}, rule, make("small", {}, `rule ${id}, ${told}; ${saved} URLs not fetched`)),
        orderButton("Disable", `Disable rule ${id}`, "disable-rule", { id })));
  },
  report(told) {
    report = told;
    showReport();
  },
  orders(orders) {
    const answered = orders.find((order) => order.id === awaited && !order.is_open);
    if (answered) {
      awaited = null;
      say(`The crawl: ${answered.answer}`, answered.command, answered.answer.startsWith("not done"));
    }
    showRows("orders", orders, "Nothing was told by hand yet.", ({ at: when, kind, what, command, answer, is_open }) =>
      make("li", {}, make("div", {}, make("code", {}, command || `${kind}: ${Object.values(what).join(", ")}`),
        make("small", { className: answer.startsWith("not done") ? "bad" : "" },
          `${new Date(when * 1000).toLocaleTimeString()}: ${is_open ? "waits for the crawl" : answer}`))));
  },
};

// The report's script comes with its library, after this one.
let report = null;

function showReport() {
  if (!report || !window.replicaReport) return;
  for (const [id, title] of Object.entries(report.titles)) {
    if (at(`section-${id}`)) continue;
    at("report").append(make("section", { "aria-labelledby": `report-${id}` },
      make("h2", { id: `report-${id}` }, title), make("div", { id: `section-${id}` })));
  }
  window.replicaReport.update(report.update);
}

document.addEventListener("DOMContentLoaded", showReport);

function running(kind, text) {
  at("running").className = `pill ${kind}`;
  if (at("running").textContent !== text) at("running").textContent = text;
}

// Forms

const whatOf = {
  seeds: (fields) => ({ urls: fields.urls.value.split("\n").map((line) => line.trim()).filter(Boolean) }),
  exclude: (fields) => ({ pattern: fields.pattern.value }),
  block: (fields) => ({ host: fields.host.value, canonical: fields.canonical.value }),
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
  const told = section && JSON.parse(field("data"));
  if (told && sections[section]) sections[section](told); // null: there is no such thing in this crawl
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
