/** The event stream: one WebSocket per project, resumed after the last event that arrived. */
import { signal } from "@preact/signals";
import { param } from "../router";
import type { Entry } from "./client";

export type LiveEvent = { type: string; seq: number; at: number; project: string; agent: string; entry: Entry };
export type Connection =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "behind"; since: number } // the server is connected, but its store answers late
  | { state: "offline"; since: number; retryAt: number }
  | { state: "signed-out" };

export const connection = signal<Connection>({ state: "connecting" });
/** The number of the last event that arrived, 0 before the first. */
export const lastSeq = signal(0);
/** When the server said something last, in seconds. */
export const receivedAt = signal(0);
/** Milliseconds without a heartbeat after which a connection is dead; the server sends one every 15 seconds. */
const SILENCE = 40_000;

type Listener = (event: LiveEvent) => void;
const listeners = new Set<Listener>();
const resets = new Set<() => void>();

/** Call a function for each event; returns the function that ends it. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Call a function when everything known so far may be out of date. */
export function onReset(listener: () => void): () => void {
  resets.add(listener);
  return () => resets.delete(listener);
}

let socket: WebSocket | null = null;
let attempts = 0;
let timer = 0;
let silence = 0;

/** Show that this browser is signed out; a link signs it in. */
export function endSession(): void {
  connection.value = { state: "signed-out" };
  disconnect();
}

export function disconnect(): void {
  clearTimeout(timer);
  clearTimeout(silence);
  if (socket) socket.onclose = null;
  socket?.close();
  socket = null;
}

/** Connect to the project of the address. */
export function connect(): void {
  connection.value = { state: "connecting" };
  lastSeq.value = 0;
  attempts = 0;
  open();
}

function open(): void {
  const url = new URL("/ws", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const project = param("project");
  if (project) url.searchParams.set("project", project);
  if (lastSeq.value) url.searchParams.set("after", String(lastSeq.value));
  socket = new WebSocket(url);
  socket.onmessage = (message) => receive(JSON.parse(message.data));
  socket.onclose = (event) => retry(event.code);
}

function receive(message: { type: string; seq?: number } & Partial<LiveEvent>): void {
  attempts = 0;
  receivedAt.value = Date.now() / 1000;
  clearTimeout(silence);
  silence = window.setTimeout(() => socket?.close(), SILENCE);
  switch (message.type) {
    case "init":
    case "resumed":
    case "current":
      connection.value = { state: "live" };
      if (message.type === "init") lastSeq.value = message.seq ?? 0;
      for (const reset of resets) reset();
      return;
    case "resync":
      lastSeq.value = 0;
      return;
    case "behind":
      if (connection.value.state !== "behind") connection.value = { state: "behind", since: Date.now() / 1000 };
      return;
    case "heartbeat":
      if (message.seq) lastSeq.value = message.seq;
      return;
  }
  if (!message.entry) return;
  lastSeq.value = message.seq ?? lastSeq.value;
  for (const listener of listeners) listener(message as LiveEvent);
}

function retry(code: number): void {
  clearTimeout(silence);
  if (code === 4401) return endSession();
  const wait = Math.min(5_000, 250 * 2 ** attempts++) * (0.75 + Math.random() / 2);
  const before = connection.value;
  const since = before.state === "offline" ? before.since : Date.now() / 1000;
  connection.value = { state: "offline", since, retryAt: Date.now() + wait };
  timer = window.setTimeout(open, wait);
}

addEventListener("online", () => {
  if (connection.value.state === "offline" && socket) {
    clearTimeout(timer);
    open();
  }
});
