// Every page in both themes, wide and narrow: a picture of each, none wider than its window, none with a serious finding
// of axe.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { go, person } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

/** A day of samples: a walk of two minutes has no history to plot. */
export const history = `
  insert into samples (series, subject, at, value)
  select 'sequence', 'orders', t, 1000 * n + 40 * n * (1 + sin(n / 90.0)) from day
  union all select 'refused', 'orders', t, greatest(0, round((9 * sin(n / 40.0) - 6)::numeric)) from day
  union all select 'alive', 'push-worker', t, case when n between 700 and 730 then 0 else 1 end from day
  union all select 'owed', s.id, t, greatest(0, 900 * sin(n / 200.0)) from day, push_subscriptions s
  union all select 'oldest_due', s.id, t, greatest(0, 400 * sin(n / 200.0)) from day, push_subscriptions s
  on conflict do nothing`.replace("insert into", `with day as (
    select date_trunc('minute', now()) - make_interval(mins => 1440 - n) as t, n from generate_series(1, 1439) n
    where n not between 400 and 460)
  insert into`);

/** Serious findings on the page as it is. */
async function findings(on) {
  if (!await on.evaluate(() => "axe" in window)) await on.evaluate(axe);
  const found = await on.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  return serious.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} (${node.failureSummary})`).join(" | ")}`);
}

/** A name for the picture's file. */
function nameOf(path) {
  const known = path.replace(/(sub|dlv)_\w+/, "one").replace(/rejected\/\d+/, "rejected").replace(/[?&](span|view)=/g, "-").replace(/[?#].*/, "");
  return known.replace(/[^a-z0-9]+/gi, "-").replace(/^-|-$/g, "") || "overview";
}

/** Takes the picture; what is wrong with the page. Colours are the theme's and widths the size's, so axe need not look at
 * all four. */
async function look(on, path, size, theme, shots) {
  await on.screenshot({ path: join(shots, `${nameOf(path)}-${size}-${theme}.png`), fullPage: true });
  const over = await on.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const faults = over > 0 ? [`is ${over} px too wide`] : [];
  if (size === "desktop" || theme === "light") faults.push(...await findings(on));
  return faults.map((fault) => `${path} on a ${size}, ${theme}: ${fault}`);
}

/** `paths` are those of somebody signed in, with the status that each has. */
export async function everyPage(admin, paths, shots) {
  const storageState = await admin.context().storageState();
  const visits = [];
  for (const colorScheme of ["light", "dark"]) {
    for (const [size, viewport] of Object.entries(sizes)) visits.push({ colorScheme, size, viewport });
  }
  const visit = async ({ colorScheme, size, viewport }) => {
    const faults = [];
    const on = await person({ viewport, colorScheme, storageState });
    for (const [path, status] of paths) {
      assert.equal(await go(on, path), status, path);
      faults.push(...await look(on, path, size, colorScheme, shots));
    }
    await on.context().close();
    const nobody = await person({ viewport, colorScheme });
    for (const path of ["/login", "/signup?code=abc"]) {
      await go(nobody, path);
      faults.push(...await look(nobody, path, size, colorScheme, shots));
    }
    await nobody.context().close();
    return faults;
  };
  assert.deepEqual((await Promise.all(visits.map(visit))).flat(), []);
}

/** The page that only the first visitor sees. */
export async function firstVisit(shots) {
  const faults = [];
  for (const colorScheme of ["light", "dark"]) {
    for (const [size, viewport] of Object.entries(sizes)) {
      const on = await person({ viewport, colorScheme });
      await go(on, "/login");
      faults.push(...await look(on, "/first-visit", size, colorScheme, shots));
      await on.context().close();
    }
  }
  assert.deepEqual(faults, []);
}
