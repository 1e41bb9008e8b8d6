// A whole relay of real processes in a folder of its own, and receivers to send to.
import { spawn, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const bin = process.env.HOOKS_BIN;

const config = `sources:
  orders: {verifier: github, secret: walk-secret-of-orders}
  billing: {verifier: github, secret: walk-secret-of-billing}
push:
  allow_destinations: [loopback]
  retry: {schedule: [1s]}
`;

/** Asks until there is an answer; says what it waited for when there is none. */
export async function until(what, probe, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** A server that keeps what it gets and answers with `status`. */
export async function receiver(status) {
  const got = [];
  const self = { got, status };
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      got.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(self.status).end();
    });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  self.url = `http://127.0.0.1:${server.address().port}/hook`;
  self.stop = () => { server.closeAllConnections(); server.close(); };
  return self;
}

export class Relay {
  folder = mkdtempSync(join(tmpdir(), "hooks-walk-"));
  log = "";
  sent = 0;
  children = [];

  async start() {
    writeFileSync(join(this.folder, "hooks.yaml"), config);
    this.dev = this.spawn(["dev", "--ports", "0"], (text) => { this.log += text; });
    await until("the relay to run", () => {
      if (this.dev.exitCode !== null) throw new Error(`dev ended:\n${this.log}`);
      return this.log.includes("The relay is running");
    }, 90);
    const url = (name) => this.log.match(new RegExp(`^ +${name} +(http://localhost:[0-9]+)`, "m"))[1];
    this.inspector = url("inspector");
    this.ingest = url("ingest");
    const places = readFileSync(join(this.folder, ".hooks/urls"), "utf8");
    this.database = places.match(/^database (\S+)/m)[1];
  }

  /** Runs hooksctl to its end; what it printed. */
  run(...args) {
    const env = { ...process.env, HOOKS_DATABASE_URL: this.database, HOOKS_INSPECTOR: this.inspector };
    const done = spawnSync(join(bin, "hooksctl"), args, { cwd: this.folder, encoding: "utf8", env });
    if (done.status !== 0) throw new Error(`hooksctl ${args.join(" ")}: ${done.stdout}${done.stderr}`);
    return done.stdout.trim();
  }

  /** Runs SQL as the database's owner: for a history that a walk of two minutes cannot have. */
  sql(text) {
    const args = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, this.database];
    const done = spawnSync("psql", args, { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`psql: ${done.stderr}`);
  }

  spawn(args, hear = () => {}) {
    const child = spawn(join(bin, "hooksctl"), args, { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (data) => hear(String(data)));
    child.stderr.on("data", (data) => hear(String(data)));
    this.children.push(child);
    return child;
  }

  /** Sends an event as a provider does: signed, to ingest. Gives the status. */
  async send(source, type, body, headers = {}) {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const signature = createHmac("sha256", `walk-secret-of-${source}`).update(bytes).digest("hex");
    this.sent += 1;
    const answer = await fetch(`${this.ingest}/ingest/${source}`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-GitHub-Event": type,
        "X-GitHub-Delivery": `walk-${this.sent}`,
        "X-Hub-Signature-256": `sha256=${signature}`,
        ...headers,
      },
      body: bytes,
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** Ends what was started here, and takes the data away. */
  async stop() {
    let data;
    try { data = readlinkSync(join(this.folder, ".hooks/pg")); } catch { /* not a link, or never made */ }
    for (const child of this.children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGINT");
      await Promise.race([ended, new Promise((done) => setTimeout(done, 20_000))]);
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    }
    if (data && dirname(data).startsWith("/var/lib/hooks-dev/")) rmSync(dirname(data), { recursive: true, force: true });
    rmSync(this.folder, { recursive: true, force: true });
  }
}
