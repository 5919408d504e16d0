// The smallest parts of the page: a time, a state, a link to a node, a heading with a count.

import type {ComponentChildren} from "preact";

import {momentText, relativeText} from "../data/clock";
import {cellName} from "../data/filter";
import {store} from "../data/store";
import {useTicking} from "../hooks";
import {nodeHref} from "../route";

// How long ago or how soon; the whole time in RFC 3339 is its title.
export function When({time}: {time: string | undefined}) {
  const moment = Date.parse(time ?? "");
  const text = useTicking((now) => (Number.isFinite(moment) ? relativeText(moment, now) : ""));
  if (!text) return null;
  return <time dateTime={time} title={time}>{text}</time>;
}

// The time of day, with the day when it is not today, and how far away that is.
export function Moment({time}: {time: string}) {
  const moment = Date.parse(time);
  const text = useTicking((now) => (Number.isFinite(moment) ? momentText(moment, now) : time));
  return <time dateTime={time} title={time}>{text} (<When time={time} />)</time>;
}

// Text in which names stand between backquotes.
export function Prose({text}: {text: string}) {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

export function Badge({state}: {state: string}) {
  return <span class={`badge s-${state}`}>{cellName(state)}</span>;
}

// A name that may be a node's: a link if it is one.
export function NodeLink({name}: {name: string}) {
  if (!store.node(name)) return <span class="name">{name}</span>;
  return <a class="name" href={nodeHref(name)}>{name}</a>;
}

export function Panel(props: {title: string; count?: number; more?: string; class?: string; children: ComponentChildren}) {
  const id = `panel-${props.title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  return (
    <section class={`panel ${props.class ?? ""}`} aria-labelledby={id}>
      <h2 id={id}>
        {props.title}
        {props.count !== undefined && <span class="count">{props.count}</span>}
        {props.more && <a class="more" href={props.more} aria-label={`${props.title}: show all`}>show all</a>}
      </h2>
      {props.children}
    </section>
  );
}

export function Empty({children}: {children: ComponentChildren}) {
  return <p class="empty">{children}</p>;
}

// A bar from 0 to 100.
export function Progress({percent, label, tone}: {percent: number; label: string; tone?: string}) {
  const value = Math.min(100, Math.max(0, Math.round(percent)));
  return (
    <div class={`progress ${tone ?? ""}`} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100}
      aria-valuenow={value}>
      <div class="filled" style={{width: `${value}%`}} />
    </div>
  );
}
