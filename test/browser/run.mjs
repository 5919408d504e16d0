#!/usr/bin/env node
// The dashboard in Chromium: run.mjs [PART OF A CASE'S NAME]. First against a double of the server, then against the
// real careen on a model cluster.
import {careenCases, closeCareen} from "./careen_cases.mjs";
import {doubleCases} from "./double_cases.mjs";
import {openBrowser, runCases} from "./harness.mjs";

const browser = await openBrowser();
let failures;
try {
  failures = await runCases(browser, [...doubleCases, ...careenCases], process.argv[2] ?? "");
} finally {
  await closeCareen();
  await browser.close();
}
console.log(failures === 0 ? "all passed" : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
