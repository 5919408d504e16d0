// The next 24 hours, as the code that decides plans them.

import {useEffect, useMemo, useState} from "preact/hooks";

import type {Plan, PlanRow} from "../data/api";
import {ApiError, getJson} from "../data/client";
import {dayText, durationText, shortTimeText} from "../data/clock";
import {usePhone, useTicking} from "../hooks";
import {Empty, NodeLink, Panel, Progress, When} from "../parts/basics";
import {VirtualList} from "../parts/virtual_list";

const HOURS = 24;
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 5000;

interface Asked {
  plan: Plan | null;
  error: ApiError | null;
}

// Asks until the plan is complete; `round` changes each time a new plan is wanted.
function usePlan(round: number): Asked {
  const [asked, setAsked] = useState<Asked>({plan: null, error: null});
  useEffect(() => {
    const aborter = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (pause: number): Promise<void> => {
      let complete = false;
      try {
        const plan = await getJson<Plan>(`careen/v1/plan?hours=${HOURS}`, aborter.signal);
        complete = plan.complete;
        setAsked({plan, error: null});
      } catch (error) {
        if (aborter.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        setAsked((old) => ({plan: old.plan, error}));
        // Without rights, or without plans, asking again is of no use.
        complete = error.status >= 400 && error.status < 500;
      }
      if (!complete && !aborter.signal.aborted) timer = setTimeout(() => void ask(Math.min(pause * 1.5, LONGEST_PAUSE)), pause);
    };
    void ask(FIRST_PAUSE);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [round]);
  return asked;
}

interface Span {
  from: number;
  until: number;
}

const place = (span: Span, time: number): number =>
  Math.min(100, Math.max(0, (100 * (time - span.from)) / (span.until - span.from)));

function rowText(row: PlanRow): string {
  const begin = Date.parse(row.begin);
  const end = row.end === undefined ? NaN : Date.parse(row.end);
  const until = Number.isFinite(end) ? `–${shortTimeText(end)}, ${durationText(end - begin)}` : ", end open";
  return `${shortTimeText(begin)}${until}`;
}

function Bar({row, span}: {row: PlanRow; span: Span}) {
  const begin = place(span, Date.parse(row.begin));
  const end = row.end === undefined ? 100 : place(span, Date.parse(row.end));
  const asked = row.requested === undefined ? begin : place(span, Date.parse(row.requested));
  const drained = row.drain === undefined ? begin : place(span, Date.parse(row.begin) + row.drain * 1000);
  return (
    <>
      {asked < begin && <span class="waited" style={{left: `${asked}%`, width: `${begin - asked}%`}} />}
      <span class={`planned ${row.end === undefined ? "open" : ""}`} style={{left: `${begin}%`, width: `${Math.max(0.3, end - begin)}%`}} />
      {drained > begin && <span class="planned-drain" style={{left: `${begin}%`, width: `${Math.min(drained, end) - begin}%`}} />}
    </>
  );
}

const HOUR = 3600e3;

// As much of the time as something happens in, two hours at the least.
function spanOf(plan: Plan): Span {
  const from = Date.parse(plan.from);
  const until = Date.parse(plan.until);
  let last = from + 2 * HOUR;
  for (const row of plan.rows) {
    // What has no end in the plan lasts to its end.
    last = Math.max(last, row.end === undefined ? until : Date.parse(row.end));
  }
  return {from, until: Math.min(until, last + (last - from) / 20)};
}

// Lines at round times, six or so.
function ticks(span: Span): number[] {
  const hours = (span.until - span.from) / HOUR;
  const step = HOUR * (hours > 13 ? 4 : hours > 7 ? 2 : hours > 3 ? 1 : 0.5);
  const offset = new Date(span.from).getTimezoneOffset() * 60e3;
  const all: number[] = [];
  for (let tick = Math.ceil((span.from - offset) / step) * step + offset; tick < span.until; tick += step) all.push(tick);
  return all;
}

function Gantt({plan}: {plan: Plan}) {
  const span = useMemo(() => spanOf(plan), [plan]);
  const phone = usePhone();
  const now = useTicking((time) => Math.round(place(span, time) * 10) / 10);
  const hours = ticks(span);
  return (
    <div class="gantt" role="table" aria-label="Planned maintenance" aria-rowcount={plan.rows.length + 1}>
      <div class="gantt-row head" role="row">
        <span role="columnheader">Node</span><span role="columnheader">Profile</span><span role="columnheader">When</span>
        <span role="columnheader" class="track" aria-label="Course">
          {hours.map((tick) => (
            <span key={tick} class="tick" style={{left: `${place(span, tick)}%`}} title={dayText(tick)}>{shortTimeText(tick)}</span>
          ))}
        </span>
      </div>
      <VirtualList items={plan.rows} rowHeight={phone ? 48 : 28} keyOf={(row) => `${row.node} ${row.profile} ${row.begin}`}
        row={(row) => (
          <div class="gantt-row" role="row">
            <span role="rowheader"><NodeLink name={row.node} /></span>
            <span role="cell" class="muted">{row.profile}</span>
            <span role="cell" title={`${row.begin} – ${row.end ?? ""}`}>{rowText(row)}</span>
            <span role="cell" class="track">
              {hours.map((tick) => <span key={tick} class="line" style={{left: `${place(span, tick)}%`}} />)}
              <span class="line now" style={{left: `${now}%`}} />
              <Bar row={row} span={span} />
            </span>
          </div>
        )} />
    </div>
  );
}

function Limits({plan}: {plan: Plan}) {
  return (
    <Panel title="What sets the pace">
      <ul class="plain limits">
        {plan.limits.map((limit) => (
          <li key={limit.what}>
            <span>{limit.what}</span> <b>{Math.round(limit.share * 100)} %</b>
            <Progress percent={limit.share * 100} label={limit.what} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Stuck({plan}: {plan: Plan}) {
  return (
    <Panel title="Never get through" count={plan.stuck.length} class="stuck">
      <ul class="plain">
        {plan.stuck.map((one) => (
          <li key={`${one.node} ${one.profile}`}><NodeLink name={one.node} /> <span class="muted">{one.profile}</span>
            <p class="why-not">{one.why}</p></li>
        ))}
      </ul>
    </Panel>
  );
}

function PlanPage({plan}: {plan: Plan}) {
  return (
    <>
      {plan.rows.length > 0 && (
        <Panel title="Planned" count={plan.rows.length}>
          <p class="key" aria-hidden="true">
            <span><span class="key-line" />wanted, waits</span>
            <span><span class="key-bar drains" />is drained</span>
            <span><span class="key-bar" />in maintenance</span>
          </p>
          <Gantt plan={plan} />
        </Panel>
      )}
      {plan.rows.length === 0 && plan.complete && <Empty>Nothing is going to happen in the next {HOURS} hours.</Empty>}
      <div class="grid wide">
        {plan.stuck.length > 0 && <Stuck plan={plan} />}
        {plan.limits.length > 0 && <Limits plan={plan} />}
        {plan.assumptions.length > 0 && (
          <Panel title="Assumed"><ul class="assumed">{plan.assumptions.map((text) => <li key={text}>{text}</li>)}</ul></Panel>
        )}
      </div>
    </>
  );
}

export function UpcomingView() {
  const [round, setRound] = useState(0);
  const {plan, error} = usePlan(round);
  return (
    <div class="sections upcoming">
      <div class="toolbar">
        <p class="muted" role="status">
          {!plan && !error && "Planning the next 24 hours …"}
          {plan && !plan.complete && `Still planning: ${plan.rows.length} rows so far …`}
          {plan?.complete && <>The next {HOURS} hours, planned <When time={plan.from} /></>}
        </p>
        <button type="button" class="quiet" onClick={() => setRound(round + 1)} disabled={plan !== null && !plan.complete}>Plan again</button>
      </div>
      {(!plan || !plan.complete) && !error && <div class="progress running" role="progressbar" aria-label="Planning"><div class="filled" /></div>}
      {error && <p class="banner bad" role="alert">No plan: {error.message}</p>}
      {plan && <PlanPage plan={plan} />}
    </div>
  );
}
