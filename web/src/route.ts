// Where the visitor is: the part of the address after the hash, such as #/nodes/node-17 or #/nodes?state=draining. With
// ?cluster= all of it is about that workload cluster, and so are the links from there.

import {useEffect, useState} from "preact/hooks";

import {showCluster, shownCluster} from "./data/cluster";

export interface Route {
  view: string;                      // "" is the fleet
  name: string;                      // of the node, on a node's page
  cluster: string;                   // "" is the one that careen runs in
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const slash = path.indexOf("/");
  const view = slash < 0 ? path : path.slice(0, slash);
  const parameters = new URLSearchParams(query);
  return {view, name: slash < 0 ? "" : decoded(path.slice(slash + 1)), cluster: parameters.get("cluster") ?? "", query: parameters};
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function nodeHref(name: string, cluster = shownCluster()): string {
  return viewHref(`nodes/${encodeURIComponent(name)}`, {cluster});
}

// In the cluster that is shown, unless the query names another.
export function viewHref(view: string, query: Record<string, string> = {}): string {
  const parameters = new URLSearchParams(Object.entries({...query, cluster: query["cluster"] ?? shownCluster()})
    .filter(([, value]) => value !== ""));
  const text = parameters.toString().replaceAll("%2F", "/");
  return `#/${view}${text ? `?${text}` : ""}`;
}

const takeCluster = (): void => showCluster(parseRoute(location.hash).cluster);
takeCluster();
// Before anybody else hears of it.
addEventListener("hashchange", takeCluster);

// Changes the query without a step in the history: a letter typed into a filter is none.
export function replaceQuery(view: string, query: Record<string, string>): void {
  history.replaceState(null, "", viewHref(view, query));
}

// How often the visitor went somewhere within the page.
let steps = 0;

// Where the visitor came from; who came to this very address goes to all nodes.
export function goBack(): void {
  if (steps > 0) history.back();
  else location.hash = viewHref("nodes");
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = (): void => {
      steps += 1;
      setRoute(parseRoute(location.hash));
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
