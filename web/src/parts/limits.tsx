// MaintenanceLimits: each group of nodes with whoever has them out, all actors over all limits, and the queue.

import type {LimitGroup, Limits, Queued} from "../data/api";
import {Empty, NodeLink, Panel, When} from "./basics";
import {Bar} from "./gauge";

const MODES: Record<string, string> = {
  Observe: "observes others",
  Queue: "others wait their turn",
  Enforce: "others are refused",
};

// Of one actor, in a card or a row.
const MOST_NODES = 6;

type Out = LimitGroup["usedBy"][number]["nodes"][number];

function Nodes({nodes, count, dated}: {nodes: Out[]; count: number; dated?: boolean}) {
  const shown = nodes.slice(0, MOST_NODES);
  return (
    <span class="names">
      {shown.map(({node, what, since}) => (
        <span key={node} title={what}><NodeLink name={node} />{dated && count === 1 && since && <> <When time={since} /></>}</span>
      ))}
      {count > shown.length && <span class="muted">and {count - shown.length} more</span>}
    </span>
  );
}

export function Group({group, compact}: {group: LimitGroup; compact?: boolean}) {
  const {cap, used, waiting, missing, working, parallel} = group;
  return (
    <article class="budget" aria-label={`limit ${group.name}`}>
      <header>
        <h3 title={group.name}>{group.name}</h3>
        <span class="kind">{compact ? "over all actors" : MODES[group.mode] ?? group.mode}</span>
      </header>
      <Bar budget={{name: group.name, max: cap, used, reserved: 0}} />
      <p class="numbers">
        <b>{used}</b> of {cap} out
        {used > cap ? <b class="bad">, {used - cap} over the limit</b> : <>, {cap - used} free</>}
        {missing > 0 && <>, {missing} missing</>}
        {waiting > 0 && <span class="waiting"> · {waiting} waiting</span>}
      </p>
      {!compact && <p class="scope">{group.expected} nodes, {working} of {parallel} at work</p>}
      {group.mistake && <p class="why-not">A mistake in it, so it admits nothing: {group.mistake}</p>}
      {group.overshoot.length > 0 && (
        <p class="why-not">Counted last: {group.overshoot.map(({node, actor}) => `${actor} (${node})`).join(", ")}</p>
      )}
      {group.usedBy.length > 0 && !compact && (
        <ul class="actors">
          {group.usedBy.map(({actor, count, nodes}) => (
            <li key={actor}><b>{count}</b><div><span class="actor">{actor}</span><Nodes nodes={nodes} count={count} dated /></div></li>
          ))}
        </ul>
      )}
    </article>
  );
}

interface Actor {
  actor: string;
  nodes: Map<string, Out>;
  beyond: number; // that the document does not name
  limits: string[];
}

// Whoever has nodes out, over all limits; a node in several of them counts once.
function actorsOf(groups: LimitGroup[]): Actor[] {
  const actors = new Map<string, Actor>();
  for (const group of groups) {
    for (const {actor, count, nodes} of group.usedBy) {
      const one: Actor = actors.get(actor) ?? {actor, nodes: new Map(), beyond: 0, limits: []};
      for (const node of nodes) one.nodes.set(node.node, node);
      one.beyond = Math.max(one.beyond, count - nodes.length);
      one.limits.push(group.name);
      actors.set(actor, one);
    }
  }
  const size = (one: Actor): number => one.nodes.size + one.beyond;
  return [...actors.values()].sort((left, right) => size(right) - size(left) || (left.actor < right.actor ? -1 : 1));
}

function earliest(nodes: Iterable<Out>): string | undefined {
  return [...nodes].map((node) => node.since).filter((since) => since !== undefined).sort()[0];
}

function Actors({groups}: {groups: LimitGroup[]}) {
  const actors = actorsOf(groups);
  if (actors.length === 0) return null;
  return (
    <Panel title="By actor" count={actors.length}>
      <table class="claims actors-table">
        <thead><tr><th>Actor</th><th>Nodes</th><th></th><th>Longest</th><th>In limits</th></tr></thead>
        <tbody>
          {actors.map((one) => (
            <tr key={one.actor}>
              <td>{one.actor}</td>
              <td><b>{one.nodes.size + one.beyond}</b></td>
              <td><Nodes nodes={[...one.nodes.values()]} count={one.nodes.size + one.beyond} /></td>
              <td><When time={earliest(one.nodes.values())} /></td>
              <td>{one.limits.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Queue({queue, waiting}: {queue: Queued[]; waiting: number}) {
  return (
    <Panel title="Queue" count={waiting}>
      {queue.length === 0 && <Empty>Nobody waits for a place.</Empty>}
      {queue.length > 0 && (
        <table class="claims queue">
          <thead><tr><th></th><th>Node</th><th>For</th><th>Rank</th><th>Waits since</th><th>Expected</th><th>A place in</th></tr></thead>
          <tbody>
            {queue.map(({place, node, who, actor, rank, since, limits, expected}) => (
              <tr key={`${who} ${node}`}>
                <td class="place">{place}</td><td><NodeLink name={node} /></td><td title={who}>{actor}</td>
                <td>{rank}</td><td><When time={since} /></td>
                <td>{expected ? <When time={expected} /> : <span class="muted">not known</span>}</td>
                <td>{limits.join(", ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {waiting > queue.length && <p class="muted">and {waiting - queue.length} more</p>}
    </Panel>
  );
}

export function LimitPanels({limits}: {limits: Limits}) {
  return (
    <>
      <Panel title="Limits over all actors" count={limits.count}>
        <div class="grid">{limits.groups.map((group) => <Group key={group.name} group={group} />)}</div>
        {limits.count > limits.groups.length && <p class="muted">and {limits.count - limits.groups.length} more</p>}
      </Panel>
      <Queue queue={limits.queue} waiting={limits.waiting} />
      <Actors groups={limits.groups} />
    </>
  );
}
