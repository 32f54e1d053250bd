"use strict";
// Following runs: ask for what changed, once a second. Only the tab that is open is drawn anew.
(() => {
  const PAUSE = 1000; // milliseconds between questions

  const ask = async () => {
    const answer = await fetch(`records?since=${longpass.store.version}&claims=${longpass.store.claims_version ?? -1}`, { cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.json();
  };

  longpass.follow = async () => {
    const status = longpass.byId("status");
    let shown = -1;
    for (;;) {
      let more = false;
      try {
        const change = await ask();
        const began = longpass.store.began;
        // Another server at this address counts from the beginning.
        if (began !== undefined && change.began !== began) { location.reload(); return; }
        longpass.takeChange(change);
        more = change.more;
        if (!more && (shown !== change.version || change.activities.some((one) => one.running) || change.claims)) {
          shown = change.version;
          longpass.renderTab();
        }
        status.textContent = `live: ${longpass.show(longpass.store.runs.size)} runs, last look ${new Date().toLocaleTimeString("en-GB")}`;
      } catch (error) {
        status.textContent = `not connected (${error.message}): is longpass watch still running?`;
      }
      if (!more) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  };
})();
