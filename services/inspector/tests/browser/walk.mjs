// Walks through the inspector's pages in a real browser, against a relay of real processes. One line a step; the first
// that is not so ends it with code 1 and a picture of the page.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { Relay, receiver, until } from "./relay.mjs";

const shots = process.env.HOOKS_SHOTS ?? join(import.meta.dirname, "shots");
const began = Date.now();
const password = "a long walk on the beach";
const evil = "<img src=x onerror=alert(1)><script>alert(2)</script>";

const relay = new Relay();
const pushed = await receiver(500);
const forwarded = await receiver(200);
const noise = [];
let browser;
let page;

const step = (text) => console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)}s  ${text}`);

/** A browser of its own, whose dialogs and errors count as faults. */
async function person(options = {}) {
  const context = await browser.newContext(options);
  const opened = await context.newPage();
  opened.on("dialog", (dialog) => {
    // Questions of the page's own are answered yes; an alert can only come from a stranger's bytes.
    if (dialog.type() === "alert") noise.push(`alert: ${dialog.message()}`);
    dialog.accept();
  });
  opened.on("pageerror", (error) => noise.push(`error: ${error.message}`));
  opened.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) noise.push(`console: ${message.text()}`);
  });
  return opened;
}

const go = async (on, path) => {
  const answer = await on.goto(relay.inspector + path, { waitUntil: "domcontentloaded" });
  return answer.status();
};
const press = (on, name) => on.getByRole("button", { name, exact: true }).first().click();
const see = (on, text) => on.getByText(text).filter({ visible: true }).first().waitFor({ timeout: 15_000 });

async function signUp(on, link, email, name) {
  await on.goto(link);
  await on.getByLabel("Email").fill(email);
  await on.getByLabel("Name").fill(name);
  await on.getByLabel(/^Password/).fill(password);
  await press(on, "Make the account");
  await on.getByRole("heading", { name: "Overview" }).waitFor();
}

async function people() {
  const { url } = await relay.api("POST", "/api/invites", { role: "admin" });
  page = await person();
  await signUp(page, url, "ada@example.com", "Ada");
  step("the first administrator has an account and is signed in");

  await go(page, "/users");
  await page.getByLabel("Role").last().selectOption("member");
  await page.getByLabel("Sources").last().fill("orders");
  await press(page, "Invite");
  const link = await page.locator("#secret").innerText();
  const bob = await person();
  await signUp(bob, link, "bob@example.com", "Bob");
  step("a second person accepted the invite");
  return bob;
}

async function ownSourcesOnly(bob) {
  relay.send("orders", "push", { data: { id: "o-1" } });
  relay.send("billing", "push", { data: { id: "b-1" } });
  await go(bob, "/events");
  await see(bob, "orders");
  assert.equal(await bob.locator("tbody").getByText("billing").count(), 0);
  await go(bob, "/sources");
  assert.equal(await bob.locator("main").getByText("billing").count(), 0);
  assert.equal(await go(bob, "/events/billing/1"), 404);
  assert.equal(await go(bob, "/sources/billing"), 404);
  assert.equal(await go(bob, "/audit"), 403);
  await go(page, "/events");
  await see(page, "billing");
  step("a person with one source sees that source and no other");
}

async function live(bob) {
  await go(page, "/events");
  await go(bob, "/events");
  for (const on of [page, bob]) await on.locator("#live-state[data-on]").waitFor();
  let loads = 0;
  page.on("load", () => { loads += 1; });
  relay.send("orders", "arrived_live", { data: { id: "o-live", list: [{ id: 7 }] } });
  await see(page, "arrived_live");
  await see(bob, "arrived_live");
  relay.send("billing", "not_for_bob", {});
  await see(page, "not_for_bob");
  assert.equal(await bob.getByText("not_for_bob").count(), 0);
  assert.equal(loads, 0);
  step("a new event appears without a reload, and only where it may be seen");
}

async function search() {
  const rows = async (query) => {
    await go(page, `/events?q=${encodeURIComponent(query)}`);
    return page.locator('tbody a[href^="/events/"]').count();
  };
  await until("the search to find it", async () => await rows("data.id = o-live") === 1);
  assert.equal(await rows("data.list[].id = 7 and header.x-github-event = arrived_live"), 1);
  assert.equal(await rows("data.id = nobody"), 0);
  await page.getByLabel("Search").fill("= x");
  await press(page, "Show");
  await page.getByRole("alert").waitFor();
  step("a search by body and header finds it, and a mistyped one says so");
}

async function replayToForward() {
  let heard = "";
  relay.spawn(["forward", "orders", "--to", forwarded.url, "--since", "latest"], (text) => { heard += text; });
  await until("a listener to be connected", async () => {
    await go(page, "/listeners");
    return await page.locator("tbody").getByText("orders").count() > 0;
  });
  await page.screenshot({ path: join(shots, "listeners-connected.png") });
  await go(page, "/events/orders/2");
  await press(page, "Replay to listeners");
  await see(page, "Sent again");
  await until("the replay to arrive", () => forwarded.got.some((one) => one.body.includes("o-live")) || null)
    .catch((error) => { throw new Error(`${error.message}; forward said: ${heard}`); });
  step("a replay arrives at a connected forward");
}

async function failedDelivery() {
  await go(page, "/push");
  await page.getByLabel("Source").selectOption("orders");
  await page.getByLabel("URL").fill(pushed.url);
  await page.getByLabel("Name").fill("warehouse");
  await press(page, "Add");
  const secret = await page.locator("#secret").innerText();
  assert.match(secret, /^whsec_/);
  await page.getByRole("link", { name: "To the subscription" }).click();
  assert.equal((await page.content()).includes(secret), false);
  step("a push subscription is made; its secret is shown once");

  relay.send("orders", "to_be_pushed", { data: { id: "o-push" } });
  await until("the delivery to fail", async () => {
    await go(page, "/deliveries?state=failed");
    return await page.locator("tbody").getByText("orders #").count() > 0;
  }, 40);
  pushed.status = 200;
  await go(page, "/deliveries");
  await page.getByLabel("Subscription").last().selectOption({ label: "warehouse" });
  await press(page, "Plan");
  await page.getByRole("button", { name: "Replay 1" }).click();
  await see(page, "Sent again");
  await until("the delivery to arrive", async () => {
    await go(page, "/deliveries?state=delivered");
    return await page.locator("tbody").getByText("orders #").count() > 0;
  });
  assert.ok(pushed.got.length >= 3, `${pushed.got.length} requests`);
  step("a failed delivery is planned, replayed by filter, and arrives");
}

async function audit() {
  for (const action of ["user.create", "invite.create", "invite.consume", "push.create", "delivery.replay_many"]) {
    await go(page, `/audit?action=${action}`);
    const found = await page.locator("tbody").getByText(action).count();
    assert.ok(found > 0, `the audit has no ${action}`);
  }
  await go(page, "/audit?action=event.");
  assert.ok(await page.locator("tbody").getByText("ada@example.com").count() > 0, "who replayed");
  step("the audit has all of it");
}

async function strangers() {
  relay.send("orders", evil, { text: evil, [evil]: 1 });
  await go(page, "/events");
  await see(page, "onerror");
  await page.locator('tbody a[href^="/events/orders/"]').first().click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.equal(await page.locator('img[src="x"]').count(), 0);
  assert.equal(await page.locator("main script").count(), 0);
  step("a stranger's markup is shown and does nothing");
}

const PAGES = ["/", "/?span=day", "/events", "/events/orders/2", "/deliveries", "/sources", "/sources/orders", "/listeners",
  "/push", "/tokens", "/users", "/audit", "/me", "/device"];

/** Every page in both themes, wide and narrow; none is wider than the window. */
async function pictures() {
  await go(page, "/push");
  const subscription = await page.locator("tbody a[href^='/push/']").first().getAttribute("href");
  await go(page, "/deliveries");
  const delivery = await page.locator("tbody a[href^='/deliveries/']").first().getAttribute("href");
  const state = await page.context().storageState();
  const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
  for (const colorScheme of ["light", "dark"]) {
    for (const [name, viewport] of Object.entries(sizes)) {
      const on = await person({ viewport, colorScheme, storageState: state });
      for (const path of [...PAGES, subscription, delivery]) {
        assert.equal(await go(on, path), 200, path);
        const over = await on.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(over <= 0, `${path} is ${over} px too wide on a ${name}`);
        await picture(on, path, name, colorScheme);
      }
      await on.context().close();
      const nobody = await person({ viewport, colorScheme });
      for (const path of ["/login", "/signup?code=abc"]) {
        await go(nobody, path);
        await picture(nobody, path, name, colorScheme);
      }
      await nobody.context().close();
    }
  }
  step("every page opens in light and dark, on a desktop and a phone");
}

async function picture(on, path, size, theme) {
  const known = path.replace(/(sub|dlv)_\w+/, "one").replace(/\?.*span=/, "span-").replace(/\?.*/, "");
  const name = known.replace(/[^a-z0-9]+/gi, "-").replace(/^-|-$/g, "") || "overview";
  await on.screenshot({ path: join(shots, `${name}-${size}-${theme}.png`), fullPage: true });
}

let failure;
try {
  mkdirSync(shots, { recursive: true });
  await relay.start();
  step("the relay runs");
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
  const bob = await people();
  await ownSourcesOnly(bob);
  await live(bob);
  await search();
  await replayToForward();
  await failedDelivery();
  await audit();
  await strangers();
  await pictures();
  assert.deepEqual(noise, []);
  step("no script error, no breach of the content policy, no alert");
} catch (error) {
  failure = error;
  console.error(error);
  console.error(noise.join("\n"));
  await page?.screenshot({ path: join(shots, "failure.png"), fullPage: true }).catch(() => {});
  console.error(relay.log.split("\n").filter((line) => /WARN|ERROR/.test(line)).slice(-15).join("\n"));
} finally {
  await browser?.close();
  pushed.stop();
  forwarded.stop();
  await relay.stop();
}
process.exit(failure ? 1 : 0);
