// What the page does with a server that is large, hostile, refusing or gone.
import {blockedStory, fleet, hubFleet, nodeRow, plan} from "./documents.mjs";
import {Double} from "./double.mjs";
import {demand, same, setting, until} from "./harness.mjs";

const LEAST_CONTRAST = 4.5;
const VIEWS = [["#/", ".map"], ["#/nodes", ".table"], ["#/budgets", ".budget"], ["#/drains", ".drain"], ["#/timeline", ".entries"],
  ["#/nodes/node-0045", ".why-tree"], ["#/upcoming", ".gantt"]];

const HUB_VIEWS = [["#/", ".clusters"], ["#/clusters?cluster=fleet/eu-1", ".clusters"], ["#/?cluster=fleet/eu-1", ".map"],
  ["#/nodes/node-0012?cluster=fleet/eu-1", ".why-tree"]];

function double(options = {}) {
  return new Double({site: setting("CAREEN_DASHBOARD"), fleet: fleet(options.size ?? 100), story: blockedStory, plan: () => plan(40),
    ...options});
}

// The case with a double for as long as it lasts.
function withDouble(options, body) {
  return async (visit) => {
    const server = double(options());
    const address = await server.start();
    try {
      await body(visit, server, address);
      await visit.end();
    } finally {
      await server.stop();
    }
  };
}

// How long the page's script works on a text typed into the filter: the least of several, as others use the machine, too.
async function filterTime(page, words) {
  return page.evaluate(async (texts) => {
    const input = document.getElementById("filter");
    const taken = [];
    for (const text of texts) {
      const begun = performance.now();
      input.value = text;
      input.dispatchEvent(new Event("input", {bubbles: true}));
      // The page draws in a microtask; a message comes after all of them.
      await new Promise((resolve) => {
        const {port1, port2} = new MessageChannel();
        port1.onmessage = resolve;
        port2.postMessage(null);
      });
      taken.push(performance.now() - begun);
    }
    return Math.min(...taken);
  }, words);
}

async function filtersThousands(visit, server, address) {
  await visit.open(address, "#/nodes");
  const drawn = await visit.page.locator(".row a.name").count();
  demand(drawn > 10 && drawn < 120, `${drawn} rows are drawn of 5000`);
  const table = await filterTime(visit.page, ["node-12", "draining", "eu-1b", "node-4", "maxMaintenance"]);
  await visit.page.fill("#filter", "node-4999");
  same(await visit.texts(".row a.name"), ["node-4999"], "rows");
  same(await visit.texts(".shown"), ["1 of 5000"], "count");
  await visit.page.fill("#filter", "topology.kubernetes.io/zone=eu-1a is:cordoned");
  const wanted = server.fleet.nodes.filter((row) => row.labels["topology.kubernetes.io/zone"] === "eu-1a" && row.cordoned).length;
  same(await visit.texts(".shown"), [`${wanted} of 5000`], "count");
  await visit.go("#/", ".map");
  const map = await filterTime(visit.page, ["node-12", "node-13", "eu-1b", "node-4"]);
  console.log(`      5000 nodes: ${table.toFixed(1)} ms in the table, ${map.toFixed(1)} ms on the map`);
}

async function scrolls(visit, server, address) {
  await visit.open(address, "#/nodes?group=-");
  await visit.page.evaluate(() => document.querySelector(".scroller").scrollTo(0, 1e9));
  await visit.page.waitForSelector('a[href="#/nodes/node-4999"]');
}

const MARKUP = `<img src="x" onerror="document.title='broken in'"><b id="injected">bold</b>`;

function hostileFleet() {
  const hostile = fleet(20);
  const row = hostile.nodes[3];
  row.labels = {"topology.kubernetes.io/zone": MARKUP};
  row.profiles = [{name: MARKUP, state: "maintenance-required", waits: MARKUP}];
  row.holds = [MARKUP];
  hostile.profiles.push({name: MARKUP, states: {"operational": 0, "maintenance-required": 1, "in-maintenance": 0}});
  hostile.pauses = [{by: MARKUP, since: hostile.time, reason: MARKUP}];
  hostile.problems = [{name: MARKUP, message: MARKUP, since: hostile.time}];
  hostile.budgets[0].name = hostile.budgets[0].scope = MARKUP;
  hostile.budgets[0].holders = [MARKUP];
  Object.assign(hostile.limits.groups[0], {limit: MARKUP, name: MARKUP, mode: MARKUP, mistake: MARKUP, values: [MARKUP],
    overshoot: [{node: MARKUP, actor: MARKUP}]});
  Object.assign(hostile.limits.groups[0].usedBy[0], {actor: MARKUP, nodes: [{node: MARKUP, what: MARKUP}]});
  Object.assign(hostile.limits.queue[0], {node: MARKUP, who: MARKUP, actor: MARKUP, rank: MARKUP, limits: [MARKUP]});
  Object.assign(hostile.claims.first[0], {who: MARKUP, node: MARKUP, budgets: [MARKUP]});
  hostile.hub = [MARKUP];
  hostile.clusters = [{name: MARKUP, phase: "Failing", since: hostile.time, nodes: 1, machines: {}, error: MARKUP,
    busy: [{name: MARKUP, phase: MARKUP, node: MARKUP}]}];
  hostile.timeline = [{time: hostile.time, kind: "error", node: row.name, text: MARKUP}];
  Object.assign(hostile.drains[0], {owner: MARKUP, errors: [MARKUP]});
  Object.assign(hostile.drains[0].pods[0], {name: MARKUP, reason: MARKUP, budget: MARKUP});
  return hostile;
}

function hostileStory(name) {
  const story = blockedStory(name);
  story.labels = {[MARKUP]: MARKUP};
  story.taints = [MARKUP];
  story.limits = [{verdict: "no", text: MARKUP, children: [{verdict: "note", text: MARKUP}]}];
  Object.assign(story.profiles[0], {summary: MARKUP, error: MARKUP});
  story.profiles[0].transitions[0].why = {verdict: "no", text: MARKUP};
  return story;
}

async function showsMarkupAsText(visit, _server, address) {
  await visit.open(address);
  for (const [hash, selector] of [...VIEWS, ["#/clusters", ".clusters"]]) {
    await visit.go(hash, selector);
    same(await visit.page.locator("#injected, main img").count(), 0, `elements made of text in ${hash}`);
    demand((await visit.page.textContent("main")).includes(MARKUP), `${hash} does not show the text`);
  }
  demand(!(await visit.page.title()).includes("broken in"), "the markup ran");
}

async function asksForToken(visit, server, address) {
  visit.tolerate(/status of 401/);
  await visit.page.goto(address);
  const input = visit.page.getByLabel("Bearer token");
  await input.fill("wrong");
  await visit.page.keyboard.press("Enter");
  await visit.page.getByText("The token was refused").waitFor();
  await input.fill("right");
  await visit.page.keyboard.press("Enter");
  await visit.live();
  same(await visit.page.locator("[role=dialog]").count(), 0, "dialogs");
  await visit.page.reload();
  await visit.live();
  same(await visit.page.evaluate(() => JSON.stringify(localStorage)), "{}", "what is kept beyond this tab");
  await visit.go("#/nodes/node-0045", ".why-tree");
}

async function saysForbidden(visit, _server, address) {
  visit.tolerate(/status of 403/);
  await visit.page.goto(address);
  await visit.page.getByText("ana may not get nodes").waitFor();
}

async function survivesRestart(visit, server, address) {
  visit.tolerate(/ERR_|Failed to load/);
  await visit.open(address);
  await server.stop();
  await visit.page.getByText("Not connected:").waitFor();
  same(await visit.page.locator("a.cell").count(), 100, "cells that stay");
  server.fleet = fleet(90);
  await server.start(server.port);
  await visit.live();
  same(await visit.page.getByText("Not connected:").count(), 0, "banners");
  same(await visit.page.locator("a.cell").count(), 90, "cells of the new beginning");
}

async function takesChanges(visit, server, address) {
  await visit.open(address);
  const changed = {...nodeRow(0), cell: "failing", profiles: [{name: "os-update", state: "operational", error: "it broke"}]};
  server.tell({nodes: [changed], gone: ["node-0001"], timeline: [{time: server.fleet.time, kind: "error", node: "node-0000", text: "it broke"}],
    pauses: [{profile: "os-update", by: "ana@bastion", since: server.fleet.time, reason: "broken images"}]});
  await visit.page.waitForSelector("a.cell.s-failing[data-node=node-0000]");
  same(await visit.page.locator("a.cell").count(), 99, "cells");
  await visit.page.getByText("Profile os-update is paused").waitFor();
  server.tell({careen: {...server.fleet.careen, leading: false, holder: ""}});
  await visit.page.getByText("Nobody leads").waitFor();
  server.tell({nodes: [nodeRow(100)]});
  await visit.page.waitForSelector("a.cell[data-node=node-0100]");
}

async function marksDecidingLeaves(visit, _server, address) {
  await visit.open(address, "#/nodes/node-0045");
  const part = visit.page.getByLabel("os-update: transition to in maintenance");
  same(await part.locator(".decides > .why-line > .why-text").allTextContents(),
    ["maxMaintenance(3): 3 of 3 nodes are in maintenance: node-0011, node-0012, node-0030",
      "anyLabel: the node has no label careen.example/urgent"], "marked reasons");
  const back = visit.page.getByLabel("os-update: transition to operational");
  same(await back.locator(".decides > .why-line > .why-text").allTextContents(), ["!needs_update"], "marked reasons");
  await part.getByText("cordon and drain the node").waitFor();
  await visit.page.getByText(/Can next change by itself at/).waitFor();
}

async function asksAgainForPlan(visit, server, address) {
  let asked = 0;
  server.plan = () => plan(asked < 1 ? 3 : 7, asked++ > 0);
  await visit.open(address, "#/upcoming");
  await visit.page.getByText("Still planning: 3 rows so far").waitFor();
  await visit.page.getByText("The next 24 hours, planned").waitFor();
  same(await visit.page.locator(".gantt .planned").count(), 7, "bars");
  await visit.page.getByText("approvals are given as soon as they are asked for").waitFor();
  await visit.page.getByText("check prometheus fails").waitFor();
}

async function fitsPhone(visit, server, address) {
  await visit.open(address);
  for (const [hash, selector] of server.fleet.hub ? HUB_VIEWS : VIEWS) {
    await visit.go(hash, selector);
    const wide = await visit.page.evaluate(() => [document.documentElement, ...document.querySelectorAll("main, header.top")]
      .some((element) => element.scrollWidth > element.clientWidth));
    demand(!wide, `${hash} is wider than the screen`);
  }
}

// The least contrast of a text with what is behind it, and that text. Gradients and pictures are passed over.
function leastContrast() {
  const channels = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([red, green, blue]) => [red, green, blue].map((value) => value / 255)
    .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none") return null;
      const colour = channels(style.backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  let least = [21, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("option, .unseen, noscript")) continue;
    const behind = ground(element);
    if (!behind) continue;
    const [one, other] = [light(channels(getComputedStyle(element).color)), light(behind)];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < least[0]) least = [contrast, walker.currentNode.data];
  }
  return least;
}

// What somebody who does not see the page would stumble over: controls without a name, ids that stand for two things.
function unnamed() {
  const name = (element) => element.getAttribute("aria-label") || element.textContent.trim() ||
    [...(element.labels ?? [])].map((label) => label.textContent.trim()).join("");
  const found = [...document.querySelectorAll("a, button, input, select, [role=progressbar], [role=meter], [role=table]")]
    .filter((element) => !name(element)).map((element) => `${element.outerHTML.slice(0, 80)} has no name`);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  return [...found, ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${id} is the id of several`)];
}

async function isAccessible(visit, server, address) {
  await visit.open(address);
  for (const [hash, selector] of server.fleet.hub ? HUB_VIEWS : VIEWS) {
    await visit.go(hash, selector);
    same(await visit.page.evaluate(unnamed), [], hash);
    const [contrast, text] = await visit.page.evaluate(leastContrast);
    demand(contrast >= LEAST_CONTRAST, `${hash}: "${text}" has a contrast of ${contrast.toFixed(2)}`);
  }
}

async function changesColours(visit, _server, address) {
  await visit.open(address);
  const ground = () => visit.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const system = await ground();
  await visit.page.getByRole("button", {name: /Colours: system/}).click();
  same(await ground(), system, "colours of a light system that are set to light");
  await visit.page.getByRole("button", {name: /Colours: light/}).click();
  const dark = await ground();
  demand(dark !== system, "dark is as light");
  await visit.page.reload();
  await visit.live();
  same(await ground(), dark, "colours after a reload");
}

async function goesByKeyboard(visit, _server, address) {
  const {page} = visit;
  await visit.open(address);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-node") ?? "");
  for (let presses = 0; presses < 40 && !(await focused()); ++presses) await page.keyboard.press("Tab");
  same(await focused(), "node-0000", "cell reached by Tab");
  await page.keyboard.press("ArrowRight");
  same(await focused(), "node-0003", "cell to the right");
  await page.waitForSelector(".tooltip");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  same(await focused(), "node-0003", "cell after down and up");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".why-tree");
  same(await page.textContent("h1"), "node-0003", "page");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".map");
  await page.keyboard.press("/");
  same(await page.evaluate(() => document.activeElement?.id), "filter", "where / leads");
  await page.keyboard.type("node-0007");
  same(await page.locator("a.cell:not(.dimmed)").count(), 1, "lit cells");
  await page.keyboard.press("Escape");
  same(await page.locator("a.cell.dimmed").count(), 0, "dimmed cells");
  await page.goBack();
}

async function carriesClock(visit, server, address) {
  await visit.open(address);
  const shown = async () => {
    const [hours, minutes, seconds] = /(\d+):(\d+):(\d+)/.exec(await visit.page.textContent(".now")).slice(1).map(Number);
    return hours * 3600 + minutes * 60 + seconds;
  };
  const begin = await shown();
  await until(async () => ((await shown()) - begin + 86400) % 86400 > 600, "ten minutes on a clock that is 600 times as fast");
}

// Which documents of a cluster were asked for since the last time.
function askedOf(server, cluster) {
  return server.asked.splice(0).filter((url) => new URL(url, "http://double").searchParams.get("cluster") === cluster);
}

async function showsClusters(visit, server, address) {
  const {page} = visit;
  await visit.open(address);
  const rows = page.locator(".clusters tbody tr");
  same(await rows.count(), 4, "clusters");
  await rows.filter({hasText: "fleet/ap-1"}).getByText("the server at 10.0.0.3 does not answer").waitFor();
  same(await rows.filter({hasText: "fleet/eu-1"}).locator("td.number").allTextContents(), ["40", "37", "1", "1", "1"], "its Machines");
  same(await page.getByRole("link", {name: "fleet/ap-1"}).count(), 0, "links to a cluster that nobody looks after");
  // Its change comes on the stream of the cluster that careen runs in.
  server.tell({clusters: server.fleet.clusters.slice(1)});
  await until(async () => (await rows.count()) === 3, "the cluster to go");
  await page.getByRole("link", {name: "node-0012"}).click();
  await page.waitForSelector(".why-tree");
  same(await page.title(), "node-0012 · fleet/eu-1 · careen", "title");
  demand(askedOf(server, "fleet/eu-1").some((url) => url.startsWith("/careen/v1/nodes/node-0012?")), "the story is of another cluster");
}

async function choosesCluster(visit, server, address) {
  const {page} = visit;
  const choice = page.getByRole("combobox", {name: "Cluster", exact: true});
  const cells = async (count) => until(async () => (await page.locator("a.cell").count()) === count, `${count} cells`);
  await visit.open(address);
  same(await choice.locator("option").allTextContents(), ["management", "fleet/eu-1", "fleet/us-1", "fleet/new-1"], "choice");
  await choice.selectOption("fleet/eu-1");
  await cells(40);
  same(new URL(page.url()).hash, "#/?cluster=fleet/eu-1", "address");
  server.tell({nodes: [{...nodeRow(0), cell: "failing"}]}, "fleet/eu-1");
  await page.waitForSelector("a.cell.s-failing[data-node=node-0000]");
  // The view stays when the cluster changes, and the cluster when the view does.
  await page.getByRole("link", {name: "Nodes", exact: true}).click();
  await page.waitForSelector(".table");
  await page.fill("#filter", "node-00");
  await choice.selectOption("fleet/us-1");
  await page.getByText("25 nodes").waitFor();
  await page.getByRole("link", {name: "Upcoming"}).click();
  await page.getByText("The next 24 hours, planned").waitFor();
  demand(askedOf(server, "fleet/us-1").some((url) => url.startsWith("/careen/v1/plan?")), "the plan is of another cluster");
  await page.reload();
  await visit.live();
  same(await choice.inputValue(), "fleet/us-1", "cluster after a reload");
  await page.goBack();
  await page.waitForSelector(".table");
  await choice.selectOption("");
  await page.getByText("The cluster has no nodes.").waitFor();
  same(server.streams.size, 1, "streams when only one cluster is shown");
  // A link to a cluster that is gone says so.
  visit.tolerate(/status of 404/);
  await visit.page.evaluate(() => {
    location.hash = "#/?cluster=fleet/gone";
  });
  await page.getByText("the nodes of cluster fleet/gone are not looked after from here").waitFor();
}

async function hasNoChoiceWithoutHub(visit, _server, address) {
  await visit.open(address);
  same(await visit.page.locator("select.cluster").count(), 0, "choices of a cluster");
  same(await visit.page.getByRole("link", {name: "Clusters"}).count(), 0, "links to clusters");
}

const HUB = () => ({fleet: hubFleet(), workloads: {"fleet/eu-1": fleet(40), "fleet/us-1": fleet(25), "fleet/new-1": fleet(3)}});
const PHONE = {width: 360, height: 740};
export const doubleCases = [
  ["filters 5000 nodes at once", {}, withDouble(() => ({size: 5000}), filtersThousands)],
  ["scrolls through 5000 nodes", {}, withDouble(() => ({size: 5000}), scrolls)],
  ["shows markup as text", {}, withDouble(() => ({fleet: hostileFleet(), story: hostileStory}), showsMarkupAsText)],
  ["asks for a token", {}, withDouble(() => ({token: "right"}), asksForToken)],
  ["says who may not look", {}, withDouble(() => ({forbidden: true}), saysForbidden)],
  ["survives the end of the server", {}, withDouble(() => ({}), survivesRestart)],
  ["takes changes", {}, withDouble(() => ({}), takesChanges)],
  ["marks the reasons that decide", {}, withDouble(() => ({}), marksDecidingLeaves)],
  ["asks again for a plan that is not complete", {}, withDouble(() => ({}), asksAgainForPlan)],
  ["fits a phone", PHONE, withDouble(() => ({}), fitsPhone)],
  ["has names and contrast in light colours", {}, withDouble(() => ({}), isAccessible)],
  ["has names and contrast in dark colours", {colorScheme: "dark"}, withDouble(() => ({}), isAccessible)],
  ["shows the clusters of a hub", {}, withDouble(HUB, showsClusters)],
  ["shows the cluster that is chosen", {}, withDouble(HUB, choosesCluster)],
  ["has no choice of clusters without a hub", {}, withDouble(() => ({}), hasNoChoiceWithoutHub)],
  ["fits a phone with clusters", PHONE, withDouble(HUB, fitsPhone)],
  ["fits a narrow window with clusters", {width: 710, height: 700}, withDouble(HUB, fitsPhone)],
  ["has names and contrast with clusters in light colours", {}, withDouble(HUB, isAccessible)],
  ["has names and contrast with clusters in dark colours", {colorScheme: "dark"}, withDouble(HUB, isAccessible)],
  ["changes its colours", {}, withDouble(() => ({}), changesColours)],
  ["goes by keyboard", {}, withDouble(() => ({}), goesByKeyboard)],
  ["carries a fast clock forward", {}, withDouble(() => {
    const fast = fleet(5);
    fast.careen.speed = 600;
    return {fleet: fast};
  }, carriesClock)],
];
