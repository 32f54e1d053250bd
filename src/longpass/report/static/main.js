"use strict";
// The page: its tabs, its theme, and the records that it begins with.
(() => {
  const { make, byId } = longpass;
  const ORDER = ["overview", "curves", "figures", "claims", "memory", "episodes"];
  const built = new Set();
  let open = null;

  const read = (id) => JSON.parse(byId(id).textContent);

  longpass.renderTab = () => {
    const tab = longpass.tabs.find((one) => one.id === open);
    if (tab.live || !built.has(open)) tab.render();
  };

  longpass.showTab = (id, place) => {
    const tab = longpass.tabs.find((one) => one.id === id);
    const before = longpass.tabs.find((one) => one.id === open);
    if (before && before !== tab && before.leave) before.leave();
    for (const one of longpass.tabs) {
      const button = byId(`tab-${one.id}`);
      button.setAttribute("aria-selected", one.id === id);
      button.tabIndex = one.id === id ? 0 : -1;
      byId(`part-${one.id}`).hidden = one.id !== id;
    }
    open = id;
    if (!built.has(id)) tab.build(byId(`part-${id}`));
    built.add(id);
    tab.render();
    if (place) byId(place).scrollIntoView();
    history.replaceState(null, "", `#${id}`);
  };

  // Arrow keys move between tabs, as the pattern for tabs has it.
  const onKey = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const id = ORDER[(ORDER.indexOf(open) + step + ORDER.length) % ORDER.length];
    longpass.showTab(id);
    byId(`tab-${id}`).focus();
  };

  const setTheme = (theme) => {
    byId("theme").setAttribute("aria-pressed", theme === "dark");
    byId("theme").textContent = theme === "dark" ? "light" : "dark";
    byId("theme").onclick = () => setTheme(theme === "dark" ? "light" : "dark");
    longpass.setTheme(theme);
  };

  longpass.config = read("config");
  longpass.tabs.sort((a, b) => ORDER.indexOf(a.id) - ORDER.indexOf(b.id));
  byId("tabs").append(...longpass.tabs.map((tab) => make("button", {
    type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": `part-${tab.id}`, click: () => longpass.showTab(tab.id), keydown: onKey,
  }, tab.title)));
  byId("main").append(...longpass.tabs.map((tab) => make("section", { id: `part-${tab.id}`, role: "tabpanel", "aria-labelledby": `tab-${tab.id}` })));
  byId("about").textContent = longpass.config.about;
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const records = read("records");
  if (records) longpass.takeChange(records);
  const asked = location.hash.slice(1);
  longpass.showTab(ORDER.includes(asked) ? asked : "overview");
  if (longpass.config.live) longpass.follow();
  document.documentElement.dataset.ready = "yes";
})();
