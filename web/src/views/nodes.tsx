// All nodes as a table of which only the visible rows exist.

import {useMemo} from "preact/hooks";

import type {Fleet, NodeProfile, NodeRow} from "../data/api";
import {filterNodes, groupNodes} from "../data/filter";
import type {Group} from "../data/filter";
import {usePhone} from "../hooks";
import {Badge, Empty, When} from "../parts/basics";
import {FilterBar, groupLabel, shortLabel, useChoice} from "../parts/filter_bar";
import {VirtualList} from "../parts/virtual_list";
import {nodeHref} from "../route";
import type {Route} from "../route";

type Line = {kind: "group"; name: string; count: number} | {kind: "node"; row: NodeRow};

function lines(groups: Group[], grouped: boolean): Line[] {
  const all: Line[] = [];
  for (const {name, rows} of groups) {
    if (grouped) all.push({kind: "group", name, count: rows.length});
    for (const row of rows) all.push({kind: "node", row});
  }
  return all;
}

// The profile that says most about where the node stands.
function leading(row: NodeRow): NodeProfile | undefined {
  const weight = (profile: NodeProfile): number =>
    profile.error ? 4 : profile.state === "in-maintenance" ? 3 : profile.state === "maintenance-required" ? 2 : profile.waits ? 1 : 0;
  return [...row.profiles].sort((left, right) => weight(right) - weight(left))[0];
}

function Flags({row}: {row: NodeRow}) {
  return (
    <>
      {!row.ready && <span class="flag bad">not ready</span>}
      {row.cordoned && <span class="flag" title={row.holds?.join(", ")}>cordoned</span>}
    </>
  );
}

// `label` is that of the last column; "" leaves it out.
function NodeLine({row, index, label}: {row: NodeRow; index: number; label: string}) {
  const profile = leading(row);
  return (
    <div class="row" role="row" aria-rowindex={index + 2}>
      <span role="rowheader" class="col-name"><a class="name" href={nodeHref(row.name)} title={row.name}>{row.name}</a></span>
      <span role="cell" class="col-state"><Badge state={row.cell} /></span>
      <span role="cell" class="col-profiles">
        {row.profiles.map((own) => (
          <span key={own.name} class={`profile s-${own.state}`} title={`${own.name}: ${own.state}`}>{own.name}</span>
        ))}
      </span>
      <span role="cell" class="col-since"><When time={profile?.since} /></span>
      <span role="cell" class={`col-waits ${profile?.error ? "bad" : ""}`} title={profile?.error ?? profile?.waits}>
        {profile?.error ?? profile?.waits}
      </span>
      <span role="cell" class="col-wake"><When time={profile?.wake} /></span>
      {label && <span role="cell" class="col-label" title={row.labels[label]}>{row.labels[label]}</span>}
      <span role="cell" class="col-flags"><Flags row={row} /></span>
    </div>
  );
}

// Up and down between rows; what is not drawn yet comes into view by the focus itself.
function moveFocus(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (!(event.target instanceof HTMLElement) || !event.target.matches(".row a.name")) return;
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".row a.name")];
  const next = links[links.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

export function NodesView({fleet, route}: {fleet: Fleet; route: Route}) {
  const [choice, change] = useChoice(route);
  const phone = usePhone();
  const label = groupLabel(choice, fleet);
  const rows = useMemo(() => filterNodes(fleet.nodes, choice, fleet.labels), [fleet.nodes, fleet.labels, choice]);
  const shown = useMemo(() => lines(groupNodes(rows, label), label !== ""), [rows, label]);
  // Grouped rows need no column that says the same.
  const column = label ? "" : (fleet.labels[0] ?? "");
  return (
    <div class="nodes">
      <div class="sticky"><FilterBar fleet={fleet} choice={choice} change={change} shown={rows.length} /></div>
      {shown.length === 0 ? <Empty>{fleet.nodes.length === 0 ? "The cluster has no nodes." : "No node matches the filter."}</Empty> : (
        <div class={`table ${column ? "" : "grouped"}`} role="table" aria-label="Nodes" aria-rowcount={shown.length + 1} onKeyDown={moveFocus}>
          <div class="row head" role="row" aria-rowindex={1}>
            <span role="columnheader" class="col-name">Node</span>
            <span role="columnheader" class="col-state">State</span>
            <span role="columnheader" class="col-profiles">Profiles</span>
            <span role="columnheader" class="col-since">Since</span>
            <span role="columnheader" class="col-waits">Waits for</span>
            <span role="columnheader" class="col-wake">Looks again</span>
            {column && <span role="columnheader" class="col-label">{shortLabel(column)}</span>}
            <span role="columnheader" class="col-flags">Node is</span>
          </div>
          <VirtualList items={shown} rowHeight={phone ? 58 : 34}
            keyOf={(line) => (line.kind === "group" ? `group ${line.name}` : line.row.name)}
            row={(line, index) => line.kind === "node" ? <NodeLine row={line.row} index={index} label={column} /> : (
              <div class="row group-row" role="row" aria-rowindex={index + 2}>
                <span role="cell"><b>{line.name || `without ${shortLabel(label)}`}</b> <span class="count">{line.count}</span></span>
              </div>
            )} />
        </div>
      )}
    </div>
  );
}
