// Where the visitor is: the part of the address after the hash, such as #/nodes/node-17 or #/nodes?state=draining.

import {useEffect, useState} from "preact/hooks";

export interface Route {
  view: string;                      // "" is the fleet
  name: string;                      // of the node, on a node's page
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const slash = path.indexOf("/");
  const view = slash < 0 ? path : path.slice(0, slash);
  return {view, name: slash < 0 ? "" : decoded(path.slice(slash + 1)), query: new URLSearchParams(query)};
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function nodeHref(name: string): string {
  return `#/nodes/${encodeURIComponent(name)}`;
}

export function viewHref(view: string, query: Record<string, string> = {}): string {
  const parameters = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  const text = parameters.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

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
