// A server that speaks the view API from made-up documents, for what a real careen cannot be brought to do quickly:
// thousands of nodes, names with markup, a refusal, an end and a new beginning on the same port.
import {readFile} from "node:fs/promises";
import {createServer} from "node:http";
import {join} from "node:path";

export const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES = {html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8",
  svg: "image/svg+xml"};

export class Double {
  // `workloads`: of a hub, the fleets of its workload clusters by name.
  constructor({site, fleet, story, plan, token = "", forbidden = false, workloads = {}}) {
    Object.assign(this, {site, fleet, story, plan, token, forbidden, workloads});
    this.streams = new Map();  // to the cluster that each is about
    this.asked = [];
  }

  async start(port = 0) {
    this.server = createServer((request, response) => void this.answer(request, response));
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    this.port = this.server.address().port;
    return `http://127.0.0.1:${this.port}/`;
  }

  async stop() {
    for (const stream of this.streams.keys()) stream.destroy();
    this.streams.clear();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  // Sends a change to all who listen; the fleet of later visitors is up to the caller.
  tell(change, cluster = "") {
    for (const [stream, of] of this.streams) {
      if (of === cluster) stream.write(event("change", {time: new Date().toISOString(), ...change}));
    }
  }

  async answer(request, response) {
    const {pathname, searchParams} = new URL(request.url, "http://double");
    this.asked.push(request.url);
    if (!pathname.startsWith("/careen/")) return this.file(pathname, response);
    if (this.token && request.headers.authorization !== `Bearer ${this.token}`) {
      return json(response, 401, {error: request.headers.authorization ? "the token is not known" : "a bearer token is needed"});
    }
    if (this.forbidden) return json(response, 403, {error: "ana may not get nodes"});
    const cluster = searchParams.get("cluster") ?? "";
    const fleet = cluster ? this.workloads[cluster] : this.fleet;
    if (!fleet) return json(response, 404, {error: `the nodes of cluster ${cluster} are not looked after from here`});
    if (pathname === "/careen/v1/stream") return this.stream(response, fleet, cluster);
    if (pathname === "/careen/v1/fleet") return json(response, 200, fleet);
    if (pathname === "/careen/v1/plan") return json(response, this.plan ? 200 : 503, this.plan?.() ?? {error: "nothing is known yet"});
    if (pathname === "/careen/v1/timeline") return json(response, 200, {timeline: fleet.timeline});
    const name = /^\/careen\/v1\/nodes\/(.+)$/.exec(pathname)?.[1];
    const story = name === undefined ? undefined : this.story?.(decodeURIComponent(name));
    return story ? json(response, 200, story) : json(response, 404, {error: "there is no such node"});
  }

  stream(response, fleet, cluster) {
    response.writeHead(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-store"});
    response.write(event("fleet", fleet));
    this.streams.set(response, cluster);
    response.on("close", () => this.streams.delete(response));
  }

  async file(pathname, response) {
    const name = pathname === "/" ? "index.html" : pathname.slice(1);
    try {
      const body = await readFile(join(this.site, name.replaceAll("/", "")));
      response.writeHead(200, {"Content-Type": TYPES[name.split(".").pop()] ?? "text/plain", "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff"});
      response.end(body);
    } catch {
      response.writeHead(404).end("not found");
    }
  }
}

function event(name, document) {
  return `event: ${name}\ndata: ${JSON.stringify(document)}\n\n`;
}

function json(response, status, document) {
  response.writeHead(status, {"Content-Type": "application/json"});
  response.end(JSON.stringify(document));
}
