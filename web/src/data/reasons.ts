// The tree of reasons: which of its lines decide.

import type {Why} from "./api";

function fails(why: Why): boolean {
  return why.verdict === "no" || why.verdict === "error";
}

// The deepest failing lines below a failing root: each has no failing child, and only failing ones above it. An "or"
// that is true in spite of a failing branch hides that branch.
export function decidingLeaves(root: Why, found: Set<Why> = new Set()): Set<Why> {
  if (!fails(root)) return found;
  const failing = (root.children ?? []).filter(fails);
  if (failing.length === 0) found.add(root);
  for (const child of failing) decidingLeaves(child, found);
  return found;
}
