/** Messages for the human, decisions, and release requests. */
import { api, data, type Schemas } from "../../api/client";
import { type Loaded, reload, useResource } from "../../api/resource";
import { useStatus } from "../../api/status";
import { moment } from "../../moment";

export type Decision = Schemas["decision"];
export type Letter = Schemas["letter"];
export type Sides = Schemas["sides"];
export type Ask = Schemas["ask"];

const MAIL = { on: ["message", "group", "release", "conflict", "decision", "delegated", "lock", "alert", "tests"], every: 30 };
const DECISIONS = { on: ["decision", "conflict", "lock"], every: 30 };
const MOST = 1000;

/** Return what existed at the replayed moment; everything while the page is live. */
function existing<T extends { at: number }>(loaded: Loaded<T[]>): Loaded<T[]> {
  const at = moment.value;
  return at === null ? loaded : { ...loaded, data: loaded.data?.filter((one) => one.at <= at) };
}

export function usePending(): Loaded<Decision[]> {
  const at = moment.value;
  const found = useDecisions(at === null);
  return at === null ? found : { ...found, data: found.data?.filter((one) => one.outcome !== "recorded" && (one.decided_at === null || one.decided_at > at)) };
}

export function useDecided(): Loaded<Decision[]> {
  return useDecisions(false);
}

function useDecisions(pending: boolean): Loaded<Decision[]> {
  const load = () =>
    everyPage(async (page) => {
      const { decisions, next_cursor: next } = await data(api.GET("/api/v1/decisions", { params: { query: { pending, ...page } } }));
      return [decisions, next];
    });
  return existing(useResource(pending ? "inbox pending" : "inbox decisions", load, DECISIONS));
}

export function useDecision(id: string): Loaded<{ decision: Decision; sides?: Sides }> {
  return useResource(`decision ${id}`, () => data(api.GET("/api/v1/decisions/{id}", { params: { path: { id } } })), { ...DECISIONS, every: 10 });
}

export function useUnread(): Loaded<Letter[]> {
  return existing(useResource("messages unread", () => letters({}), MAIL));
}

export function useMail(): Loaded<Letter[]> {
  return existing(useResource("messages", async () => (await Promise.all([letters({ all: true }), letters({ sent: true })])).flat(), MAIL));
}

async function letters(query: { all?: boolean; sent?: boolean }): Promise<Letter[]> {
  return everyPage(async (page) => {
    const { messages = [], next_cursor: next } = await data(api.GET("/api/v1/messages", { params: { query: { ...query, ...page } } }));
    return [messages, next];
  });
}

/** Load all pages: a listing begins with the oldest, and the inbox shows the newest first. */
async function everyPage<T>(load: (page: { limit: number; cursor?: string }) => Promise<[T[], string | null]>): Promise<T[]> {
  const found: T[] = [];
  for (let cursor = ""; ; ) {
    const [rows, next] = await load({ limit: MOST, ...(cursor && { cursor }) });
    found.push(...rows);
    if (!next) return found;
    cursor = next;
  }
}

/** Mark messages as read, which no event reports. */
export async function markRead(ids: string[]): Promise<void> {
  await api.POST("/api/v1/messages/read", { body: { ids } });
  reload("messages", "messages unread");
}

/** A message that only announces a decision, which the inbox shows itself. */
export const announces = (letter: Letter): boolean => letter.kind === "decision" && (letter.data as { event?: string }).event === "asked";

/** Whether a message waits for its reader. */
export const isUnread = (letter: Letter, mine: string): boolean => !letter.read && letter.sender !== mine;

/** Return each message once, the unread ones first, then the newest. */
export function sorted(all: readonly Letter[], mine: string): Letter[] {
  const found = new Map(all.filter((one) => !announces(one)).map((one) => [one.id, one]));
  return [...found.values()].sort((a, b) => Number(isUnread(b, mine)) - Number(isUnread(a, mine)) || b.at - a.at);
}

/** Requests to release a claim that nobody has answered with yes, the most urgent first. */
export function useRequests(): Ask[] {
  const claims = useStatus().data?.claims ?? [];
  const found = claims.flatMap((claim) => claim.asked_by);
  return found.sort((a, b) => a.until - b.until);
}
