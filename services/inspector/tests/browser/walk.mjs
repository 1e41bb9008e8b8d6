// Walks through the inspector's pages in a real browser, against a relay of real processes. One line a step; the first
// that is not so ends it with code 1 and a picture of the page.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as browser from "./browser.mjs";
import { everyPage, firstVisit, history } from "./looks.mjs";
import { Relay } from "./relay.mjs";
import { Story } from "./story.mjs";

const shots = process.env.HOOKS_SHOTS ?? join(import.meta.dirname, "shots");
const began = Date.now();
const step = (text) => console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)}s  ${text}`);

const relay = new Relay();
const picture = (on, name) => on.screenshot({ path: join(shots, `${name}.png`) });
const story = new Story(relay, step, picture);

/** The paths of all pages, with the status that each has. */
async function paths() {
  await browser.go(story.admin, "/deliveries?state=failed");
  const delivery = await story.admin.locator("tbody a[href^='/deliveries/']").first().getAttribute("href");
  const fine = ["/", "/?span=day", "/events", "/events/orders/2", story.event, `${story.event}?view=hex`, "/deliveries", delivery,
    `/deliveries?subscription=${story.subscription.split("/").pop()}`, "/sources", "/sources/orders", story.rejected,
    "/listeners", "/push", story.subscription, "/tokens?include_revoked=1", "/users", "/audit", "/me", "/device"];
  return [...fine.map((path) => [path, 200]), ["/events/nowhere/1", 404]];
}

let failure;
try {
  mkdirSync(shots, { recursive: true });
  await relay.start();
  step("the relay runs");
  await browser.open(relay.inspector);
  await story.begin();
  await firstVisit(shots);
  await story.firstAdmin();
  await story.secondPerson();
  await story.ownSourcesOnly();
  await story.live();
  await story.aside();
  await story.search();
  await story.replayToForward();
  await story.failedDelivery();
  await story.whyNotMoving();
  await story.refused();
  await story.strangers();
  await story.withoutScript();
  await story.byKeyboard();
  await story.audit();
  relay.sql(history);
  await everyPage(story.admin, await paths(), shots);
  step("every page opens in light and dark, on a desktop and a phone, fits, and has no serious finding of axe");
  assert.deepEqual(browser.noise, []);
  step("no script error, no breach of the content policy, no alert");
} catch (error) {
  failure = error;
  console.error(error);
  console.error(browser.noise.join("\n"));
  await story.admin?.screenshot({ path: join(shots, "failure.png"), fullPage: true }).catch(() => {});
  console.error(relay.log.split("\n").filter((line) => /WARN|ERROR/.test(line)).slice(-15).join("\n"));
} finally {
  await browser.close();
  story.end();
  await relay.stop();
}
process.exit(failure ? 1 : 0);
