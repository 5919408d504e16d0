// The page on the real careen: the whole way from an object in the cluster to what a person sees.
import {Careen, Hub} from "./careen.mjs";
import {demand, same, until} from "./harness.mjs";

// One for all cases, started by the first that needs it; if it does not start they all say why.
let starting = null;

export async function closeCareen() {
  const careen = await starting?.catch(() => null);
  await careen?.stop();
}

const onCareen = (body) => async (visit) => {
  starting ??= Careen.start();
  await body(visit, await starting);
};

const PROFILE = {"cloud.sap/maintenance-profile": "reboot"};
const WANTED = {...PROFILE, "example.com/reboot": "yes"};

async function loads(visit, {address}) {
  await visit.open(address);
  same(await visit.page.locator("a.cell").count(), 60, "cells");
  same(await visit.page.locator(".group").count(), 3, "zones");
  for (const [hash, selector] of [["#/nodes", ".table"], ["#/budgets", ".sections"], ["#/drains", ".sections"],
    ["#/timeline", ".timeline"]]) {
    await visit.go(hash, selector);
  }
}

async function updatesLive(visit, server) {
  const [name] = await server.nodeNames();
  await visit.open(server.address);
  await server.patchNode(name, {labels: WANTED});
  await visit.page.waitForSelector(`a.cell.s-in-maintenance[data-node="${name}"]`);
  await visit.page.getByLabel("Latest events").getByText(name).first().waitFor();
  await visit.go("#/budgets", ".budget");
  const gauge = visit.page.getByRole("article", {name: "few_at_once"});
  await gauge.getByText("1 of 2 used").waitFor();
  await gauge.getByRole("link", {name, exact: true}).waitFor();
}

async function showsReasons(visit, server) {
  const names = (await server.nodeNames()).slice(0, 3);
  await visit.open(server.address);
  for (const name of names) {
    await server.patchNode(name, {labels: WANTED});
    const cell = name === names[2] ? "maintenance-required" : "in-maintenance";
    await visit.page.waitForSelector(`a.cell.s-${cell}[data-node="${name}"]`);
  }
  await visit.page.click(`a.cell[data-node="${names[2]}"]`);
  const part = visit.page.getByLabel("reboot: transition to in maintenance");
  const marked = part.locator(".decides > .why-line > .why-text");
  const reasons = await until(async () => {
    const texts = await marked.allTextContents();
    return texts.some((text) => text.includes(names[0]) && text.includes(names[1])) && texts;
  }, "the limit with those who hold it, marked");
  same(reasons.length, 1, `marked reasons (${reasons.join(" | ")})`);
  same(await part.locator(".v-yes").count() > 0, true, "the check that passes is shown");
  // A place becomes free, and the page tells it without being asked.
  await server.patchNode(names[0], {labels: {"example.com/reboot": null}});
  await visit.page.waitForSelector(".node-head .badge.s-in-maintenance");
  await visit.page.waitForSelector(".stations .here.s-in-maintenance");
}

async function showsMaintenance(visit, server) {
  const name = (await server.nodeNames())[9];
  await visit.open(server.address);
  await server.maintain("disk-swap", name, "swap <b>the</b> disk");
  await visit.page.waitForSelector(`a.cell:is(.s-draining, .s-in-maintenance)[data-node="${name}"]`);
  await visit.go("#/drains", ".maintenance");
  await visit.page.getByText("swap <b>the</b> disk").waitFor();
  await visit.go(`#/nodes/${name}`, ".story");
  await visit.page.getByText("nodemaintenance/disk-swap").first().waitFor();
}

async function plans(visit, server) {
  await visit.open(server.address, "#/upcoming");
  await visit.page.getByText(/The next 24 hours, planned/).waitFor();
}

async function survivesRestart(visit, server) {
  visit.tolerate(/ERR_|Failed to load/);
  const name = (await server.nodeNames())[5];
  await visit.open(server.address);
  await server.stopReplica();
  await visit.page.getByText("Not connected:").waitFor();
  same(await visit.page.locator("a.cell").count(), 60, "cells that stay");
  await server.startReplica();
  await visit.live();
  await server.patchNode(name, {labels: {...WANTED, "example.com/reboot": "yes"}});
  await visit.page.waitForSelector(`a.cell:is(.s-in-maintenance, .s-maintenance-required)[data-node="${name}"]`);
}

async function showsMarkup(visit, server) {
  const name = (await server.nodeNames())[7];
  const markup = "<b id='injected'>x</b>";
  await server.patchNode(name, {labels: PROFILE, annotations: {"cloud.sap/maintenance-data": markup}});
  await visit.open(server.address, `#/nodes/${name}`);
  await visit.page.waitForSelector(".story");
  same(await visit.page.locator("#injected").count(), 0, "elements made of an annotation");
}

async function goesByKeyboard(visit, {address}) {
  const {page} = visit;
  await visit.open(address);
  await page.keyboard.press("/");
  await page.keyboard.type("zone");
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-node") ?? "");
  for (let presses = 0; presses < 20 && !(await focused()); ++presses) await page.keyboard.press("Tab");
  const name = await focused();
  demand(name !== "", "Tab does not reach the map");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".story");
  same(await page.textContent("h1"), name, "page");
}

async function showsHub(visit) {
  const {page} = visit;
  const hub = await Hub.start();
  try {
    await visit.open(hub.address);
    const rows = page.locator(".clusters tbody tr");
    for (const name of ["fleet/eu-1", "fleet/us-1"]) {
      await rows.filter({hasText: name}).filter({hasText: "Connected"}).locator("td.number", {hasText: /^24$/}).first().waitFor();
    }
    await page.getByRole("link", {name: "fleet/us-1"}).click();
    await page.waitForSelector("a.cell.s-in-maintenance");
    same(await page.locator("a.cell").count(), 24, "cells");
    await page.click("a.cell.s-maintenance-required");
    await page.waitForSelector(".why-tree");
    await page.getByRole("link", {name: "Upcoming"}).click();
    await page.getByText(/The next 24 hours, planned/).waitFor();
    demand(await page.locator(".gantt .planned").count() > 5, "hardly anything is planned");
    await page.getByRole("combobox", {name: "Cluster", exact: true}).selectOption("fleet/eu-1");
    await page.getByText(/The next 24 hours, planned/).waitFor();
    same(new URL(page.url()).hash, "#/upcoming?cluster=fleet/eu-1", "address");
    await visit.end();
  } finally {
    await hub.stop();
  }
}

export const careenCases = [
  ["careen: loads", {}, onCareen(loads)],
  ["careen: updates live", {}, onCareen(updatesLive)],
  ["careen: shows the reasons of a blocked node", {}, onCareen(showsReasons)],
  ["careen: shows a NodeMaintenance", {}, onCareen(showsMaintenance)],
  ["careen: plans the next hours", {}, onCareen(plans)],
  ["careen: survives a restart", {}, onCareen(survivesRestart)],
  ["careen: shows markup as text", {}, onCareen(showsMarkup)],
  ["careen: goes by keyboard", {}, onCareen(goesByKeyboard)],
  ["careen: shows the clusters of a hub", {}, showsHub],
];
