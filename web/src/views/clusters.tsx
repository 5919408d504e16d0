// The workload clusters of a management cluster: how they are reached, and what becomes of their Machines.

import type {Cluster, Fleet, MachinePhase} from "../data/api";
import {Empty, Panel, When} from "../parts/basics";
import {nodeHref, viewHref} from "../route";

const TONES: Record<Cluster["phase"], string> = {Connecting: "wait", Failing: "bad", Connected: "good"};

const COLUMNS: [title: string, phases: MachinePhase[], hint: string][] = [
  ["Guarded", ["Guarded"], "Machines that are not deleted before their Node may go"],
  ["Deleting", ["DeletionHeld", "DeletionReleased"], "Machines that are being deleted"],
  ["Maintenance", ["MaintenanceRequested", "MaintenanceApproved", "Returning"], "Machines that somebody works on, or wants to"],
  ["Unprotected", ["Unmaintained", "Unseen", "NoNode"], "Machines that may be deleted at any time"],
];

function Name({name, hub}: {name: string; hub: string[]}) {
  if (!hub.includes(name)) return <span class="name">{name}</span>;
  return <a class="name" href={viewHref("", {cluster: name})}>{name}</a>;
}

function ClusterRow({cluster, hub}: {cluster: Cluster; hub: string[]}) {
  const {name, phase, since, nodes, machines, error} = cluster;
  return (
    <tr>
      <th scope="row"><Name name={name} hub={hub} />{error && <p class="why-not">{error}</p>}</th>
      <td><span class={`light ${TONES[phase] ?? ""}`}><span class="dot" aria-hidden="true" />{phase}</span></td>
      <td><When time={since} /></td>
      <td class="number">{nodes}</td>
      {COLUMNS.map(([title, phases]) => (
        <td key={title} class="number">{phases.reduce((sum, one) => sum + (machines[one] ?? 0), 0)}</td>
      ))}
    </tr>
  );
}

// One of which no Machine is in careen's care.
function BareRow({name, hub}: {name: string; hub: string[]}) {
  return (
    <tr>
      <th scope="row"><Name name={name} hub={hub} /></th>
      <td colSpan={3 + COLUMNS.length} class="muted">no Machine of it is in careen's care</td>
    </tr>
  );
}

function Busy({clusters, hub}: {clusters: Cluster[]; hub: string[]}) {
  const busy = clusters.flatMap((cluster) => cluster.busy.map((machine) => ({cluster: cluster.name, ...machine})));
  if (busy.length === 0) return null;
  return (
    <Panel title="Machines that are waited for" count={busy.length}>
      <div class="broad"><table class="claims">
        <thead><tr><th>Machine</th><th>Cluster</th><th>Phase</th><th>Node</th><th>Deleted</th></tr></thead>
        <tbody>
          {busy.map(({name, cluster, phase, node, deleting}) => (
            <tr key={name}>
              <td>{name}</td><td><Name name={cluster} hub={hub} /></td><td>{phase}</td>
              <td>{node && hub.includes(cluster) ? <a class="name" href={nodeHref(node, cluster)}>{node}</a> : node}</td>
              <td><When time={deleting} /></td>
            </tr>
          ))}
        </tbody>
      </table></div>
    </Panel>
  );
}

export function ClustersView({fleet}: {fleet: Fleet}) {
  const clusters = fleet.clusters ?? [];
  const hub = fleet.hub ?? [];
  const bare = hub.filter((name) => !clusters.some((cluster) => cluster.name === name));
  if (clusters.length + bare.length === 0) return <Empty>No workload cluster is connected.</Empty>;
  return (
    <div class="sections">
      <Panel title="Clusters" count={clusters.length + bare.length}>
        <div class="broad"><table class="claims clusters">
          <thead>
            <tr>
              <th scope="col">Cluster</th><th scope="col">State</th><th scope="col">Since</th><th scope="col" class="number">Nodes</th>
              {COLUMNS.map(([title, , hint]) => <th key={title} scope="col" class="number" title={hint}>{title}</th>)}
            </tr>
          </thead>
          <tbody>
            {clusters.map((cluster) => <ClusterRow key={cluster.name} cluster={cluster} hub={hub} />)}
            {bare.map((name) => <BareRow key={name} name={name} hub={hub} />)}
          </tbody>
        </table></div>
      </Panel>
      <Busy clusters={clusters} hub={hub} />
    </div>
  );
}
