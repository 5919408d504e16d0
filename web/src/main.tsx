// The dashboard's beginning: draws the page and opens the stream.

import {render} from "preact";

import {App} from "./app";
import {shownCluster} from "./data/cluster";
import {home, store} from "./data/store";
import {Stream} from "./data/stream";
import "./style/index.css";
import {currentTheme, showTheme} from "./theme";

showTheme(currentTheme());

const stream = new Stream(store);
const atHome = new Stream(home);
let cluster = "";

function show(next: string): void {
  cluster = next;
  stream.show(cluster);
  if (!cluster) atHome.stop();
  else if (!home.fleet) atHome.connect();
}

function connect(): void {
  stream.connect();
  if (cluster) atHome.connect();
}

function nudge(): void {
  stream.nudge();
  if (cluster) atHome.nudge();
}

show(shownCluster());
addEventListener("hashchange", () => {
  if (shownCluster() !== cluster) show(shownCluster());
});
addEventListener("online", nudge);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) nudge();
});

const root = document.getElementById("app");
if (root) render(<App connect={connect} />, root);
