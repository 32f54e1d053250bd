"use strict";
// Learning curves: single runs, or the mean of runs of one kind with its 95 % interval.
(() => {
  const { make } = longpass;
  const GRID = 120; // points of a mean
  const MOST_LINES = 1500; // single runs that one chart draws

  const AXES = {
    steps: ["environment steps, millions", 1e6],
    symbols: ["symbols, millions", 1e6],
    episodes: ["episodes, thousands", 1e3],
    optimiser: ["steps of the optimiser, thousands", 1e3],
  };
  longpass.AXES = AXES;

  // The progress of a run along an axis; null if its records do not count it.
  longpass.progress = (run, axis) => {
    if (axis === "episodes") return run.episodes || null;
    if (axis === "optimiser") return run.optimiser_ratio ? run.xs.map((x) => x * run.optimiser_ratio) : null;
    return run.xs;
  };

  // The value of a curve at x; NaN where it has none. A run that solved its world keeps its last value.
  const interpolate = (xs, ys, x, extend) => {
    const last = xs.length - 1;
    if (last < 0 || x < xs[0]) return NaN;
    if (x >= xs[last]) return x === xs[last] || extend ? ys[last] : NaN;
    let low = 0;
    let high = last;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (xs[middle] <= x) low = middle; else high = middle;
    }
    return ys[low] + (ys[high] - ys[low]) * (x - xs[low]) / (xs[high] - xs[low]);
  };

  // Mean and 95 % interval (Student's t) as far as all curves reach: {xs, mean, low, high}.
  longpass.average = (curves, end) => {
    const out = { xs: [], mean: [], low: [], high: [] };
    const count = curves.length;
    const t = longpass.config.student[Math.min(count - 1, longpass.config.student.length) - 1];
    for (let n = 0; n <= GRID; n++) {
      const x = end * n / GRID;
      const values = curves.map(([xs, ys, extend]) => interpolate(xs, ys, x, extend));
      const mean = values.reduce((sum, value) => sum + value, 0) / count;
      if (Number.isNaN(mean)) continue;
      const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
      const half = count > 1 ? t * Math.sqrt(square / (count - 1) / count) : 0;
      out.xs.push(x); out.mean.push(mean); out.low.push(mean - half); out.high.push(mean + half);
    }
    return out;
  };

  const tips = (run) => ({
    name: run.folder + (run.source === "folder" || run.source === "population" ? "" : ` (${run.id.split(":").at(-1)})`),
    task: run.task, memory: run.memory, block: longpass.show(run.block_every),
    seed: run.seed == null ? "" : String(run.seed), score: longpass.show(run.score),
  });

  // Draw groups of runs: [{label, colour, dashes, runs}].
  longpass.drawCurves = (panel, groups, { axis, single, mean, yLabel, floor = 0 }) => {
    const unit = AXES[axis][1];
    const thin = { xs: [], ys: [], colour: [], dash: [], width: [], alpha: [], name: [], task: [], memory: [], block: [], seed: [], score: [] };
    const means = { xs: [], ys: [], colour: [], dash: [], width: [], alpha: [], label: [], count: [] };
    const band = { xs: [], ys: [], colour: [] };
    const best = { x0: [], x1: [], y: [], colour: [] };
    const known = groups.map((group) => ({
      ...group,
      curves: group.runs.map((run) => [run, longpass.progress(run, axis)]).filter(([run, xs]) => xs && run.ys.length),
    }));
    const all = known.flatMap((group) => group.curves);
    const end = all.reduce((most, [, xs]) => Math.max(most, xs.at(-1)), 0);
    const every = Math.ceil(all.length / MOST_LINES);
    const highest = new Map(); // returns and the colours of the runs that they are the highest for
    for (const { label, colour, dashes, curves } of known) {
      curves.forEach(([run, xs], n) => {
        if (run.best != null) highest.set(run.best, new Set(highest.get(run.best)).add(colour));
        if (!single || n % every) return;
        thin.xs.push(Array.from(xs, (x) => Math.max(floor, x / unit)));
        thin.ys.push(Array.from(run.ys));
        thin.colour.push(colour); thin.dash.push(dashes); thin.width.push(mean ? 0.8 : 1.4);
        thin.alpha.push(mean ? 0.35 : Math.max(0.25, Math.min(0.9, 60 / all.length)));
        for (const [name, value] of Object.entries(tips(run))) thin[name].push(value);
      });
      if (!mean || !curves.length) continue;
      const found = longpass.average(curves.map(([run, xs]) => [xs, run.ys, run.solved]), end);
      const xs = found.xs.map((x) => Math.max(floor, x / unit));
      means.xs.push(xs); means.ys.push(found.mean); means.colour.push(colour); means.dash.push(dashes);
      means.width.push(2.2); means.alpha.push(1); means.label.push(label); means.count.push(curves.length);
      if (curves.length > 1) {
        band.xs.push([...xs, ...[...xs].reverse()]);
        band.ys.push([...found.low, ...[...found.high].reverse()]);
        band.colour.push(colour);
      }
    }
    for (const [y, colours] of [...highest].slice(0, 12)) {
      best.x0.push(floor); best.x1.push(end / unit); best.y.push(y);
      best.colour.push(highest.size > 1 && colours.size === 1 ? [...colours][0] : "#808080");
    }
    longpass.fill(panel, { thin, mean: means, band, best }, (model) => {
      model("x-axis").axis_label = AXES[axis][0];
      model("y-axis").axis_label = yLabel;
    });
    const thinned = all.filter(([run]) => longpass.isThinned(run)).length;
    return { drawn: thin.xs.length, runs: all.length, thinned, every };
  };

  // Words for what a chart leaves out.
  longpass.describeThinning = ({ runs, every, thinned }, single) => [
    `${longpass.show(runs)} runs.`,
    single && every > 1 ? `Thinned: one run in ${every} is drawn.` : "",
    thinned ? `Thinned: ${longpass.show(thinned)} curves have more points than the ${longpass.config.mostPoints} that are drawn of each.` : "",
  ].filter(Boolean).join(" ");

  // The tab.
  const state = { off: { memory: new Set(), block_every: new Set() }, task: null, colour: "memory", show: "mean", log: false, axis: "steps" };

  const chosenRuns = () => [...longpass.store.runs.values()].filter((run) => run.ys.length && run.task === state.task
    && !state.off.memory.has(run.memory) && !state.off.block_every.has(run.block_every));

  const makeToggles = (name, words, runs) => make("fieldset", {}, make("legend", {}, words),
    ...longpass.distinct(runs, (run) => run[name]).map((value) => {
      const box = make("input", {
        type: "checkbox", checked: !state.off[name].has(value), "data-toggle": `${name}=${value}`,
        change: () => { box.checked ? state.off[name].delete(value) : state.off[name].add(value); draw(); },
      });
      return make("label", {}, box, name === "memory" ? longpass.look(value).label : longpass.show(value));
    }));

  let shownToggles = "";
  const draw = () => {
    const runs = [...longpass.store.runs.values()].filter((run) => run.ys.length);
    const tasks = longpass.distinct(runs, (run) => run.task);
    if (!tasks.includes(state.task)) state.task = tasks.includes("t-maze") ? "t-maze" : tasks[0];
    const select = longpass.byId("curves-task");
    longpass.setOptions(select, tasks.map((task) => [task, longpass.config.titles[task] || task]));
    if (state.task != null) select.value = state.task;
    const own = runs.filter((run) => run.task === state.task);
    const key = JSON.stringify([state.task, longpass.distinct(own, (run) => run.memory), longpass.distinct(own, (run) => run.block_every)]);
    if (key !== shownToggles) {
      shownToggles = key;
      longpass.byId("curves-toggles").replaceChildren(makeToggles("memory", "memory", own), makeToggles("block_every", "block every / truncation", own));
    }
    const chosen = chosenRuns();
    const isStream = own.some((run) => run.kind === "stream");
    const axis = isStream ? "symbols" : state.axis;
    longpass.byId("curves-axis").disabled = isStream;
    const blocks = longpass.distinct(own, (run) => run.block_every);
    const groups = new Map();
    for (const run of chosen) {
      const label = `${longpass.look(run.memory).label}, block every ${longpass.show(run.block_every)}`;
      const colour = state.colour === "memory" ? longpass.look(run.memory).colour : longpass.shade(run.block_every, blocks[0], blocks.at(-1));
      if (!groups.has(label)) groups.set(label, { label, colour, dashes: longpass.look(run.memory).dashes, runs: [] });
      groups.get(label).runs.push(run);
    }
    const panel = state.log ? "curves-log" : "curves-linear";
    for (const name of ["curves-linear", "curves-log"]) longpass.byId(`box-${name}`).hidden = name !== panel;
    const found = longpass.drawCurves(panel, [...groups.values()], {
      axis, single: state.show !== "mean", mean: state.show !== "single", floor: state.log ? 1e-4 : 0,
      yLabel: isStream ? "accuracy in training" : "return, mean of 100 episodes",
    });
    longpass.byId("curves-note").textContent = longpass.describeThinning(found, state.show !== "mean");
    const memories = longpass.distinct(chosen, (run) => run.memory).map((one) => longpass.look(one));
    longpass.byId("curves-key").replaceChildren(...longpass.makeKey(state.colour === "memory"
      ? memories.map(({ label, colour, dashes }) => [label, colour, dashes])
      : blocks.map((block) => [`block every ${longpass.show(block)}`, longpass.shade(block, blocks[0], blocks.at(-1)), []])),
    );
  };

  const set = (name) => (value) => { state[name] = value; draw(); };

  longpass.tabs.push({
    id: "curves",
    title: "Curves",
    build: (root) => {
      const log = make("input", { type: "checkbox", id: "curves-logarithmic", change: () => set("log")(log.checked) });
      const task = longpass.makeSelect("task", [], set("task"), "curves-task");
      const axis = longpass.makeSelect("over", [["steps", "environment steps"], ["episodes", "episodes"], ["optimiser", "steps of the optimiser"]], set("axis"), "curves-axis");
      const boxes = ["curves-linear", "curves-log"].map((name) => make("div", { id: `box-${name}` }, longpass.makeChart(name)));
      root.append(
        make("div", { class: "row" }, task,
          longpass.makeSelect("show", [["mean", "mean and 95 % interval"], ["single", "single runs"], ["both", "both"]], set("show")),
          longpass.makeSelect("colour by", [["memory", "memory"], ["block_every", "block every"]], set("colour")),
          axis, make("label", {}, log, "logarithmic")),
        make("div", { class: "row", id: "curves-toggles" }),
        make("div", { class: "key", id: "curves-key" }),
        ...boxes,
        make("p", { class: "note", id: "curves-note", role: "status" }));
    },
    render: draw,
    live: true,
  });
})();
