"use strict";
// A player of recorded episodes: board, action, value, reward, and the contents of every pool.
(() => {
  const { make, show } = longpass;
  const state = { episode: null, frame: 0, playing: false, speed: 10, timer: null, number: -1 };
  const SPEEDS = [2, 5, 10, 20, 50];

  const load = async (number) => {
    const packed = longpass.config.episodes[number];
    const [boards, memory] = await Promise.all([longpass.inflate(packed.boards), longpass.inflate(packed.memory)]);
    const rewards = longpass.decodeNumbers(packed.rewards);
    const values = longpass.decodeNumbers(packed.values);
    let sum = 0;
    const returns = Float32Array.from(rewards, (reward) => (sum += reward));
    const colours = Uint32Array.from(packed.colours, ([red, green, blue]) => (255 << 24 | blue << 16 | green << 8 | red) >>> 0);
    Object.assign(state, { number, frame: 0, episode: { ...packed, boards, memory: new Int8Array(memory.buffer), rewards, values, returns, colours } });
    const { frames, parts, rows, columns } = state.episode;
    longpass.byId("scrub").max = frames - 1;
    longpass.byId("episode-note").textContent = `${packed.task}, ${packed.folder}, seed ${packed.seed}: ${frames - 1} steps, return ${show(returns.at(-1))}. Pools are drawn on a scale of their own: blue below 0, red above, white 0.`
      + (packed.units_left_out ? ` Thinned: the first ${parts[0].size} units of each are drawn, ${packed.units_left_out} are left out.` : "");
    const steps = Array.from({ length: frames }, (_, n) => n);
    const [value, total] = [longpass.config.palette[0], longpass.config.palette[2]];
    longpass.byId("trace-key").replaceChildren(...longpass.makeKey([["value of the frame", value, []], ["return so far", total, [6]], ["reward (triangles)", "#808080", [1]]]));
    const paid = steps.filter((n) => rewards[n] !== 0);
    longpass.fill("trace", {
      lines: { xs: [steps, steps], ys: [[...values], [...returns]], colour: [value, total], dash: [[], [6, 2]], label: ["value", "return so far"] },
      rewards: { x: paid, y: paid.map((n) => rewards[n]) },
    });
    setGrid("board", columns, Array.from({ length: rows }, (_, n) => String(n)));
    setGrid("pools", parts[0].size, parts.map((part) => part.name));
    // Cells of the board are about square.
    document.querySelector('[data-panel="board"]').style.maxWidth = `${Math.round(80 + 250 * columns / rows)}px`;
    draw();
  };

  // Ranges and labels of a matrix whose first row is above.
  const setGrid = (name, columns, rows) => longpass.fill(name, {}, (model) => {
    const at = (n) => rows.length - n - 0.5;
    model("x-range").setv({ start: 0, end: columns });
    model("y-range").setv({ start: 0, end: rows.length });
    model("y-axis").ticker.ticks = rows.map((_, n) => at(n));
    model("y-axis").major_label_overrides = new Map(rows.map((words, n) => [at(n), words]));
  });

  const image = (values, shape) => Bokeh.require("core/util/ndarray").ndarray(values, { shape, dtype: values instanceof Uint32Array ? "uint32" : "float32" });

  const draw = () => {
    const { episode, frame } = state;
    const { rows, columns, parts, frames } = episode;
    const cells = rows * columns;
    const board = Uint32Array.from(episode.boards.subarray(frame * cells, (frame + 1) * cells), (code) => episode.colours[code]);
    longpass.fill("board", { board: { image: [image(board, [rows, columns])], w: [columns], h: [rows] } });
    const { size } = parts[0];
    const held = parts.length * size;
    const pools = Float32Array.from(episode.memory.subarray(frame * held, (frame + 1) * held));
    longpass.fill("pools", { pools: { image: [image(pools, [parts.length, size])], w: [size], h: [parts.length] } });
    longpass.fill("trace", {}, (model) => { model("now").location = frame; });
    longpass.byId("scrub").value = frame;
    const action = frame < frames - 1 ? episode.action_names[episode.actions[frame]] : "none: the episode is over";
    const said = [["frame", `${frame} of ${frames - 1}`], ["phase", episode.phases[0][episode.phases[1][frame]]], ["next action", action],
      ["value", Number.isNaN(episode.values[frame]) ? "–" : episode.values[frame].toFixed(3)], ["reward", show(episode.rewards[frame])], ["return so far", show(episode.returns[frame])]];
    longpass.byId("episode-now").replaceChildren(...said.map(([name, value]) => make("div", {}, make("b", {}, value), name)));
  };

  const move = (frame) => {
    state.frame = Math.min(Math.max(0, frame), state.episode.frames - 1);
    if (state.frame === state.episode.frames - 1) play(false);
    draw();
  };
  const play = (playing) => {
    clearInterval(state.timer);
    state.playing = playing;
    longpass.byId("play").textContent = playing ? "pause" : "play";
    if (playing) state.timer = setInterval(() => move(state.frame + 1), 1000 / state.speed);
  };

  longpass.tabs.push({
    id: "episodes",
    title: "Episodes",
    build: (root) => {
      const { episodes } = longpass.config;
      if (!episodes.length) {
        root.append(make("p", { class: "note" }, "No episodes were recorded. Name the folder of a trained agent, with its checkpoint in it:"), make("pre", {}, "longpass report runs/agent --episodes 1"));
        return;
      }
      const scrub = make("input", { type: "range", id: "scrub", min: 0, max: 1, value: 0, step: 1, "aria-label": "frame", input: () => move(Number(scrub.value)) });
      const speed = longpass.makeSelect("speed", SPEEDS.map((one) => [one, `${one} frames per second`]), (value) => { state.speed = Number(value); if (state.playing) play(true); }, "speed");
      speed.querySelector("select").value = state.speed;
      const chosen = longpass.makeSelect("episode", episodes.map((one, n) => [n, `${one.task}, ${one.folder}, seed ${one.seed}`]), (value) => { play(false); load(Number(value)); }, "episode");
      const button = (id, words, click) => make("button", { type: "button", id, click }, words);
      root.append(
        make("div", { class: "row" }, chosen),
        make("div", { class: "row" },
          button("play", "play", () => { if (!state.playing && state.frame === state.episode.frames - 1) move(0); play(!state.playing); }),
          button("step-back", "one back", () => { play(false); move(state.frame - 1); }), button("step-on", "one on", () => { play(false); move(state.frame + 1); }),
          make("label", {}, "frame", scrub), speed),
        make("div", { class: "cards", id: "episode-now" }),
        make("div", { class: "grid" }, longpass.makeChart("board", "Board"), longpass.makeChart("pools", "Contents of every pool")),
        make("div", { class: "key", id: "trace-key" }),
        longpass.makeChart("trace", "Value and rewards"),
        make("p", { class: "note", id: "episode-note" }));
    },
    render: () => { if (longpass.config.episodes.length && state.number < 0) load(0); },
    leave: () => { if (state.playing) play(false); },
    live: false,
  });
})();
