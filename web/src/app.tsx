// The page: its head, the views, and what belongs to none of them.

import {useEffect, useRef, useState} from "preact/hooks";

import type {Fleet} from "./data/api";
import {address} from "./data/client";
import {dayText, timeText} from "./data/clock";
import {homeFleet} from "./data/store";
import type {Connection} from "./data/store";
import {useStore, useTicking} from "./hooks";
import {Banners} from "./parts/banners";
import {Empty} from "./parts/basics";
import {TokenDialog} from "./parts/token_dialog";
import {goBack, useRoute, viewHref} from "./route";
import type {Route} from "./route";
import {currentTheme, showTheme} from "./theme";
import type {Theme} from "./theme";
import {BudgetsView} from "./views/budgets";
import {ClustersView} from "./views/clusters";
import {DrainsView} from "./views/drains";
import {FleetView} from "./views/fleet";
import {NodeView} from "./views/node";
import {NodesView} from "./views/nodes";
import {TimelineView} from "./views/timeline";
import {UpcomingView} from "./views/upcoming";

type ViewEntry = [view: string, title: string, icon: string];

const VIEWS: ViewEntry[] = [
  ["", "Fleet", "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z"],
  ["nodes", "Nodes", "M2 3h12v2H2zM2 7h12v2H2zM2 11h12v2H2z"],
  ["budgets", "Budgets", "M2 6h12v4H2zM3 7v2h6V7z"],
  ["drains", "Drains", "M7 1h2v8h3l-4 4-4-4h3zM2 14h12v1H2z"],
  ["timeline", "Timeline", "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm0 2a5 5 0 1 1 0 10A5 5 0 0 1 8 3zM7 4h2v4l3 2-1 1.5L7 9z"],
  ["upcoming", "Upcoming", "M2 3h6v2H2zM5 7h7v2H5zM8 11h6v2H8z"],
];

// Only where there are some.
const CLUSTERS: ViewEntry = ["clusters", "Clusters", "M1 2h6v5H1zM9 2h6v5H9zM5 9h6v5H5zM3.5 7h1v3h-1zM11.5 7h1v3h-1z"];

function Navigation({current, clusters}: {current: string; clusters: boolean}) {
  return (
    <nav class="views" aria-label="Views">
      {(clusters ? [CLUSTERS, ...VIEWS] : VIEWS).map(([view, title, icon]) => (
        <a key={view} href={viewHref(view)} aria-current={current === view ? "page" : undefined}>
          <svg viewBox="0 0 16 16" aria-hidden="true"><path fill-rule="evenodd" d={icon} /></svg>
          <span>{title}</span>
        </a>
      ))}
    </nav>
  );
}

const NEXT_THEME: Record<Theme, Theme> = {system: "light", light: "dark", dark: "system"};
const THEME_MARKS: Record<Theme, string> = {system: "◐", light: "☀", dark: "☾"};

function ThemeButton() {
  const [theme, setTheme] = useState(currentTheme);
  const turn = (): void => {
    const next = NEXT_THEME[theme];
    showTheme(next);
    setTheme(next);
  };
  const label = `Colours: ${theme}. Change to ${NEXT_THEME[theme]}`;
  return <button type="button" class="theme quiet" title={label} aria-label={label} onClick={turn}>{THEME_MARKS[theme]}</button>;
}

function Clock({speed}: {speed: number}) {
  const text = useTicking((now) => timeText(now));
  const day = useTicking((now) => dayText(now));
  return (
    <span class="now" title={`${day}, the cluster's time${speed === 1 ? "" : `, ${speed} times as fast as yours`}`}>
      {speed !== 1 && <><span class="day">{day}</span> <b class="speed">×{speed}</b> </>}{text}
    </span>
  );
}

const LIGHTS: Record<Connection["state"], [text: string, tone: string]> = {
  connecting: ["connecting", "wait"],
  live: ["live", "good"],
  lost: ["not connected", "bad"],
  unauthorized: ["token wanted", "bad"],
  forbidden: ["not allowed", "bad"],
};

// Which cluster all the views are about.
function ClusterSelect({route, names}: {route: Route; names: string[]}) {
  const known = route.cluster === "" || names.includes(route.cluster) ? names : [...names, route.cluster];
  const view = route.view === "clusters" ? "" : route.view;
  return (
    <select class="cluster" aria-label="Cluster" title="The cluster that is shown" value={route.cluster}
      onChange={(event) => {
        location.hash = viewHref(view, {cluster: event.currentTarget.value});
      }}>
      <option value="">management</option>
      {known.map((name) => <option key={name} value={name}>{name}</option>)}
    </select>
  );
}

function Head(props: {route: Route; view: string; fleet: Fleet | null; connection: Connection}) {
  const {route, view, fleet, connection} = props;
  const hub = homeFleet()?.hub ?? [];
  const choice = hub.length > 0 || route.cluster !== "";
  const [text, tone] = LIGHTS[connection.state];
  return (
    <header class={`top ${choice ? "with-clusters" : ""}`}>
      <a class="brand" href={viewHref("")} aria-label="careen: the fleet"><img src="icon.svg" alt="" width="22" height="22" />careen</a>
      {choice && <ClusterSelect route={route} names={hub} />}
      <Navigation current={view} clusters={hasClusters(homeFleet())} />
      <span class="status">
        <span class={`light ${tone}`} role="status"><span class="dot" aria-hidden="true" /><span class="light-text">{text}</span></span>
        {fleet && <Clock speed={fleet.careen.speed} />}
        <ThemeButton />
      </span>
    </header>
  );
}

function hasClusters(fleet: Fleet | null): boolean {
  return Boolean(fleet?.clusters?.length || fleet?.hub?.length);
}

// A management cluster in which nobody looks after nodes begins with its clusters.
function viewOf(route: Route, fleet: Fleet | null): string {
  return route.view === "" && fleet?.nodes.length === 0 && hasClusters(fleet) ? "clusters" : route.view;
}

function View({route, view, fleet}: {route: Route; view: string; fleet: Fleet}) {
  switch (view) {
    case "clusters": return <ClustersView fleet={homeFleet() ?? fleet} />;
    case "": return <FleetView fleet={fleet} route={route} />;
    case "nodes": return route.name ? <NodeView fleet={fleet} name={route.name} /> : <NodesView fleet={fleet} route={route} />;
    case "budgets": return <BudgetsView fleet={fleet} />;
    case "drains": return <DrainsView fleet={fleet} />;
    case "timeline": return <TimelineView fleet={fleet} route={route} />;
    case "upcoming": return <UpcomingView />;
    default: return <Empty>There is no view {view}. <a href={viewHref("")}>The fleet</a></Empty>;
  }
}

function Foot({fleet}: {fleet: Fleet}) {
  const {version, identity, leading, holder} = fleet.careen;
  return (
    <footer class="foot">
      careen {version} · {leading ? `${identity} leads` : holder ? `${identity} answers, ${holder} leads` : identity}
      {" · "}<a href={address("api/v1/info")}>info</a>{" · "}<a href={address("metrics")}>metrics</a>
    </footer>
  );
}

// `/` goes to the filter, wherever the visitor is; Escape on a node's page goes back.
function useShortcuts(route: Route): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") {
        const filter = document.getElementById("filter");
        if (!filter) location.hash = viewHref("nodes");
        else filter.focus();
        event.preventDefault();
      } else if (event.key === "Escape" && route.name) {
        goBack();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [route]);
}

function titleOf(route: Route, shown: string): string {
  const title = [CLUSTERS, ...VIEWS].find(([view]) => view === shown)?.[1] ?? "";
  return `${route.name || title}${route.cluster ? ` · ${route.cluster}` : ""} · careen`;
}

export function App({connect}: {connect: () => void}) {
  const {connection, fleet} = useStore();
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  const view = viewOf(route, fleet);
  useShortcuts(route);
  useEffect(() => {
    document.title = titleOf(route, view);
    main.current?.scrollTo(0, 0);
  }, [view, route.name, route.cluster]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        main.current?.focus();
      }}>To the content</a>
      <Head route={route} view={view} fleet={fleet} connection={connection} />
      <main id="main" class="scroller" tabIndex={-1} ref={main}>
        <Banners connection={connection} fleet={fleet} retry={connect} />
        {fleet ? <View key={route.cluster} route={route} view={view} fleet={fleet} /> : connection.state === "connecting" && <Empty>Connecting …</Empty>}
        {fleet && <Foot fleet={fleet} />}
      </main>
      {connection.state === "unauthorized" && <TokenDialog message={connection.message} done={connect} />}
    </>
  );
}
