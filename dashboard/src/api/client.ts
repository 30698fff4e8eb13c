/** Requests to the REST API, typed by its OpenAPI document (`schema.d.ts` is generated). */
import createClient, { type Middleware } from "openapi-fetch";
import { param } from "../router";
import { endSession } from "./live";
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

const everyRequest: Middleware = {
  async onRequest({ request }) {
    const project = param("project");
    if (!project) return request;
    const url = new URL(request.url);
    if (!url.searchParams.has("project")) url.searchParams.set("project", project);
    return new Request(url, request);
  },
  async onResponse({ response }) {
    if (response.ok) return response;
    if (response.status === 401) endSession();
    throw await errorOf(response);
  },
};

export const api = createClient<paths>({ baseUrl: location.origin, credentials: "same-origin" });
api.use(everyRequest);

/** Return the data of an answer; errors were thrown before. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

async function errorOf(response: Response): Promise<ApiError> {
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
