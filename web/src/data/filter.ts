// Which nodes are shown, and in which groups. Pure functions of the rows; 5,000 rows take a few milliseconds.

import type {Cell, NodeRow} from "./api";
import {ORDER} from "./order";

export interface Filter {
  text: string;        // words that must occur; key=value is a label, is:waiting and the like a property
  profile: string;     // "" is any, here and below
  state: string;       // a cell's state, or with a profile that profile's state
  zone: string;
}

export const NO_FILTER: Filter = {text: "", profile: "", state: "", zone: ""};

export const CELLS: readonly Cell[] =
  ["failing", "in-maintenance", "draining", "maintenance-required", "operational", "none"];

export const ZONE = "topology.kubernetes.io/zone";

const PROPERTIES: Record<string, (row: NodeRow) => boolean> = {
  "is:cordoned": (row) => row.cordoned,
  "is:notready": (row) => !row.ready,
  "is:ready": (row) => row.ready,
  "is:held": (row) => (row.holds?.length ?? 0) > 0,
  "is:waiting": (row) => row.profiles.some((profile) => profile.waits !== undefined),
};

// What a row is searched in, made once for each version of the row.
const texts = new WeakMap<NodeRow, string>();

function searchText(row: NodeRow): string {
  let text = texts.get(row);
  if (text === undefined) {
    const parts = [row.name, row.cell];
    for (const [key, value] of Object.entries(row.labels)) parts.push(`${key}=${value}`);
    for (const profile of row.profiles) parts.push(profile.name, profile.state, profile.waits ?? "", profile.error ?? "");
    parts.push(...(row.holds ?? []));
    text = parts.join("\n").toLowerCase();
    texts.set(row, text);
  }
  return text;
}

type Test = (row: NodeRow) => boolean;

function wordTest(word: string, labels: ReadonlySet<string>): Test {
  const property = PROPERTIES[word.toLowerCase()];
  if (property) return property;
  const equals = word.indexOf("=");
  const key = word.slice(0, equals);
  if (equals > 0 && labels.has(key)) {
    const value = word.slice(equals + 1);
    return (row) => row.labels[key] === value;
  }
  const wanted = word.toLowerCase();
  return (row) => searchText(row).includes(wanted);
}

function stateTest(state: string, profile: string): Test {
  if (!profile) return (row) => row.cell === state;
  return (row) => row.profiles.some((own) => own.name === profile && own.state === state) ||
    ((state === "failing" || state === "draining") && row.cell === state);
}

export function filterNodes(rows: NodeRow[], filter: Filter, labels: string[]): NodeRow[] {
  const tests: Test[] = [];
  const known = new Set(labels);
  if (filter.profile) tests.push((row) => row.profiles.some((profile) => profile.name === filter.profile));
  if (filter.state) tests.push(stateTest(filter.state, filter.profile));
  if (filter.zone) tests.push((row) => row.labels[ZONE] === filter.zone);
  for (const word of filter.text.split(/\s+/)) if (word) tests.push(wordTest(word, known));
  return tests.length === 0 ? rows : rows.filter((row) => tests.every((test) => test(row)));
}

export interface Group {
  name: string;        // the label's value; "" has none
  rows: NodeRow[];
}

// One group with everything when `label` is "".
export function groupNodes(rows: NodeRow[], label: string): Group[] {
  if (!label) return rows.length > 0 ? [{name: "", rows}] : [];
  const groups = new Map<string, NodeRow[]>();
  for (const row of rows) {
    const value = row.labels[label] ?? "";
    const group = groups.get(value);
    if (group) group.push(row);
    else groups.set(value, [row]);
  }
  return [...groups]
    .map(([name, members]) => ({name, rows: members}))
    .sort((left, right) => Number(left.name === "") - Number(right.name === "") || ORDER.compare(left.name, right.name));
}

export function countCells(rows: NodeRow[]): Record<Cell, number> {
  const counts: Record<Cell, number> =
    {"none": 0, "operational": 0, "maintenance-required": 0, "draining": 0, "in-maintenance": 0, "failing": 0};
  for (const row of rows) counts[row.cell] = (counts[row.cell] ?? 0) + 1;
  return counts;
}

// The values that a label has, in order.
export function labelValues(rows: NodeRow[], label: string): string[] {
  const values = new Set<string>();
  for (const row of rows) {
    const value = row.labels[label];
    if (value !== undefined) values.add(value);
  }
  return [...values].sort(ORDER.compare);
}

// What a person wants to know of a node in one line.
export function nodeSentence(row: NodeRow): string {
  const parts = [`${row.name}: ${cellName(row.cell)}`];
  for (const profile of row.profiles) {
    if (profile.error) parts.push(`${profile.name} fails: ${profile.error}`);
    else if (profile.waits) parts.push(`${profile.name} waits: ${profile.waits}`);
  }
  if (!row.ready) parts.push("not ready");
  if (row.cordoned) parts.push("cordoned");
  return parts.join("; ");
}

const CELL_NAMES: Record<string, string> = {
  "none": "no profile",
  "operational": "operational",
  "maintenance-required": "maintenance required",
  "draining": "draining",
  "in-maintenance": "in maintenance",
  "failing": "failing",
};

export function cellName(cell: string): string {
  return CELL_NAMES[cell] ?? cell;
}
