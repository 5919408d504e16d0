// Cases in a real browser. Each has a page of its own; in addition to its assertions it fails on an error in the
// console, a breach of the page's content security policy, and a request to any other host.
import {existsSync} from "node:fs";
import {createRequire} from "node:module";
import {delimiter, join} from "node:path";

const LONGEST_WAIT = 30_000;

export function demand(condition, message) {
  if (!condition) throw new Error(message);
}

export function same(found, wanted, what) {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  demand(left === right, `${what}: found ${left}, wanted ${right}`);
}

// Asks until the answer is true, and returns it.
export async function until(ask, what, longest = LONGEST_WAIT) {
  const end = performance.now() + longest;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`after ${longest / 1000} s still waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

export function setting(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; ctest sets it`);
  return value;
}

function browserPath() {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
      if (existsSync(join(folder, name))) return join(folder, name);
    }
  }
  throw new Error("no chromium is found on the PATH; tools/deps test installs it");
}

export async function openBrowser() {
  const {chromium} = createRequire(join(setting("CAREEN_BROWSER_PACKAGES"), "/"))("playwright-core");
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({executablePath: browserPath(), args});
}

export class Visit {
  constructor(page, context) {
    this.page = page;
    this.context = context;
    this.complaints = [];
    this.hosts = new Set();
    this.tolerated = [];
    this.ended = false;
  }

  static async begin(browser, {width = 1400, height = 900, colorScheme = "light", reducedMotion = "reduce"} = {}) {
    const context = await browser.newContext({viewport: {width, height}, colorScheme, reducedMotion});
    const page = await context.newPage();
    page.setDefaultTimeout(LONGEST_WAIT);
    const visit = new Visit(page, context);
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") visit.complaints.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => visit.complaints.push(`exception: ${error.message}`));
    page.on("request", (request) => visit.hosts.add(new URL(request.url()).host));
    await page.addInitScript(() => {
      globalThis.breaches = [];
      document.addEventListener("securitypolicyviolation", (event) => {
        globalThis.breaches.push(`${event.violatedDirective}: ${event.blockedURI}`);
      });
    });
    return visit;
  }

  // Opens the address and waits until the page is live.
  async open(address, hash = "") {
    this.host = new URL(address).host;
    await this.page.goto(address + hash);
    await this.live();
  }

  async live() {
    await this.page.waitForSelector(".light.good");
  }

  async go(hash, selector) {
    await this.page.evaluate((to) => {
      location.hash = to;
    }, hash);
    await this.page.waitForSelector(selector);
  }

  texts(selector) {
    return this.page.locator(selector).allTextContents();
  }

  // The browser's own words about a server that refuses or is gone are no defect of the page.
  tolerate(pattern) {
    this.tolerated.push(pattern);
  }

  // Looks back at the whole visit. A second time is nothing: a case may end it before it ends the server.
  async end() {
    if (this.ended) return;
    this.ended = true;
    const breaches = await this.page.evaluate(() => globalThis.breaches ?? []).catch(() => []);
    await this.context.close();
    same(breaches, [], "breaches of the content security policy");
    same(this.complaints.filter((text) => !this.tolerated.some((pattern) => pattern.test(text))), [], "complaints");
    if (this.host) same([...this.hosts], [this.host], "hosts that were asked");
  }
}

// Runs the cases one after the other; how many failed.
export async function runCases(browser, cases, only) {
  let failures = 0;
  for (const [name, options, body] of cases) {
    if (only && !name.includes(only)) continue;
    const begun = performance.now();
    let visit;
    try {
      visit = await Visit.begin(browser, options);
      await body(visit);
      await visit.end();
      console.log(`ok    ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failures += 1;
      console.log(`FAIL  ${name}\n      ${error.message.replaceAll("\n", "\n      ")}`);
      for (const complaint of visit?.complaints ?? []) console.log(`      ${complaint}`);
      await visit?.context.close().catch(() => undefined);
    }
  }
  return failures;
}
