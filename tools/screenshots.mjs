// Photographs a dashboard: node screenshots.mjs CHROMIUM ADDRESS FOLDER
import {chromium} from "playwright-core";

const [program, address, folder] = process.argv.slice(2);
const pictures = [
  {name: "dashboard", viewport: {width: 1280, height: 800}, colorScheme: "light"},
  {name: "dashboard-dark", viewport: {width: 1280, height: 800}, colorScheme: "dark"},
  {name: "dashboard-phone", viewport: {width: 390, height: 844}, colorScheme: "light"},
];

const browser = await chromium.launch({executablePath: program, args: process.getuid?.() === 0 ? ["--no-sandbox"] : []});
try {
  for (const {name, ...options} of pictures) {
    const page = await browser.newPage({...options, reducedMotion: "reduce"});
    // The stream of events never ends, so "idle" would never come.
    await page.goto(address, {waitUntil: "load"});
    const node = page.getByText("node-9").or(page.getByLabel(/node-9\b/));
    await node.first().waitFor({timeout: 30000, state: "attached"});
    await page.waitForTimeout(1000);
    await page.screenshot({path: `${folder}/${name}.png`});
    await page.close();
  }
} finally {
  await browser.close();
}
