/** Requests to the REST API, typed by its OpenAPI document (`schema.d.ts` is generated). */
import createClient, { createQuerySerializer, type Middleware } from "openapi-fetch";
import { param } from "../router";
import { connection, endSession } from "./live";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
/** The answer of a GET route: `Answer<"/api/v1/status">`. */
export type Answer<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { "application/json": infer T } } } };
}
  ? T
  : never;
export type Status = Answer<"/api/v1/status">;
export type Agent = Schemas["agent"];
export type Entry = Schemas["entry"];

/** A refused request: what happened, and what to do next. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly field: string,
  ) {
    super(message);
  }
}

/** Return any error as one that can be shown: other errors than those of requests are the page's own. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, "", `this page has an error: ${said(error)}`, "reload the page; if it happens again, report it", "");
}

/** Return why a request has no answer; the server is not at fault while its events arrive. */
export function noAnswer(error: unknown): ApiError {
  if (connection.peek().state === "live")
    return new ApiError(0, "", `this page could not send the request: ${said(error)}`, "reload the page, and try again", "");
  return new ApiError(0, "", "the server does not answer", "run: dibs open", "");
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const everyRequest: Middleware = {
  onError: ({ error }) => noAnswer(error),
  async onResponse({ response }) {
    if (response.ok) return response;
    if (response.status === 401) endSession();
    throw await errorOf(response);
  },
};

const serialize = createQuerySerializer<Record<string, unknown>>();

export const api = createClient<paths>({
  baseUrl: location.origin,
  credentials: "same-origin",
  // Every request names the project. A copy of a finished request would turn its body into a stream, which
  // browsers do not send over HTTP/1.1.
  querySerializer: (query) => serialize({ project: param("project") || undefined, ...query }),
});
api.use(everyRequest);

/** Return the data of an answer; errors were thrown before. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

export async function errorOf(response: Response): Promise<ApiError> {
  try {
    const body = await response.json();
    if (body.error) {
      const { code, message, hint, field } = body.error;
      return new ApiError(response.status, code, message, hint ?? "", field ?? "");
    }
    return new ApiError(response.status, "DENIED", deniedMessage(body), "", "");
  } catch {
    return new ApiError(response.status, "", `the server answered with status ${response.status}`, "", "");
  }
}

/** A denied claim or a refused commit is an answer of its own shape. */
function deniedMessage(body: Record<string, unknown>): string {
  const said = body.message ?? body.reason ?? body.outcome ?? body.status;
  return typeof said === "string" ? said : "the request was denied";
}
