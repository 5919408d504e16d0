// The documents of the view API, as docs/api.md describes them. Nothing here but types.

export type State = "operational" | "maintenance-required" | "in-maintenance";
export type Cell = "none" | "operational" | "maintenance-required" | "draining" | "in-maintenance" | "failing";

export interface Fleet {
  time: string;
  careen: Careen;
  pauses: Pause[];
  profiles: ProfileCount[];
  labels: string[];
  nodes: NodeRow[];
  budgets: Budget[];
  limits?: Limits; // as claims
  claims?: Claims; // a leader of an older version has none
  drains: Drain[];
  maintenances: Maintenance[];
  clusters?: Cluster[]; // as claims
  hub?: string[]; // of a hub: the workload clusters that it looks after
  problems: Problem[];
  timeline: Entry[];
}

export interface Change extends Partial<Omit<Fleet, "time">> {
  time: string;
  gone?: string[];
}

export interface Careen {
  version: string;
  identity: string;
  leading: boolean;
  holder: string;
  speed: number;
}

export interface ProfileCount {
  name: string;
  states: Record<State, number>;
}

export type MachinePhase = "Disabled" | "NoNode" | "Unseen" | "Unmaintained" | "Guarded" | "DeletionHeld" | "DeletionReleased" |
  "MaintenanceRequested" | "MaintenanceApproved" | "Returning";

export interface Cluster {
  name: string;
  phase: "Connecting" | "Failing" | "Connected";
  since: string;
  server?: string;
  nodes: number;
  machines: Partial<Record<MachinePhase, number>>;
  busy: {name: string; phase: MachinePhase; node?: string; deleting?: string}[];
  error?: string;
}

export interface Pause {
  profile?: string;
  by: string;
  since: string;
  reason?: string;
}

export interface Problem {
  name: string;
  message: string;
  since: string;
}

export interface NodeProfile {
  name: string;
  state: State;
  since?: string;
  waits?: string;
  wake?: string;
  error?: string;
}

export interface NodeRow {
  name: string;
  cell: Cell;
  profiles: NodeProfile[];
  labels: Record<string, string>;
  ready: boolean;
  cordoned: boolean;
  holds?: string[];
}

export interface Budget {
  kind: "maxMaintenance" | "stagger" | "disruption";
  name: string;
  scope: string;
  max: number;
  used: number;
  reserved: number;
  holders: string[];
  waiting: number;
  free_at?: string;
}

export interface Limits {
  count: number;
  groups: LimitGroup[];
  waiting: number;
  queue: Queued[];
}

export interface LimitGroup {
  limit: string;
  values: string[];
  name: string;
  mode: "Observe" | "Queue" | "Enforce" | "";
  mistake?: string;
  total: number;
  expected: number;
  cap: number;
  used: number;
  free: number;
  missing: number;
  parallel: number;
  working: number;
  waiting: number;
  usedBy: {actor: string; count: number; nodes: {node: string; what: string; since?: string}[]}[];
  overshoot: {node: string; actor: string}[];
}

export interface Queued {
  place: number;
  node: string;
  who: string;
  actor: string;
  rank: string;
  since: string;
  limits: string[];
  expected?: string;
}

export interface Claims {
  count: number;
  first: Claim[];
}

export interface Claim {
  who: string;
  node: string;
  since?: string;
  stage: "admitted" | "begun" | "out";
  budgets: string[];
}

export interface PodLeft {
  namespace: string;
  name: string;
  stage: string;
  since: string;
  reason: string;
  budget?: string;
}

export interface Drain {
  node: string;
  owner: string;
  phase: "draining" | "refused" | "drained" | "failed";
  percent: number;
  begun: string;
  total: number;
  left: number;
  pods: PodLeft[];
  errors?: string[];
}

export interface Maintenance {
  name: string;
  node: string;
  reason?: string;
  phase: string;
  percent?: number;
  pending?: number;
  error?: string;
  since?: string;
}

export type EntryKind = "transition" | "notification" | "drain" | "maintenance" | "pause" | "error" | "careen";

export interface Entry {
  time: string;
  kind: EntryKind;
  node?: string;
  profile?: string;
  from?: State;
  to?: State;
  text: string;
}

export interface Why {
  verdict: "yes" | "no" | "error" | "note";
  text: string;
  children?: Why[];
}

export interface Transition {
  target: State;
  passed: boolean;
  expression: string;
  error?: string;
  blocked?: string;
  why: Why;
  triggers: string;
}

export interface StoryProfile {
  name: string;
  state: State;
  since?: string;
  next: State;
  error?: string;
  summary: string;
  wake?: string;
  transitions: Transition[];
}

export interface Story {
  time: string;
  node: string;
  uid: string;
  labels: Record<string, string>;
  ready: boolean;
  cordoned: boolean;
  taints: string[];
  pauses: Pause[];
  profiles: StoryProfile[];
  holds: {owner: string; since: string; items: string[]}[];
  drains: Drain[];
  maintenances: Maintenance[];
  limits?: Why[]; // a leader of an older version has none
  pending: {instance: string; profile: string; attempts: number; error?: string; since: string}[];
  timeline: Entry[];
  why: Why;
}

export interface PlanRow {
  node: string;
  profile: string;
  requested?: string;
  begin: string;
  end?: string;
  drain?: number;
}

export interface Plan {
  from: string;
  until: string;
  complete: boolean;
  assumptions: string[];
  rows: PlanRow[];
  stuck: {node: string; profile: string; why: string}[];
  limits: {what: string; share: number}[];
}
