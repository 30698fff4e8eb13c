/**
 * The rows of the list: the numbers of all matching entries, and the entries near the screen.
 *
 * The server selects the entries. The page keeps one number for each (100,000 are 0.8 MB) and loads an entry when its
 * row comes near the screen, so the scrollbar is exact and any row can be reached at once.
 */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type ApiError, api, asApiError, data, type Entry } from "../../api/client";
import { onEvent, onReset } from "../../api/live";
import { param } from "../../router";

/** How many entries one request asks for, and how many are kept. */
const CHUNK = 90;
const KEPT = 3_000;
const SHORTEST_PAUSE = 80;
const MOST_NEWS = 1_000;

export type Filters = { agent: string[]; kind: string[]; path: string[]; text: string; since: string; until: string };

export class LedgerRows {
  /** Counts changes; a component that reads it is drawn again. */
  readonly version = signal(0);
  readonly error = signal<ApiError | null>(null);
  /** Whether the numbers of all entries are known; the first page comes earlier. */
  readonly counted = signal(false);
  complete = true;
  private numbers: number[] = []; // oldest first
  private entries = new Map<number, Entry>();
  private seen = 0; // the ledger's last number when it was last read
  private window: [number, number] = [0, 0];
  private loading = false;
  private updating = false;
  private wanted = false;
  private ended = false;
  /** Called with the number of rows that were added at the top. */
  onAdded: (count: number) => void = () => {};

  constructor(private readonly filters: Filters) {}

  start(): () => void {
    const stops = [onEvent(() => this.refresh()), onReset(() => this.refresh())];
    void this.load();
    return () => {
      this.ended = true;
      for (const stop of stops) stop();
    };
  }

  get count(): number {
    return this.numbers.length;
  }

  seqAt(row: number): number {
    return this.numbers[this.numbers.length - 1 - row] ?? 0;
  }

  entryAt(row: number): Entry | undefined {
    return this.entries.get(this.seqAt(row));
  }

  entry(seq: number): Entry | undefined {
    return this.entries.get(seq);
  }

  /** Return the row of an entry, or of the next older one; `exact` says which. */
  rowOf(seq: number): { row: number; exact: boolean } {
    let low = 0;
    let high = this.numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.numbers[middle] as number) < seq) low = middle + 1;
      else high = middle;
    }
    const exact = this.numbers[low] === seq;
    return { row: Math.max(0, this.numbers.length - 1 - (exact ? low : low - 1)), exact };
  }

  /** Load the entries of these rows, and of some around them. */
  near(first: number, last: number): void {
    this.window = [first, last];
    if (!this.loading) void this.fill();
  }

  private async load(): Promise<void> {
    try {
      const query = { ...this.filters };
      const first = data(api.GET("/api/v1/log", { params: { query: { ...query, limit: 100 } } }));
      const all = data(api.GET("/api/v1/log/numbers", { params: { query } }));
      all.catch(() => {}); // it is awaited below, unless the first page failed
      const page = (await first).entries;
      if (this.ended) return;
      this.keep(page);
      this.numbers = page.map((entry) => entry.seq).reverse();
      this.changed();
      const { ranges, complete, last } = await all;
      if (this.ended) return;
      this.numbers = expanded(ranges);
      this.complete = complete;
      this.seen = last;
      this.counted.value = true;
      this.error.value = null;
      this.changed();
      this.refresh();
    } catch (error) {
      this.failed(error);
    }
  }

  /** Ask for entries that are newer than what is known; at most one request at a time. */
  private refresh(): void {
    if (!this.counted.value) {
      if (this.error.value) void this.load();
      return;
    }
    this.wanted = true;
    if (!this.updating && !this.filters.until) void this.update();
  }

  private async update(): Promise<void> {
    this.updating = true;
    this.wanted = false;
    const began = performance.now();
    try {
      const query = { ...this.filters, since: String(this.seen), order: "oldest" as const, limit: MOST_NEWS };
      const found = await data(api.GET("/api/v1/log", { params: { query } }));
      if (this.ended) return;
      const news = found.entries.filter((entry) => entry.seq > this.seen);
      this.error.value = null;
      if (news.length) {
        this.keep(news);
        for (const entry of news) this.numbers.push(entry.seq);
        this.seen = news[news.length - 1]?.seq ?? this.seen;
        this.onAdded(news.length);
        this.changed();
      }
      this.wanted ||= found.next_cursor !== null;
    } catch (error) {
      this.failed(error);
    }
    setTimeout(
      () => {
        this.updating = false;
        if (this.wanted && !this.ended) void this.update();
      },
      Math.max(SHORTEST_PAUSE, 2 * (performance.now() - began)),
    );
  }

  private async fill(): Promise<void> {
    this.loading = true;
    for (let wanted = this.missing(); wanted.length && !this.ended; wanted = this.missing()) {
      try {
        const found = await data(api.GET("/api/v1/log", { params: { query: { seq: wanted } } }));
        this.keep(found.entries);
        const got = new Set(found.entries.map((entry) => entry.seq));
        const gone = new Set(wanted.filter((seq) => !got.has(seq)));
        // The server archives the oldest entries while the page is open.
        if (gone.size) this.numbers = this.numbers.filter((seq) => !gone.has(seq));
        this.error.value = null;
        this.changed();
      } catch (error) {
        this.failed(error);
        break;
      }
    }
    this.loading = false;
  }

  /** Return the numbers of the next entries to load: those on the screen first. */
  private missing(): number[] {
    const [first, last] = this.window;
    const around = Math.max(0, Math.floor((CHUNK - (last - first)) / 2));
    const rows: number[] = [];
    for (let row = first; row < last; row++) rows.push(row);
    const onScreen = rows.some((row) => row < this.count && !this.entryAt(row));
    if (!onScreen) return [];
    for (let row = first - around; row < last + around; row++) if (row < first || row >= last) rows.push(row);
    return rows
      .filter((row) => row >= 0 && row < this.count && !this.entryAt(row))
      .map((row) => this.seqAt(row))
      .slice(0, CHUNK);
  }

  private keep(found: readonly Entry[]): void {
    for (const entry of found) this.entries.set(entry.seq, entry);
    const excess = this.entries.size - KEPT;
    if (excess <= 0) return;
    const oldest = [...this.entries.keys()].slice(0, excess);
    for (const seq of oldest) this.entries.delete(seq);
  }

  private changed(): void {
    this.version.value++;
  }

  private failed(error: unknown): void {
    this.error.value = asApiError(error);
  }
}

function expanded(ranges: readonly number[]): number[] {
  const numbers: number[] = [];
  for (let at = ranges.length - 2; at >= 0; at -= 2) {
    const first = ranges[at + 1] as number;
    const last = ranges[at] as number;
    for (let seq = first; seq <= last; seq++) numbers.push(seq);
  }
  return numbers;
}

/** Use the rows for some filters; the rows before stay on the screen until these are there. */
export function useLedgerRows(filters: Filters): LedgerRows {
  const key = JSON.stringify([param("project"), filters]);
  const rows = useMemo(() => new LedgerRows(filters), [key]);
  useEffect(() => rows.start(), [rows]);
  const shown = useRef(rows);
  rows.version.value;
  if (rows.count || rows.counted.value || rows.error.value) shown.current = rows;
  return shown.current;
}
