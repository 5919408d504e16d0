// node dev.mjs FOLDER CAREEN [PORT]: serves a built dashboard from FOLDER, and everything else from a running careen,
// whose content security policy it keeps.
import {readFile} from "node:fs/promises";
import {createServer, request} from "node:http";
import {basename, extname, join} from "node:path";

const TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml"};
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const [folder, careen, port = "8090"] = process.argv.slice(2);
if (!folder || !careen) {
  console.error("usage: node dev.mjs FOLDER http://127.0.0.1:8080 [PORT]");
  process.exit(2);
}

function passOn(incoming, outgoing) {
  const asked = request(new URL(incoming.url, careen), {method: incoming.method, headers: incoming.headers}, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  outgoing.on("close", () => asked.destroy());
  asked.on("error", (error) => {
    if (!outgoing.headersSent) outgoing.writeHead(502);
    outgoing.end(`${careen}: ${error.message}\n`);
  });
  incoming.pipe(asked);
}

createServer(async (incoming, outgoing) => {
  const {pathname} = new URL(incoming.url, "http://dev");
  const name = pathname === "/" ? "index.html" : basename(pathname);
  const body = pathname.split("/").length > 2 ? null : await readFile(join(folder, name)).catch(() => null);
  if (!body) return passOn(incoming, outgoing);
  outgoing.writeHead(200, {"Content-Type": TYPES[extname(name)] ?? "text/plain", "Content-Security-Policy": POLICY});
  outgoing.end(body);
}).listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
