// Which cluster the page shows: "" is the one that careen runs in, others are those that it looks after as a hub,
// namespace/name. The address says which.

let shown = "";

export function shownCluster(): string {
  return shown;
}

export function showCluster(cluster: string): void {
  shown = cluster;
}

// A document of that cluster.
export function inCluster(path: string, cluster: string): string {
  if (!cluster) return path;
  return `${path}${path.includes("?") ? "&" : "?"}cluster=${encodeURIComponent(cluster)}`;
}
