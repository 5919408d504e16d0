// The first view: everything at a glance.

import {useMemo} from "preact/hooks";

import type {Cell, Fleet, LimitGroup, State} from "../data/api";
import {CELLS, cellName, countCells, filterNodes, groupNodes} from "../data/filter";
import {DrainHead, MaintenanceLine} from "../parts/drain_card";
import {Empty, Panel} from "../parts/basics";
import {Entries} from "../parts/entries";
import {FilterBar, groupLabel, useChoice} from "../parts/filter_bar";
import {FleetMap, sizeFor} from "../parts/fleet_map";
import {Gauge} from "../parts/gauge";
import {Group} from "../parts/limits";
import {viewHref} from "../route";
import type {Route} from "../route";

// The colours with their counts; choosing one leaves only its nodes lit.
function Legend(props: {counts: Record<Cell, number>; chosen: string; choose: (state: string) => void}) {
  return (
    <div class="legend" role="group" aria-label="States">
      {CELLS.map((cell) => (
        <button key={cell} type="button" class={`chip ${props.counts[cell] === 0 ? "nil" : ""}`}
          aria-pressed={props.chosen === cell} onClick={() => props.choose(props.chosen === cell ? "" : cell)}>
          <span class={`swatch s-${cell}`} aria-hidden="true" />
          <b>{props.counts[cell]}</b> {cellName(cell)}
        </button>
      ))}
    </div>
  );
}

const STATES: readonly State[] = ["operational", "maintenance-required", "in-maintenance"];

export function ProfileTable({fleet}: {fleet: Fleet}) {
  if (fleet.profiles.length === 0) return <Empty>No profile is configured.</Empty>;
  return (
    <table class="profiles">
      <thead>
        <tr><th scope="col">Profile</th><th scope="col">operational</th><th scope="col">required</th><th scope="col">in maint.</th></tr>
      </thead>
      <tbody>
        {fleet.profiles.map((profile) => (
          <tr key={profile.name}>
            <th scope="row"><a href={viewHref("nodes", {profile: profile.name})}>{profile.name}</a></th>
            {STATES.map((state) => (
              <td key={state} class={profile.states[state] ? `s-${state}` : "nil"}>
                <a href={viewHref("nodes", {profile: profile.name, state})}
                  aria-label={`${profile.name}, ${cellName(state)}: ${profile.states[state] ?? 0}`}>{profile.states[state] ?? 0}</a>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Those that say most first: full ones, then those somebody waits for.
function pressing(fleet: Fleet): Fleet["budgets"] {
  const weight = (budget: Fleet["budgets"][number]): number =>
    budget.waiting * 1000 + (budget.max > 0 ? budget.used / budget.max : 0);
  return [...fleet.budgets].filter((budget) => budget.kind !== "disruption" || budget.waiting > 0)
    .sort((left, right) => weight(right) - weight(left)).slice(0, 4);
}

// The same of the limits over all actors.
function pressingLimits(fleet: Fleet): LimitGroup[] {
  const weight = ({waiting, used, cap}: LimitGroup): number => waiting * 1000 + used / Math.max(cap, 1);
  return [...fleet.limits?.groups ?? []].sort((left, right) => weight(right) - weight(left)).slice(0, 2);
}

function Aside(props: {fleet: Fleet; latest: boolean}) {
  const {fleet} = props;
  const budgets = useMemo(() => pressing(fleet), [fleet.budgets]);
  const limits = useMemo(() => pressingLimits(fleet), [fleet.limits]);
  const drains = fleet.drains.slice(0, 5);
  return (
    <div class="aside">
      <Panel title="Profiles"><ProfileTable fleet={fleet} /></Panel>
      {budgets.length + limits.length > 0 && <Panel title="Budgets" count={fleet.budgets.length + (fleet.limits?.count ?? 0)} more={viewHref("budgets")}>
        <div class="stacked">
          {limits.map((group) => <Group key={`limit ${group.name}`} group={group} compact />)}
          {budgets.map((budget) => <Gauge key={`${budget.kind} ${budget.name} ${budget.scope}`} budget={budget} compact />)}
        </div>
      </Panel>}
      <Panel title="Drains" count={fleet.drains.length} more={viewHref("drains")}>
        {drains.length === 0 ? <Empty>No node is being drained.</Empty> : (
          <div class="stacked">
            {drains.map((drain) => <article class="drain" key={`${drain.node} ${drain.owner}`}><DrainHead drain={drain} /></article>)}
          </div>
        )}
        {fleet.maintenances.length > 0 && (
          <ul class="plain">{fleet.maintenances.slice(0, 3).map((one) => <MaintenanceLine key={one.name} maintenance={one} />)}</ul>
        )}
      </Panel>
      {props.latest && <Latest fleet={fleet} />}
    </div>
  );
}

function Latest({fleet}: {fleet: Fleet}) {
  return (
    <Panel title="Latest" more={viewHref("timeline")}>
      {fleet.timeline.length === 0 ? <Empty>Nothing has happened yet.</Empty> :
        <Entries entries={fleet.timeline.slice(-12)} withNode label="Latest events" />}
    </Panel>
  );
}

export function FleetView({fleet, route}: {fleet: Fleet; route: Route}) {
  const [choice, change] = useChoice(route);
  const label = groupLabel(choice, fleet);
  const groups = useMemo(() => groupNodes(fleet.nodes, label), [fleet.nodes, label]);
  const counts = useMemo(() => countCells(fleet.nodes), [fleet.nodes]);
  const matching = useMemo(() => {
    const rows = filterNodes(fleet.nodes, choice, fleet.labels);
    return rows === fleet.nodes ? null : new Set(rows.map((row) => row.name));
  }, [fleet.nodes, fleet.labels, choice]);
  const size = sizeFor(fleet.nodes.length);
  // A small map leaves room below it; under a large one nobody would find anything.
  const room = size === "tile";
  return (
    <div class="fleet">
      <div class="overview">
        <Legend counts={counts} chosen={choice.profile ? "" : choice.state} choose={(state) => change({state, profile: ""})} />
        <FilterBar fleet={fleet} choice={choice} change={change} shown={matching?.size ?? fleet.nodes.length} legend />
        {fleet.nodes.length === 0 ? <Empty>The cluster has no nodes.</Empty> :
          <FleetMap groups={groups} matching={matching} size={size} />}
        {room && <Latest fleet={fleet} />}
      </div>
      <Aside fleet={fleet} latest={!room} />
    </div>
  );
}
