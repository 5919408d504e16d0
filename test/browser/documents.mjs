// Documents of the view API for the double: a fleet of any size, a story, a plan. The same arguments make the same.

const ZONE = "topology.kubernetes.io/zone";
const POOL = "careen.example/pool";
const minutes = (count) => new Date(Date.now() + count * 60_000).toISOString().replace(/\.\d+/, "");

// Which nodes are in which state repeats every hundred nodes.
function cellOf(index) {
  const place = index % 100;
  if (place === 7) return "failing";
  if (place === 11 || place === 12 || place === 30) return "in-maintenance";
  if (place === 19 || place === 41) return "draining";
  if (place > 44 && place < 58) return "maintenance-required";
  return place === 99 ? "none" : "operational";
}

const WAITS = "maxMaintenance(3): 3 of 3 nodes are in maintenance: node-0011, node-0012, node-0030";

function profilesOf(index, cell) {
  if (cell === "none") return [];
  const state = {"failing": "maintenance-required", "draining": "maintenance-required"}[cell] ?? cell;
  const update = {name: "os-update", state, since: minutes(-(index % 300) - 2)};
  if (cell === "failing") update.error = "check prometheus: the server at metrics.example cannot be reached";
  if (state === "maintenance-required" && cell !== "failing") update.waits = cell === "draining" ? "the drain: 4 of 11 pods are left" : WAITS;
  if (cell === "operational") Object.assign(update, {waits: "timeWindow: opens at 22:00", wake: minutes(190)});
  const profiles = [update];
  if (index % 4 === 0) profiles.push({name: "hardware-repair", state: "operational", since: minutes(-9000)});
  return profiles;
}

export function nodeRow(index) {
  const cell = cellOf(index);
  const row = {
    name: `node-${String(index).padStart(4, "0")}`, cell, profiles: profilesOf(index, cell),
    labels: {[ZONE]: `eu-1${"abc"[index % 3]}`, [POOL]: index % 5 === 0 ? "storage" : "general"},
    ready: cell !== "in-maintenance" || index % 2 === 0, cordoned: cell === "draining" || cell === "in-maintenance",
  };
  if (row.cordoned) row.holds = [`profile/os-update${cell === "draining" ? "/begun" : ""}`];
  return row;
}

function drainOf(node, blocked) {
  const pods = [
    {namespace: "shop", name: "cart-7c9d6f8b5-x2x9k", stage: "waiting", since: minutes(-6), budget: "shop/cart",
      reason: "the budget allows no disruption now: 2 of 3 pods are healthy, 3 are needed"},
    {namespace: "shop", name: "db-0", stage: "terminating", since: minutes(-1), reason: "has 24 s left to end by itself"},
    {namespace: "infra", name: "ingress-6d5f9c-4kq2m", stage: "evicting", since: minutes(-0.2), reason: "the request is on its way"},
  ];
  return {node, owner: "profile/os-update", phase: "draining", percent: blocked ? 64 : 91, begun: minutes(-8), total: 11,
    left: blocked ? 4 : 1, pods: blocked ? pods : pods.slice(1, 2)};
}

function timelineOf(nodes) {
  const entries = [];
  for (let index = 0; index < Math.min(120, nodes.length * 2); ++index) {
    const node = nodes[(index * 7) % nodes.length].name;
    const time = minutes(-(120 - index) * 2.5);
    const kind = ["transition", "drain", "notification", "transition", "maintenance", "transition", "error"][index % 7];
    const entry = {time, kind, node, profile: "os-update"};
    if (kind === "transition") Object.assign(entry, {from: "operational", to: index % 2 ? "in-maintenance" : "maintenance-required"});
    entry.text = {
      transition: `${node} moved from ${entry.from} to ${entry.to} in profile os-update`,
      drain: `${node} is drained for profile/os-update: 11 pods in 4 min`,
      notification: `${node}: slack "maintenance" was told that it enters maintenance`,
      maintenance: `NodeMaintenance disk-swap of ${node} is running`,
      error: `${node}: mail "ops" could not be sent: the server answered 451`,
    }[kind];
    entries.push(entry);
  }
  return entries;
}

function profileCounts(nodes) {
  const counts = new Map();
  for (const row of nodes) {
    for (const {name, state} of row.profiles) {
      const states = counts.get(name) ?? {"operational": 0, "maintenance-required": 0, "in-maintenance": 0};
      states[state] += 1;
      counts.set(name, states);
    }
  }
  return [...counts].map(([name, states]) => ({name, states})).sort((left, right) => (left.name < right.name ? -1 : 1));
}

export function fleet(size) {
  const nodes = Array.from({length: size}, (_, index) => nodeRow(index));
  const named = (index) => nodes[index % size]?.name ?? "";
  const draining = nodes.filter((row) => row.cell === "draining");
  return {
    time: minutes(0),
    careen: {version: "0.1.0", identity: "careen-0", leading: true, holder: "careen-0", speed: 1},
    pauses: [], profiles: profileCounts(nodes), labels: [ZONE, POOL], nodes,
    budgets: [
      {kind: "maxMaintenance", name: "max_three", scope: "all nodes in the cluster", max: 3, used: 3, reserved: 1,
        holders: ["node-0011", "node-0012", "node-0019"], waiting: 13},
      {kind: "maxMaintenance", name: "one_per_zone", scope: "nodes of profile os-update in zone eu-1a", max: 2, used: 1, reserved: 0,
        holders: ["node-0030"], waiting: 0},
      {kind: "stagger", name: "stagger_10m", scope: "2 leases in namespace kube-system, 10 min after each grab", max: 2, used: 1,
        reserved: 0, holders: ["node-0041"], waiting: 4, free_at: minutes(7)},
      {kind: "disruption", name: "shop/cart", scope: "app=cart: 3 of 3 pods needed", max: 1, used: 1, reserved: 0, holders: [], waiting: 1},
      {kind: "disruption", name: "infra/ingress", scope: "app=ingress: 28 of 40 pods needed", max: 40, used: 9, reserved: 4,
        holders: [], waiting: 0},
    ],
    limits: {count: 3, groups: [
      {limit: "workers", values: ["eu-1a"], name: "workers/eu-1a", mode: "Queue", total: 40, expected: 40, cap: 4, used: 4, free: 0,
        missing: 0, parallel: 4, working: 3, waiting: 2, overshoot: [], usedBy: [
          {actor: "profile/os-update", count: 2, nodes: [
            {node: "node-0012", what: "out", since: minutes(-9)}, {node: "node-0030", what: "out", since: minutes(-14)}]},
          {actor: "karpenter", count: 1, nodes: [{node: "node-0003", what: "taint karpenter.sh/disrupted", since: minutes(-4)}]},
          {actor: "kubectl", count: 1, nodes: [{node: "node-0009", what: "cordoned", since: minutes(-190)}]}]},
      {limit: "workers", values: ["eu-1b"], name: "workers/eu-1b", mode: "Queue", total: 39, expected: 40, cap: 4, used: 2, free: 2,
        missing: 1, parallel: 4, working: 0, waiting: 0, overshoot: [], usedBy: [
          {actor: "failure", count: 1, nodes: [{node: "node-0007", what: "not ready", since: minutes(-51)}]},
          {actor: "missing", count: 1, nodes: [{node: "node-0200", what: "deleted while it was out", since: minutes(-20)}]}]},
      {limit: "storage", values: [], name: "storage", mode: "Observe", total: 20, expected: 20, cap: 1, used: 2, free: -1, missing: 0,
        parallel: 1, working: 2, waiting: 1, overshoot: [{node: "node-0015", actor: "kured"}], usedBy: [
          {actor: "kured", count: 1, nodes: [{node: "node-0015", what: "reboots", since: minutes(-2)}]},
          {actor: "profile/os-update", count: 1, nodes: [{node: "node-0030", what: "out", since: minutes(-14)}]}]}],
      waiting: 3, queue: [
        {place: 1, node: "node-0001", who: "foreign/kubectl", actor: "foreign/kubectl", rank: "person", since: minutes(-12),
          limits: ["workers/eu-1a"], expected: minutes(16)},
        {place: 2, node: "node-0004", who: "request/mr-x7k2p", actor: "request/rebooter", rank: "campaign", since: minutes(-33),
          limits: ["workers/eu-1a"], expected: minutes(31)},
        {place: 3, node: "node-0005", who: "profile/os-update", actor: "profile/os-update", rank: "campaign", since: minutes(-30),
          limits: ["storage"]}]},
    claims: {count: 213, first: [
      {who: "terminal/ana@desk", node: "node-0007", since: minutes(-190), stage: "out", budgets: []},
      {who: "nodemaintenance/disk-swap", node: named(30), since: minutes(-14), stage: "begun", budgets: []},
      {who: "profile/os-update", node: "node-0011", since: minutes(-9), stage: "out", budgets: ["max_three", "one_per_zone"]},
    ]},
    drains: draining.slice(0, 4).map((row, index) => drainOf(row.name, index % 2 === 0)),
    maintenances: [{name: "disk-swap", node: named(30), reason: "swap the second disk", phase: "Running", percent: 80,
      pending: 2, since: minutes(-14)}],
    problems: [], timeline: timelineOf(nodes),
  };
}

// A management cluster: nobody looks after its own nodes.
export function hubFleet() {
  const cluster = (name, nodes, more = {}) => ({name, phase: "Connected", since: minutes(-90), server: "https://10.0.0.1:6443", nodes,
    machines: {Guarded: nodes}, busy: [], ...more});
  return {...fleet(0), profiles: [], budgets: [], limits: undefined, claims: {count: 0, first: []}, maintenances: [], timeline: [],
    hub: ["fleet/eu-1", "fleet/us-1", "fleet/new-1"],
    clusters: [
      cluster("fleet/ap-1", 0, {phase: "Failing", machines: {Unseen: 4}, error: "the server at 10.0.0.3 does not answer"}),
      cluster("fleet/eu-1", 40, {machines: {Guarded: 37, DeletionHeld: 1, MaintenanceApproved: 1, Unmaintained: 1},
        busy: [{name: "fleet/eu-1-md-0-x7k2p", phase: "DeletionHeld", node: "node-0012", deleting: minutes(-7)}]}),
      cluster("fleet/us-1", 25),
    ]};
}

const yes = (text, children) => ({verdict: "yes", text, ...(children && {children})});
const no = (text, children) => ({verdict: "no", text, ...(children && {children})});

// A node that has been asked for and waits for a place.
export function blockedStory(name) {
  const why = no("approved && (max_three || urgent)", [
    yes("approved", [yes("hasAnnotation: cloud.sap/approved is set to true")]),
    no("max_three || urgent", [
      no("max_three", [no(WAITS)]),
      no("urgent", [no("anyLabel: the node has no label careen.example/urgent")]),
    ]),
    {verdict: "note", text: "waits since 09:12 and is the 4th in the queue"},
  ]);
  const back = yes("up_to_date", [yes("flatcar version 4081.2.0 is the newest")]);
  return {
    time: minutes(0), node: name, uid: "5f1e0a57-4a3f-4c0e-9f0c-1d8f4f2f3a11",
    labels: {[ZONE]: "eu-1a", [POOL]: "general", "kubernetes.io/os": "linux"}, ready: true, cordoned: false, taints: [],
    pauses: [],
    profiles: [{
      name: "os-update", state: "maintenance-required", since: minutes(-43), next: "maintenance-required",
      summary: "Waits for a place in max_three: 3 of 3 nodes are in maintenance, and 3 others have waited longer.",
      wake: minutes(17),
      transitions: [
        {target: "in-maintenance", passed: false, expression: "approved && (max_three || urgent)", why,
          triggers: "cordon and drain the node, then set label careen.example/reboot=true"},
        {target: "operational", passed: false, expression: "!needs_update", why: no("!needs_update", [back]), triggers: "nothing"},
      ],
    }, {
      name: "hardware-repair", state: "operational", since: minutes(-9000), next: "operational",
      summary: "Moves when somebody sets the label careen.example/repair.",
      transitions: [{target: "maintenance-required", passed: false, expression: "repair_wanted",
        why: no("repair_wanted", [no("hasLabel: the node has no label careen.example/repair")]), triggers: "tell slack #hardware"}],
    }],
    holds: [{owner: "terminal/ana@bastion", since: minutes(-3), items: ["cordon"]}],
    drains: [], maintenances: [], pending: [{instance: "ops-mail", profile: "os-update", attempts: 2, since: minutes(-2),
      error: "the server answered 451 try again later"}],
    timeline: [
      {time: minutes(-9000), kind: "transition", node: name, text: `${name} is operational in profile hardware-repair`},
      {time: minutes(-43), kind: "transition", node: name, profile: "os-update", from: "operational", to: "maintenance-required",
        text: `${name} moved from operational to maintenance-required in profile os-update`},
      {time: minutes(-42), kind: "notification", node: name, text: `${name}: slack "maintenance" was told that it wants maintenance`},
    ],
    why: no(name, [no("profile os-update", [why]), yes("profile hardware-repair: nothing to do")]),
  };
}

export function plan(rows, complete = true) {
  return {
    from: minutes(0), until: minutes(24 * 60), complete,
    assumptions: ["a drain takes 6 min, as the last 12 did", "maintenance of os-update takes 25 min, as the last 9 did",
      "approvals are given as soon as they are asked for"],
    rows: Array.from({length: rows}, (_, index) => ({node: `node-${String(45 + index).padStart(4, "0")}`, profile: "os-update",
      requested: minutes(index * 4), begin: minutes(12 + index * 14), end: minutes(12 + index * 14 + 31), drain: 360})),
    stuck: [{node: "node-0007", profile: "os-update", why: "check prometheus fails: the server at metrics.example cannot be reached"}],
    limits: [{what: "max_three (all nodes in the cluster)", share: 0.72}, {what: "stagger_10m", share: 0.2}, {what: "the window 22:00-06:00", share: 0.08}],
  };
}
