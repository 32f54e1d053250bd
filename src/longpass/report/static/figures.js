"use strict";
// The paper's figures of agents: returns, onset, conditioning, and the lineage of a population.
(() => {
  const { make, show } = longpass;
  const state = { axis: "episodes", single: true, population: "" };
  const placed = (figure) => [...longpass.store.runs.values()].filter((run) => run.places[figure]);
  const RETURN = "return, 100 episodes";

  const drawReturns = () => {
    const runs = placed("rl");
    for (const [env, { blocks }] of Object.entries(longpass.config.returns)) {
      const own = runs.filter((run) => run.places.rl[0] === env);
      longpass.byId(`rl-box-${env}`).hidden = !own.length;
      for (const block of own.length ? blocks : []) {
        const here = own.filter((run) => run.places.rl[1] === String(block));
        const groups = Object.entries(longpass.config.series).map(([name, look]) => ({ ...look, runs: here.filter((run) => run.places.rl[2] === name) }));
        longpass.drawCurves(`rl|${env}|${block}`, groups.filter((group) => group.runs.length), { axis: state.axis, single: state.single, mean: true, yLabel: RETURN });
        longpass.byId(`rl-count-${env}-${block}`).textContent = groups.filter((group) => group.runs.length).map((group) => `${group.label}: ${group.runs.length}`).join(", ") || "no runs";
      }
    }
    const shown = Object.entries(longpass.config.series).filter(([name]) => runs.some((run) => run.places.rl[2] === name));
    longpass.byId("rl-key").replaceChildren(...longpass.makeKey([...shown.map(([, { label, colour, dashes }]) => [label, colour, dashes]), ["highest possible return", "#808080", [1]]]));
    longpass.byId("rl-none").hidden = runs.length > 0;
  };

  const drawOnset = () => {
    const runs = placed("onset");
    for (const [env, { values, series, words }] of Object.entries(longpass.config.onset)) {
      for (const name of series) {
        const here = runs.filter((run) => run.places.onset[0] === env && run.places.onset[1] === name);
        longpass.byId(`onset-box-${env}-${name}`).hidden = !here.length;
        if (!here.length) continue;
        const most = values[0];
        const groups = values.map((value) => ({
          label: `${value} ${words}`, colour: longpass.shade(most - value, 0, most), dashes: [],
          runs: here.filter((run) => run.places.onset[2] === String(value)),
        })).filter((group) => group.runs.length);
        longpass.drawCurves(`onset|${env}|${name}`, groups, { axis: state.axis, single: state.single, mean: true, yLabel: RETURN });
        longpass.byId(`onset-key-${env}-${name}`).replaceChildren(...longpass.makeKey(groups.map((group) => [`${group.label}, n = ${group.runs.length}`, group.colour, []])));
      }
    }
    longpass.byId("onset-none").hidden = runs.length > 0;
  };

  const drawConditioning = () => {
    const runs = placed("conditioning");
    const labels = longpass.distinct(runs, (run) => run.places.conditioning[1]);
    const { palette } = longpass.config;
    const dashes = [[], [6, 2], [2, 2]];
    const groups = labels.map((label, n) => ({
      label, colour: palette[n % 4], dashes: dashes[Math.floor(n / 4) % 3], runs: runs.filter((run) => run.places.conditioning[1] === label),
    }));
    longpass.byId("conditioning-box").hidden = !runs.length;
    longpass.byId("conditioning-none").hidden = runs.length > 0;
    if (!runs.length) return;
    longpass.drawCurves("conditioning", groups, { axis: "steps", single: false, mean: true, yLabel: RETURN });
    longpass.byId("conditioning-key").replaceChildren(...longpass.makeKey(groups.map((group) => [group.label, group.colour, group.dashes])));
  };

  const drawLineage = () => {
    const { populations } = longpass.store;
    longpass.byId("lineage-box").hidden = !populations.length;
    longpass.byId("lineage-none").hidden = populations.length > 0;
    if (!populations.length) return;
    const select = longpass.byId("lineage-population");
    longpass.setOptions(select, populations.map((one) => [one.id, one.folder]));
    const one = populations.find((each) => each.id === state.population) || populations[0];
    select.value = one.id;
    const means = one.members.flatMap((member) => member.means).filter((mean) => mean != null);
    const [low, high] = [means.reduce((a, b) => Math.min(a, b), Infinity), means.reduce((a, b) => Math.max(a, b), -Infinity)];
    const cells = { x: [], y: [], colour: [], ink: [], text: [], words: [] };
    const stays = { x0: [], y0: [], x1: [], y1: [] };
    const copies = { x0: [], y0: [], x1: [], y1: [], words: [] };
    const copied = new Set(one.copies.map((copy) => `${copy.round + 1} ${copy.member}`));
    one.members.forEach((member, row) => member.means.forEach((mean, round) => {
      // Returns may be negative: the scale is linear.
      const part = mean == null || high <= low ? 0 : (mean - low) / (high - low);
      const { shades } = longpass.config;
      cells.x.push(round + 1); cells.y.push(row);
      cells.colour.push(mean == null ? "#808080" : shades[Math.round(part * (shades.length - 1))]);
      cells.ink.push(part > 0.55 ? "#000000" : "#ffffff");
      cells.text.push(mean == null ? "diverged" : mean.toFixed(2));
      cells.words.push(`member ${member.member}, round ${round + 1}: ${mean == null ? "diverged" : show(mean)}; learning rate ${show(member.learning_rate)}, entropy cost ${show(member.entropy_cost)}, epsilon ${show(member.epsilon)}`);
      if (round && !copied.has(`${round} ${row}`)) {
        stays.x0.push(round + 0.25); stays.x1.push(round + 0.75); stays.y0.push(row); stays.y1.push(row);
      }
    }));
    for (const copy of one.copies) {
      copies.x0.push(copy.round + 1.25); copies.y0.push(copy.other); copies.x1.push(copy.round + 1.75); copies.y1.push(copy.member);
      copies.words.push(`after round ${copy.round + 1}, member ${copy.member} copied member ${copy.other}`);
    }
    const rounds = Math.max(1, ...one.members.map((member) => member.means.length));
    longpass.fill("lineage", { cells, stays, copies }, (model) => {
      model("x-axis").ticker.ticks = Array.from({ length: rounds }, (_, n) => n + 1);
      model("y-axis").ticker.ticks = one.members.map((_, row) => row);
      model("x-range").setv({ start: 0.4, end: rounds + 0.6 });
      model("y-range").setv({ start: one.members.length - 0.4, end: -0.6 });
    });
    longpass.byId("lineage-note").textContent = `${one.copies.length} copies in ${rounds} rounds. A cell is a member's round, with the mean return of its last episodes; a red line leads from the weights that were copied to the member that copied them.`
      + (one.best == null ? "" : ` The highest possible return is ${show(one.best)}.`);
  };

  const section = (id, title, note, ...children) => make("section", { id: `figure-${id}` }, make("h2", {}, title),
    make("p", { class: "note", id: `${id}-none` }, note), ...children);

  const draw = () => { longpass.drawScores(); drawReturns(); drawOnset(); drawConditioning(); drawLineage(); };
  const redrawAgents = () => { drawReturns(); drawOnset(); };

  longpass.tabs.push({
    id: "figures",
    title: "The paper's figures",
    build: (root) => {
      const single = make("input", { type: "checkbox", checked: true, change: () => { state.single = single.checked; redrawAgents(); } });
      const axis = longpass.makeSelect("over", [["episodes", "episodes"], ["steps", "environment steps"], ["optimiser", "steps of the optimiser"]],
        (value) => { state.axis = value; redrawAgents(); }, "rl-axis");
      const population = longpass.makeSelect("population", [], (value) => { state.population = value; drawLineage(); }, "lineage-population");
      const { returns, onset } = longpass.config;
      root.append(
        longpass.buildScores(),
        section("rl", "Figures 5 and 6: returns of agents", "There are no agents with the defaults of their memory in these folders.",
          make("div", { class: "row" }, axis, make("label", {}, single, "single runs")), make("div", { class: "key", id: "rl-key" }),
          ...Object.entries(returns).map(([env, { title, blocks }]) => make("div", { id: `rl-box-${env}` }, make("h3", {}, title),
            make("div", { class: "grid" }, ...blocks.map((block) => make("div", {},
              make("p", { class: "counts" }, `blocked every ${block} steps`, make("br"), make("span", { id: `rl-count-${env}-${block}` })),
              longpass.makeChart(`rl|${env}|${block}`))))))),
        section("onset", "From which difficulty on each memory learns", "There are no runs of this study in these folders.",
          make("div", { class: "grid wide" }, ...Object.entries(onset).flatMap(([env, { title, series }]) => series.map((name) =>
            make("div", { id: `onset-box-${env}-${name}` }, make("h3", {}, `${title}, ${longpass.config.series[name].label}`),
              make("div", { class: "key", id: `onset-key-${env}-${name}` }), longpass.makeChart(`onset|${env}|${name}`)))))),
        section("conditioning", "Conditioning: how the network writes and reads", "There are no runs in a folder called conditioning.",
          make("div", { id: "conditioning-box" }, make("div", { class: "key", id: "conditioning-key" }), longpass.makeChart("conditioning"))),
        section("lineage", "Lineage of a population", "There are no populations in these folders.",
          make("div", { id: "lineage-box" }, make("div", { class: "row" }, population), longpass.makeChart("lineage"), make("p", { class: "note", id: "lineage-note" }))));
    },
    render: draw,
    live: true,
  });
})();
