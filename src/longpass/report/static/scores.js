"use strict";
// The paper's figure 4: the accuracy of every run by truncation length, and how many solve the task.
(() => {
  const { make, show } = longpass;
  const ALL = ""; // folders
  const state = { solved: 0.95, colour: "memory", collection: null }; // null: nothing was chosen
  const SPACING = 0.27; // of memories at one truncation, of 1 from one to the next
  const WIDTH = 0.2; // of the cloud of points of a memory
  const MARKERS = { chain: "circle", parallel: "square", lstm: "triangle", gru: "diamond" };

  // [Proportion, lower and upper end of its 95 % interval by Wilson's score].
  longpass.proportion = (successes, count) => {
    const z = 1.959963984540054;
    const p = successes / count;
    const middle = (p + z * z / (2 * count)) / (1 + z * z / count);
    const half = z / (1 + z * z / count) * Math.sqrt(p * (1 - p) / count + z * z / (4 * count * count));
    return [p, successes === 0 ? 0 : middle - half, successes === count ? 1 : middle + half];
  };

  // A number between -0.5 and 0.5 that depends on the run alone: points stay where they are.
  const jitter = (id) => {
    let hash = 2166136261;
    for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 16777619);
    return ((hash >>> 0) / 2 ** 32) - 0.5;
  };

  const collections = () => longpass.distinct([...longpass.store.runs.values()].filter((run) => run.places.scores), (run) => run.collection);

  const drawTask = (task, runs) => {
    const values = longpass.distinct(runs, (run) => run.block_every);
    const memories = longpass.distinct(runs, (run) => run.memory);
    const ordered = [...Object.keys(longpass.config.looks), ...memories].filter((one, n, all) => memories.includes(one) && all.indexOf(one) === n);
    const setting = { learning_rate: "learning_rate", batch_size: "batch_size" }[state.colour];
    const known = setting ? runs.map((run) => run.settings.get(setting)).filter((value) => typeof value === "number") : [];
    const low = known.reduce((a, b) => Math.min(a, b), Infinity);
    const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    const points = { x: [], y: [], colour: [], marker: [], text: [], name: [] };
    const best = { xs: [], ys: [], colour: [], dash: [] };
    const lines = { xs: [], ys: [], colour: [], dash: [] };
    const ends = { x: [], low: [], high: [], colour: [] };
    const shares = { x: [], y: [], colour: [], marker: [], label: [], solved: [], count: [] };
    ordered.forEach((memory, order) => {
      const look = longpass.look(memory);
      const tops = [[], []];
      const line = [[], []];
      values.forEach((value, place) => {
        const cell = runs.filter((run) => run.memory === memory && run.block_every === value && run.score != null);
        if (!cell.length) return;
        const spot = place + SPACING * (order - (ordered.length - 1) / 2);
        for (const run of cell) {
          const shown = setting ? run.settings.get(setting) : null;
          points.x.push(spot + WIDTH * jitter(run.id));
          points.y.push(run.score);
          points.colour.push(setting ? (typeof shown === "number" ? longpass.shade(shown, low, high) : "#808080") : look.colour);
          points.marker.push(MARKERS[memory] || "star");
          points.text.push([...run.settings].filter(([, one]) => one != null).map(([name, one]) => `${name} ${show(one)}`).join(", "));
          points.name.push(run.folder);
        }
        const solved = cell.filter((run) => run.score >= state.solved).length;
        const [share, lowEnd, highEnd] = longpass.proportion(solved, cell.length);
        tops[0].push(spot); tops[1].push(cell.reduce((most, run) => Math.max(most, run.score), -Infinity));
        line[0].push(spot); line[1].push(share);
        ends.x.push(spot); ends.low.push(lowEnd); ends.high.push(highEnd); ends.colour.push(look.colour);
        shares.x.push(spot); shares.y.push(share); shares.colour.push(look.colour); shares.marker.push(MARKERS[memory] || "star");
        shares.label.push(look.label); shares.solved.push(solved); shares.count.push(cell.length);
      });
      if (!setting) { best.xs.push(tops[0]); best.ys.push(tops[1]); best.colour.push(look.colour); best.dash.push(look.dashes); }
      lines.xs.push(line[0]); lines.ys.push(line[1]); lines.colour.push(look.colour); lines.dash.push(look.dashes);
    });
    const label = (model) => {
      model("x-axis").ticker.ticks = values.map((_, place) => place);
      model("x-axis").major_label_overrides = new Map(values.map((value, place) => [place, String(Number(value))]));
    };
    longpass.fill(`scores|${task}`, { points, best }, (model) => {
      label(model);
      model("chance").location = longpass.config.chance[task];
      model("limit").location = state.solved;
    });
    longpass.fill(`solved|${task}`, { points: shares, ends, lines }, (model) => {
      label(model);
      model("y-axis").axis_label = `proportion at ${show(state.solved)} or more`;
    });
    return [low, high, ordered];
  };

  // The collection that was chosen, if it is there; otherwise the paper's.
  const shownCollection = (found) => {
    if (state.collection === ALL || found.includes(state.collection)) return state.collection;
    return found.includes("classification") ? "classification" : ALL;
  };

  longpass.drawScores = () => {
    const found = collections();
    const shown = shownCollection(found);
    const select = longpass.byId("scores-collection");
    longpass.setOptions(select, [...found.map((one) => [one, one]), [ALL, "all folders"]]);
    select.value = shown;
    const runs = [...longpass.store.runs.values()].filter((run) => run.places.scores && (shown === ALL || run.collection === shown));
    let keys = [];
    for (const task of Object.keys(longpass.config.chance)) {
      const own = runs.filter((run) => run.task === task);
      longpass.byId(`scores-box-${task}`).hidden = !own.length;
      longpass.byId(`scores-count-${task}`).textContent = `n = ${show(own.length)}`;
      if (own.length) keys.push(drawTask(task, own));
    }
    longpass.byId("scores-none").hidden = runs.length > 0;
    const memories = [...new Set(keys.flatMap(([, , names]) => names))].map((one) => longpass.look(one));
    const key = longpass.makeKey(memories.map(({ label, colour, dashes }) => [label, colour, dashes]));
    if (state.colour !== "memory" && keys.length) {
      const shades = make("span", { class: "shades" });
      shades.style.background = `linear-gradient(to right, ${longpass.config.shades.join(", ")})`;
      const [low, high] = [Math.min(...keys.map(([one]) => one)), Math.max(...keys.map(([, one]) => one))];
      key.push(make("span", {}, `points: ${state.colour.replace("_", " ")} ${show(low)}`, shades, show(high)));
    }
    key.push(make("span", {}, "solid or dashed line: best run; dotted: chance; dashed red: solved"));
    longpass.byId("scores-key").replaceChildren(...key);
  };

  longpass.buildScores = () => {
    const set = (name) => (value) => { state[name] = value; longpass.drawScores(); };
    const collection = longpass.makeSelect("records in", [], set("collection"), "scores-collection");
    const colour = longpass.makeSelect("colour by", [["memory", "memory"], ["learning_rate", "learning rate"], ["batch_size", "batch size"]], set("colour"), "scores-colour");
    return make("section", { id: "figure-scores" },
      make("h2", {}, "Figure 4: accuracy by truncation length"),
      make("div", { class: "row" }, collection, colour,
        longpass.makeSlider("solved from", { id: "solved", min: 0.5, max: 1, step: 0.01, value: state.solved, show: (x) => x.toFixed(2) }, set("solved"))),
      make("div", { class: "key", id: "scores-key" }),
      make("p", { class: "note", id: "scores-none" }, "There are no results of sequence classification in these folders."),
      make("div", { class: "grid wide" }, ...Object.keys(longpass.config.chance).map((task) => make("div", { id: `scores-box-${task}` },
        make("h3", {}, longpass.config.titles[task], " ", make("span", { id: `scores-count-${task}` })),
        longpass.makeChart(`scores|${task}`), longpass.makeChart(`solved|${task}`)))));
  };
})();
