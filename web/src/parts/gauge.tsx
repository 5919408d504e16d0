// A budget as a gauge: what is used, what is reserved for nodes on their way, what is free, who holds it, who waits.

import type {Budget} from "../data/api";
import {NodeLink, When} from "./basics";

const KINDS: Record<Budget["kind"], string> = {
  maxMaintenance: "maintenance limit",
  stagger: "stagger",
  disruption: "disruption budget",
};

// Up to this many places, each is drawn as one.
const MOST_PLACES = 24;

export function Bar({budget}: {budget: Pick<Budget, "name" | "max" | "used" | "reserved">}) {
  const taken = budget.used - budget.reserved;
  const label = `${budget.name}: ${budget.used} of ${budget.max} used, ${budget.reserved} of them reserved`;
  const meter = {
    "role": "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": Math.max(budget.max, budget.used),
    "aria-valuenow": budget.used,
  } as const;
  const full = budget.used >= budget.max ? "full" : "";
  const places = Math.max(budget.max, budget.used);
  if (places > 0 && places <= MOST_PLACES) {
    const kind = (place: number): string =>
      place >= budget.max ? "over" : place < taken ? "taken" : place < budget.used ? "reserved" : "free";
    return (
      <div class={`gauge places ${full}`} {...meter}>
        {Array.from({length: places}, (_, place) => <span key={place} class={kind(place)} />)}
      </div>
    );
  }
  const share = (part: number): {width: string} => ({width: `${places > 0 ? (100 * part) / places : 0}%`});
  return (
    <div class={`gauge ${full}`} {...meter}>
      <span class="taken" style={share(taken)} />
      <span class="reserved" style={share(budget.reserved)} />
    </div>
  );
}

function Numbers({budget}: {budget: Budget}) {
  const free = Math.max(0, budget.max - budget.used);
  return (
    <p class="numbers">
      <b>{budget.used}</b> of {budget.max} used
      {budget.reserved > 0 && <>, {budget.reserved} reserved</>}
      {budget.used > budget.max ? <b class="bad">, {budget.used - budget.max} over the limit</b> : <>, {free} free</>}
      {budget.waiting > 0 && <span class="waiting"> · {budget.waiting} waiting</span>}
      {budget.free_at && <> · next place <When time={budget.free_at} /></>}
    </p>
  );
}

export function Gauge({budget, compact}: {budget: Budget; compact?: boolean}) {
  return (
    <article class="budget" aria-label={budget.name}>
      <header><h3 title={budget.name}>{budget.name}</h3>{compact && <span class="kind">{KINDS[budget.kind] ?? budget.kind}</span>}</header>
      <Bar budget={budget} />
      <Numbers budget={budget} />
      <p class="scope">{budget.scope}</p>
      {!compact && budget.holders.length > 0 && (
        <p class="holders">Held by {budget.holders.map((holder) => <NodeLink key={holder} name={holder} />)}
          {budget.used > budget.holders.length && <span>and {budget.used - budget.holders.length} more</span>}</p>
      )}
    </article>
  );
}
