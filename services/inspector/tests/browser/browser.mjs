// Browsers with somebody in them, and what a person does with a page. What no page may do is noted as noise.
import { chromium } from "playwright-core";

export const noise = [];
const password = "a long walk on the beach";
let browser;
let base;

export async function open(address) {
  base = address;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
}

export const close = () => browser?.close();

/** A browser of its own. An alert can only come from a stranger's bytes; the page's own questions are answered yes. */
export async function person(options = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  page.on("dialog", (dialog) => {
    if (dialog.type() === "alert") noise.push(`alert: ${dialog.message()}`);
    dialog.accept();
  });
  page.on("pageerror", (error) => noise.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) noise.push(`console: ${message.text()}`);
  });
  return page;
}

/** Goes to a path; the status. */
export async function go(on, path) {
  const answer = await on.goto(base + path, { waitUntil: "domcontentloaded" });
  return answer.status();
}

export const press = (on, name) => on.getByRole("button", { name, exact: true }).first().click();
export const see = (on, text) => on.getByText(text).filter({ visible: true }).first().waitFor();
/** Rows of the list that lead to an event. */
export const rows = (on) => on.locator('tbody td.first a[href^="/events/"]');
export const isLive = (on) => on.locator("#live-state[data-on]").waitFor();

export async function signUp(on, link, email, name) {
  await on.goto(link);
  await on.getByLabel("Email").fill(email);
  await on.getByLabel("Name").fill(name);
  await on.getByLabel(/^Password/).fill(password);
  await press(on, "Make the account");
  await on.getByRole("heading", { name: "Overview" }).waitFor();
}

export async function signIn(on, email) {
  await on.getByLabel("Email").fill(email);
  await on.getByLabel("Password").fill(password);
  await press(on, "Sign in");
}
