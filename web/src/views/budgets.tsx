// Every limit that holds nodes or pods back, as a gauge.

import type {Budget, Fleet} from "../data/api";
import {Empty, Panel} from "../parts/basics";
import {Gauge} from "../parts/gauge";

const SECTIONS: [kind: Budget["kind"], title: string][] = [
  ["maxMaintenance", "Maintenance limits"],
  ["stagger", "Stagger"],
  ["disruption", "Disruption budgets"],
];

export function BudgetsView({fleet}: {fleet: Fleet}) {
  if (fleet.budgets.length === 0) return <Empty>Nothing limits how many nodes are in maintenance at once.</Empty>;
  return (
    <div class="sections">
      <p class="key" aria-hidden="true">
        <span><span class="gauge places"><span class="taken" /></span>used</span>
        <span><span class="gauge places"><span class="reserved" /></span>reserved: admitted, not in maintenance yet</span>
        <span><span class="gauge places"><span class="free" /></span>free</span>
      </p>
      {SECTIONS.map(([kind, title]) => {
        const budgets = fleet.budgets.filter((budget) => budget.kind === kind);
        if (budgets.length === 0) return null;
        return (
          <Panel key={kind} title={title} count={budgets.length}>
            <div class="grid">{budgets.map((budget) => <Gauge key={`${budget.name} ${budget.scope}`} budget={budget} />)}</div>
          </Panel>
        );
      })}
    </div>
  );
}
