// What the inspector must show, step by step: the first administrator, a second person, live events, search, replays,
// failed deliveries, refused requests, the audit.
import assert from "node:assert/strict";
import { go, isLive, person, press, rows, see, signIn, signUp } from "./browser.mjs";
import { receiver, until } from "./relay.mjs";

export const evil = "<img src=x onerror=alert(1)><script>alert(2)</script>";

export class Story {
  constructor(relay, step, picture) {
    this.relay = relay;
    this.step = step;
    this.picture = picture;
  }

  async begin() {
    this.pushed = await receiver(500);
    this.forwarded = await receiver(200);
    this.admin = await person();
    this.member = await person();
  }

  end() {
    this.pushed?.stop();
    this.forwarded?.stop();
  }

  async firstAdmin() {
    await go(this.admin, "/");
    await see(this.admin, "Nobody has an account yet");
    await see(this.admin, "hooksctl admin init");
    await signUp(this.admin, this.relay.run("admin", "init"), "ada@example.com", "Ada");
    await go(this.member, "/login");
    await this.member.getByRole("button", { name: "Sign in" }).waitFor();
    this.step("the first visit says how; the first administrator has an account and is signed in");
  }

  async secondPerson() {
    await go(this.admin, "/users");
    await this.admin.getByLabel("Role").last().selectOption("member");
    await this.admin.getByLabel("Sources, separated by commas").last().fill("orders");
    await press(this.admin, "Invite");
    await signUp(this.member, await this.admin.locator("#secret").innerText(), "bob@example.com", "Bob");
    this.step("a second person accepted the invite");
  }

  async ownSourcesOnly() {
    await this.relay.send("orders", "push", { data: { id: "o-1" } });
    await this.relay.send("billing", "push", { data: { id: "b-1" } });
    const bob = this.member;
    await go(bob, "/events");
    await see(bob, "orders");
    assert.equal(await bob.locator("tbody").getByText("billing").count(), 0);
    await go(bob, "/sources");
    assert.equal(await bob.locator("main").getByText("billing").count(), 0);
    assert.equal(await go(bob, "/events/billing/1"), 404);
    assert.equal(await go(bob, "/sources/billing"), 404);
    assert.equal(await go(bob, "/sources/orders/rejected/1"), 403);
    assert.equal(await go(bob, "/audit"), 403);
    await go(this.admin, "/events");
    await see(this.admin, "billing");
    this.step("a person with one source sees that source and no other");
  }

  async live() {
    const [ada, bob] = [this.admin, this.member];
    for (const on of [ada, bob]) { await go(on, "/events"); await isLive(on); }
    let loads = 0;
    ada.on("load", () => { loads += 1; });
    await this.relay.send("orders", "arrived_live", { data: { id: "o-live", list: [{ id: 7 }] } });
    await see(ada, "arrived_live");
    await see(bob, "arrived_live");
    await this.relay.send("billing", "not_for_bob", {});
    await see(ada, "not_for_bob");
    assert.equal(await bob.getByText("not_for_bob").count(), 0);
    assert.equal(loads, 0);
    this.step("a new event appears without a reload, and only where it may be seen");

    await go(ada, `/events?q=${encodeURIComponent("data.kind = wanted")}`);
    await isLive(ada);
    await this.relay.send("orders", "let_in", { data: { kind: "wanted" } });
    await this.relay.send("orders", "kept_out", { data: { kind: "other" } });
    await this.relay.send("orders", "let_in_too", { data: { kind: "wanted" } });
    await see(ada, "let_in_too");
    assert.deepEqual([await rows(ada).count(), await ada.getByText("kept_out").count()], [2, 0]);
    this.step("a filter holds for live events too");

    await ada.route("**/events/live*", (route) => route.fulfill({ status: 429 }));
    await go(ada, "/events");
    await see(ada, "reconnecting…");
    await this.relay.send("orders", "while_away", {});
    await ada.unroute("**/events/live*");
    await isLive(ada);
    await see(ada, "while_away");
    assert.equal(await ada.getByText("while_away").count(), 1);
    this.step("a page whose stream was refused comes back and shows what came meanwhile");
  }

  async aside() {
    const ada = this.admin;
    for (let n = 0; n < 60; n += 1) await this.relay.send("billing", "filler", { n });
    await go(ada, "/events");
    await isLive(ada);
    await ada.evaluate(() => window.scrollTo(0, 600));
    const before = await rows(ada).count();
    await this.relay.send("orders", "while_reading", {});
    const told = ada.getByRole("button", { name: "1 new event: show ↑" });
    await told.waitFor();
    await this.picture(ada, "events-scrolled-away");
    await told.click();
    await see(ada, "while_reading");
    assert.equal(await rows(ada).count(), before + 1);
    await ada.getByRole("link", { name: "Older" }).click();
    await isLive(ada);
    await this.relay.send("orders", "behind_the_page", {});
    await ada.getByRole("button", { name: "1 new event: load the newest" }).click();
    await see(ada, "behind_the_page");
    this.step("who is scrolled or paged away is told how many are new, and loses nothing under their eyes");
  }

  async search() {
    const ada = this.admin;
    const found = async (query) => {
      await go(ada, `/events?q=${encodeURIComponent(query)}`);
      return rows(ada).count();
    };
    await until("the search to find it", async () => await found("data.id = o-live") === 1);
    assert.equal(await found("data.list[].id = 7 and header.x-github-event = arrived_live"), 1);
    assert.equal(await found("data.id = nobody"), 0);
    await see(ada, "No event is like that.");
    await ada.getByLabel("Search headers and JSON").fill("= x");
    await press(ada, "Show");
    await ada.getByRole("alert").waitFor();
    await go(ada, "/events");
    await ada.getByLabel("Delivery or event id").fill("walk-3");
    await press(ada, "Show");
    await see(ada, "arrived_live");
    assert.equal(await rows(ada).count(), 1);
    this.step("a search by body, header and id finds it, and a mistyped one says so");
  }

  async replayToForward() {
    const ada = this.admin;
    let heard = "";
    const args = ["forward", "orders", "--to", this.forwarded.url, "--since", "latest"];
    this.relay.spawn(args, (text) => { heard += text; });
    await until("a listener to be connected", async () => {
      await go(ada, "/listeners");
      return await ada.locator("tbody").getByText("orders").count() > 0;
    });
    await go(ada, "/events/orders/2");
    await press(ada, "Replay to listeners");
    await see(ada, "Sent again");
    await until("the replay to arrive", () => this.forwarded.got.some((one) => one.body.includes("o-live")))
      .catch((error) => { throw new Error(`${error.message}; forward said: ${heard}`); });
    this.step("a replay arrives at a connected forward");
  }

  async failedDelivery() {
    const ada = this.admin;
    await go(ada, "/push");
    await ada.getByLabel("Source").selectOption("orders");
    await ada.getByLabel("URL").fill(this.pushed.url);
    await ada.getByLabel("Name").fill("warehouse");
    await press(ada, "Add");
    const secret = await ada.locator("#secret").innerText();
    assert.match(secret, /^whsec_/);
    await ada.getByRole("link", { name: "To the subscription" }).click();
    this.subscription = new URL(ada.url()).pathname;
    assert.equal((await ada.content()).includes(secret), false);
    this.step("a push subscription is made; its secret is shown once");

    await go(ada, "/events");
    await isLive(ada);
    for (const n of [1, 2, 3]) await this.relay.send("orders", `to_be_pushed_${n}`, { data: { id: `o-push-${n}` } });
    await see(ada, "to_be_pushed_3");
    await ada.locator("tr", { hasText: "to_be_pushed_1" }).getByText("failed").waitFor();
    this.step("a live row tells that its push failed");
    const failed = async () => {
      await go(ada, "/deliveries?state=failed");
      return ada.locator('tbody input[name="id"]').count();
    };
    await until("three deliveries to fail", async () => await failed() === 3);
    this.pushed.status = 200;
    await ada.locator('tbody input[name="id"]').first().check();
    await press(ada, "Replay the chosen failed ones");
    await see(ada, "Sent again: 1 delivery");
    await until("the chosen one to arrive", async () => await failed() === 2);
    await go(ada, "/deliveries");
    await ada.locator("form", { hasText: "Plan the replay" }).getByLabel("Subscription").selectOption({ label: "warehouse" });
    await press(ada, "Plan the replay");
    await press(ada, "Replay 2");
    await see(ada, "Sent again: 2 deliveries");
    await until("the others to arrive", async () => {
      await go(ada, "/deliveries?state=delivered");
      return await ada.locator("tbody").getByText("orders #").count() === 3;
    });
    this.step("failed deliveries are replayed: a chosen one, and the rest by a filter after its plan");
  }

  async whyNotMoving() {
    const ada = this.admin;
    await go(ada, this.subscription);
    await press(ada, "Pause");
    await see(ada, "Paused: nothing is sent");
    for (const n of [1, 2]) await this.relay.send("orders", `held_${n}`, {});
    await until("the backlog to be told", async () => {
      await go(ada, "/deliveries");
      return await ada.getByText("the subscription is paused by ada@example.com; 2 owed").count() > 0;
    });
    await go(ada, this.subscription);
    await press(ada, "Resume");
    await until("it to be up to date", async () => {
      await go(ada, this.subscription);
      return await ada.getByText("nothing is owed").count() > 0;
    });
    this.pushed.status = 503;
    await this.relay.send("orders", "not_wanted", {});
    await until("it to fail", async () => {
      await go(ada, "/deliveries?state=failed");
      return await ada.locator('tbody input[name="id"]').count() === 1;
    });
    this.step("a subscription says why it does not move, and moves again");
  }

  async refused() {
    const ada = this.admin;
    const forged = { "X-Hub-Signature-256": `sha256=${"0".repeat(64)}` };
    assert.equal(await this.relay.send("orders", evil, JSON.stringify({ [evil]: evil }), forged), 401);
    await until("the doctor to have looked", async () => {
      await go(ada, "/sources/orders");
      return await ada.getByRole("link", { name: /^Refused request/ }).count() > 0;
    });
    await ada.getByRole("link", { name: /^Refused request/ }).first().click();
    await see(ada, "Why, as far as the doctor can tell");
    this.rejected = new URL(ada.url()).pathname;
    assert.equal(await ada.locator('img[src="x"]').count(), 0);
    this.step("a refused request is shown with the doctor's explanation");
  }

  async audit() {
    const ada = this.admin;
    const actions = ["user.create", "invite.create", "invite.consume", "session.create", "push.create", "event.replay_to_listeners",
      "delivery.replay_many", "push.paused", "push.active"];
    for (const action of actions) {
      await go(ada, `/audit?action=${action}`);
      assert.ok(await ada.locator("tbody").getByText(action).count() > 0, `the audit has no ${action}`);
    }
    await go(ada, "/audit?action=event.");
    assert.ok(await ada.locator("tbody").getByText("ada@example.com").count() > 0, "who replayed");
    this.step("the audit has all of it");
  }

  async strangers() {
    const ada = this.admin;
    await this.relay.send("orders", evil, { text: evil, [evil]: 1 }, { "X-Long": "v".repeat(400), "X-Stranger": evil });
    await go(ada, "/events");
    await see(ada, "onerror");
    await rows(ada).first().click();
    await see(ada, "Verification");
    this.event = new URL(ada.url()).pathname;
    assert.equal(await ada.locator('img[src="x"]').count(), 0);
    assert.equal(await ada.locator("main script").count(), 0);
    await ada.getByRole("link", { name: "Hex", exact: true }).click();
    await see(ada, "00000000");
    this.step("a stranger's markup is shown and does nothing");
  }

  async withoutScript() {
    const plain = await person({ javaScriptEnabled: false });
    await go(plain, "/events?source=orders&type=arrived_live");
    await signIn(plain, "bob@example.com");
    await see(plain, "arrived_live");
    assert.equal(await rows(plain).count(), 1);
    await rows(plain).first().click();
    await press(plain, "Replay to listeners");
    await see(plain, "Sent again");
    await plain.context().close();
    this.step("signing in, filtering, reading and replaying need no script");
  }

  async byKeyboard() {
    const ada = this.admin;
    await go(ada, "/events");
    await ada.keyboard.press("Tab");
    assert.equal(await ada.evaluate(() => document.activeElement.textContent), "Skip to content");
    await ada.keyboard.press("Enter");
    await ada.keyboard.press("Tab");
    assert.equal(await ada.evaluate(() => document.activeElement.name), "q");
    const outline = await ada.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, "solid");
    await ada.keyboard.type("arrived_live");
    await ada.keyboard.press("Enter");
    await ada.waitForURL(/q=arrived_live/);
    await see(ada, "arrived_live");
    this.step("the keyboard alone skips to the content, searches, and shows where it is");
  }
}
