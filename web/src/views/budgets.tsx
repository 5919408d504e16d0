// Every limit that holds nodes or pods back, as a gauge; and who has nodes out, counted or not.

import type {Budget, Claims, Fleet, Limits} from "../data/api";
import {Empty, NodeLink, Panel, When} from "../parts/basics";
import {Gauge} from "../parts/gauge";
import {LimitPanels} from "../parts/limits";

const SECTIONS: [kind: Budget["kind"], title: string][] = [
  ["maxMaintenance", "Maintenance limits"],
  ["stagger", "Stagger"],
  ["disruption", "Disruption budgets"],
];

// The limits over all actors in which a node counts, as far as they name their nodes.
function limitsOf(node: string, limits: Limits | undefined): string[] {
  const names = limits?.groups.filter((group) => group.usedBy.some(({nodes}) => nodes.some((one) => one.node === node)));
  return names?.map((group) => group.name) ?? [];
}

function ClaimsPanel({claims, limits}: {claims: Claims; limits?: Limits | undefined}) {
  return (
    <Panel title="Who has nodes out" count={claims.count}>
      <table class="claims">
        <thead><tr><th>Who</th><th>Node</th><th>Stage</th><th>Since</th><th>Counts in</th></tr></thead>
        <tbody>
          {claims.first.map(({who, node, stage, since, budgets}) => (
            <tr key={`${who} ${node}`}>
              <td>{who}</td><td><NodeLink name={node} /></td><td>{stage}</td><td><When time={since} /></td><td>{[...limitsOf(node, limits), ...budgets].join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {claims.count > claims.first.length && <p class="muted">and {claims.count - claims.first.length} more</p>}
    </Panel>
  );
}

export function BudgetsView({fleet}: {fleet: Fleet}) {
  const claims = fleet.claims?.count ? <ClaimsPanel claims={fleet.claims} limits={fleet.limits} /> : null;
  const limits = fleet.limits?.count ? <LimitPanels limits={fleet.limits} /> : null;
  if (fleet.budgets.length === 0) {
    return (
      <div class="sections">
        {limits ?? <Empty>Nothing limits how many nodes are in maintenance at once.</Empty>}
        {claims}
      </div>
    );
  }
  return (
    <div class="sections">
      <p class="key" aria-hidden="true">
        <span><span class="gauge places"><span class="taken" /></span>used</span>
        <span><span class="gauge places"><span class="reserved" /></span>reserved: admitted, not in maintenance yet</span>
        <span><span class="gauge places"><span class="free" /></span>free</span>
      </p>
      {limits}
      {SECTIONS.map(([kind, title]) => {
        const budgets = fleet.budgets.filter((budget) => budget.kind === kind);
        if (budgets.length === 0) return null;
        return (
          <Panel key={kind} title={title} count={budgets.length}>
            <div class="grid">{budgets.map((budget) => <Gauge key={`${budget.name} ${budget.scope}`} budget={budget} />)}</div>
          </Panel>
        );
      })}
      {claims}
    </div>
  );
}
