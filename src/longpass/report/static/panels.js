"use strict";
// Bokeh's charts: embedded when they are first shown, filled with data, coloured for the theme.
(() => {
  const { make } = longpass;
  const views = new Map(); // name -> promise of a document
  let dark = false;
  Bokeh.set_log_level("error"); // charts are empty when they are made, of which Bokeh would warn

  // A place for a chart with a title; the chart is made when the place is first filled.
  longpass.makeChart = (name, title) => {
    const height = longpass.config.heights[name];
    const target = make("div", { id: `chart-${views.size}-${name.replace(/[^a-z0-9]/g, "-")}`, class: "chart" });
    target.style.minHeight = `${height}px`; // nothing moves when the chart arrives
    target.dataset.panel = name;
    return make("div", { class: "chart" }, title ? make("h3", {}, title) : null, target);
  };

  // The document of a chart, by its name: Bokeh is asked for it once.
  longpass.chart = (name) => {
    if (!views.has(name)) {
      const target = document.querySelector(`[data-panel="${name}"]`);
      const item = { ...longpass.config.panels[name], target_id: target.id };
      views.set(name, Bokeh.embed.embed_item(item).then((view) => {
        const { document } = (view.roots ? [...view.roots][0] : view[0] || view).model;
        paint(document);
        return document;
      }));
    }
    return views.get(name);
  };

  // Fill sources: {source: {column: values}}. Charts that were given the same before stay.
  longpass.fill = async (name, sources, change = () => {}) => {
    const document = await longpass.chart(name);
    for (const [source, columns] of Object.entries(sources)) {
      document.get_model_by_name(source).data = columns;
    }
    change((model) => document.get_model_by_name(model));
    return document;
  };

  // Colours of text and lines that are not data.
  const paint = (document) => {
    const [ink, soft, line] = dark ? ["#eceff4", "#aab2c0", "#3a414d"] : ["#1d2129", "#565d6b", "#e1e4ea"];
    for (const model of document._all_models.values()) {
      const set = {};
      for (const name of ["axis_label_text_color", "title_text_color"]) if (name in model.properties) set[name] = ink;
      if ("major_label_text_color" in model.properties) {
        Object.assign(set, { major_label_text_color: soft, axis_line_color: soft, major_tick_line_color: soft });
      }
      if ("grid_line_color" in model.properties && model.grid_line_color !== null) set.grid_line_color = line;
      if (Object.keys(set).length) model.setv(set);
    }
  };

  longpass.setTheme = (theme) => {
    dark = theme === "dark";
    document.documentElement.dataset.theme = theme;
    for (const view of views.values()) view.then(paint);
  };

  // A line of swatches with words: [words, colour, dashes].
  longpass.makeKey = (entries) => entries.map(([words, colour, dashes]) => {
    const swatch = make("span", { class: "swatch" });
    swatch.style.borderTopColor = colour;
    swatch.style.borderTopStyle = dashes && dashes.length ? (dashes[0] < 3 ? "dotted" : "dashed") : "solid";
    return make("span", {}, swatch, words);
  });

  // Looks of a memory; those that are not known have the rest of the palette.
  const others = new Map();
  longpass.look = (memory) => {
    const known = longpass.config.looks[memory];
    if (known) return known;
    const { palette } = longpass.config;
    if (!others.has(memory)) others.set(memory, others.size);
    return { label: memory, colour: palette[others.get(memory) % palette.length], dashes: [6, 2, 2, 2] };
  };

  // The shade of a value between two others, on a logarithmic scale if both are above 0.
  longpass.shade = (value, low, high) => {
    const { shades } = longpass.config;
    const scale = low > 0 ? Math.log : (x) => x;
    const part = high > low ? (scale(value) - scale(low)) / (scale(high) - scale(low)) : 0.5;
    return shades[Math.round(Math.min(1, Math.max(0, part)) * (shades.length - 1))];
  };
})();
