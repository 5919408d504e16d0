// What the page knows: the fleet as the stream reports it, and the state of the connection. One store for the whole
// page; components subscribe to it and are redrawn when it changes, at most as often as the server sends something.
// While a workload cluster is shown, a second one has the cluster that careen runs in, which knows what others there are.

import type {Change, Entry, Fleet, NodeRow} from "./api";
import {clock} from "./clock";
import {shownCluster} from "./cluster";
import {ORDER} from "./order";

export type Connection =
  | {state: "connecting"}
  | {state: "live"}
  | {state: "lost"; message: string; retryAt: number}     // retryAt on performance.now()'s clock
  | {state: "unauthorized"; message: string}
  | {state: "forbidden"; message: string};

const LONGEST_TIMELINE = 2000;

export class Store {
  connection: Connection = {state: "connecting"};
  fleet: Fleet | null = null;

  private readonly rows = new Map<string, NodeRow>();
  private readonly listeners = new Set<() => void>();
  private readonly changeListeners = new Set<(change: Change) => void>();

  connected(connection: Connection): void {
    this.connection = connection;
    this.tell();
  }

  forget(): void {
    this.rows.clear();
    this.fleet = null;
    this.connected({state: "connecting"});
  }

  replace(fleet: Fleet): void {
    clock.set(fleet.time, fleet.careen.speed);
    this.rows.clear();
    for (const row of fleet.nodes) this.rows.set(row.name, row);
    this.fleet = {...fleet, nodes: this.sortedRows()};
    this.connection = {state: "live"};
    this.tell();
    for (const listener of this.changeListeners) listener(fleet);
  }

  apply(change: Change): void {
    if (!this.fleet) return;
    const {nodes, gone, timeline, ...parts} = change;
    const fleet: Fleet = {...this.fleet, ...parts};
    clock.set(fleet.time, fleet.careen.speed);
    if (nodes || gone) fleet.nodes = this.changedRows(nodes ?? [], gone ?? []);
    if (timeline) fleet.timeline = [...fleet.timeline, ...timeline].slice(-LONGEST_TIMELINE);
    this.fleet = fleet;
    this.tell();
    for (const listener of this.changeListeners) listener(change);
  }

  node(name: string): NodeRow | undefined {
    return this.rows.get(name);
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  onChange(listener: (change: Change) => void): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  private changedRows(nodes: NodeRow[], gone: string[]): NodeRow[] {
    const known = this.rows.size;
    for (const row of nodes) this.rows.set(row.name, row);
    const sameNames = this.rows.size === known && gone.length === 0;
    for (const name of gone) this.rows.delete(name);
    return sameNames ? [...this.rows.values()] : this.sortedRows();
  }

  // The map is put into that order, too, so that a change of rows alone keeps it.
  private sortedRows(): NodeRow[] {
    const rows = [...this.rows.values()].sort((left, right) => ORDER.compare(left.name, right.name));
    this.rows.clear();
    for (const row of rows) this.rows.set(row.name, row);
    return rows;
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

export const store = new Store();
export const home = new Store();

// Of the cluster that careen runs in; null: it is not known yet.
export function homeFleet(): Fleet | null {
  return shownCluster() ? home.fleet : store.fleet;
}

// Does the change concern what is shown about this node? Budgets and pauses are among every node's reasons.
export function concerns(change: Change, node: string): boolean {
  if (change.budgets || change.limits || change.pauses || change.maintenances) return true;
  if (change.nodes?.some((row) => row.name === node) || change.gone?.includes(node)) return true;
  if (change.drains) return true;
  return change.timeline?.some((entry: Entry) => entry.node === node) ?? false;
}
