// node embed.mjs FOLDER OUTPUT: writes the files of FOLDER as C++ that implements src/web/dashboard_files.h.
import {createHash} from "node:crypto";
import {readFileSync, readdirSync, writeFileSync} from "node:fs";
import {extname, join} from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const LINE = 100;

// Lines of a string literal. What is not plain ASCII becomes three octal digits, after which no digit can be mistaken.
function literal(bytes) {
  const lines = [];
  let line = "";
  for (const byte of bytes) {
    const plain = byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 && byte !== 63;
    line += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
    if (line.length < LINE) continue;
    lines.push(line);
    line = "";
  }
  lines.push(line);
  return lines.map((text) => `     "${text}"`).join("\n");
}

const [folder, output] = process.argv.slice(2);
const entries = readdirSync(folder).sort().map((name) => {
  const body = readFileSync(join(folder, name));
  const type = TYPES[extname(name)];
  if (!type) throw new Error(`${name}: no content type is known for such a file`);
  const etag = createHash("sha256").update(body).digest("hex").slice(0, 16);
  return `    {"${name}", "${type}",\n${literal(body)}sv,\n     "\\"${etag}\\""},\n`;
});
writeFileSync(output, `// Made by cmake/embed.mjs.
#include "web/dashboard_files.h"

// The standard asks for room for 65536 characters; compilers have much more.
#pragma clang diagnostic ignored "-Woverlength-strings"

namespace careen::web {

using namespace std::literals;

namespace {

constexpr DashboardFile kFiles[] = {
${entries.join("")}};

}  // namespace

std::span<const DashboardFile> dashboard_files() { return kFiles; }

}  // namespace careen::web
`);
