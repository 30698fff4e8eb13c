/** Figures of a range: how much is held, who waits, what gets done, and what coordination costs. */
import type { ComponentChildren } from "preact";
import { BarList, LineChart, type Points, type Range } from "../charts";
import { hueOf } from "../hue";
import { span } from "../time";
import type { History } from "./types";

export type Names = { agent: (id: string) => ComponentChildren; file: (path: string) => ComponentChildren };
type Props = { history: History; range: Range; mark?: number | null };

const percent = (share: number): string => `${share > 0 && share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)}%`;
export const count = (number: number, one: string, more = `${one}s`): string => `${number} ${number === 1 ? one : more}`;

/** A wait that rounds to nothing was still a wait. */
const atLeast = (seconds: number): string => (seconds > 0 && seconds < 0.5 ? "under 1s" : span(seconds));

function pointsOf({ begin, step }: History["series"], values: readonly number[]): Points {
  return values.map((value, index) => [begin + index * step, value] as const);
}

/** Return how many there were so far. */
function sums(series: History["series"], values: readonly number[]): Points {
  let sum = 0;
  const found = values.map((value, index) => [series.begin + (index + 1) * series.step, (sum += value)] as const);
  return [[series.begin, 0], ...found];
}

export function LevelsChart({ history: { series }, range, mark }: Props) {
  return (
    <LineChart
      title="Claims held, and agents waiting"
      empty="No claims in this range."
      range={range}
      mark={mark}
      series={[
        { name: "held", points: pointsOf(series, series.held), tone: "accent" },
        { name: "waiting", points: pointsOf(series, series.waiting), tone: "warn" },
      ]}
    />
  );
}

export function ThroughputChart({ history: { series }, range, mark }: Props) {
  return (
    <LineChart
      title="Commits, tasks, denied claims"
      empty="None of these in this range."
      range={range}
      mark={mark}
      series={[
        { name: "commits", points: sums(series, series.commits), tone: "good" },
        { name: "tasks", points: sums(series, series.tasks), tone: "info" },
        { name: "denied", points: sums(series, series.denied), tone: "bad" },
      ]}
    />
  );
}

export function OverheadChart({ history: { series }, range, mark }: Props) {
  return (
    <LineChart
      title="Coordination overhead: time spent waiting"
      range={range}
      mark={mark}
      whole={false}
      format={percent}
      empty="No agent waited in this range."
      series={[{ name: "waiting", points: pointsOf(series, series.overhead), tone: "warn" }]}
    />
  );
}

export function ContentionBars({ history, names, most = 8 }: { history: History; names: Names; most?: number }) {
  const found = history.files.filter((one) => one.waited > 0 || one.denied > 0).slice(0, most);
  return (
    <BarList
      label="Contended files"
      empty="No file had to be waited for, and no claim was denied."
      bars={found.map((one) => ({
        key: one.pattern,
        name: names.file(one.pattern),
        value: one.waited,
        text: `${atLeast(one.waited)} waited`,
        tone: "warn" as const,
        note: [one.denied && count(one.denied, "denied claim"), one.waits && count(one.waits, "wait"), count(one.agents, "agent")].filter(Boolean).join(", "),
      }))}
    />
  );
}

export function WaitBars({ history, names, most = 8 }: { history: History; names: Names; most?: number }) {
  const found = history.work.filter((one) => one.waits > 0 || one.denied > 0).sort((a, b) => b.waited - a.waited);
  return (
    <BarList
      label="Time that each agent waited"
      empty="No agent waited."
      bars={found.slice(0, most).map((one) => ({
        key: one.agent,
        name: names.agent(one.agent),
        value: one.waited,
        text: one.waited ? `${atLeast(one.waited)} (${percent(one.overhead)} of its time)` : "no time lost",
        hue: hueOf(one.agent),
        note: [one.waits && count(one.waits, "wait"), one.denied && count(one.denied, "denied claim")].filter(Boolean).join(", "),
      }))}
    />
  );
}

export function WorkTable({ history, names }: { history: History; names: Names }) {
  if (!history.work.length) return <p class="muted">No agent worked in this range.</p>;
  return (
    <div class="scrolls">
      <table class="work">
        <thead>
          <tr>
            {["Agent", "Present", "Claims", "Edits", "Commits", "Tasks done", "Denied", "Waited", "Overhead"].map((name, index) => (
              <th key={name} scope="col" class={index ? "number" : ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {history.work.map((one) => (
            <tr key={one.agent}>
              <th scope="row">{names.agent(one.agent)}</th>
              <td class="number">{span(one.present)}</td>
              {[one.claims, one.edits, one.commits, one.tasks, one.denied].map((value, index) => (
                <td key={index} class={`number ${value ? "" : "muted"}`}>
                  {value}
                </td>
              ))}
              <td class={`number ${one.waited ? "" : "muted"}`}>{span(one.waited)}</td>
              <td class={`number ${one.waited ? "" : "muted"}`}>{percent(one.overhead)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function TotalsList({ history: { totals } }: { history: History }) {
  const found: [string, string][] = [
    ["Agents", String(totals.agents)],
    ["Claims", String(totals.claims)],
    ["Commits", String(totals.commits)],
    ["Tasks done", String(totals.tasks)],
    ["Denied claims", String(totals.denied)],
    ["Waits", totals.waits ? `${totals.waits}, longest ${span(totals.longest_wait)}` : "0"],
    ["Overhead", percent(totals.overhead)],
  ];
  return (
    <dl class="totals">
      {found.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
