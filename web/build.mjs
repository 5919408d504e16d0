// Builds the dashboard: node build.mjs [OUTPUT [--dev]]. Checks the types, then bundles src/ into OUTPUT (default
// ./out): index.html, app.js, app.css and icon.svg. With --dev it keeps names and lines readable.
import {spawnSync} from "node:child_process";
import {copyFileSync, mkdirSync, readFileSync, statSync} from "node:fs";
import {createRequire} from "node:module";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";

import {build} from "esbuild";

// What one visit may cost; the dashboard is opened over slow lines, too.
const LARGEST_SCRIPT = 100 * 1024;

const here = dirname(fileURLToPath(import.meta.url));
const dev = process.argv.includes("--dev");
const output = resolve(process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? join(here, "out"));

const {resolve: find} = createRequire(import.meta.url);
const compiler = find("typescript/bin/tsc");
const types = spawnSync(process.execPath, [compiler, "--noEmit", "-p", here], {stdio: "inherit"});
if (types.status !== 0) process.exit(types.status ?? 1);

// Preact becomes part of the script, and its license must come with it.
const license = readFileSync(join(dirname(find("preact/package.json")), "LICENSE"), "utf8");

mkdirSync(output, {recursive: true});
await build({
  absWorkingDir: here,
  entryPoints: {app: "src/main.tsx"},
  outdir: output,
  bundle: true,
  minify: !dev,
  sourcemap: dev ? "inline" : false,
  format: "iife",
  target: ["es2021"],
  jsx: "automatic",
  jsxImportSource: "preact",
  banner: {js: `/*! Contains Preact.\n${license}*/`},
  logLevel: "warning",
});
for (const file of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", file), join(output, file));

const size = statSync(join(output, "app.js")).size;
console.log(`app.js: ${(size / 1024).toFixed(1)} KB`);
if (!dev && size > LARGEST_SCRIPT) {
  console.error(`app.js is larger than ${LARGEST_SCRIPT} bytes`);
  process.exit(1);
}
