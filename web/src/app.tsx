// The page: its head, the views, and what belongs to none of them.

import {useEffect, useRef, useState} from "preact/hooks";

import type {Fleet} from "./data/api";
import {address} from "./data/client";
import {dayText, timeText} from "./data/clock";
import type {Connection} from "./data/store";
import type {Stream} from "./data/stream";
import {useStore, useTicking} from "./hooks";
import {Banners} from "./parts/banners";
import {Empty} from "./parts/basics";
import {TokenDialog} from "./parts/token_dialog";
import {goBack, useRoute, viewHref} from "./route";
import type {Route} from "./route";
import {currentTheme, showTheme} from "./theme";
import type {Theme} from "./theme";
import {BudgetsView} from "./views/budgets";
import {DrainsView} from "./views/drains";
import {FleetView} from "./views/fleet";
import {NodeView} from "./views/node";
import {NodesView} from "./views/nodes";
import {TimelineView} from "./views/timeline";
import {UpcomingView} from "./views/upcoming";

const VIEWS: [view: string, title: string, icon: string][] = [
  ["", "Fleet", "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z"],
  ["nodes", "Nodes", "M2 3h12v2H2zM2 7h12v2H2zM2 11h12v2H2z"],
  ["budgets", "Budgets", "M2 6h12v4H2zM3 7v2h6V7z"],
  ["drains", "Drains", "M7 1h2v8h3l-4 4-4-4h3zM2 14h12v1H2z"],
  ["timeline", "Timeline", "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm0 2a5 5 0 1 1 0 10A5 5 0 0 1 8 3zM7 4h2v4l3 2-1 1.5L7 9z"],
  ["upcoming", "Upcoming", "M2 3h6v2H2zM5 7h7v2H5zM8 11h6v2H8z"],
];

function Navigation({route}: {route: Route}) {
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map(([view, title, icon]) => (
        <a key={view} href={viewHref(view)} aria-current={route.view === view ? "page" : undefined}>
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

function Head({route, fleet, connection}: {route: Route; fleet: Fleet | null; connection: Connection}) {
  const [text, tone] = LIGHTS[connection.state];
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="careen: the fleet"><img src="icon.svg" alt="" width="22" height="22" />careen</a>
      <Navigation route={route} />
      <span class="status">
        <span class={`light ${tone}`} role="status"><span class="dot" aria-hidden="true" /><span class="light-text">{text}</span></span>
        {fleet && <Clock speed={fleet.careen.speed} />}
        <ThemeButton />
      </span>
    </header>
  );
}

function View({route, fleet}: {route: Route; fleet: Fleet}) {
  switch (route.view) {
    case "": return <FleetView fleet={fleet} route={route} />;
    case "nodes": return route.name ? <NodeView fleet={fleet} name={route.name} /> : <NodesView fleet={fleet} route={route} />;
    case "budgets": return <BudgetsView fleet={fleet} />;
    case "drains": return <DrainsView fleet={fleet} />;
    case "timeline": return <TimelineView fleet={fleet} route={route} />;
    case "upcoming": return <UpcomingView />;
    default: return <Empty>There is no view {route.view}. <a href="#/">The fleet</a></Empty>;
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

function titleOf(route: Route): string {
  const title = VIEWS.find(([view]) => view === route.view)?.[1] ?? "";
  return `${route.name || title} · careen`;
}

export function App({stream}: {stream: Stream}) {
  const {connection, fleet} = useStore();
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  useShortcuts(route);
  useEffect(() => {
    document.title = titleOf(route);
    main.current?.scrollTo(0, 0);
  }, [route.view, route.name]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        main.current?.focus();
      }}>To the content</a>
      <Head route={route} fleet={fleet} connection={connection} />
      <main id="main" class="scroller" tabIndex={-1} ref={main}>
        <Banners connection={connection} fleet={fleet} retry={() => stream.connect()} />
        {fleet ? <View route={route} fleet={fleet} /> : connection.state === "connecting" && <Empty>Connecting …</Empty>}
        {fleet && <Foot fleet={fleet} />}
      </main>
      {connection.state === "unauthorized" && <TokenDialog message={connection.message} done={() => stream.connect()} />}
    </>
  );
}
