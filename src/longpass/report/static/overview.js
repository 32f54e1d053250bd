"use strict";
// What was found: counts, what is running, all runs to sort and filter, and how chosen runs differ.
(() => {
  const { make, show } = longpass;
  const PAGE = 50; // rows
  const COLUMNS = [
    ["task", "task"], ["memory", "memory"], ["block_every", "block every", "truncation length of classification"],
    ["seed", "seed"], ["score", "return or accuracy", "mean return of the last 3,000 episodes, or held-out accuracy"],
    ["steps", "steps", "environment steps, or symbols of classification"], ["state", "state"],
    ["commit", "commit"], ["folder", "recorded in"],
  ];
  const NUMBERS = new Set(["block_every", "seed", "score", "steps"]);
  const state = { sort: "folder", down: false, page: 0, chosen: new Set(), text: "", task: "", memory: "", block_every: "", least: "" };

  longpass.filterRuns = () => {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const runs = [...longpass.store.runs.values()].filter((run) =>
      (!state.task || run.task === state.task) && (!state.memory || run.memory === state.memory)
      && (!state.block_every || String(run.block_every) === state.block_every)
      && (state.least === "" || (run.score != null && run.score >= Number(state.least)))
      && words.every((word) => searchable(run).includes(word)));
    const sign = state.down ? -1 : 1;
    const get = (run) => run[state.sort];
    return runs.sort((a, b) => {
      const [x, y] = [get(a), get(b)];
      if (x == null || y == null) return (x == null) - (y == null); // what is missing comes last
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  };

  const searchable = (run) => (run.text ??= [run.task, run.memory, run.commit, run.folder, run.state, run.seed, run.collection]
    .concat([...run.settings].map(([name, value]) => `${name}=${value}`)).join(" ").toLowerCase());

  // Show the runs of some filter: links of other tabs come here.
  longpass.filterTable = (filter) => {
    Object.assign(state, { text: "", task: "", memory: "", block_every: "", least: "", page: 0 }, filter);
    longpass.byId("filter-text").value = state.text;
    longpass.byId("filter-least").value = state.least;
    longpass.showTab("overview");
    for (const name of ["task", "memory", "block_every"]) longpass.byId(`filter-${name}`).value = state[name];
  };

  const drawCards = () => {
    const { runs, populations, activities } = longpass.store;
    const count = (kind) => activities.filter((one) => one.kind === kind).length;
    const all = [...runs.values()];
    const cards = [
      [all.filter((run) => run.source !== "population").length, "runs"], [count("sweep"), "sweeps"], [count("study"), "studies"],
      [populations.length, "populations"], [longpass.distinct(all, (run) => run.task).length, "tasks"],
      [activities.filter((one) => one.running).length, "running now"],
    ];
    longpass.byId("cards").replaceChildren(...cards.map(([number, words]) => make("div", {}, make("b", {}, show(number)), words)));
  };

  const drawActivities = () => {
    const shown = [...longpass.store.activities].sort((a, b) => b.running - a.running);
    const rows = shown.map((one) => {
      const total = one.total == null ? "" : ` of ${show(one.total)}`;
      const rate = one.rate == null ? "" : one.rate >= 1 ? `${show(one.rate, 3)} per second` : `${show(one.rate * 3600, 3)} per hour`;
      const bar = one.total ? make("progress", { max: one.total, value: Math.min(one.done, one.total), "aria-label": "progress" }) : null;
      return make("tr", {}, make("td", {}, one.kind), make("td", { class: "path" }, one.folder),
        make("td", {}, bar, ` ${show(Math.floor(one.done))}${total} ${one.unit}`),
        make("td", {}, one.running ? "running" : one.total != null && one.done >= one.total ? "complete" : "not running"),
        make("td", { class: "number" }, rate), make("td", { class: "number" }, one.left == null ? "" : longpass.showSpan(one.left)));
    });
    longpass.byId("activities").replaceChildren(...rows);
    longpass.byId("activities-box").hidden = !rows.length;
  };

  const drawTable = () => {
    const all = [...longpass.store.runs.values()];
    for (const name of ["task", "memory", "block_every"]) {
      longpass.setOptions(longpass.byId(`filter-${name}`), [["", "all"], ...longpass.distinct(all, (run) => run[name]).map((value) => [value, String(value)])]);
    }
    const runs = longpass.filterRuns();
    const pages = Math.max(1, Math.ceil(runs.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    for (const [name] of COLUMNS) {
      longpass.byId(`column-${name}`).setAttribute("aria-sort", name === state.sort ? (state.down ? "descending" : "ascending") : "none");
      longpass.byId(`column-${name}`).querySelector("span").textContent = name === state.sort ? (state.down ? " ▼" : " ▲") : "";
    }
    longpass.byId("runs").replaceChildren(...runs.slice(state.page * PAGE, (state.page + 1) * PAGE).map(makeRow));
    longpass.byId("runs-count").textContent = `${show(runs.length)} of ${show(all.length)} runs, page ${state.page + 1} of ${pages}`;
    longpass.byId("runs-before").disabled = state.page === 0;
    longpass.byId("runs-after").disabled = state.page >= pages - 1;
  };

  const makeRow = (run) => {
    const box = make("input", {
      type: "checkbox", checked: state.chosen.has(run.id), "aria-label": "compare this run",
      change: () => { box.checked ? state.chosen.add(run.id) : state.chosen.delete(run.id); drawDifferences(); },
    });
    const member = run.member == null ? "" : ` (member ${run.member})`;
    return make("tr", {}, make("td", {}, box), ...COLUMNS.map(([name]) => {
      const value = name === "folder" ? run.folder + (run.source === "population" ? " (population)" : member)
        : name === "seed" ? (run.seed == null ? "" : String(run.seed)) : run[name];
      return make("td", { class: NUMBERS.has(name) ? "number" : name === "folder" ? "path" : "" }, show(value));
    }));
  };

  // The settings in which chosen runs differ.
  const drawDifferences = () => {
    const runs = [...state.chosen].map((id) => longpass.store.runs.get(id)).filter(Boolean);
    const names = [...new Set(runs.flatMap((run) => [...run.settings.keys()]))].sort();
    const write = (run, name) => (run.settings.has(name) ? String(run.settings.get(name)) : "–");
    const differ = names.filter((name) => new Set(runs.map((run) => write(run, name))).size > 1);
    const head = make("tr", {}, make("th", { scope: "col" }, "setting"), ...runs.map((run) => make("th", { scope: "col", class: "path" }, run.folder)));
    const rows = differ.map((name) => make("tr", {}, make("th", { scope: "row" }, name), ...runs.map((run) => make("td", {}, write(run, name)))));
    longpass.byId("differences").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    longpass.byId("differences-note").textContent = runs.length < 2
      ? "Choose two or more runs in the table above to see in which settings they differ."
      : `${runs.length} runs differ in ${differ.length} of ${names.length} settings.`;
  };

  const drawNotes = () => {
    const { notes } = longpass.store;
    longpass.byId("notes").replaceChildren(...notes.map((note) => make("li", {}, note)));
    longpass.byId("notes-box").hidden = !notes.length;
  };

  longpass.tabs.push({
    id: "overview",
    title: "Overview",
    build: (root) => {
      const set = (name) => (value) => { state[name] = value; state.page = 0; drawTable(); };
      const text = make("input", { type: "search", id: "filter-text", "aria-label": "filter", placeholder: "any words, or learning_rate=0.001", size: 32, input: () => set("text")(text.value) });
      const least = make("input", { type: "number", id: "filter-least", step: "any", "aria-label": "least score", size: 6, input: () => set("least")(least.value) });
      const selects = [["task", "task"], ["memory", "memory"], ["block_every", "block every"]].map(([name, words]) =>
        longpass.makeSelect(words, [["", "all"]], set(name), `filter-${name}`));
      const turn = (by) => () => { state.page += by; drawTable(); };
      const sort = (name) => () => {
        if (state.sort === name) state.down = !state.down; else Object.assign(state, { sort: name, down: name === "score" });
        drawTable();
      };
      const head = COLUMNS.map(([name, words, title]) => make("th", { scope: "col", id: `column-${name}`, class: NUMBERS.has(name) ? "number" : "" },
        make("button", { type: "button", title, click: sort(name) }, words, make("span", {}))));
      root.append(
        make("div", { class: "cards", id: "cards" }),
        make("details", { id: "activities-box", open: true }, make("summary", {}, "Sweeps, studies, populations and running runs"),
          make("div", { class: "scroll" }, make("table", {},
            make("thead", {}, make("tr", {}, ...["kind", "folder", "progress", "state", "rate", "time left"].map((words) => make("th", { scope: "col" }, words)))),
            make("tbody", { id: "activities" })))),
        make("h2", {}, "Runs"),
        make("div", { class: "row" }, make("label", {}, "filter", text), ...selects, make("label", {}, "score at least", least)),
        make("div", { class: "scroll" }, make("table", {},
          make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "compare"), ...head)), make("tbody", { id: "runs" }))),
        make("div", { class: "row" },
          make("button", { type: "button", id: "runs-before", click: turn(-1) }, "before"),
          make("button", { type: "button", id: "runs-after", click: turn(1) }, "next"),
          make("span", { id: "runs-count", role: "status" })),
        make("h2", {}, "Differences of settings"),
        make("p", { class: "note", id: "differences-note" }),
        make("div", { class: "scroll" }, make("table", { id: "differences" })),
        make("details", { id: "notes-box" }, make("summary", {}, "Files that are not shown, or only in part"), make("ul", { id: "notes" })));
    },
    render: () => { drawCards(); drawActivities(); drawTable(); drawDifferences(); drawNotes(); },
    live: true,
  });
})();
