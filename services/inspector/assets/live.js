// New rows of the list of events as they come. Where the reader is not at the top of the newest page, nothing moves under
// their eyes: new ones are counted, and shown when asked for.
"use strict";
(() => {
  const table = document.querySelector("[data-live]");
  if (!table || !window.EventSource) return;
  const rows = table.tBodies[0];
  const state = document.getElementById("live-state");
  const button = document.getElementById("live-more");
  // A page behind the newest, or one that asks for a state that new events do not have yet, only counts.
  const countOnly = "liveCount" in table.dataset;
  const most = 200;
  const held = [];
  let counted = 0;
  let missed = false;

  const say = (text, on) => {
    if (state.textContent !== text) state.textContent = text;
    if (on) state.dataset.on = ""; else delete state.dataset.on;
  };
  // The row is made and escaped by the server; parsing it in a template runs nothing.
  const parse = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.querySelector("tr");
  };
  const tell = () => {
    const n = countOnly ? counted : held.length;
    button.hidden = n === 0 && !missed;
    const many = missed ? "More new events" : n === 1 ? "1 new event" : `${n} new events`;
    button.textContent = countOnly || missed ? `${many}: load the newest` : `${many}: show ↑`;
  };
  const insert = (row) => {
    document.getElementById("no-rows")?.remove();
    row.classList.add("new");
    rows.prepend(row);
    while (rows.rows.length > most) rows.lastElementChild.remove();
  };
  const atTop = () => window.scrollY < 80;

  button.addEventListener("click", () => {
    if (countOnly || missed) {
      window.location.assign(table.dataset.liveCount || window.location.href);
      return;
    }
    for (const row of held.splice(0)) insert(row);
    tell();
    window.scrollTo({ top: 0 });
  });

  const received = (message) => {
    if (countOnly) {
      counted += 1;
      tell();
      return;
    }
    const row = parse(JSON.parse(message.data).row);
    if (!row || document.getElementById(row.id) || held.some((one) => one.id === row.id)) return;
    if (atTop() && held.length === 0) insert(row);
    else if (held.length < most) held.push(row);
    else missed = true;
    tell();
  };
  // How the pushes of a new event stand, once that is known and whenever it changes.
  const changed = (message) => {
    const row = parse(JSON.parse(message.data).row);
    const waiting = row ? held.findIndex((one) => one.id === row.id) : -1;
    if (waiting >= 0) held[waiting] = row;
    else if (row) document.getElementById(row.id)?.replaceWith(row);
  };

  // Begins where the page was made, and again where a stream ended. The browser comes back by itself after a broken
  // connection, not after an answer that is no stream.
  let after = table.dataset.liveAfter;
  let pause = 1000;
  const open = () => {
    const url = new URL(table.dataset.live, window.location.href);
    url.searchParams.set("after", after);
    const stream = new EventSource(url);
    const on = (type, act) => stream.addEventListener(type, (message) => {
      if (message.lastEventId) after = message.lastEventId;
      act(message);
    });
    stream.addEventListener("open", () => {
      pause = 1000;
      say(countOnly ? "new events are counted" : "live", true);
    });
    stream.addEventListener("error", () => {
      say("reconnecting…", false);
      if (stream.readyState !== EventSource.CLOSED) return;
      window.setTimeout(open, pause);
      pause = Math.min(2 * pause, 60_000);
    });
    on("missed", () => { missed = true; tell(); });
    on("received", received);
    on("changed", changed);
  };
  open();
})();
