// The dashboard's beginning: draws the page and opens the stream.

import {render} from "preact";

import {App} from "./app";
import {store} from "./data/store";
import {Stream} from "./data/stream";
import "./style/index.css";
import {currentTheme, showTheme} from "./theme";

showTheme(currentTheme());

const stream = new Stream(store);
stream.connect();
addEventListener("online", () => stream.nudge());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) stream.nudge();
});

const root = document.getElementById("app");
if (root) render(<App stream={stream} />, root);
