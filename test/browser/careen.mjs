// The real careen on a model cluster, as processes, and the cluster's API in plain HTTP.
import {spawn} from "node:child_process";
import {createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";

import {setting, until} from "./harness.mjs";

const CONFIG = `
intervals: {requeue: 30s}
instances:
  check:
  - {name: wanted, type: hasLabel, config: {key: example.com/reboot, value: "yes"}}
  - {name: few_at_once, type: maxMaintenance, config: {max: 2}}
profiles:
- name: reboot
  operational:
    transitions: [{check: wanted, next: maintenance-required}]
  maintenance-required:
    transitions: [{check: "wanted && few_at_once", next: in-maintenance}]
  in-maintenance:
    transitions: [{check: "!wanted", next: operational}]
`;

const GROUP = "nodemaintenance.medik8s.io";
const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: {name: `nodemaintenances.${GROUP}`},
  spec: {
    group: GROUP, scope: "Cluster", names: {kind: "NodeMaintenance", plural: "nodemaintenances", singular: "nodemaintenance"},
    versions: [{name: "v1beta1", served: true, storage: true, subresources: {status: {}},
      schema: {openAPIV3Schema: {type: "object", "x-kubernetes-preserve-unknown-fields": true}}}],
  },
};

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const {port} = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once("exit", resolve));
}

export class Careen {
  static async start() {
    const careen = new Careen();
    careen.folder = mkdtempSync(join(tmpdir(), "careen-browser-"));
    careen.log = join(careen.folder, "careen.log");
    writeFileSync(join(careen.folder, "maintenance.yaml"), CONFIG);
    careen.port = await freePort();
    try {
      await careen.startModel();
      await careen.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION);
      await careen.startReplica();
    } catch (error) {
      await careen.stop();
      throw error;
    }
    return careen;
  }

  get address() {
    return `http://127.0.0.1:${this.port}/`;
  }

  async startModel() {
    this.model = spawn(setting("CAREEN_BINARY"), ["model", "--nodes", "60", "--workloads", "20", "--listen", "127.0.0.1:0",
      "--kubeconfig", join(this.folder, "kubeconfig")], {stdio: ["ignore", "pipe", "inherit"]});
    let said = "";
    this.model.stdout.on("data", (text) => {
      said += text;
    });
    this.api = (await until(() => /http:\/\/\S+/.exec(said) ?? (this.model.exitCode !== null && [""]), "the model cluster"))[0];
    if (!this.api) throw new Error("careen model does not start");
  }

  async startReplica() {
    this.replica = spawn(setting("CAREEN_BINARY"), ["run", "--kubeconfig", join(this.folder, "kubeconfig"), "--config",
      join(this.folder, "maintenance.yaml"), "--controllers", "profiles,nodemaintenance", "--metrics-addr", `127.0.0.1:${this.port}`,
      "--health-addr", "0"], {stdio: ["ignore", "pipe", "pipe"]});
    const log = createWriteStream(this.log, {flags: "a"});
    this.replica.stdout.pipe(log, {end: false});
    this.replica.stderr.pipe(log, {end: false});
    await until(async () => {
      if (this.replica.exitCode !== null) throw new Error(`careen run ended:\n${readFileSync(this.log, "utf8").slice(-2000)}`);
      return (await fetch(`${this.address}careen/v1/fleet`).catch(() => null))?.ok;
    }, "the view API of careen", 60_000);
  }

  async stopReplica() {
    this.replica.kill("SIGTERM");
    await ended(this.replica);
  }

  async stop() {
    for (const child of [this.replica, this.model]) child?.kill("SIGTERM");
    for (const child of [this.replica, this.model]) if (child) await ended(child);
    rmSync(this.folder, {recursive: true, force: true});
  }

  // What kubectl patch does.
  async patchNode(name, metadata) {
    const response = await fetch(`${this.api}/api/v1/nodes/${name}`, {method: "PATCH", body: JSON.stringify({metadata}),
      headers: {"Content-Type": "application/merge-patch+json"}});
    if (!response.ok) throw new Error(`PATCH of ${name}: ${response.status} ${await response.text()}`);
  }

  async create(path, object) {
    const response = await fetch(this.api + path, {method: "POST", body: JSON.stringify(object),
      headers: {"Content-Type": "application/json"}});
    if (!response.ok) throw new Error(`POST to ${path}: ${response.status} ${await response.text()}`);
  }

  async maintain(name, nodeName, reason) {
    await this.create(`/apis/${GROUP}/v1beta1/nodemaintenances`,
      {apiVersion: `${GROUP}/v1beta1`, kind: "NodeMaintenance", metadata: {name}, spec: {nodeName, reason}});
  }

  async nodeNames() {
    const {items} = await (await fetch(`${this.api}/api/v1/nodes`)).json();
    return items.map((item) => item.metadata.name);
  }
}

// A hub with two workload clusters, as the demonstration has it.
export class Hub {
  static async start() {
    const hub = new Hub();
    hub.folder = mkdtempSync(join(tmpdir(), "careen-browser-hub-"));
    hub.demo = spawn(setting("CAREEN_BINARY"), ["demo", "--clusters", "2", "--nodes", "24", "--speed", "5", "--listen", "127.0.0.1:0"],
      {stdio: ["ignore", "pipe", "inherit"], env: {...process.env, TMPDIR: hub.folder, XDG_RUNTIME_DIR: hub.folder}});
    let said = "";
    hub.demo.stdout.on("data", (text) => {
      said += text;
    });
    const found = await until(() => /Dashboard +(\S+)/.exec(said) ?? (hub.demo.exitCode !== null && ["", ""]), "the demonstration", 60_000);
    hub.address = found[1];
    if (hub.address) return hub;
    await hub.stop();
    throw new Error("careen demo does not start");
  }

  async stop() {
    this.demo.kill("SIGTERM");
    await ended(this.demo);
    rmSync(this.folder, {recursive: true, force: true});
  }
}
