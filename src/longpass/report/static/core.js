"use strict";
// What all parts of the page share: elements, numbers, and the runs that it has been given.
// Text from records enters the page here and in panels.js only, and only as text.
const longpass = { tabs: [], byId: (id) => document.getElementById(id) };

(() => {
  // An element. Attributes that are functions listen to events; children are elements or text.
  longpass.make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child != null).map((child) =>
      child instanceof Node ? child : document.createTextNode(String(child))));
    return element;
  };

  // A named choice out of [value, words].
  longpass.makeSelect = (words, options, onChange, id) => {
    const { make } = longpass;
    const select = make("select", { id, change: () => onChange(select.value) });
    longpass.setOptions(select, options);
    return make("label", {}, words, select);
  };

  longpass.setOptions = (select, options) => {
    const chosen = select.value;
    const values = options.map(([value]) => String(value));
    if ([...select.options].map((one) => one.value).join("\n") !== values.join("\n")) {
      select.replaceChildren(...options.map(([value, words]) =>
        longpass.make("option", { value: String(value) }, words)));
      if (values.includes(chosen)) select.value = chosen;
    }
  };

  // A slider that shows its value.
  longpass.makeSlider = (words, { id, min, max, step, value, show = String }, onInput) => {
    const { make } = longpass;
    const output = make("output", { for: id }, show(value));
    const input = make("input", {
      type: "range", id, min, max, step, value, "aria-label": words,
      input: () => { output.textContent = show(Number(input.value)); onInput(Number(input.value)); },
    });
    return make("label", {}, words, input, output);
  };

  // Numbers for people.
  longpass.show = (value, digits = 4) => {
    if (value == null || Number.isNaN(value)) return "";
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
    const size = Math.abs(value);
    return size < 1e-3 || size >= 1e7 ? value.toExponential(2) : String(Number(value.toPrecision(digits)));
  };

  longpass.showSpan = (seconds) => {
    if (seconds < 60) return `${Math.round(seconds)} s`;
    if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
    return seconds < 72 * 3600 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86400)} days`;
  };

  longpass.decodeBytes = (text) => {
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
    return bytes;
  };
  longpass.decodeNumbers = (text) => new Float32Array(longpass.decodeBytes(text).buffer);

  // Bytes that Python's zlib compressed.
  longpass.inflate = async (text) => {
    const stream = new Blob([longpass.decodeBytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  // The runs by id, and everything else that the records say.
  longpass.store = { runs: new Map(), populations: [], activities: [], notes: [], version: 0 };

  // Take in a packed change (see _payload.py).
  longpass.takeChange = (change) => {
    const { store } = longpass;
    const { runs, placed, removed, ...rest } = change;
    for (const run of unpackRuns(runs)) store.runs.set(run.id, run);
    placed.ids.forEach((id, n) => Object.assign(store.runs.get(id) ?? {}, {
      places: pick(placed.places, n), best: pick(placed.best, n),
    }));
    for (const id of removed) store.runs.delete(id);
    Object.assign(store, rest);
  };

  // The value of row n of a column (see _payload.py).
  const pick = ([values, at], n) => values[at[n]];

  const unpackRuns = (packed) => {
    const ys = longpass.decodeNumbers(packed.ys);
    const xs = longpass.decodeNumbers(packed.xs);
    const episodes = longpass.decodeNumbers(packed.episodes);
    const place = { ys: 0, xs: 0, episodes: 0 };
    const columns = Object.entries(packed.columns);
    const settings = Object.entries(packed.settings);
    const found = [];
    for (let n = 0; n < packed.count; n++) {
      const run = { points: packed.points[n], places: pick(packed.places, n) };
      for (const [name, column] of columns) run[name] = pick(column, n);
      run.settings = new Map();
      for (const [name, column] of settings) {
        const value = pick(column, n);
        if (value) run.settings.set(name, value[0]);
      }
      const length = packed.lengths[n];
      run.ys = ys.subarray(place.ys, place.ys += length);
      if (packed.even[n]) run.xs = Float32Array.from({ length }, (_, i) => packed.ends[n] * (i + 1) / length);
      else run.xs = xs.subarray(place.xs, place.xs += length);
      if (packed.counted[n]) run.episodes = episodes.subarray(place.episodes, place.episodes += length);
      found.push(run);
    }
    return found;
  };

  longpass.isThinned = (run) => run.points > run.ys.length;

  // Different values of a property of runs, in order.
  longpass.distinct = (runs, get) => {
    const values = [...new Set(runs.map(get))].filter((value) => value != null);
    return values.sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1));
  };
})();
