"use strict";
// The paper's claims: what the records say, and where to see it.
(() => {
  const { make } = longpass;
  const CLASSES = { holds: "holds", fails: "fails", "too few": "few" };
  const write = (one) => (one.value == null ? "" : one.value.toFixed(2));
  const writeInterval = (one) => (one.interval ? `${one.interval[0].toFixed(2)} to ${one.interval[1].toFixed(2)}` : "");
  const verdict = (words) => make("td", { class: CLASSES[words] || "" }, words);

  const rows = (claim) => {
    const figure = make("a", { href: `#figure-${claim.figure}`, click: (event) => { event.preventDefault(); longpass.showTab("figures", `figure-${claim.figure}`); } }, "figure");
    const head = make("tr", {},
      make("td", { class: "words" }, make("b", {}, claim.text), make("br"), make("span", { class: "note" }, `${claim.id}: ${claim.statistic}; above ${longpass.show(claim.threshold)} it holds. Evidence: `), figure),
      make("td", { class: "number" }, claim.n), make("td", { class: "number" }, write(claim)), make("td", { class: "number" }, writeInterval(claim)), verdict(claim.verdict));
    return [head, ...claim.tasks.map((one) => make("tr", {},
      make("td", {}, make("a", { href: "#overview", click: (event) => { event.preventDefault(); longpass.filterTable({ task: one.task }); } }, `runs on ${longpass.config.titles[one.task] || one.task}`)),
      make("td", { class: "number" }, one.n), make("td", { class: "number" }, write(one)), make("td", { class: "number" }, writeInterval(one)), verdict(one.verdict)))];
  };

  longpass.tabs.push({
    id: "claims",
    title: "Claims",
    build: (root) => root.append(
      make("p", { class: "note" }, "Each claim of the paper, evaluated from the records. It holds where its 95 % interval lies above what chance would give, fails where it lies below, and has too few runs where the interval includes both or a group is small."),
      make("p", { class: "note", id: "claims-note", role: "status" }),
      make("div", { class: "scroll" }, make("table", {},
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "claim, and on each task"), ...["runs", "value", "95 % interval"].map((words) => make("th", { scope: "col", class: "number" }, words)), make("th", { scope: "col" }, "verdict"))),
        make("tbody", { id: "claims" })))),
    render: () => {
      const claims = longpass.store.claims;
      longpass.byId("claims").replaceChildren(...(claims || []).flatMap(rows));
      longpass.byId("claims-note").textContent = claims ? (claims.length ? "" : "There are no records that the claims are about.") : "The claims are being evaluated.";
    },
    live: true,
  });
})();
