"use strict";
// "What does it remember?": sliders for a memory, and what follows from them.
(() => {
  const { make, filters, show } = longpass;
  const TIMES = 240; // points along an axis
  const LABELS = { no: "response to an input of 1", peak: "response / its peak", norm: "response / its norm" };
  const settings = { base: 2, pools: 8, wiring: "chain", normalised: "peak", horizon: 300 };

  // Whole ages from 0 to `last`, denser near now, each once.
  const chooseTimes = (last) => {
    const times = new Set();
    for (let n = 0; n < TIMES; n++) times.add(Math.round(Math.pow(last + 1, n / (TIMES - 1)) - 1));
    return [...times];
  };

  // What the charts and the table show; tests compare it with longpass.theory.
  longpass.explore = ({ base, pools, wiring, normalised, horizon }) => {
    const rates = filters.rates(base, pools);
    const delays = filters.meanDelay(rates, wiring);
    const spreads = filters.spread(rates, wiring);
    const times = chooseTimes(Math.ceil(delays.at(-1) + 4 * spreads.at(-1)));
    let responses = filters.impulseResponse(rates, times, wiring);
    const norms = filters.norms(rates, wiring);
    const peaks = filters.peaks(rates, wiring);
    const scales = { no: rates.map(() => 1), peak: peaks.map(([, value]) => value), norm: norms }[normalised];
    responses = responses.map((one, n) => one.map((value) => value / scales[n]));
    const slowest = Math.max(1e-9, rates.at(-1) / 30);
    const omegas = Array.from({ length: TIMES }, (_, n) => slowest * Math.pow(Math.PI / slowest, n / (TIMES - 1)));
    const needs = Object.fromEntries(["chain", "parallel"].map((one) => [one, filters.poolsFor(horizon, base, one)]));
    return { rates, delays, spreads, norms, peaks, times, responses, omegas, gains: filters.gain(rates, omegas, wiring), needs };
  };

  const draw = () => {
    const found = longpass.explore(settings);
    const { palette } = longpass.config;
    const pools = found.rates.map((_, n) => n + 1);
    const looks = {
      colour: pools.map((n) => palette[(n - 1) % 4]),
      dash: pools.map((n) => [[], [6, 2], [2, 2], [8, 2, 2, 2]][Math.floor((n - 1) / 4) % 4]),
      pool: pools,
    };
    longpass.fill("impulse", {
      pools: { xs: pools.map(() => found.times.map((time) => time + 1)), ys: found.responses.map((one) => [...one]), ...looks },
    }, (model) => {
      model("y-axis").axis_label = LABELS[settings.normalised];
    });
    longpass.fill("frequency", {
      pools: { xs: pools.map(() => found.omegas), ys: found.gains.map((one) => one.map((gain) => 20 * Math.log10(gain))), ...looks },
    });
    longpass.fill("delays", {
      points: { x: pools, y: found.delays.map((one) => one + 1), mean: found.delays, spread: found.spreads },
      ends: {
        x: pools,
        low: found.delays.map((one, n) => 1 + Math.max(0, one - found.spreads[n])),
        high: found.delays.map((one, n) => 1 + one + found.spreads[n]),
      },
    }, (model) => { model("horizon").location = settings.horizon + 1; });
    longpass.byId("explorer-needs").textContent =
      `A horizon of ${show(settings.horizon)} steps needs ${found.needs.chain} pools in a chain, ${found.needs.parallel} in parallel, at base ${show(settings.base)}.`;
    longpass.byId("explorer-key").replaceChildren(...longpass.makeKey(pools.map((n, i) => [`pool ${n}`, looks.colour[i], looks.dash[i]])));
    longpass.byId("explorer-table").replaceChildren(...pools.map((n, i) => make("tr", {},
      ...[n, found.rates[i], found.delays[i], found.spreads[i], found.peaks[i][0], found.norms[i]].map((value) => make("td", { class: "number" }, show(value, 5))))));
  };

  const change = (name) => (value) => { settings[name] = value; draw(); };
  longpass.tabs.push({
    id: "memory",
    title: "What does it remember?",
    build: (root) => root.append(
      make("p", { class: "note" }, "A memory of pools, each a low-pass filter of rate base to the power of -n. In a chain each pool is fed by the one before it, in parallel all are fed the input. Normalised by its norm, a pool has deviation 1 under white noise: this is what a reader behind layer normalisation sees."),
      make("div", { class: "row" },
        longpass.makeSlider("base", { id: "base", min: 1.1, max: 4, step: 0.05, value: settings.base, show: (x) => x.toFixed(2) }, change("base")),
        longpass.makeSlider("pools", { id: "pools", min: 1, max: 16, step: 1, value: settings.pools }, change("pools")),
        longpass.makeSelect("wiring", [["chain", "chain"], ["parallel", "parallel"]], change("wiring"), "wiring"),
        longpass.makeSelect("normalised", [["peak", "by its peak"], ["norm", "by its norm"], ["no", "not at all"]], change("normalised"), "normalised"),
        // The slider is of the exponent: horizons from 1 to 100,000 steps.
        longpass.makeSlider("horizon", { id: "horizon", min: 0, max: 5, step: 0.01, value: Math.log10(settings.horizon), show: (x) => `${show(Math.round(10 ** x))} steps` },
          (x) => change("horizon")(Math.round(10 ** x)))),
      make("p", { id: "explorer-needs", "aria-live": "polite" }),
      make("div", { class: "key", id: "explorer-key" }),
      make("div", { class: "grid wide" },
        longpass.makeChart("impulse", "Impulse response: which past each pool sees"),
        longpass.makeChart("frequency", "Frequency response: which signals each pool passes"),
        longpass.makeChart("delays", "Mean delay ± spread; dashed: the horizon")),
      make("div", { class: "scroll" }, make("table", {},
        make("thead", {}, make("tr", {}, ...["pool", "rate (per step)", "mean delay (steps)", "spread (steps)", "peak (steps)", "norm of the response"].map((words) => make("th", { class: "number", scope: "col" }, words)))),
        make("tbody", { id: "explorer-table" }))),
    ),
    render: draw,
    live: false,
  });
})();
